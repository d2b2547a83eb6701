#!/usr/bin/env bash
# Builds the public documentation; a broken link is an error, and so is a missing test that the list of faults names.
set -euo pipefail
cd "$(dirname "$0")/.."

RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked
# With all features, as it is published, and with none.
RUSTDOCFLAGS='-D warnings' cargo doc -p brigade -p brigade-io --all-features --no-deps --locked
RUSTDOCFLAGS='-D warnings' cargo doc -p brigade --no-deps --locked

ci/faults.sh --check
