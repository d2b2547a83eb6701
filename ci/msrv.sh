#!/usr/bin/env bash
# Checks the oldest Rust that Cargo.toml names (`rust-version`), and the oldest dependencies. No locked dependency of a published
# crate may need a newer Rust. The published crates must build with that toolchain, and with the oldest versions that their
# manifests allow. Toolchains are not downloaded; the output says what was skipped.
#
# Clippy's `incompatible_msrv`, which ci/clippy.sh denies, finds functions of std that are newer, with any toolchain.
set -euo pipefail
cd "$(dirname "$0")/.."

msrv="$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)"
published=(brigade-timer brigade-sync brigade-machine brigade-trace brigade-task brigade-observe brigade-queue brigade-burst brigade-executor brigade-io brigade-macros brigade)
# Their own folder: other toolchains, and other versions of the dependencies.
CARGO_TARGET_DIR="$(realpath -m "${CARGO_TARGET_DIR:-target}/msrv")"
export CARGO_TARGET_DIR
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

# Fails if a package that is built for the roots, on any system, asks for a newer Rust.
cargo metadata --quiet --locked --all-features --format-version 1 > "$scratch/metadata"
python3 - "$scratch/metadata" "$msrv" "${published[@]}" <<'PYTHON'
import json, sys

path, msrv, *roots = sys.argv[1:]
with open(path) as file:
    metadata = json.load(file)
packages = {package["id"]: package for package in metadata["packages"]}
edges = {
    node["id"]: [dep["pkg"] for dep in node["deps"] if any(kind["kind"] != "dev" for kind in dep["dep_kinds"])]
    for node in metadata["resolve"]["nodes"]
}
# For the models of the workspace only, under `--cfg brigade_loom`.
models = {"loom"}


def number(version):
    return tuple(map(int, (version + ".0.0").split(".")[:3]))


todo = [id for id, package in packages.items() if package["name"] in roots]
seen = set(todo)
while todo:
    for id in edges[todo.pop()]:
        if id not in seen and packages[id]["name"] not in models:
            seen.add(id)
            todo.append(id)
newer = 0
unsaid = []
for package in sorted((packages[id] for id in seen), key=lambda package: package["name"]):
    if package["rust_version"] is None:
        unsaid.append(package["name"])
    elif number(package["rust_version"]) > number(msrv):
        print(f"{package['name']} {package['version']} needs Rust {package['rust_version']}", file=sys.stderr)
        newer += 1
print(f"of {len(seen)} packages, {newer} need a Rust newer than {msrv}; {len(unsaid)} do not say: {', '.join(unsaid) or '-'}")
sys.exit(newer > 0)
PYTHON

toolchain=()
for name in "$msrv" "$msrv.0" "$msrv.1"; do
    if RUSTUP_AUTO_INSTALL=0 rustc "+$name" --version >/dev/null 2>&1; then
        toolchain=("+$name")
        break
    fi
done
if ((${#toolchain[@]})); then
    cargo "${toolchain[@]}" check --quiet --locked --all-features "${published[@]/#/--package=}"
    cargo "${toolchain[@]}" check --quiet --locked -p brigade-queue --no-default-features
    echo "the published crates build with Rust $msrv"
else
    echo "skipped: the build with Rust $msrv needs its toolchain (rustup toolchain install $msrv)"
fi

if ! rustc +nightly --version >/dev/null 2>&1; then
    echo 'skipped: the oldest dependencies are resolved by the nightly toolchain (rustup toolchain install nightly)'
    exit 0
fi
# For a program that depends on the crate: its dev-dependencies do not take part.
mkdir "$scratch/src"
echo 'fn main() {}' > "$scratch/src/main.rs"
cat > "$scratch/Cargo.toml" <<TOML
[package]
name = "program"
edition = "2024"
[workspace]
[dependencies.brigade]
path = "$PWD/crates/brigade"
features = [$(sed -n '/^\[features\]/,/^$/s/^\([a-z-]*\) = .*/"\1",/p' crates/brigade/Cargo.toml | tr '\n' ' ')]
TOML
cd "$scratch"
cargo +nightly -Z minimal-versions generate-lockfile --quiet
cargo "${toolchain[@]}" check --quiet --locked
# As it is without epoll, where `polling` is.
RUSTFLAGS='--cfg brigade_portable' cargo "${toolchain[@]}" check --quiet --locked
echo "they build with the oldest dependencies: $(cargo tree --locked --edges normal --prefix none \
    | grep -vE '^(program|brigade)' | cut -d ' ' -f 1,2 | sort -u | paste -sd ';' | sed 's/;/, /g')"
