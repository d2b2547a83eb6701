#!/usr/bin/env bash
# Before a release, and after a change of a manifest: `ci/release.sh [deny | package [ARGUMENTS] | docs | msrv | size [--exact | --write]]`, all five
# by default.
#
# `deny` compares licences, sources and versions of all dependencies with `deny.toml`, by cargo-deny; without that it is skipped, with a note.
#
# `package` packages what is published and builds each package from what is in it; then counts the packages that a new program locks and
# builds for it. `ci/release.sh package --no-verify` builds nothing. Needs the registry: what a new program locks are the newest versions.
#
# `docs` builds the documentation of each package from what `package` has packed, as docs.rs does: by a nightly toolchain, with the features
# and flags that the manifest names. It goes in the order in which the packages can be published, and gives each only those before it.
#
# `msrv` checks the oldest Rust that Cargo.toml names (`rust-version`), and the oldest dependencies. No locked dependency of a published
# crate may need a newer Rust. The published crates must build with that toolchain, and with the oldest versions that their manifests allow,
# for a program with all features and for one that names none: a feature may raise a version. All but `orx-parallel`, which needs Rust 1.88 and
# does not say so. Toolchains are not downloaded here: it is rustup's, or that of `ci/targets.sh msrv`; the output says what was skipped.
# Clippy's `incompatible_msrv` finds functions of std that are newer, with any toolchain.
#
# `size` prints what brigade weighs in a program, beside rayon, tokio and chili: CPU seconds of compiling, for which the machine must be quiet,
# bytes, and IR lines. It fails if bytes or IR lines are above `docs/weight.txt`. `ci/release.sh size --exact` measures only these, after a
# change of generic code, say; `--write` rewrites the file.
set -euo pipefail
cd "$(dirname "$0")/.."

# The laboratory, the test crates and the packages of `crates/compat` have `publish = false`.
mapfile -t published < <(grep -L '^publish = false' crates/*/Cargo.toml | xargs sed -n 's/^name = "\(brigade.*\)"$/\1/p')

deny() {
    if ! cargo deny --version >/dev/null 2>&1; then
        echo 'skipped: deny needs cargo-deny (cargo install cargo-deny --locked)'
        return
    fi
    # Not `advisories`, whose database is fetched: that is a check of the day, not of a commit.
    cargo deny --locked check --hide-inclusion-graph bans licenses sources
}

package() (
    version="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)"
    packages="${CARGO_TARGET_DIR:-target}/package"
    scratch="$(mktemp -d)"
    trap 'rm -rf "$scratch"' EXIT

    fail() {
        echo "ci/release.sh: $1" >&2
        exit 1
    }

    # Not a release: files may have changes. Tests stay out and there is no repository to name, so these warnings are left out.
    cargo package --quiet "${published[@]/#/--package=}" --all-features --locked --allow-dirty "$@" \
        2> >(grep -vE '^warning: (ignoring test|manifest has no)|package-metadata|^ +\|$' >&2)

    for crate in "${published[@]}"; do
        tar -xzf "$packages/$crate-$version.crate" -C "$scratch"
        root="$scratch/$crate-$version"
        for file in README.md LICENSE-MIT LICENSE-APACHE; do
            [[ -s "$root/$file" ]] || fail "the package of $crate has no $file"
        done
        # The build above does not need what only tests of the documentation include.
        while IFS=: read -r source included; do
            [[ -f "$(dirname "$source")/$included" ]] || fail "$source includes $included, which is not in the package"
        done < <(grep -rHo 'include_str!("[^"]*")' "$root/src" | sed 's/include_str!("\(.*\)")$/\1/')
        printf '%-14s %4d kB, %3d files\n' "$crate" "$(($(stat -c %s "$packages/$crate-$version.crate") / 1000))" \
            "$(find "$root" -type f | wc -l)"
    done

    # Counts the packages for a new program with these features of brigade: `count FEATURES MAY_LOCK MAY_BUILD`. Cargo locks those of
    # every system and builds those of this one.
    count() {
        local program="$scratch/program"
        rm -rf "$program"
        mkdir -p "$program/src"
        echo 'fn main() {}' > "$program/src/main.rs"
        {
            printf '[package]\nname = "program"\nedition = "2024"\n[workspace]\n'
            printf '[dependencies]\nbrigade = { version = "%s", features = [%s] }\n[patch.crates-io]\n' "$version" "$1"
            for crate in "${published[@]}"; do printf '%s = { path = "%s" }\n' "$crate" "$scratch/$crate-$version"; done
        } > "$program/Cargo.toml"
        # Its warnings are of the patches that these features do not need.
        cargo tree --prefix none --edges normal,build --manifest-path "$program/Cargo.toml" >"$scratch/tree" 2>"$scratch/said" || {
            cat "$scratch/said" >&2
            fail "a new program with the features [$1] does not resolve"
        }
        # Without the program itself.
        local locked built
        locked="$(($(grep -c '^\[\[package\]\]' "$program/Cargo.lock") - 1))"
        built="$(($(cut -d ' ' -f 1,2 "$scratch/tree" | sort -u | wc -l) - 1))"
        printf 'features [%s]: %d packages locked, %d built\n' "$1" "$locked" "$built"
        ((locked <= $2 && built <= $3)) || fail "at most $2 and $3 were expected"
    }

    count '' 9 8
    # The others are those of other systems: `polling` and what it needs.
    count '"io"' 23 13
)

docs() (
    if ! RUSTUP_AUTO_INSTALL=0 cargo +nightly --version >/dev/null 2>&1; then
        echo 'skipped: docs needs a nightly toolchain (rustup toolchain install nightly)'
        return
    fi
    version="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)"
    target="$(realpath -m "${CARGO_TARGET_DIR:-target}")"
    scratch="$(mktemp -d)"
    trap 'rm -rf "$scratch"' EXIT

    while read -r crate; do
        root="$scratch/$crate-$version"
        tar -xzf "$target/package/$crate-$version.crate" -C "$scratch"
        mapfile -t options < <(python3 - "$root/Cargo.toml" <<'PYTHON'
import sys, tomllib

with open(sys.argv[1], "rb") as file:
    docs = tomllib.load(file)["package"].get("metadata", {}).get("docs", {}).get("rs", {})
print("-D warnings", *docs.get("rustdoc-args", ["--cfg docsrs"]))
print(*["--all-features"] * docs.get("all-features", False), f"--features={','.join(docs.get('features', []))}", sep="\n")
PYTHON
        )
        printf '[workspace]\n' >> "$root/Cargo.toml"
        [[ ! -s "$scratch/before" ]] || { echo '[patch.crates-io]'; cat "$scratch/before"; } >> "$root/Cargo.toml"
        rm -f "$root/Cargo.lock"
        (
            cd "$root"
            RUSTDOCFLAGS="${options[0]}" CARGO_TARGET_DIR="$target/docs.rs" cargo +nightly doc --quiet --no-deps --lib "${options[@]:1}"
        )
        printf '%s = { path = "%s" }\n' "$crate" "$root" >> "$scratch/before"
        echo "documented $crate"
    done < <(ci/packages.py order)
)

msrv() (
    msrv="$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)"
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

    # rustup's, or else that of ci/targets.sh.
    oldest=
    for name in "$msrv" "$msrv.0" "$msrv.1"; do
        if RUSTUP_AUTO_INSTALL=0 rustc "+$name" --version >/dev/null 2>&1; then
            oldest="$(rustup which --toolchain "$name" rustc)"
            break
        fi
    done
    : "${oldest:=${BRIGADE_TARGETS:-$HOME/.cache/brigade-targets}/rust-$msrv/rustc}"
    if [[ -x $oldest ]]; then
        export RUSTC="$oldest"
        mapfile -t arguments < <(ci/packages.py published brigade/orx-parallel)
        cargo check --quiet --locked "${arguments[@]}"
        cargo check --quiet --locked -p brigade-queue --no-default-features
        echo "the published crates build with Rust $msrv"
    else
        echo "skipped: the build with Rust $msrv needs its toolchain (rustup toolchain install $msrv, or ci/targets.sh msrv)"
    fi

    # For a program that depends on the crate: its dev-dependencies do not take part. Cargo needs a nightly's right for the option, the
    # compiler does not: it is not run.
    mkdir "$scratch/src"
    echo 'fn main() {}' > "$scratch/src/main.rs"
    features="$(sed -n '/^\[features\]/,/^$/s/^\([a-z-]*\) = .*/"\1",/p' crates/brigade/Cargo.toml | grep -v orx-parallel | tr '\n' ' ')"
    brigade="$PWD/crates/brigade"
    cd "$scratch"
    for features in "$features" ''; do
        printf '[package]\nname = "program"\nedition = "2024"\n[workspace]\n[dependencies]\nbrigade = { path = "%s", features = [%s] }\n' \
            "$brigade" "$features" > Cargo.toml
        rm -f Cargo.lock
        RUSTC_BOOTSTRAP=1 cargo -Z minimal-versions generate-lockfile --quiet
        cargo check --quiet --locked
        # As it is without epoll, where `polling` is.
        RUSTFLAGS='--cfg brigade_portable' cargo check --quiet --locked
        echo "features [$features]: they build with the oldest dependencies: $(cargo tree --locked --edges normal --prefix none \
            | grep -vE '^(program|brigade)' | cut -d ' ' -f 1,2 | sort -u | paste -sd ';' | sed 's/;/, /g')"
    done
)

size() {
    python3 ci/size.py "$@"
}

case "${1-}" in
    deny | package | docs | msrv | size) "$@" ;;
    '') deny && package && docs && msrv && size ;;
    *) echo 'usage: ci/release.sh [deny | package [ARGUMENTS] | docs | msrv | size [--exact | --write]]' >&2 && exit 2 ;;
esac
