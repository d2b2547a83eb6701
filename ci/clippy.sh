#!/usr/bin/env bash
# Lints every target; a warning is an error. The lints are named in Cargo.toml and clippy.toml.
set -euo pipefail
cd "$(dirname "$0")/.."

# With the features that packages of the workspace enable: all.
cargo clippy --workspace --all-targets --locked -- -D warnings
# With none.
cargo clippy -p brigade --lib --locked -- -D warnings
cargo clippy -p brigade-io --lib --locked -- -D warnings
# As it is without `std`.
cargo clippy -p brigade-queue --no-default-features --locked -- -D warnings
# With all features and with none; by its path, as two packages have this name.
cargo clippy --manifest-path crates/compat/executors/Cargo.toml --lib --all-features --locked -- -D warnings
cargo clippy --manifest-path crates/compat/executors/Cargo.toml --lib --no-default-features --locked -- -D warnings
