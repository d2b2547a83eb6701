#!/usr/bin/env bash
# Runs rayon from crates.io on brigade: the tests of what programs expect of rayon, with `crates/rayon-core` as its core.
#
# With arguments, passes them to `cargo test`.
set -euo pipefail
cd "$(dirname "$0")/../tests/rayon-on-brigade"

# A hang ends by the watchdog of its test, and at the latest here.
timeout 1200 cargo test --locked "$@"

# It is rayon-core of this repository that was tested.
if ! cargo tree --locked --invert rayon-core 2>&1 | grep -q 'crates/rayon-core'; then
    echo "rayon does not run on brigade: the patch is not used" >&2
    exit 1
fi
