#!/usr/bin/env bash
# Passes ten million items among eight threads, through rings of both orders; then fewer, with all threads on one
# processor, where a waiting thread must yield to the other.
#
# BRIGADE_SEED repeats a run, as far as threads can be repeated. Arguments are passed on to the test binary.
set -euo pipefail
cd "$(dirname "$0")/.."

test=(cargo test --release --locked -p brigade-queue --test stress)
BRIGADE_STRESS_ITEMS=10000000 "${test[@]}" -- --nocapture "$@"

if ! command -v taskset >/dev/null; then
    echo 'skipped: the run on one processor needs taskset (util-linux)'
    exit 0
fi
# With an operating system's yield, and without `std`, where a wait only pauses.
for features in --features=std --no-default-features; do
    "${test[@]}" "$features" --no-run
    BRIGADE_STRESS_ITEMS=2000000 taskset -c 0 "${test[@]}" "$features" -- --nocapture "$@"
done
