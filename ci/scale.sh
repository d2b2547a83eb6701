#!/usr/bin/env bash
# Prints what the model of `examples/simulate` predicts, and compares it with the pool on one core and two. Fails if they differ
# by more than 20 per cent, as one row may: docs/scale.md says why. By hand, on a machine that does nothing else; a minute,
# beside the build.
#
#     ci/scale.sh [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/.."

simulate() { cargo run --release --locked --quiet -p brigade-simulate -- "$@"; }

simulate --cores 2,16,64,256
simulate --cores 16,64,256 --group 8
simulate --check --rounds "${1-5}"
