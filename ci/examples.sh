#!/usr/bin/env bash
# Runs the examples of brigade, and those with crates that would be heavy dependencies of its tests. Each asserts what it says
# and ends by itself.
#
# The examples of brigade-burst and brigade-io are left out: they measure, and assert nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

built="${CARGO_TARGET_DIR:-target}/debug/examples"
said="$(mktemp)"
trap 'rm -f "$said"' EXIT

# Of the whole workspace: that is what `cargo test --workspace` has built.
cargo build --locked --workspace --examples

# Runs all examples in a folder.
run() {
    local folder="$1" name
    for source in "$folder"/*.rs; do
        name="$(basename "$source" .rs)"
        # An example that hangs fails here and not by the limit of the whole run.
        if ! timeout 120 "$built/$name" >"$said" 2>&1; then
            cat "$said" >&2
            echo "the example $name failed" >&2
            return 1
        fi
        echo "example $name ... ok"
    done
}

run crates/brigade/examples
run examples/ecosystem/examples
