#!/usr/bin/env bash
# Before each commit that changes documentation: builds it; a broken link is an error, and so is a missing test that the list of faults,
# that of guarantees or the page of features names.
set -euo pipefail
cd "$(dirname "$0")/.."

# Without programs and tests, which have most of the dependencies.
others=(--exclude brigade-ecosystem --exclude brigade-simulate --exclude brigade-first-lines --exclude brigade-lab)
RUSTDOCFLAGS='-D warnings' cargo doc --workspace "${others[@]}" --no-deps --locked
# With all features, as it is published, with those that are enabled by default, and with none.
RUSTDOCFLAGS='-D warnings' cargo doc -p brigade -p brigade-io --all-features --no-deps --locked
RUSTDOCFLAGS='-D warnings' cargo doc -p brigade --no-deps --locked
RUSTDOCFLAGS='-D warnings' cargo doc -p brigade --no-default-features --no-deps --locked
# Figures of README.md and of the guide: those of docs/results/quick.json.
ci/figures.py
ci/seeds.py --check
# The chapters of the guide as the repository shows them, and its links.
ci/guide.py

# The published pages name the feature that an item needs. The attribute is the compiler's under docs.rs's flag only, so that no
# build here would miss it.
for manifest in crates/*/Cargo.toml; do
    crate="${manifest%Cargo.toml}"
    if grep -q '^publish = false' "$manifest" || ! grep -q '^\[features\]' "$manifest"; then
        continue
    fi
    for line in '#![cfg_attr(docsrs, feature(doc_cfg))]' 'rustdoc-args = ["--cfg", "docsrs"]'; do
        if ! grep -qxF "$line" "${crate}src/lib.rs" "$manifest"; then
            echo "$crate has features, and no line \`$line\`" >&2
            exit 1
        fi
    done
done

# Examples use `?`. A joined thread of the standard library is the exception: its error is a panic's payload. Not checked: programs of
# other crates, and code that must not compile.
documents=(docs/*.md crates/brigade/src/guide/*.md)
for manifest in $(grep -L '^publish = false' crates/*/Cargo.toml); do
    mapfile -t -O "${#documents[@]}" documents < <(find -L "${manifest%/*}/README.md" "${manifest%/*}/src" -name '*.rs' -o -name README.md)
done
awk '
    FNR == 1 || (FILENAME ~ /\.rs$/ && !/^ *\/\/[\/!]/) { is_code = is_other = 0 }
    FILENAME ~ /\.rs$/ && !sub(/^ *\/\/[\/!] ?/, "") { next }
    /^ *```/ { is_code = !is_code; is_other = /ignore|compile_fail/; next }
    is_code && !is_other {
        line = $0
        gsub(/\.join\(\)\.unwrap\(\)/, "", line)
        if (line ~ /\.(unwrap\(\)|expect\()/) {
            print FILENAME ":" FNR ": an example without `?`: " $0 > "/dev/stderr"
            bad = 1
        }
    }
    END { exit bad }
' "${documents[@]}"

# docs/faults.txt and docs/contract.md: below each fault and each guarantee stand its tests, one a line, and each of these exists. A fault may have a
# note instead.
failed=0
test='([a-z0-9_/]+\.rs::[a-z0-9_]+|ci/[a-z-]+\.sh)'
awk -v test="^    ($test|\`$test\`)\$" '
    function fail(where, what) { print where ": " what > "/dev/stderr"; bad = 1 }
    function close_entry() { if (entry) fail(entry, "has no test"); entry = "" }
    FNR == 1 { close_entry(); is_faults = FILENAME ~ /faults/ }
    /^([0-9]+|-) ./ { close_entry(); entry = FILENAME ":" FNR ": `" $0 "`"; next }
    $0 ~ test || (is_faults && /^    (\(|none: )/) { entry = ""; next }
    /^ / || (is_faults && !/^(#.*|\[.*\])?$/) { fail(FILENAME ":" FNR, "neither a section nor a fault, a guarantee, a test or a note") }
    END { close_entry(); exit bad }
' docs/faults.txt docs/contract.md || failed=1
while IFS= read -r named; do
    file="${named%%::*}" name="${named##*::}"
    if [[ $named == ci/* ]]; then
        [[ -x $named ]] && continue
    elif find crates lab tests -path "*/$file" -exec grep -qE "fn $name\(" {} \; -print | grep -q .; then
        continue
    fi
    echo "$(grep -lF "$named" docs/faults.txt docs/contract.md | xargs) names $named, which is not there" >&2
    failed=1
done < <(grep -hE "^    \`?$test\`?$" docs/faults.txt docs/contract.md | tr -d ' `' | sort -u)

# Each guarantee that a page or a comment cites by its number is in docs/contract.md.
cited="$(git grep --untracked -howE 'P[0-9]+' -- '*.md' '*.rs' | sort -u)"
missing="$(comm -23 <(echo "$cited") <(sed -nE 's/^## (P[0-9]+) .*/\1/p' docs/contract.md | sort))"
if [[ -n $missing ]]; then
    echo "docs/contract.md does not have these, which a page or a comment cites:" $missing >&2
    failed=1
fi
if ((failed)); then exit 1; fi

# The page of features names tests in the last column of its tables: what has three words or more in the code font. Each must be a
# function below `#[test]` or `#[test(..)]`.
tests="$(find crates -name '*.rs' -not -path '*/target/*' -print0 | xargs -0 awk '
    FNR == 1 { is_test = 0 }
    /^ *#\[test[](]/ { is_test = 1 }
    match($0, /(^|[ {])fn [a-z0-9_]+\(/) {
        if (is_test) {
            name = substr($0, RSTART, RLENGTH)
            sub(/.*fn /, "", name); sub(/\(/, "", name)
            print name
        }
        is_test = 0
    }' | sort -u)"
named="$(awk -F ' \\| ' '/^\| / { print $NF }' docs/features.md | grep -oE '`[a-z0-9]+(_[a-z0-9]+){2,}`' | tr -d '`' | sort -u)"
in_scripts="$(grep -hoE '^ +[a-z0-9]+(_[a-z0-9]+){4,}( \\|; do)?$' ci/delays.sh ci/soak.sh | grep -oE '[a-z0-9_]+' | grep _ | sort -u)"
missing="$(comm -13 <(echo "$tests") <(sort -u <<<"$named"$'\n'"$in_scripts"))"
if [[ -z $named || -z $in_scripts || -n $missing ]]; then
    echo "docs/features.md or a script names tests that there are not:" "${missing:-none at all}" >&2
    exit 1
fi
