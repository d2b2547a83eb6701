#!/usr/bin/env bash
# Runs the tests of the drop-in packages many times in a row beside two computing threads per CPU: `ci/drop-ins.sh [times]`, by
# default 20. It ends with the first run that fails.
#
# These run once: their doc tests, which are compiled each time; the example of rusty_pool's page whose jobs sleep for most of a
# minute; and, beside the computing threads, the tests of `executors` with `ws-no-park`, whose threads compute for as long as a pool
# lives.
set -euo pipefail
cd "$(dirname "$0")/.."

times="${1:-20}"
if [[ ! "$times" =~ ^[1-9][0-9]*$ ]]; then
    echo "usage: ci/drop-ins.sh [times], a number of at least 1, not '$times'" >&2
    exit 2
fi

packages=()
for folder in crates/compat/*/; do
    packages+=("$(basename "$folder")")
done
# By path: the laboratory has the originals among its dependencies.
tests_of() {
    cargo test --quiet --locked --manifest-path "crates/compat/$1/Cargo.toml" "${@:2}"
}
each() {
    for package in "${packages[@]}"; do
        tests_of "$package" "$@"
    done
    # With the default features, as above, and with all that are additions.
    tests_of executors --features numa-aware,produce-metrics "$@"
}

each --lib --tests --no-run
# Before the computing threads, beside which it would take long.
tests_of executors --features ws-no-park --lib --tests --no-run
each --doc
tests_of rusty_pool --test seed_page -- --ignored

hogs=()
trap 'kill "${hogs[@]}" 2>/dev/null || true' EXIT
for ((hog = 0; hog < 2 * $(nproc); hog++)); do
    (while :; do :; done) &
    hogs+=($!)
done

tests_of executors --features ws-no-park --lib --tests
for ((run = 1; run <= times; run++)); do
    echo "run $run of $times"
    each --lib --tests
done
echo "the tests of ${packages[*]} passed $times times beside ${#hogs[@]} computing threads"
