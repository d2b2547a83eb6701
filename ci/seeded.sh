#!/usr/bin/env bash
# After a change of the engine: runs random programs over brigade's public interface on the real engine, with threads whose every step obeys a seed; tests/seeded says
# how. Runs the tests and the example of `brigade::sim` too: `ci/seeded.sh [MINUTES | SECONDSs | --runs N] [--only VERBS]`, by default 1 minute, in two processes. VERBS are operations, as in `Submit,Join`, or kinds of
# programs, as in `Working`: programs have no others. A failure prints the last steps, and the program, cut down, as code. `ci/seeded.sh PROGRAM [--only VERBS]` runs a program again, 0xSEED or
# 0xSEED:CHOICES, and prints each step of each thread; with `--shrink` it is cut down.
#
# BRIGADE_SEED is the first seed; random by default. BRIGADE_SEEDED_SHORT takes one process. BRIGADE_SHRINK_SECONDS is the time to cut down, by default 60.
set -euo pipefail
cd "$(dirname "$0")/.."

usage='usage: ci/seeded.sh [MINUTES | SECONDSs | --runs N | 0xSEED[:CHOICES] [--shrink]] [--only VERBS]'
limit=60s replayed='' command=replay only=''
while (($#)); do
    case $1 in
        --only) only="${2-}" && shift ;;
        --runs) limit="${2-}r" && shift ;;
        --shrink) command=shrink ;;
        0x*) replayed="$1" ;;
        *s) limit="$1" ;;
        *) limit="$1m" ;;
    esac
    shift || limit=
done
if [[ ! $limit =~ ^[1-9][0-9]{0,8}[smr]$ || ! $only =~ ^[A-Za-z,]*$ || $command$replayed == shrink ]]; then
    echo "$usage" >&2
    exit 2
fi
case $limit in
    *m) limit=$((${limit%m} * 60))s ;;
    *r) limit="${limit%r}" ;;
esac

# Its own folder: everything is compiled with the flag. With the checks of a debug build, optimised as far as it takes less time than it saves.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/seeded"
export RUSTFLAGS="--cfg brigade_seeded ${BRIGADE_LINTS:--D warnings}"
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=line-tables-only
export CARGO_PROFILE_RELEASE_OPT_LEVEL=1
export CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true
cargo build --release --locked -p brigade-seeded --bins --examples
program="$CARGO_TARGET_DIR/release/brigade-seeded"

if [[ -n $replayed ]]; then
    exec "$program" "$command" "$replayed" "$only"
fi
# An unknown verb ends this too.
"$program" explore 0 0 "$only" >/dev/null
simulation="$("$CARGO_TARGET_DIR/release/examples/seeded-simulation" 2>&1)" || { echo "$simulation" && exit 1; }
# A test of it waits for 10 seconds.
"$program" sim 2>"$CARGO_TARGET_DIR/sim.log" &
simulated=$!
"$program" cases
wait "$simulated" || { cat "$CARGO_TARGET_DIR/sim.log" && exit 1; }
first="${BRIGADE_SEED:-$((RANDOM << 45 ^ RANDOM << 30 ^ RANDOM << 15 ^ RANDOM))}"
[[ -z ${BRIGADE_SEEDED_SHORT:-} ]] || exec "$program" explore "$limit" "$first" "$only"
[[ $limit == *s ]] && half="$limit" || half=$(((limit + 1) / 2))
"$program" explore "$half" "$first" "$only" &
other=$!
failed=0
"$program" explore "$half" $((first + (1 << 32))) "$only" || failed=1
wait "$other" || failed=1
exit "$failed"
