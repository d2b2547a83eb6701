#!/usr/bin/env bash
# Runs every test of the workspace, doc examples included.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo test --workspace --locked "$@"
