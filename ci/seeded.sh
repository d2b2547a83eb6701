#!/usr/bin/env bash
# After a change of the engine: runs random programs over brigade's public interface on the real engine, with threads whose every step obeys a seed; tests/seeded says
# how: `ci/seeded.sh [MINUTES | SECONDSs]`, by default 1 minute, in two processes. A failure prints the seed and the last steps.
# `ci/seeded.sh 0xSEED` runs one program again and prints each step of each thread.
#
# BRIGADE_SEED is the first seed; random by default. BRIGADE_SEEDED_SHORT takes one process.
set -euo pipefail
cd "$(dirname "$0")/.."

what="${1:-1}"
if [[ ! $what =~ ^(0x[0-9a-f]{1,16}|[1-9][0-9]{0,5}s?)$ ]]; then
    echo "usage: ci/seeded.sh [MINUTES | SECONDSs | 0xSEED], not '$what'" >&2
    exit 2
fi

# Its own folder: everything is compiled with the flag. With the checks of a debug build, optimised as far as it takes less time than it saves.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/seeded"
export RUSTFLAGS="--cfg brigade_seeded ${BRIGADE_LINTS:--D warnings}"
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=line-tables-only
export CARGO_PROFILE_RELEASE_OPT_LEVEL=1
export CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true
cargo build --release --locked -p brigade-seeded
program="$CARGO_TARGET_DIR/release/brigade-seeded"

if [[ $what == 0x* ]]; then
    exec "$program" replay "$what"
fi
"$program" cases
first="${BRIGADE_SEED:-$((RANDOM << 45 ^ RANDOM << 30 ^ RANDOM << 15 ^ RANDOM))}"
[[ $what == *s ]] && seconds="${what%s}" || seconds=$((what * 60))
[[ -z ${BRIGADE_SEEDED_SHORT:-} ]] || exec "$program" explore "$seconds" "$first"
"$program" explore "$seconds" "$first" &
other=$!
failed=0
"$program" explore "$seconds" $((first + (1 << 32))) || failed=1
wait "$other" || failed=1
exit "$failed"
