#!/usr/bin/env bash
# Packages what is published and builds each package from what is in it; then counts the packages that a new program locks and
# builds for it. `ci/package.sh --no-verify` builds nothing.
#
# Needs the registry: what a new program locks are the newest versions.
set -euo pipefail
cd "$(dirname "$0")/.."

# The laboratory, the testkit and the packages of `crates/compat` have `publish = false`.
published=(brigade-timer brigade-sync brigade-machine brigade-trace brigade-task brigade-observe brigade-queue brigade-burst brigade-executor brigade-io brigade-macros brigade)
version="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)"
packages="${CARGO_TARGET_DIR:-target}/package"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

fail() {
    echo "ci/package.sh: $1" >&2
    exit 1
}

# Not a release: files may have changes. Tests stay out and there is no repository to name, so these warnings are left out.
cargo package --quiet --workspace --exclude brigade-lab --exclude brigade-first-lines --exclude brigade-ecosystem --exclude brigade-simulate --exclude brigade-testkit --exclude burst-pool --exclude executors --exclude rayon-core --exclude rusty_pool --exclude st3 --exclude threadpool --all-features --locked --allow-dirty "$@" \
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

count '' 10 10
# The others are those of other systems: `polling` and what it needs.
count '"io"' 24 16
