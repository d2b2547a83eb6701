#!/usr/bin/env bash
# Runs every test of the workspace, doc examples included, and then its example programs.
#
# The packages of the workspace enable all features of brigade and brigade-io among them but `orx-parallel`, so this runs what features
# enable too.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo test --workspace --locked "$@"
cargo test -p brigade --locked --features orx-parallel --test orx_parallel "$@"
# By its path: two packages have this name. `ws-no-park` keeps threads busy, so the tests of the pools are not run with it.
cargo test --manifest-path crates/compat/executors/Cargo.toml --locked --features numa-aware,produce-metrics "$@"
ci/examples.sh
