#!/usr/bin/env bash
# The runner that `ci/targets.sh` gives cargo for another CPU: `ci/emulate.sh PROGRAM ARGUMENT…` runs a program by $BRIGADE_RUNNER, for $BRIGADE_LIMIT seconds
# at most.
#
# qemu keeps 250 kB of each thread that has ended, which are more than 20 GB for brigade's `it`: tests of each of its modules have a process of their own.
set -euo pipefail

read -ra emulator <<<"$BRIGADE_RUNNER"
emulate() { timeout -k 5 "${BRIGADE_LIMIT:-900}" "${emulator[@]}" "$@"; }
if [[ $1 != */it-* ]]; then
    emulate "$@"
    exit
fi
names=$(emulate "$@" --list --format terse | sed -n 's/: test$//p')
code=0
for module in $(sed 's/::.*//' <<<"$names" | sort -u); do
    mapfile -t of_module < <(grep -E "^$module(::|$)" <<<"$names")
    emulate "$1" --exact "${of_module[@]}" || code=$?
done
exit "$code"
