#!/usr/bin/env bash
# Before each commit that changes a public item, or the operations of the seeded programs: `ci/verbs.sh [--write] [BASE]`.
#
# docs/api.txt must have the public items of the published crates, with all features; `--write` writes it anew. An item of the commit BASE that
# is gone or has changed needs an entry in CHANGELOG.md below *Changed* or *Removed*. BASE is the newest tag, and before that the first commit
# with the file. docs/verbs.txt must have a line for each function; its first lines say which.
set -euo pipefail

# Cargo calls this script as rustdoc. On a stable toolchain JSON needs the variable, which must not reach the compiler: it would compile
# dependencies again.
if [[ ${RUSTDOC-} == */ci/verbs.sh ]]; then
    RUSTC_BOOTSTRAP=1 exec rustdoc "$@"
fi
cd "$(dirname "$0")/.."

write=
if [[ ${1-} == --write ]]; then
    write=1
    shift
fi
if (($# > 1)) || [[ ${1-} == -* ]]; then
    echo 'usage: ci/verbs.sh [--write] [BASE]' >&2
    exit 2
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
fail() {
    printf 'ci/verbs.sh: %s\n' "$1" >&2
    failed=1
}

# Prints the items. What rustdoc reads is compiled if `ci/docs.sh` ran before; the program's dependencies are those of the tests in `.ci/run`.
# The files lie beside the pages that rustdoc has written.
api() {
    local target=${CARGO_TARGET_DIR:-target} crates=() files=() crate
    for crate in $(ci/packages.py order | sort); do
        # Its items are rayon-core's, whose own tests `ci/drop-ins.sh rayon` runs.
        [[ $crate != brigade-rayon-core ]] || continue
        crates+=(-p "$crate")
        files+=("$target/api/doc/${crate//-/_}.json")
    done
    RUSTDOC="$PWD/ci/verbs.sh" RUSTDOCFLAGS='-Z unstable-options --output-format json' CARGO_BUILD_BUILD_DIR="$target" \
        cargo doc --quiet "${crates[@]}" --all-features --no-deps --locked --target-dir "$target/api"
    cargo build --quiet --workspace --features brigade-ecosystem/full --locked --example public_api
    echo "# The public items of the published crates with all features, from $(rustdoc -V | cut -d ' ' -f -2)"
    echo "# Written by \`ci/verbs.sh --write\`."
    "$target/debug/examples/public_api" "${files[@]}"
}

api >"$scratch/api.txt"
items() { grep -v '^# ' "$1"; }
written_by() { head -n 1 "$1" | grep -o 'rustdoc .*'; }
if [[ -n $write ]]; then
    cp "$scratch/api.txt" docs/api.txt
elif ! difference=$(diff --unified=0 <(items docs/api.txt) <(items "$scratch/api.txt")); then
    fail "docs/api.txt is not the code's, which $(written_by "$scratch/api.txt") describes; $(written_by docs/api.txt) wrote the file, and \`ci/verbs.sh --write\` does:
$(grep -E '^[-+]([^-+]|$)' <<<"$difference")"
fi

# A method that has a feature, of a type that has none, answers without the feature by its name: crates/brigade/src/absent.rs has each.
methods() { grep -oE '^pub (async )?fn brigade::(Builder|Handle|LocalPool|Pool)::[a-z_]+' "$1" | sed 's/.*brigade:://' | sort -u; }
RUSTDOC="$PWD/ci/verbs.sh" RUSTDOCFLAGS='-Z unstable-options --output-format json' cargo doc --quiet -p brigade --no-default-features --no-deps --locked \
    --target-dir "${CARGO_TARGET_DIR:-target}/api/bare"
"${CARGO_TARGET_DIR:-target}/debug/examples/public_api" "${CARGO_TARGET_DIR:-target}/api/bare/doc/brigade.json" >"$scratch/bare.txt"
while read -r method; do
    grep -qF " $method(" crates/brigade/src/absent.rs || fail "crates/brigade/src/absent.rs has no line for $method, which has a feature"
done < <(comm -23 <(methods "$scratch/api.txt") <(methods "$scratch/bare.txt"))

# Items of BASE that are gone or have changed. The entry names the item; what else names a removed item needs none of its own.
base=${1-$(git describe --tags --abbrev=0 2>/dev/null || git log --diff-filter=A --format=%h -- docs/api.txt | tail -n 1)}
if [[ -z ${1-} && $(git rev-parse --is-shallow-repository) == true ]]; then
    echo 'skipped: a shallow clone does not have the commit whose items need entries'
elif [[ -z $base ]]; then
    echo 'skipped: no commit has docs/api.txt'
elif ! git show "$base:docs/api.txt" >"$scratch/base.txt"; then
    exit 2
else
    awk '
        # The path of an item, for an implementation that of its type.
        function path(line) {
            sub(/^(#\[.*\] )/, "", line)
            if (line ~ /^(unsafe )?impl/) { if (!sub(/.* for /, "", line)) sub(/^impl(<.*>)? /, "", line) }
            else if (line ~ /^pub use /) sub(/.* as /, "", line)
            else if (match(line, /fn .*::[a-z_0-9]+[(<]/)) {
                line = substr(line, RSTART + 3)
                match(line, /::[a-z_0-9]+[(<]/)
                return substr(line, 1, RSTART + RLENGTH - 2)
            }
            sub(/^((pub|const|static|unsafe|struct|enum|union|trait|type|mod|macro|proc|auto) )*/, "", line)
            match(line, /^[^ (<:]+(::[^ (<:]+)*/)
            return substr(line, 1, RLENGTH)
        }
        function last(of) { sub(/.*::/, "", of); gsub(/[^A-Za-z0-9_]/, "", of); return of }
        function names(line, of,    at) {
            at = index(line, of)
            return at && substr(line, at + length(of)) !~ /^[A-Za-z0-9_]/
        }
        /^(# |$)/ { next }
        NR == FNR { now[$0]; has[path($0)]; next }
        !($0 in now) {
            gone[$0] = path($0)
            if (!(path($0) in has)) removed[path($0)]
        }
        END {
            for (line in gone) {
                of = gone[line]
                for (other in removed) if (length(other) < length(of) && names(line, other)) of = other
                # A removed type in the signature.
                if (of in has) for (other in removed) if (names(line, other)) of = other
                name = last(of)
                if (name == "") {
                    # Of a type that is no path, as in `<() as Trait>::NAME: bool`.
                    name = line
                    sub(/: [^:]*$/, "", name)
                    sub(/.*::/, "", name)
                }
                if (!(name in first) || length(line) < length(first[name])) first[name] = line
                others[name]++
            }
            for (name in first) print name "\t" first[name] (others[name] > 1 ? " (and " others[name] - 1 " more)" : "")
        }
    ' "$scratch/api.txt" "$scratch/base.txt" | sort >"$scratch/gone.txt"
    entries=$(awk '/^## / && ++versions == 2 { exit } /^\*\*/ { is_entry = /^\*\*(Changed|Removed)/ } is_entry' CHANGELOG.md)
    while IFS=$'\t' read -r name line; do
        if ! grep -qw -- "$name" <<<"$entries"; then
            fail "\`$name\` is not in CHANGELOG.md below **Changed** or **Removed**; since $base this went or changed: $line"
        fi
    done <"$scratch/gone.txt"
fi

# The columns. A name in `seeded` is a variant of `Verb`, or `Enum::Variant` of another enum beside it.
awk '
    /^pub\(crate\) enum / { of = $3; next }
    /^}/ { of = "" }
    of != "" && match($0, /^    [A-Z][A-Za-z]*/) { print (of == "Verb" ? "" : of "::") substr($0, 5, RLENGTH - 4) }
' tests/seeded/src/verb.rs tests/seeded/src/program.rs >"$scratch/operations.txt"
if ! grep -q -v : "$scratch/operations.txt"; then
    fail "tests/seeded/src/verb.rs has no \`enum Verb\` with a line for each variant"
fi
awk -v operations="$scratch/operations.txt" '
    function fail(text) { print "ci/verbs.sh: " text }
    function names(item, of,    at) {
        at = index(item, of)
        return at && substr(item, at + length(of)) !~ /^[A-Za-z0-9_]/
    }
    BEGIN {
        while ((getline name < operations) > 0) named[name] = 0
        FS = "  +"
    }
    # docs/verbs.txt
    NR == FNR {
        if (/^(#|$)/) next
        place = FILENAME ":" FNR ": " $1
        if ($1 != "-" && $1 in lines) fail(place " stands there twice")
        lines[$1] = place
        if ($2 !~ /^(-|thread|task|both)$/) fail(place ": `waits` is `" $2 "`, not `-`, `thread`, `task` or `both`")
        if ($3 !~ /^(-|io)$/) fail(place ": `io` is `" $3 "`, not `-` or `io`")
        seeded = $4
        sub(/:($| .*)/, "", seeded)
        if (seeded == "") fail(place ": the column `seeded` is missing")
        else if (seeded == "-" && $4 !~ /^-: ./) fail(place ": no seeded program calls it, and the reason is missing (`-: reason`)")
        else if (seeded != "-") {
            count = split(seeded, several, ", ")
            for (i = 1; i <= count; i++) {
                if (!(several[i] in named)) fail(place ": the seeded programs have no `" several[i] "`")
                else named[several[i]]++
            }
        }
        next
    }
    # docs/api.txt
    /^# [a-z_]+$/ { crate = substr($0, 3); items[crate]; next }
    /^pub use / { split($0, words, " "); if (words[5] ~ /^brigade::/) offered[words[3]] }
    match($0, /(fn|macro) .*::[a-z_0-9#\[\]!]+([(<]|$)/) {
        item = substr($0, RSTART)
        sub(/^(fn|macro) /, "", item)
        match(item, /::[a-z_0-9#\[\]!]+([(<]|$)/)
        item = substr(item, 1, RSTART + RLENGTH - 1)
        sub(/[(<]$/, "", item)
        items[item] = crate
    }
    END {
        for (item in items) {
            crate = items[item]
            if (item in lines || crate == "") continue
            needs = crate ~ /^brigade(_io)?$/ || !(crate in lines)
            for (of in offered) if (names(item, of)) needs = 1
            if (needs) fail("docs/verbs.txt has no line for " item)
        }
        for (item in lines) if (item != "-" && !(item in items)) fail(lines[item] " is not in docs/api.txt")
        for (name in named) if (name !~ /:/ && !named[name]) fail("docs/verbs.txt has no line with the operation `" name "` of the seeded programs")
    }
' docs/verbs.txt "$scratch/api.txt" | sort >"$scratch/wrong.txt"
if [[ -s $scratch/wrong.txt ]]; then
    cat "$scratch/wrong.txt" >&2
    failed=1
fi
exit "$failed"
