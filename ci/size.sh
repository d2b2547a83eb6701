#!/usr/bin/env bash
# Prints by how much a program with one pool is larger than one with a thread of std alone, both stripped: built as
# `cargo build --release` does it, and for size.
set -euo pipefail
cd "$(dirname "$0")/.."

here="$PWD"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$here/target}/size"

# A program of this name, by its manifest's dependencies and its main function.
program() {
    mkdir -p "$scratch/$1/src"
    printf '[package]\nname = "%s"\nedition = "2024"\n[workspace]\n[dependencies]\n%s\n[profile.release]\nstrip = true\n' \
        "$1" "$2" > "$scratch/$1/Cargo.toml"
    printf 'fn main() {\n%s\n}\n' "$3" > "$scratch/$1/src/main.rs"
}
hello='println!("hello")'
program alone '' "    std::thread::spawn(|| $hello).join().unwrap();"
program pool "brigade = { path = \"$here/crates/brigade\" }" "    brigade::Pool::new(2).execute(|| $hello);"

# The size of that program in bytes, with these further settings of the profile.
size_of() {
    local name="$1"
    shift
    cargo build --quiet --release --manifest-path "$scratch/$name/Cargo.toml" "${@/#/--config=profile.release.}"
    stat -c %s "$CARGO_TARGET_DIR/release/$name"
}
measure() {
    local what="$1" alone pool
    shift
    alone=$(size_of alone "$@")
    pool=$(size_of pool "$@")
    printf '%-46s %4d kB more than %d kB\n' "$what" $(((pool - alone) / 1000)) $((alone / 1000))
}
measure 'cargo build --release'
measure 'lto, codegen-units = 1' lto=true codegen-units=1
measure 'lto, codegen-units = 1, opt-level = "s"' lto=true codegen-units=1 'opt-level="s"'
measure 'the same and panic = "abort"' lto=true codegen-units=1 'opt-level="s"' 'panic="abort"'
