#!/usr/bin/env bash
# Before each commit: runs every test of the workspace, doc examples included, and then its example programs.
#
# The packages of the workspace enable all features of brigade and brigade-io among them, so this runs what features enable too; and those
# of the package executors but `ws-no-park`, which keeps threads busy.
set -euo pipefail
cd "$(dirname "$0")/.."

# The example programs with axum, reqwest and TLS take long to compile, so `cargo test --workspace` alone goes without.
all=(--workspace --locked --features brigade-ecosystem/full)
cargo test "${all[@]}" "$@"

# The examples of brigade, and those with crates that would be heavy dependencies of its tests. Each asserts what it says and ends by
# itself. Not those of brigade-burst and brigade-io, which measure and assert nothing.
built="${CARGO_TARGET_DIR:-target}/debug/examples"
said="$(mktemp)"
trap 'rm -f "$said"' EXIT

# Of the whole workspace: that is what the tests have built.
cargo build "${all[@]}" --examples

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
