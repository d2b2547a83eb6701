#!/usr/bin/env bash
# Runs every test of the workspace, doc examples included, and then its example programs.
#
# The packages of the workspace enable all features of brigade and brigade-io among them but `orx-parallel`, so this runs what features
# enable too.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo test --workspace --locked "$@"
cargo test -p brigade --locked --features orx-parallel --test orx_parallel "$@"
ci/examples.sh
