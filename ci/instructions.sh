#!/usr/bin/env bash
# By hand, after a change of a hot path: counts the instructions of each operation in tests/instructions on a pool of one thread, and the bytes of
# stack that a level of each recursion takes, and fails if one differs from docs/instructions.txt by more than its tolerance. A minute, and two for
# the builds; other programs do not change the counts.
#   ci/instructions.sh [OPERATION...]     compares all operations, or these
#   ci/instructions.sh --write            writes the table; a commit that changes a hot path shows the difference
#   ci/instructions.sh --where OPERATION  the functions that have most of an operation's instructions
set -euo pipefail
cd "$(dirname "$0")/.."
table=docs/instructions.txt

usage() {
    [[ -z ${1-} ]] || printf '%s\n' "$1" >&2
    sed -n 's/^#   //p' "$0" >&2
    exit 2
}
mode=compare
case "${1-}" in
    --write) mode='write' && shift ;;
    --where) mode='where' && shift ;;
    -*) usage ;;
esac
[[ $mode != write ]] || (($# == 0)) || usage
[[ $mode != where ]] || (($# == 1)) || usage
for tool in valgrind taskset; do
    command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed" && exit 0; }
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS
cargo build --profile instructions --locked --quiet -p brigade-instructions
program=${CARGO_TARGET_DIR:-target}/instructions/brigade-instructions
"$program" >"$folder/operations"
# As a user builds: with one unit, the frames are others.
cargo build --release --locked --quiet -p brigade-instructions
"${CARGO_TARGET_DIR:-target}/release/brigade-instructions" levels >"$folder/levels"
wanted=("$@")
(($#)) || mapfile -t wanted < <(cut -d ' ' -f 1 "$folder/operations")
for name in "${wanted[@]}"; do
    grep -q "^$name " "$folder/operations" || usage "no operation is named \`$name\`; there are: $(cut -d ' ' -f 1 "$folder/operations" | xargs)"
done

# Prints the instructions of a run. One CPU, as the engine moves threads between several. The environment lies on the stack, whose
# alignment changes copies.
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
count() {
    env -i PATH="$PATH" taskset -c "$cpu" valgrind --tool=callgrind --callgrind-out-file="$folder/callgrind" --log-file="$folder/log" \
        --toggle-collect='*until_the_worker_sleeps*' --collect-atstart=yes "$program" "$@" ||
        { cat "$folder/log" >&2 && return 1; }
    sed -n 's/.*Collected *: *//p' "$folder/log"
}

if [[ $mode == where ]]; then
    count "$1" "$(sed -n "s/^$1 //p" "$folder/operations")" >/dev/null
    callgrind_annotate --auto=no "$folder/callgrind"
    exit
fi

# Prints the lesser of two counts: now and then a thread waits for longer, which adds some.
least() { { count "$@" && count "$@"; } | sort -n | head -n 1; }

# The slope between once and twice as many, so that the start does not count.
for name in "${wanted[@]}"; do
    times=$(sed -n "s/^$name //p" "$folder/operations")
    once=$(least "$name" "$times")
    twice=$(least "$name" $((2 * times)))
    awk -v name="$name" -v sum=$((twice - once)) -v times="$times" 'BEGIN { printf "%s %.1f instructions\n", name, sum / times }'
done >"$folder/now"
cat "$folder/levels" >>"$folder/now"

made="$(rustc --version), $(valgrind --version), $(getconf GNU_LIBC_VERSION 2>/dev/null || uname -s), $(uname -m)"
if [[ $mode == write ]]; then
    awk -v made="$made" '
        NR == FNR { now[$1] = $2; unit[$1] = $3; order[++operations] = $1; next }
        /^# made with / { print "# made with " made; next }
        /^#/ { print; next }
        { tolerance[$1] = $4 }
        END { for (i = 1; i <= operations; i++) { name = order[i]; print name, now[name], unit[name], name in tolerance ? tolerance[name] : 0.5 } }
    ' "$folder/now" "$table" >"$folder/table"
    cp "$folder/table" "$table"
    git diff --unified=0 -- "$table" | grep '^[-+][^-+]' || echo "no difference to the last commit"
    exit
fi

same=1
if ! grep -qFx "# made with $made" "$table"; then
    echo "$table was $(sed -n 's/^# //p' "$table" | grep '^made with'), and this is $made: counts differ, and none fails"
    same=0
fi
awk -v same="$same" -v operations="$(cut -d ' ' -f 1 "$folder/operations" "$folder/levels" | xargs)" -v table="$table" '
    BEGIN { split(operations, list, " "); for (i in list) known[list[i]]; printf "%-18s%10s%10s%9s\n", "operation", "table", "now", "%" }
    NR == FNR {
        if (!/^#/) { old[$1] = $2; tolerance[$1] = $4 }
        next
    }
    !($1 in old) { printf "%-18s%10s%10.1f           no line in %s\n", $1, "-", $2, table; failed = 1; next }
    {
        percent = ($2 / old[$1] - 1) * 100
        over = percent > tolerance[$1] || percent < -tolerance[$1]
        printf "%-18s%10.1f%10.1f%+9.2f%s\n", $1, old[$1], $2, percent, over ? "  beyond " tolerance[$1] " %" : ""
        if (over && same) failed = 1
    }
    END {
        for (name in old) if (!(name in known)) { printf "%s of %s is no operation\n", name, table; failed = 1 }
        if (failed) print "A wanted change of a hot path takes the table with it: ci/instructions.sh --write"
        exit failed
    }
' "$table" "$folder/now"
