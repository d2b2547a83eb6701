#!/usr/bin/env bash
# After a change of a protocol: runs the tests of the library with random delays between the steps of threads, then soaks the pools the same way:
# `ci/delays.sh [seconds]`. The soak gets the rest of this many seconds, by default 1800, and at least 30.
#
# BRIGADE_DELAY_SEED repeats the delays of a run, whose seed is on stderr, though not what the scheduler does between them.
# BRIGADE_DELAY_ONE_IN and BRIGADE_DELAY_MAX_MICROS set how often and how long; crates/instrument/src/delays.rs has the defaults.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds="${1:-1800}"
if [[ ! "$seconds" =~ ^[1-9][0-9]*$ ]]; then
    echo "usage: ci/delays.sh [seconds], a number of at least 1, not '$seconds'" >&2
    exit 2
fi

# Their own folder: everything is compiled with the flag.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/delays"
export RUSTFLAGS='--cfg brigade_delays'

# Tests that delays make meaningless, each group with its reason. No other test is left out.
without=(
    # They count system calls, and a delay is one.
    a_burst_is_one_call_per_sleeping_group
    a_receiver_makes_a_system_call_only_to_sleep
    a_pipe_hop_is_three_system_calls
    a_socket_hop_is_three_or_four_system_calls
    a_unix_socket_hop_is_four_system_calls
    large_reads_do_not_wait_for_each_other
    ready_and_unawaited_sources_cost_nothing
    # They count allocations or memory. The first one's counts depend on which thread parks, the second queues two million
    # jobs, which takes minutes.
    submit_and_join_allocate_once_or_twice
    a_backlog_costs_40_bytes_a_job_once
    # They judge wall-clock time.
    a_timer_beside_a_long_job_is_on_time
)
skips=()
for name in "${without[@]}"; do
    if ! grep -rqE "fn $name\(" crates; then
        echo "ci/delays.sh leaves out $name, which is no test" >&2
        exit 2
    fi
    skips+=(--skip "$name")
done

failed=0
run() { cargo test --locked --no-fail-fast "$@" || failed=1; }
pools=(-p brigade --features brigade/futures,brigade/hyper,brigade/io)

run -p brigade-sync -p brigade-task -p brigade-burst -p brigade-io "${pools[@]}" --lib --tests -- "${skips[@]}"
# Without a harness: its arguments are the claims to check.
run -p brigade-io --test fork
run "${pools[@]}" --test fork
run -p brigade-queue --test it --test stress --test allocations
# On one thread, where delays show nothing and would take minutes.
BRIGADE_DELAY_ONE_IN=1000 run -p brigade-queue --lib

left=$((seconds - SECONDS))
((left >= 30)) || left=30
BRIGADE_SOAK_SECONDS="$left" run "${pools[@]}" --test soak -- --include-ignored --nocapture
exit "$failed"
