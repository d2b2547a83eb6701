#!/usr/bin/env bash
# After a change of a drop-in package, and before a release: `ci/drop-ins.sh [tests [TIMES] | patch | rayon [ARGUMENTS]]`, all three by default.
#
# `tests` runs the tests of the packages many times in a row beside two computing threads per CPU, by default 20 times, and ends with the first
# run that fails. These run once: their doc tests, which are compiled each time; the example of rusty_pool's page whose jobs sleep for most of
# a minute; and, beside the computing threads, the tests of `executors` with `ws-no-park`, whose threads compute for as long as a pool lives.
#
# `patch` moves a program from each of the five crates to brigade by one line of its manifest: builds and runs it with the originals, then
# with the drop-in packages as patches, then with renamed dependencies; runs the examples of the originals' documentation on these; and
# builds them with the features of the originals, one set after the other. Needs the registry.
#
# `rayon` runs rayon from crates.io on brigade: the tests of what programs expect of rayon, with `crates/rayon-core` as its core; and the
# tests of rayon and of rayon-core themselves, from their packages in cargo's registry. With arguments, passes them to `cargo test` for the
# first, and leaves out the second.
set -euo pipefail
cd "$(dirname "$0")/.."

tests() (
    times="${1:-20}"
    if [[ ! "$times" =~ ^[1-9][0-9]*$ ]]; then
        echo "usage: ci/drop-ins.sh tests [TIMES], a number of at least 1, not '$times'" >&2
        exit 2
    fi

    packages=()
    for folder in crates/compat/*/; do
        packages+=("$(basename "$folder")")
    done
    # By path: the laboratory has the originals among its dependencies.
    tests_of() {
        cargo test --quiet --locked --manifest-path "crates/compat/$1/Cargo.toml" "${@:2}"
    }
    each() {
        for package in "${packages[@]}"; do
            tests_of "$package" "$@"
        done
        # With the default features, as above, and with all that are additions.
        tests_of executors --features numa-aware,produce-metrics "$@"
    }

    each --lib --tests --no-run
    # Before the computing threads, beside which it would take long.
    tests_of executors --features ws-no-park --lib --tests --no-run
    each --doc
    tests_of rusty_pool --test seed_page -- --ignored

    hogs=()
    trap 'kill "${hogs[@]}" 2>/dev/null || true' EXIT
    for ((hog = 0; hog < 2 * $(nproc); hog++)); do
        (while :; do :; done) &
        hogs+=($!)
    done

    tests_of executors --features ws-no-park --lib --tests
    for ((run = 1; run <= times; run++)); do
        echo "run $run of $times"
        each --lib --tests
    done
    echo "the tests of ${packages[*]} passed $times times beside ${#hogs[@]} computing threads"
)

patch() (
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
    # Fails unless the program depends on the five packages, each from here.
    of_here() {
        local tree lines
        tree="$(cargo tree --manifest-path "$program/Cargo.toml" --depth 1 --prefix none)"
        lines="$(grep -E '^(executors|rusty_pool|threadpool|burst-pool|st3) ' <<<"$tree" || true)"
        if [[ $(wc -l <<<"$lines") -ne 5 || $(grep -cF "($here/crates/compat/" <<<"$lines") -ne 5 ]]; then
            echo "not all of these are the packages of crates/compat:" "$lines" >&2
            return 1
        fi
    }
    of_here

    # The other way to move: the dependency has a name of the program's, and the path of the package.
    cp "$program/src/main.rs" "$program/main.rs"
    {
        printf '%s\n' '[package]' 'name = "program"' 'edition = "2024"' '[workspace]' '[dependencies]'
        for folder in crates/compat/*/; do
            package="$(basename "$folder")"
            echo "my_${package//-/_} = { package = \"$package\", path = \"$here/${folder%/}\" }"
        done
    } >"$program/Cargo.toml"
    rm -f "$program/Cargo.lock"
    sed -E 's/\b(executors|rusty_pool|threadpool|burst_pool|st3)::/my_\1::/g' "$program/main.rs" >"$program/src/main.rs"
    cargo run --quiet --manifest-path "$program/Cargo.toml"
    of_here
    mv "$program/main.rs" "$program/src/main.rs"

    # The examples of the originals, those of their front pages and of each item, as they are in the registry's packages.
    manifest "$all" "$all"
    sources="$(cargo metadata --format-version 1 --manifest-path "$program/Cargo.toml" |
        grep -oE '"manifest_path":"[^"]*/(executors|rusty_pool|threadpool|burst-pool|st3)-[0-9.]+/Cargo.toml"' |
        sed 's/.*:"//; s/Cargo.toml"$//' | sort -u)"
    echo '#![allow(nonstandard_style, unused)]' >"$program/src/lib.rs"
    while read -r source; do
        find "$source" -name README.md -o -name '*.rs' -not -path '*/benches/*' -not -path '*/tests/*' | sort | while read -r file; do
            page="$(basename "$source")-$(basename "$file" .md).md"
            case "$file" in
                # One example names `thread` without importing it, and compiles with rusty_pool neither. Another queues 110 million jobs,
                # for which few machines have the memory, and ends with those that ten threads have not run: it is compiled.
                */rusty_pool-0.7.0/README.md) sed '201s/rust/rust,ignore/; 250s/rust/rust,no_run/' "$file" >"$program/src/$page" ;;
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
)

rayon() (
    root="$PWD"
    target="${CARGO_TARGET_DIR:-$root/target}"
    cd tests/rayon-on-brigade

    # A hang ends by the watchdog of its test, and at the latest here.
    timeout 1200 cargo test --locked "$@"

    # It is rayon-core of this repository that was tested.
    if ! cargo tree --locked --invert rayon-core 2>&1 | grep -q 'crates/rayon-core'; then
        echo "rayon does not run on brigade: the patch is not used" >&2
        exit 1
    fi

    if [ $# -gt 0 ]; then
        exit
    fi

    # Where cargo has the sources of a package that the laboratory depends on.
    source_of() {
        cargo metadata --locked --format-version 1 --manifest-path "$root/Cargo.toml" |
            grep -o "\"manifest_path\":\"[^\"]*/registry/[^\"]*/$1-1[^\"]*/Cargo.toml\"" | head -n 1 | cut -d '"' -f 4 | xargs dirname
    }

    # Their tests use public functions only, so they are the tests of a package of their own here. Nothing of it is kept.
    #
    # Known exceptions:
    # - use_current_thread: its pool has two threads; `build` says `Unsupported`, as a pool of brigade has the calling thread alone, or
    #   threads of its own.
    exceptions=(use_current_thread)
    own="$target/rayon-own-tests"
    rm -rf "$own/package"
    mkdir -p "$own/package/src" "$own/package/tests"
    cp "$(source_of rayon)"/tests/*.rs "$(source_of rayon-core)"/tests/*.rs "$own/package/tests/"
    for name in "${exceptions[@]}"; do
        rm "$own/package/tests/$name.rs"
    done
    : >"$own/package/src/lib.rs"
    cat >"$own/package/Cargo.toml" <<MANIFEST
[package]
name = "rayon-own-tests"
version = "0.0.0"
edition = "2021"
publish = false

[workspace]

[patch.crates-io]
rayon-core = { path = "$root/crates/rayon-core" }

[dependencies]
rayon = "1.12"
rayon-core = "1.13"

[dev-dependencies]
crossbeam-utils = "0.8"
libc = "0.2"
rand = "0.9"
rand_xorshift = "0.4"
scoped-tls = "1"
MANIFEST
    # Not --locked: their tests need packages that no lock file here has.
    timeout 1200 cargo test --manifest-path "$own/package/Cargo.toml" --target-dir "$own/target" --tests --no-fail-fast
    if ! cargo tree --manifest-path "$own/package/Cargo.toml" --invert rayon-core 2>&1 | grep -q 'crates/rayon-core'; then
        echo "the tests of rayon do not run on brigade: the patch is not used" >&2
        exit 1
    fi
)

case "${1-}" in
    tests | patch | rayon) "$@" ;;
    '') tests && patch && rayon ;;
    *) echo 'usage: ci/drop-ins.sh [tests [TIMES] | patch | rayon [ARGUMENTS]]' >&2 && exit 2 ;;
esac
