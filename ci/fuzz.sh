#!/usr/bin/env bash
# After a change of a queue: fuzzes the queues for this many seconds, by default 60: `ci/fuzz.sh [seconds]`. A failing input is left in
# fuzz/artifacts/queue; `ci/fuzz.sh FILE` runs one such file again.
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

host="$(rustc +nightly --print host-tuple)"
target_dir="${CARGO_TARGET_DIR:-target}/fuzz"
coverage=(-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table)
# One unit a crate: the sections of counters must not be split.
RUSTFLAGS="${coverage[*]} -Zsanitizer=address -Ccodegen-units=1 --cfg fuzzing" \
    cargo +nightly build --release --locked --manifest-path fuzz/Cargo.toml --target "$host" \
    --target-dir "$target_dir"

fuzzer="$target_dir/$host/release/queue"
if [[ -f "${1:-}" ]]; then
    exec "$fuzzer" "$1"
fi
mkdir -p fuzz/corpus/queue fuzz/artifacts/queue
"$fuzzer" -max_total_time="${1:-60}" -max_len=1024 -timeout=10 -print_final_stats=1 \
    -artifact_prefix=fuzz/artifacts/queue/ fuzz/corpus/queue
