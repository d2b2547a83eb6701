#!/usr/bin/env bash
# After a change of the engine or of a queue: soaks the pools for this many seconds, by default 60: `ci/soak.sh [seconds]`. Pools of every kind live and end under
# mixed work; every job must be accounted for, and no thread, file or memory be left. Then, for as long again, threads wait until
# pools are idle while others submit: nothing that was accepted before may be queued or running when a wait returns. Then, as long
# again, random trees of forks and scopes run: everything in a tree has ended when its root returns. Then, as long again, two threads
# submit the first jobs of one new pool after the other: both jobs run at once.
#
# At the end ten million items pass among eight threads through rings of both orders, then fewer, with all threads on one processor, where
# a waiting thread must yield to the other; `ci/soak.sh rings` does that alone.
#
# BRIGADE_SEED repeats the plans of a run, as far as threads can be repeated. Linux only.
set -euo pipefail
cd "$(dirname "$0")/.."

rings() {
    test=(cargo test --release --locked -p brigade-queue --test stress)
    BRIGADE_STRESS_ITEMS=10000000 "${test[@]}" -- --nocapture

    if ! command -v taskset >/dev/null; then
        echo 'skipped: the run on one processor needs taskset (util-linux)'
        return
    fi
    # With an operating system's yield, and without `std`, where a wait only pauses.
    for features in --features=std --no-default-features; do
        "${test[@]}" "$features" --no-run
        BRIGADE_STRESS_ITEMS=2000000 taskset -c 0 "${test[@]}" "$features" -- --nocapture
    done
}
if [[ ${1-} == rings ]]; then
    rings
    exit
fi

seconds="${1:-60}"
if [[ ! "$seconds" =~ ^[1-9][0-9]*$ ]]; then
    echo "usage: ci/soak.sh [seconds | rings], a number of at least 1, not '$seconds'" >&2
    exit 2
fi
export BRIGADE_SOAK_SECONDS="$seconds"
cargo test --locked -p brigade --test soak -- --include-ignored --nocapture
for name in \
    what_was_accepted_before_has_ended_when_a_wait_does_with_all_its_descendants \
    whatever_trees_are_run_all_of_them_have_ended_when_their_root_returns \
    two_first_jobs_of_two_threads_run_at_once; do
    if ! grep -rq "fn $name(" crates/brigade/tests; then
        echo "ci/soak.sh names $name, which is no test" >&2
        exit 2
    fi
    cargo test --locked -p brigade --test it -- --nocapture "$name"
done
rings
