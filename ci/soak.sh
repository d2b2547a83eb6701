#!/usr/bin/env bash
# After a change of the engine or of a queue: soaks the pools for this many seconds, by default 60: `ci/soak.sh [seconds]`. Pools of every kind live and end under
# mixed work; every job must be accounted for, and no thread, file or memory be left. Then, for as long again, threads wait until
# pools are idle while others submit: nothing that was accepted before may be queued or running when a wait returns. Then, as long
# again, random trees of forks and scopes run: everything in a tree has ended when its root returns. Then, as long again, two threads
# submit the first jobs of one new pool after the other: both jobs run at once. Then, as long again, the random programs of ci/seeded.sh run
# on threads of the system, in debug and release builds; in half of their processes, signals hold threads up at random places.
#
# `ci/soak.sh programs [SECONDS] [SEED]` does that alone, from this first seed on; random by default. A program that panics, or takes 10 s, is
# printed with its pools, and the first one is cut down for BRIGADE_SHRINK_SECONDS, by default 60. `ci/soak.sh programs 0xSEED[:CHOICES]` runs
# a program 400 times.
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

# The seed chooses the program; the system chooses the steps of its threads.
programs() {
    local seed="${2:-$((RANDOM << 45 ^ RANDOM << 30 ^ RANDOM << 15 ^ RANDOM))}" profile program failed=0
    for profile in dev release; do
        cargo build --locked --profile "$profile" -p brigade-seeded
        program="${CARGO_TARGET_DIR:-target}/${profile/dev/debug}/brigade-seeded"
        case "$1" in
            0x*) "$program" try "$1" 400 && echo "400 times in the profile $profile: no failure" || failed=1 ;;
            *) "$program" soak "$((($1 + 1) / 2))" "$seed" '' || failed=1 ;;
        esac
    done
    return "$failed"
}
case "${1-}" in
    rings)
        rings
        exit
        ;;
    programs)
        if [[ ! "${2:-60}" =~ ^([1-9][0-9]*|0x[0-9a-f]+(:[0-9a-f]*)?)$ ]]; then
            echo 'usage: ci/soak.sh programs [SECONDS [SEED] | 0xSEED[:CHOICES]]' >&2
            exit 2
        fi
        programs "${2:-60}" "${3-}"
        exit
        ;;
esac

seconds="${1:-60}"
if [[ ! "$seconds" =~ ^[1-9][0-9]*$ ]]; then
    echo "usage: ci/soak.sh [seconds | rings | programs], a number of at least 1, not '$seconds'" >&2
    exit 2
fi
export BRIGADE_SOAK_SECONDS="$seconds"
cargo test --locked -p brigade --test soak -- --include-ignored --nocapture
for name in \
    a_wait_covers_earlier_jobs_and_descendants \
    random_trees_end_before_their_root_returns \
    first_jobs_of_two_threads_run_at_once; do
    if ! grep -rq "fn $name(" crates/brigade/tests; then
        echo "ci/soak.sh names $name, which is no test" >&2
        exit 2
    fi
    cargo test --locked -p brigade --test it -- --nocapture "$name"
done
programs "$seconds" "${BRIGADE_SEED-}"
rings
