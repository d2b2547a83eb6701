#!/usr/bin/env bash
# By hand, after a change of the way of a job: prints the functions of this workspace that a debug build enters for one `execute` from outside, up to the
# system call that wakes the pool's sleeping thread, each after its file. A closure counts as its function; a function that is always inlined
# is not entered. `ci/budget.sh --way` compares how many there are, and in how many files, with ci/budget.txt. Two seconds, and some for the build.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v valgrind >/dev/null || { echo 'ci/way.sh needs valgrind' >&2 && exit 1; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Lines name the files.
CARGO_PROFILE_DEV_DEBUG=line-tables-only cargo build --locked --quiet -p brigade-instructions
valgrind --tool=callgrind --callgrind-out-file="$folder/part" --log-file="$folder/log" --collect-atstart=no --toggle-collect=brigade_instructions::execute \
    --zero-before=brigade_instructions::execute --dump-before=syscall "${CARGO_TARGET_DIR:-target}/debug/brigade-instructions" wake-worker 2 ||
    { cat "$folder/log" >&2 && exit 1; }
# There is a part for each system call. The two largest end where a job wakes: little is left to do after that. The lesser is the second job's: the first has
# chosen an injector.
part=$(grep '^totals: ' "$folder"/part.* | sort -n -k 2 | tail -n 2 | head -n 1)
callgrind_annotate --auto=no --threshold=100 "${part%%:*}" |
    sed -nE 's#^ *[0-9].* (/[^ ]*/)?(crates/[^:]*\.rs):(.*) \[.*#\2 \3#p' |
    sed -E "s/'[0-9]+\$//; s/(::\{\{[a-z]+\}\})+\$//" | sort -u
