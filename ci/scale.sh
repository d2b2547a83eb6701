#!/usr/bin/env bash
# Compares the model of `brigade-lab simulate` with the pool on one core and two, and prints what it predicts for more. Fails if they
# differ by more than 20 per cent. By hand, on a machine that does nothing else; a minute, beside the build of the laboratory.
#
#     ci/scale.sh [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/.."

lab() { cargo run --release --locked --quiet -p brigade-lab -- "$@"; }

lab simulate --check --rounds "${1-5}"
lab simulate --cores 2,16,64,256
lab simulate --cores 16,64,256 --group 8
