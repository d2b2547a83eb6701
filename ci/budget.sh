#!/usr/bin/env bash
# Before each commit: measures the size of the house against ci/budget.txt: no number may rise; lines and words may by 1 %, so that a page may be mended.
#   ci/budget.sh [--way] [--write]
# With `--way` also what `ci/way.sh` counts, which takes a build. With `--write`, lowers the numbers that have fallen.
set -euo pipefail
cd "$(dirname "$0")/.."

# Prints the lines of Rust files that are code.
code() { python3 ci/code.py; }

sources() {
    git ls-files -z --cached --others --exclude-standard -- "$1" | grep -zE '\.rs$' | grep -zvE '(^|/)(tests?|loom_tests|benches|examples|guide)(\.rs|/)'
}

# Prints how many lines of code match, in a folder.
count() {
    sources "$1" | code | grep -cE "$2" || true
}

measure() {
    case $1 in
        lines) sources "$2" | code | wc -l ;;
        path)
            # The most fields after `self`, on one line or several; a method is none.
            sources "$2" | code | tr -d '\n ' | grep -oE 'self(\.[a-z_][a-z_0-9]*)+(\(|::<)?' | sed -E 's/\.[a-z_0-9]+(\(|::<)$//' |
                awk -F . 'NF - 1 > most { most = NF - 1 } END { print most + 0 }' ;;
        names)
            # Names that more than one type of a crate bears.
            for crate in crates/*/src crates/compat/*/src; do
                sources "$crate" | code | grep -oE '^ *(pub(\([^)]*\))? )?(struct|enum|trait|union) \w+' | awk '{ print $NF }' | sort | uniq -d
            done | wc -l ;;
        functions) ci/way.sh | wc -l ;;
        files) ci/way.sh | cut -d ' ' -f 1 | sort -u | wc -l ;;
        constants)
            count crates/brigade/src/engine '^ *(pub(\([^)]*\))? )?const [A-Z_]+: [^=]*(Duration|[ui][0-9]+|usize|f[0-9]+|\[)[^=]* = [^<]*[0-9][^<]*$' ;;
        words)
            # A link is its target a second time, the guide in docs/ is the crate's, and results are tables of numbers.
            git ls-files -z '*.md' ':!docs/guide' ':!docs/results' | while IFS= read -r -d '' page; do [[ -L $page ]] || cat "$page"; done | wc -w ;;
        *) echo "ci/budget.txt: no measure is named \`$1\`" >&2 && return 1 ;;
    esac
}

# Prints the most that passes.
limit() {
    case $1 in
        lines | words) echo $(($2 + $2 / 100)) ;;
        *) echo "$2" ;;
    esac
}

way= write=
for argument; do
    case $argument in
        --way) way=1 ;;
        --write) write=1 ;;
        *) sed -n 's/^#   /usage: /p' "$0" >&2 && exit 2 ;;
    esac
done
failed=0
table=$(mktemp)
trap 'rm -f "$table"' EXIT
while IFS= read -r line; do
    read -r what of most reason <<<"$line"
    if [[ -n $line && $what != '#' && ($what != @(functions|files) || -n $way) ]]; then
        now=$(measure "$what" "$of")
        if ((now > $(limit "$what" "$most"))); then
            echo "$what of $of: $now, at most $most. Take something out, or name in ci/budget.txt what a user gets for the rise." >&2
            failed=1
        elif ((now < most)); then
            [[ -n $write ]] || echo "$what of $of: $now, below $most; \`ci/budget.sh --write\` lowers it"
            line="$what $of $now${reason:+ $reason}"
        fi
    fi
    printf '%s\n' "$line" >>"$table"
done <ci/budget.txt
if [[ -n $write ]]; then
    cp "$table" ci/budget.txt
fi
exit "$failed"
