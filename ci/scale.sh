#!/usr/bin/env bash
# Prints what the model of `brigade-lab simulate` predicts, and compares it with the pool on one core and two. Fails if they differ
# by more than 20 per cent, as one row may: docs/scale.md says why. By hand, on a machine that does nothing else; a minute,
# beside the build of the laboratory.
#
#     ci/scale.sh [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/.."

lab() { cargo run --release --locked --quiet -p brigade-lab -- "$@"; }

lab simulate --cores 2,16,64,256
lab simulate --cores 16,64,256 --group 8
lab simulate --check --rounds "${1-5}"
