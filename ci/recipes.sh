#!/usr/bin/env bash
# After a change of the guide's recipes, or of what they use: lints and tests them. They compile tonic, sqlx, quinn and criterion, in some minutes.
set -euo pipefail
cd "$(dirname "$0")/../examples/recipes"
# The workspace's folder: the dependencies that both have in the same version are compiled once.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/../../target}"
cargo fmt --check
RUSTC_WORKSPACE_WRAPPER="$PWD/../../ci/lint.sh" cargo test --locked -- "$@"
