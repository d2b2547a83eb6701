#!/usr/bin/env bash
# Moves a program from each of the five crates to brigade by one line of its manifest: builds and runs it with the originals, then
# with the drop-in packages as patches; runs the examples of the originals' documentation on these; and builds them with the features of
# the originals, one set after the other. Needs the registry.
set -euo pipefail
cd "$(dirname "$0")/.."

here="$PWD"
program="$(mktemp -d)"
trap 'rm -rf "$program"' EXIT
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}/patch"

mkdir "$program/src"
cat >"$program/src/main.rs" <<'RUST'
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use executors::{Executor, FuturesExecutor};

fn main() {
    let pool = executors::crossbeam_workstealing_pool::small_pool(2);
    let (sent, received) = channel();
    (0..8).for_each(|number| {
        let sent = sent.clone();
        pool.execute(move || sent.send(number).unwrap());
    });
    assert_eq!(received.iter().take(8).sum::<i32>(), 28);
    let answer = pool.spawn(async { 42 });
    let other = rusty_pool::Builder::new().core_size(1).max_size(2).build();
    assert_eq!(other.complete(answer).await_complete(), 42);
    assert_eq!(other.evaluate(|| 42).await_complete(), 42);
    other.shutdown_join();
    pool.shutdown().unwrap();

    let pool = threadpool::ThreadPool::new(2);
    let count = Arc::new(AtomicUsize::new(0));
    (0..8).for_each(|_| {
        let count = count.clone();
        pool.execute(move || _ = count.fetch_add(1, Ordering::Relaxed));
    });
    pool.join();
    assert_eq!(count.load(Ordering::Relaxed), 8);

    let mut sender = burst_pool::Sender::new();
    let mut receiver = sender.mk_receiver();
    let thread = thread::spawn(move || receiver.recv().unwrap());
    let mut rejected = Some(Box::new(42));
    while let Some(value) = rejected {
        rejected = sender.enqueue(value);
    }
    sender.wake_all();
    assert_eq!(*thread.join().unwrap(), 42);

    let worker = st3::fifo::Worker::new(8);
    let stealer = worker.stealer();
    (0..4).for_each(|number| worker.push(number).unwrap());
    let other = st3::fifo::Worker::new(8);
    assert_eq!(stealer.steal(&other, |count| count / 2).unwrap(), 2);
    assert_eq!((other.pop(), worker.pop()), (Some(0), Some(2)));
}
RUST

# The manifest with these features of executors and of rusty_pool; the rest of the arguments are further lines.
manifest() {
    printf '%s\n' '[package]' 'name = "program"' 'edition = "2024"' '[workspace]' '[dependencies]' \
        "executors = { version = \"0.10\", $1 }" "rusty_pool = { version = \"0.7\", $2 }" \
        'threadpool = "1.8"' 'burst-pool = "0.5"' 'st3 = "0.4"' 'futures = "0.3"' "${@:3}" >"$program/Cargo.toml"
    # The lock of one with the originals names them.
    rm -f "$program/Cargo.lock"
}
on_brigade=('[patch.crates-io]')
for folder in crates/compat/*/; do
    on_brigade+=("$(basename "$folder") = { path = \"$here/${folder%/}\" }")
done

all='features = []'
every='features = ["numa-aware", "produce-metrics"]'
manifest "$all" "$all"
cargo run --quiet --manifest-path "$program/Cargo.toml"
manifest "$all" "$all" "${on_brigade[@]}"
cargo run --quiet --manifest-path "$program/Cargo.toml"
if cargo tree --manifest-path "$program/Cargo.toml" --depth 1 --prefix none | grep -E '^(executors|rusty_pool|threadpool|burst-pool|st3) ' | grep -v "$here"; then
    echo 'these are the originals: a patch is not used' >&2
    exit 1
fi

# The examples of the originals, those of their front pages and of each item, as they are in the registry's packages.
manifest "$all" "$all"
sources="$(cargo metadata --format-version 1 --manifest-path "$program/Cargo.toml" |
    grep -oE '"manifest_path":"[^"]*/(executors|rusty_pool|threadpool|burst-pool|st3)-[0-9.]+/Cargo.toml"' |
    sed 's/.*:"//; s/Cargo.toml"$//' | sort -u)"
echo '#![allow(unused)]' >"$program/src/lib.rs"
while read -r source; do
    find "$source" -name README.md -o -name '*.rs' -not -path '*/benches/*' -not -path '*/tests/*' | sort | while read -r file; do
        page="$(basename "$source")-$(basename "$file" .md).md"
        case "$file" in
            # One example names `thread` without importing it, and compiles with rusty_pool neither.
            */rusty_pool-0.7.0/README.md) sed '201s/rust/rust,ignore/' "$file" >"$program/src/$page" ;;
            *.md) cp "$file" "$program/src/$page" ;;
            *) sed -nE 's#^ *//[/!] ?##p' "$file" >"$program/src/$page" ;;
        esac
        name="$(tr -c 'a-zA-Z0-9\n' _ <<<"$page")"
        printf '#[doc = include_str!("%s")]\nmod %s {}\n' "$page" "$name" >>"$program/src/lib.rs"
    done
done <<<"$sources"
manifest "$every" "$all" "${on_brigade[@]}"
cargo test --quiet --doc --release --manifest-path "$program/Cargo.toml"
rm "$program/src/lib.rs"

echo 'fn main() {}' >"$program/src/main.rs"
without='default-features = false'
manifest "$without" "$without" "${on_brigade[@]}"
cargo check --quiet --manifest-path "$program/Cargo.toml"
for feature in threadpool-exec cb-channel-exec workstealing-exec ws-timed-fairness ws-no-park defaults thread-pinning numa-aware produce-metrics; do
    manifest "$without, features = [\"$feature\"]" "$all" "${on_brigade[@]}"
    cargo check --quiet --manifest-path "$program/Cargo.toml"
done
echo 'a program of the five crates runs on brigade by patches, and their features build'
