#!/usr/bin/env bash
# After a change of a queue or of the engine: fuzzes the queues, or the programs of tests/seeded, for this many seconds, by default 60:
# `ci/fuzz.sh [queue | seeded] [seconds]`, by default the queues. A failing input is left in fuzz/artifacts/TARGET; `ci/fuzz.sh TARGET FILE` runs one
# such file again.
#
# Gives the compiler the flags that cargo-fuzz would, so that it need not be there. Needs a nightly toolchain, and
# a C++ compiler for the fuzzer.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! rustc +nightly --version >/dev/null 2>&1; then
    echo 'skipped: fuzzing needs the nightly toolchain (rustup toolchain install nightly)'
    exit 0
fi
if ! command -v "${CXX:-c++}" >/dev/null; then
    echo 'skipped: fuzzing needs a C++ compiler (c++, or the one that CXX names)'
    exit 0
fi

target=queue
if [[ ${1:-} =~ ^[a-z]+$ ]]; then
    target="$1"
    shift
fi
what="${1:-60}"
case $target in
    queue) kind=(-Zsanitizer=address --cfg fuzzing) options=(-timeout=10) ;;
    # AddressSanitizer knows nothing of the stacks of coroutines. A short program is not better.
    seeded) kind=(--cfg brigade_seeded) options=(-timeout=120 -len_control=0) ;;
    *) target= ;;
esac
if [[ -z $target || ! ($what =~ ^[1-9][0-9]*$ || -f $what) || $# -gt 1 ]]; then
    echo 'usage: ci/fuzz.sh [queue | seeded] [SECONDS | FILE]' >&2
    exit 2
fi

host="$(rustc +nightly --print host-tuple)"
target_dir="${CARGO_TARGET_DIR:-target}/fuzz"
coverage=(-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table)
# One unit a crate: the sections of counters must not be split.
RUSTFLAGS="${coverage[*]} ${kind[*]} -Ccodegen-units=1" \
    cargo +nightly build --release --locked --manifest-path fuzz/Cargo.toml --target "$host" \
    --target-dir "$target_dir" --bin "$target"

# Programs write to closed pipes. Rust's own start of a program ignores the signal of that, the fuzzer's does not.
trap '' PIPE
fuzzer="$target_dir/$host/release/$target"
if [[ -f $what ]]; then
    exec "$fuzzer" "$what"
fi
mkdir -p "fuzz/corpus/$target" "fuzz/artifacts/$target"
"$fuzzer" -max_total_time="$what" -max_len=1024 "${options[@]}" -print_final_stats=1 \
    -artifact_prefix="fuzz/artifacts/$target/" "fuzz/corpus/$target"
