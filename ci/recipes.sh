#!/usr/bin/env bash
# After a change of the guide's recipes, or of what they use: lints and tests them. They compile tonic, sqlx, quinn, criterion, pyo3 and
# console-subscriber, in some minutes.
set -euo pipefail
cd "$(dirname "$0")/../examples/recipes"
# The workspace's folder: the dependencies that both have in the same version are compiled once.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/../../target}"
if ! type python3-config > /dev/null 2>&1; then
    echo 'install this first: python3-dev, or what has python3-config elsewhere' >&2
    exit 1
fi
cargo fmt --all --check
export RUSTC_WORKSPACE_WRAPPER="$PWD/../../ci/lint.sh"
cargo test --locked -- "$@"
# The folder has flags of its own.
cd console && cargo test --locked
