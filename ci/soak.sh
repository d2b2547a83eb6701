#!/usr/bin/env bash
# Soaks the pools for so many seconds, 60 if none are given: `ci/soak.sh [seconds]`. Pools of every kind live and end under
# mixed work; every job must be accounted for, and no thread, file or memory be left.
#
# BRIGADE_SEED repeats the plans of a run, as far as threads can be repeated. Linux only.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds="${1:-60}"
if [[ ! "$seconds" =~ ^[1-9][0-9]*$ ]]; then
    echo "usage: ci/soak.sh [seconds], a number of at least 1, not '$seconds'" >&2
    exit 2
fi
BRIGADE_SOAK_SECONDS="$seconds" \
    cargo test --locked -p brigade --test soak -- --include-ignored --nocapture
