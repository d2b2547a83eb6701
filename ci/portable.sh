#!/usr/bin/env bash
# After a change of a parker, the driver or the panic policy: runs the tests of the parkers, of the burst channel and of the engine as they are where there is no futex, on a lock and a
# condition variable; all of them and those of the queues with the 64-bit atomics of the crate `portable-atomic`, as where the
# target has none (here these are the CPU's all the same: what is shown is that nothing needs another type); and those of the I/O
# driver as it is where there is no epoll, on the crate `polling`: as that offers level and edge on Linux, by level alone as on
# Windows, and by oneshot alone as on event ports.
#
# Then builds a job that panics, and one of a scope, with panics that unwind and with panics that abort: the first is contained, the second
# ends the process with the message of the job and does not hang.
#
# Linux stands in for those systems; `ci/targets.sh` runs what other compilers make for them.
set -euo pipefail
cd "$(dirname "$0")/.."

target="${CARGO_TARGET_DIR:-target}"
export CARGO_TARGET_DIR="$target/portable"
export RUSTFLAGS='--cfg brigade_portable'

cargo test --locked --features brigade-sync/portable-atomic -p brigade-sync -p brigade-queue -p brigade-burst -p brigade-io -p brigade-task -p brigade --lib --tests "$@"
for trigger in level oneshot; do
    export BRIGADE_PORTABLE_TRIGGER=$trigger
    cargo test --locked -p brigade-io --features hyper --lib --tests "$@"
    cargo test --locked -p brigade --features io --test it driver "$@"
done

unset RUSTFLAGS BRIGADE_PORTABLE_TRIGGER
export CARGO_TARGET_DIR="$target/panic-abort"
example="$CARGO_TARGET_DIR/debug/examples/panic_in_a_job"
said="$(mktemp)"
trap 'rm -f "$said"' EXIT

# Runs the example with the panics of the first argument, and with the others; prints its exit code, and leaves all it said in
# a file.
run() {
    CARGO_PROFILE_DEV_PANIC="$1" cargo build --quiet --locked -p brigade --example panic_in_a_job
    local code=0
    # The outer shell's word on the signal is not the example's.
    (ulimit -c 0; timeout 20 "$example" "${@:2}") >"$said" 2>&1 || code=$?
    echo "$code"
}

fail() {
    printf 'panic=%s ended with %s:\n' "$1" "$2" >&2
    cat "$said" >&2
    exit 1
}

for where in "" scope; do
    code="$(run unwind $where)"
    [[ $code == 0 ]] && grep -q 'contained: true' "$said" || fail "unwind $where" "$code"
    code="$(run abort $where)"
    # 134: SIGABRT.
    [[ $code == 134 ]] && grep -q 'this is what the job says' "$said" || fail "abort $where" "$code"
    grep -q 'contained' "$said" && fail "abort $where" "$code"
done
echo 'unwinding: contained; aborting: SIGABRT with the message; each in a job and in a scope'
