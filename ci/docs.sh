#!/usr/bin/env bash
# Builds the public documentation; a broken link is an error, and so is a test that docs/faults.md names and nobody has.
set -euo pipefail
cd "$(dirname "$0")/.."

RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked
# With all doors open, as it is published, and with none.
RUSTDOCFLAGS='-D warnings' cargo doc -p brigade -p brigade-io --all-features --no-deps --locked
RUSTDOCFLAGS='-D warnings' cargo doc -p brigade --no-deps --locked

# Every test that the ledger of faults names.
missing=0
while IFS= read -r named; do
    file="${named%%::*}" test="${named##*::}"
    if ! find crates lab -path "*/$file" -exec grep -qE "fn $test\(" {} \; -print | grep -q .; then
        echo "docs/faults.md names $named, which is not there" >&2
        missing=1
    fi
done < <(grep -oE '`[a-z_/]+\.rs::[a-z0-9_]+`' docs/faults.md | tr -d '`' | sort -u)
exit "$missing"
