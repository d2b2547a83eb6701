#!/usr/bin/env bash
# Builds the public documentation; a broken link is an error.
set -euo pipefail
cd "$(dirname "$0")/.."

RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked
