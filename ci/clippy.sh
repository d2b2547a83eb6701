#!/usr/bin/env bash
# Lints every target; a warning is an error. The lints are named in Cargo.toml and clippy.toml.
#
# `.ci/run` has `lint.sh` lint the workspace while it compiles the tests.
set -euo pipefail
cd "$(dirname "$0")/.."

# With the features that packages of the workspace enable: all.
cargo clippy --workspace --all-targets --locked -- -D warnings
ci/features.sh
