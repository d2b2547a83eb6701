#!/usr/bin/env bash
# Builds the laboratory with rayon on brigade, as `brigade-lab-rayon` beside `brigade-lab`: its `fork-join` has the target
# `brigade-rayon` then. A patch holds for a whole workspace, so this builds a copy of it.
set -euo pipefail
cd "$(dirname "$0")/.."

target="${CARGO_TARGET_DIR:-$PWD/target}"
copy="$target/rayon-on-brigade"
mkdir -p "$copy/workspace" "$target/release"
cp -r Cargo.toml Cargo.lock crates lab tests examples "$copy/workspace/"
printf '\n[patch.crates-io]\nrayon-core = { path = "crates/rayon-core" }\n' >>"$copy/workspace/Cargo.toml"

# Not --locked: the lock file of the copy loses rayon's own core.
cargo build --release -p brigade-lab --manifest-path "$copy/workspace/Cargo.toml" --target-dir "$copy/target"
if ! cargo tree --manifest-path "$copy/workspace/Cargo.toml" -p brigade-lab --invert rayon-core@1 2>&1 | grep -q 'workspace/crates/rayon-core'; then
    echo "rayon does not run on brigade: the patch is not used" >&2
    exit 1
fi
cp "$copy/target/release/brigade-lab" "$target/release/brigade-lab-rayon"
echo "$target/release/brigade-lab-rayon"
