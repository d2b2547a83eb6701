#!/usr/bin/env bash
# Lints the libraries with other features than those that the packages of the workspace enable. A warning is an error.
set -euo pipefail
cd "$(dirname "$0")/.."

# With none.
cargo clippy -p brigade --lib --locked -- -D warnings
cargo clippy -p brigade-io --lib --locked -- -D warnings
# As it is without `std`.
cargo clippy -p brigade-queue --no-default-features --locked -- -D warnings
# With all features and with none; by its path, as two packages have this name.
cargo clippy --manifest-path crates/compat/executors/Cargo.toml --lib --all-features --locked -- -D warnings
cargo clippy --manifest-path crates/compat/executors/Cargo.toml --lib --no-default-features --locked -- -D warnings
# What runs programs by a seed, and the models, is in no normal build.
if cargo tree --workspace --all-features --edges normal --locked | grep -E '(shuttle|loom) v'; then
    echo "a normal build depends on a crate for tests" >&2
    exit 1
fi
