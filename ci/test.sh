#!/usr/bin/env bash
# Runs every test of the workspace, doc examples included.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo test --workspace --locked "$@"
# What features enable.
cargo test -p brigade --features futures,hyper,io --locked --test integrations
cargo test -p brigade --features futures,hyper,io --locked --doc
cargo test -p brigade-io --features hyper --locked --test hyper
ci/examples.sh
