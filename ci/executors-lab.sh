#!/usr/bin/env bash
# Builds the laboratory with other features of the crate executors and of the package of that name, beside `brigade-lab`: its targets
# `executors-no-park`, `executors-counted` and those two with `brigade-` before them are these programs. A feature of a dependency
# holds for a whole program.
set -euo pipefail
cd "$(dirname "$0")/.."

target="${CARGO_TARGET_DIR:-$PWD/target}"
mkdir -p "$target/release"
build() {
    local name="$target/release/brigade-lab-executors-$1"
    shift
    cargo build --release --locked -p brigade-lab --target-dir "$target/executors-lab" "$@"
    cp "$target/executors-lab/release/brigade-lab" "$name"
    echo "$name"
}
build no-park --features no-park
build counted --no-default-features
