#!/usr/bin/env bash
# Builds a job that panics, with panics that unwind and with panics that abort: the first is contained, the second ends
# the process with the job's message and does not hang. The same for a job of a scope.
set -euo pipefail
cd "$(dirname "$0")/.."

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/panic-abort"
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
