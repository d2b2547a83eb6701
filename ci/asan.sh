#!/usr/bin/env bash
# After a change of `unsafe` code: runs the tests of the crates under AddressSanitizer, which needs a nightly toolchain.
#
# Of brigade's tests not `allocations` and `entries`, which bring an allocator of their own, nor `idle_cpu` and `leaks`, which measure
# what the sanitizer adds to, nor `fork`, whose children may find the sanitizer's own locks taken; the children of brigade-io's fork
# take none of these. Doc examples are left to ci/test.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! rustc +nightly --version >/dev/null 2>&1; then
    echo 'skipped: AddressSanitizer needs the nightly toolchain (rustup toolchain install nightly)'
    exit 0
fi

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/asan"
export RUSTFLAGS='-Zsanitizer=address'
# A target, so that build scripts are built without the sanitizer.
flags=(--locked --target "$(rustc +nightly --print host-tuple)")

# How much stack is left is told by the address of a local, which must lie there, and not in a frame of the sanitizer's.
export ASAN_OPTIONS=detect_stack_use_after_return=0
cargo +nightly test "${flags[@]}" -p brigade-sync -p brigade-queue -p brigade-burst -p brigade-io -p brigade-task -p brigade-timer --lib --tests "$@"
# Leaks are looked for above only: tests of the engine leak on purpose (payloads whose drop panics, a pool
# that is forgotten), and its test `leaks` counts what has to be gone.
# Its frames are some three times as large, and jobs that wait for jobs nest on one stack. A test of the smallest stacks is left out.
export RUST_MIN_STACK=$((8 << 20))
ASAN_OPTIONS+=:detect_leaks=0
cargo +nightly test "${flags[@]}" -p brigade --lib --test it --test soak \
    --test default_pool --test default_pool_on_first_use "$@" -- --skip any_stack_variable
# Iterators that borrow, of two other crates, on the workers of a pool.
cargo +nightly test "${flags[@]}" -p brigade --features orx-parallel --test orx_parallel "$@"
cargo +nightly test "${flags[@]}" --manifest-path tests/rayon-on-brigade/Cargo.toml --lib --tests "$@"
