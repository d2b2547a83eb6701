#!/usr/bin/env bash
# Runs the whole laboratory, all workloads in full; arguments are passed on (`--json PATH`).
set -euo pipefail
cd "$(dirname "$0")/.."

cargo run --release --locked -- all --full "$@"
