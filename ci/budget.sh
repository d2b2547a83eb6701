#!/usr/bin/env bash
# Before each commit: measures the size of the house against ci/budget.txt: no number may rise. With `--write`, lowers the numbers that have fallen. Types of one name
# count as the largest of them.
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
        fields)
            sources crates/brigade/src | code | awk -v start="^(pub(\\([^)]*\\))? )?struct $2( |<)" '
                $0 ~ start { inside = 1; fields = 0; next }
                inside && /^    (pub(\([^)]*\))? )?[a-z_]+: / && ++fields > most { most = fields }
                /^}/ { inside = 0 }
                END { print most + 0 }' ;;
        methods)
            sources crates/brigade/src | code | awk -v start="^(unsafe )?impl(<.*>)? (.* for )?&?$2( |<)" '
                $0 ~ start { inside = 1; next }
                inside && /^    ([a-z][a-z():_ ]* )?fn / { methods++ }
                /^}/ { inside = 0 }
                END { print methods + 0 }' ;;
        constants)
            count crates/brigade/src/engine '^ *(pub(\([^)]*\))? )?const [A-Z_]+: [^=]*(Duration|[ui][0-9]+|usize|f[0-9]+|\[)[^=]* = [^<]*[0-9][^<]*$' ;;
        words)
            # A link is its target a second time.
            git ls-files -z '*.md' | while IFS= read -r -d '' page; do [[ -L $page ]] || cat "$page"; done | wc -w ;;
        *) echo "ci/budget.txt: no measure is named \`$1\`" >&2 && return 1 ;;
    esac
}

failed=0
table=$(mktemp)
trap 'rm -f "$table"' EXIT
while IFS= read -r line; do
    read -r what of most reason <<<"$line"
    if [[ -n $line && $what != '#' ]]; then
        now=$(measure "$what" "$of")
        if ((now > most)); then
            echo "$what of $of: $now, at most $most. Take something out, or name in ci/budget.txt what a user gets for the rise." >&2
            failed=1
        elif ((now < most)); then
            [[ ${1:-} == --write ]] || echo "$what of $of: $now, below $most; \`ci/budget.sh --write\` lowers it"
            line="$what $of $now${reason:+ $reason}"
        fi
    fi
    printf '%s\n' "$line" >>"$table"
done <ci/budget.txt
if [[ ${1:-} == --write ]]; then
    cp "$table" ci/budget.txt
fi
exit "$failed"
