#!/usr/bin/env bash
# After a change of tests or of a protocol: changes the code in ways that a test should see, and says which changes none saw: `ci/mutants.sh [MODULE [COUNT]]`.
#
# MODULE is queue, task, burst or sync, or a folder in crates/brigade/src, such as wake; by default each module of docs/mutants.md.
# COUNT is how many of its mutants are tried, evenly spread; by default 40, and 0 is all. BRIGADE_MUTANTS_FROM is the number of the first.
# A mutant is killed by the unit tests of its crate, or by the random programs of ci/seeded.sh within BRIGADE_MUTANTS_SECONDS (20).
# The results are in target/mutants/MODULE.txt. Works on a copy, in target/mutants/tree. Needs jq.
set -euo pipefail
cd "$(dirname "$0")/.."

modules=(queue task burst sync wake roster engine semaphore timers task_set)
[[ $# -eq 0 ]] || modules=("$1")
count="${2:-40}"
from="${BRIGADE_MUTANTS_FROM:-0}"
seconds="${BRIGADE_MUTANTS_SECONDS:-20}"
if [[ $# -gt 2 || ! $count$from$seconds =~ ^[0-9]+$ ]]; then
    echo "usage: ci/mutants.sh [MODULE [COUNT]]" >&2
    exit 2
fi

out="$PWD/target/mutants"
tree="$out/tree"
mkdir -p "$out"
export PATH="$PWD/target/tools/bin:$PATH"
command -v cargo-mutants > /dev/null || cargo install --locked --root target/tools cargo-mutants@27.1.0
# Only what has changed is compiled for each; a change may leave something unused.
export RUSTFLAGS='--cap-lints=allow' BRIGADE_LINTS='--cap-lints=allow'
export BRIGADE_SHRINK_SECONDS=0 CARGO_INCREMENTAL=1 CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_RELEASE_INCREMENTAL=true

# Runs something in the copy, which a change may have made endless; sets `result` unless it passes.
within() {
    local status=0
    (cd "$tree" && timeout --kill-after=5 "$@") > "$out/last.log" 2>&1 || status=$?
    if grep -q '^error: could not compile' "$out/last.log"; then
        result=unviable
    elif [[ $status -eq 124 || $status -eq 137 ]]; then
        result=timeout
    elif [[ $status -ne 0 ]]; then
        result=killed
    fi
}

unit_tests() {
    within 300 cargo test -q --locked -p "$package" "$@"
}

programs() {
    within 300 ci/seeded.sh "${seconds}s"
}

# Tests what is in the copy; sets `result`.
try() {
    result=survived
    if [[ $package == brigade ]]; then
        programs
        [[ $result != survived ]] || unit_tests --lib
    else
        unit_tests
        [[ $result != survived ]] || programs
    fi
}

# The package whose tests pass without a change.
tested=
for module in "${modules[@]}"; do
    if [[ -d crates/$module ]]; then
        package=brigade-$module folder=crates/$module/src
    elif folder=$(find crates/brigade/src -type d -name "$module") && [[ -n $folder ]]; then
        package=brigade
    else
        echo "there is no module $module" >&2
        exit 2
    fi
    mkdir -p "$tree"
    # Only what differs, so that the compiler sees it as new.
    git ls-files -z | while IFS= read -r -d '' file; do
        cmp -s "$file" "$tree/$file" || install -D "$file" "$tree/$file"
    done
    if [[ $package != "$tested" ]]; then
        try
        if [[ $result != survived ]]; then
            tail -40 "$out/last.log"
            echo "$package: the tests fail without a change" >&2
            exit 1
        fi
        tested=$package
    fi
    # Not tests, and not what only a debugger, another target or a feature sees; not `^` for `|`, which is the same for flags.
    cargo mutants --list --json --diff --workspace --file "$folder/**" \
        --exclude '**/*tests*' --exclude '**/tests/**' --exclude '**/instrument/**' --exclude '**/seeded.rs' --exclude-re 'Debug for| none::| tests::' --exclude-re 'replace \| with \^' \
        > "$out/$module.json" 2> /dev/null
    all=$(jq length "$out/$module.json")
    [[ $count -gt 0 && $count -lt $all ]] && tried=$count || tried=$all
    : > "$out/$module.txt"
    for ((number = 0; number < tried; number++)); do
        index=$(((from + number * all / tried) % all))
        jq -r ".[$index].diff" "$out/$module.json" > "$out/patch"
        name=$(jq -r ".[$index].name" "$out/$module.json")
        file="$tree/$(jq -r ".[$index].file" "$out/$module.json")"
        patch -s --no-backup-if-mismatch "$file" "$out/patch"
        try
        patch -s --no-backup-if-mismatch -R "$file" "$out/patch"
        echo "$result $name" | tee -a "$out/$module.txt"
    done
    count_of() { grep -c "^$1 " "$out/$module.txt" || true; }
    viable=$((tried - $(count_of unviable)))
    echo "| $module | $all | $viable | $((viable - $(count_of survived))) | $(count_of timeout) |"
done
