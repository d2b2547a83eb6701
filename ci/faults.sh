#!/usr/bin/env bash
# Renders docs/faults.md from docs/faults.txt; with --check it only checks that this has been done, and that each named test
# exists.
set -euo pipefail
cd "$(dirname "$0")/.."

render() {
    cat <<'INTRO'
# Faults, and the tests that inject them

Faults of thread pools, taken from the public bugs of many of them, and the tests that inject them here.
`ci/faults.sh` renders this page from `faults.txt`.

The numbers are those of the list that the project began with; `-` was not in it. Those that are missing belong to the
[queues](../crates/queue/README.md) (1 to 17, 24), which have their own tests, and to reads and writes that the kernel does
asynchronously (95 to 102), which the driver does not use. The last ones (121 to 140) are those of the command line of the
[laboratory](../lab/README.md).

Tests are written as file::name, below `crates/*/tests`, `crates/*/src` or `lab/tests`. Those of input and output run with
files that are reported by level and by edge. The soak, `ci/soak.sh`, puts most of these faults into the same pool.
INTRO
    awk '
        function row(text) {
            text = "| " text " |"
            if (length(text) > 200) fail("over 200 characters: " text)
            print text
        }
        function fail(why) { print "docs/faults.txt:" FNR ": " why > "/dev/stderr"; exit 1 }
        /^#/ || /^$/ { next }
        /^\[.*\]$/ { printf "\n## %s\n\n| # | what is injected, and the tests |\n|---|---|\n", substr($0, 2, length($0) - 2); next }
        /^    [a-z0-9_\/]+\.rs::[a-z0-9_]+$/ || /^    ci\/[a-z-]+\.sh$/ { row("| `" $1 "`"); next }
        /^    (\(|none: )/ { sub(/^ +/, ""); row("| " $0); next }
        /^([0-9]+|-) ./ { number = $1; sub(/^[^ ]+ /, ""); row(number " | **" $0 "**"); next }
        { fail("neither a section nor a fault, a test or a note: " $0) }
    ' docs/faults.txt
}

rendered="$(mktemp)"
trap 'rm -f "$rendered"' EXIT
render > "$rendered"
if [[ "${1:-}" != --check ]]; then
    cp "$rendered" docs/faults.md
    exit
fi

if ! cmp -s "$rendered" docs/faults.md; then
    echo "docs/faults.md is not what ci/faults.sh renders from docs/faults.txt: run it" >&2
    exit 1
fi
missing=0
while IFS= read -r named; do
    file="${named%%::*}" test="${named##*::}"
    if ! find crates lab tests -path "*/$file" -exec grep -qE "fn $test\(" {} \; -print | grep -q .; then
        echo "docs/faults.txt names $named, which is not there" >&2
        missing=1
    fi
done < <(grep -oE '^    [a-z0-9_/]+\.rs::[a-z0-9_]+' docs/faults.txt | tr -d ' ' | sort -u)
for script in $(grep -oE '^    ci/[a-z-]+\.sh$' docs/faults.txt | sort -u); do
    if [[ ! -x "$script" ]]; then
        echo "docs/faults.txt names $script, which is not there" >&2
        missing=1
    fi
done
exit "$missing"
