#!/usr/bin/env bash
# Before each commit: checks the format and the lock files, and lints every target and every set of features. A warning is an error; the
# lints are named in Cargo.toml and clippy.toml. `ci/lint.sh format`, `ci/lint.sh locks` and `ci/lint.sh features` do a part of that.
#
# With a compiler and its arguments it lints one crate as it compiles it: clippy's driver is the compiler with more lints. `.ci/run` names the
# script in RUSTC_WORKSPACE_WRAPPER, so that everything is compiled once for lints and tests.
set -euo pipefail

format() {
    cargo fmt --all --check
    # No lint knows these two rules. Tests are free to break the first.
    if git ls-files -z 'crates/*/src/*.rs' | grep -zvE '(^|/)(tests?|loom_tests)(\.rs|/)' | python3 ci/code.py |
        grep -E 'into_iter\(\)\.for_each|(&&|\|\|) let '; then
        echo 'ci/lint.sh: an option is not an iterator (CONTRIBUTING.md): write `if let` or a loop; Rust 1.85 has no `let` chains' >&2
        return 1
    fi
}

# A package outside of the workspace has a lock file of its own, and some of these are compiled by hand only.
locks() {
    local lock
    for lock in $(git ls-files '*Cargo.lock'); do
        cargo metadata --locked --format-version 1 --manifest-path "${lock%lock}toml" >/dev/null
    done
}

# The features of brigade that do not enable `observe`.
unobserved=affinity,executor,futures,hyper,io,macros,metrics,orx-parallel,test-util,unstable-foreign

# Sets of features that no package of the workspace enables.
features() {
    # With those of a program that names none, with none, and with all that do without `observe`.
    cargo clippy -p brigade --lib --locked -- -D warnings
    cargo clippy -p brigade --lib --no-default-features --locked -- -D warnings
    cargo clippy -p brigade --lib --no-default-features --features "$unobserved" --locked -- -D warnings
    cargo clippy -p brigade-io --lib --locked -- -D warnings
    # As it is without `std`.
    cargo clippy -p brigade-queue --no-default-features --locked -- -D warnings
    # With all features and with none; by its path, as two packages have this name.
    cargo clippy --manifest-path crates/compat/executors/Cargo.toml --lib --all-features --locked -- -D warnings
    cargo clippy --manifest-path crates/compat/executors/Cargo.toml --lib --no-default-features --locked -- -D warnings
    # With what the laboratory leaves out, as it takes long to compile.
    cargo clippy -p brigade-lab --lib --features full --locked -- -D warnings
    # What runs programs by a seed, and the models, is in no normal build.
    if cargo tree --workspace --all-features --edges normal --locked | grep -E '(shuttle|loom) v'; then
        echo "a normal build depends on a crate for tests" >&2
        exit 1
    fi
}

case "${1-}" in
    rustc | */*) exec clippy-driver "$@" -D warnings ;;
    *)
        cd "$(dirname "$0")/.."
        case "${1-}" in
            format | locks | features) "$1" ;;
            '')
                format
                locks
                cargo clippy --workspace --all-targets --features brigade-ecosystem/full --locked -- -D warnings
                features
                ;;
            *) echo 'usage: ci/lint.sh [format | locks | features]' >&2 && exit 2 ;;
        esac
        ;;
esac
