#!/usr/bin/env bash
# Runs rayon from crates.io on brigade: the tests of what programs expect of rayon, with `crates/rayon-core` as its core; and the
# tests of rayon and of rayon-core themselves, from their packages in cargo's registry.
#
# With arguments, passes them to `cargo test` for the first, and leaves out the second.
set -euo pipefail
cd "$(dirname "$0")/.."
root="$PWD"
target="${CARGO_TARGET_DIR:-$root/target}"
cd tests/rayon-on-brigade

# A hang ends by the watchdog of its test, and at the latest here.
timeout 1200 cargo test --locked "$@"

# It is rayon-core of this repository that was tested.
if ! cargo tree --locked --invert rayon-core 2>&1 | grep -q 'crates/rayon-core'; then
    echo "rayon does not run on brigade: the patch is not used" >&2
    exit 1
fi

if [ $# -gt 0 ]; then
    exit
fi

# Where cargo has the sources of a package that the laboratory depends on.
source_of() {
    cargo metadata --locked --format-version 1 --manifest-path "$root/Cargo.toml" |
        grep -o "\"manifest_path\":\"[^\"]*/registry/[^\"]*/$1-1[^\"]*/Cargo.toml\"" | head -n 1 | cut -d '"' -f 4 | xargs dirname
}

# Their tests use public functions only, so they are the tests of a package of their own here. Nothing of it is kept.
#
# Known exceptions:
# - use_current_thread: its pool has two threads; `build` says `Unsupported`, as a pool of brigade has the calling thread alone, or
#   threads of its own.
exceptions=(use_current_thread)
own="$target/rayon-own-tests"
rm -rf "$own/package"
mkdir -p "$own/package/src" "$own/package/tests"
cp "$(source_of rayon)"/tests/*.rs "$(source_of rayon-core)"/tests/*.rs "$own/package/tests/"
for name in "${exceptions[@]}"; do
    rm "$own/package/tests/$name.rs"
done
: >"$own/package/src/lib.rs"
cat >"$own/package/Cargo.toml" <<MANIFEST
[package]
name = "rayon-own-tests"
version = "0.0.0"
edition = "2021"
publish = false

[workspace]

[patch.crates-io]
rayon-core = { path = "$root/crates/rayon-core" }

[dependencies]
rayon = "1.12"
rayon-core = "1.13"

[dev-dependencies]
crossbeam-utils = "0.8"
libc = "0.2"
rand = "0.9"
rand_xorshift = "0.4"
scoped-tls = "1"
MANIFEST
# Not --locked: their tests need packages that no lock file here has.
timeout 1200 cargo test --manifest-path "$own/package/Cargo.toml" --target-dir "$own/target" --tests --no-fail-fast
if ! cargo tree --manifest-path "$own/package/Cargo.toml" --invert rayon-core 2>&1 | grep -q 'crates/rayon-core'; then
    echo "the tests of rayon do not run on brigade: the patch is not used" >&2
    exit 1
fi
