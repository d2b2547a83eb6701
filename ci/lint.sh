#!/usr/bin/env bash
# Lints a crate and then compiles it: what cargo calls in place of the compiler for the crates of the workspace where
# RUSTC_WORKSPACE_WRAPPER names it. So all dependencies are compiled once for lints and tests, and not twice as `cargo clippy` beside
# `cargo test` does. A warning is an error.
set -euo pipefail

# Cargo asks the compiler what it can do.
if [[ " $* " != *' --crate-name ___ '* && $* == *--crate-name* ]]; then
    folder="$(mktemp -d)"
    trap 'rm -rf "$folder"' EXIT
    arguments=()
    for argument; do
        case "$argument" in
            --emit=*) argument=--emit=metadata ;;
            # Cargo reads from what the compiler prints which files there are.
            --json=*) argument="${argument/,artifacts/}" ;;
        esac
        if [[ ${before:-} == --out-dir ]]; then
            argument="$folder"
        fi
        before="$argument"
        arguments+=("$argument")
    done
    clippy-driver "${arguments[@]}" -D warnings
fi
"$@"
