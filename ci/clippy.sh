#!/usr/bin/env bash
# Lints every target; a warning is an error. The lints are named in Cargo.toml and clippy.toml.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo clippy --workspace --all-targets --locked -- -D warnings
# With all features, and with none: the laboratory enables one of them above.
cargo clippy -p brigade --lib --examples --test integrations --features futures,hyper,io --locked -- -D warnings
cargo clippy -p brigade --all-targets --locked -- -D warnings
cargo clippy -p brigade-io --all-targets --features hyper --locked -- -D warnings
# As it is without `std`.
cargo clippy -p brigade-queue --no-default-features --locked -- -D warnings
