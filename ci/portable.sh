#!/usr/bin/env bash
# Runs the tests of the parkers, of the burst channel and of the engine as they are where there is no futex, on a lock and a
# condition variable; all of them and those of the queues with the 64-bit atomics of the crate `portable-atomic`, as where the
# target has none (here these are the CPU's all the same: what is shown is that nothing needs another type); and those of the I/O
# driver as it is where there is no epoll, on the crate `polling`: as that offers level and edge on Linux, by level alone as on
# Windows, and by oneshot alone as on event ports.
#
# Linux stands in for those systems: no test has run on them.
set -euo pipefail
cd "$(dirname "$0")/.."

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/portable"
export RUSTFLAGS='--cfg brigade_portable'

cargo test --locked --features brigade-sync/portable-atomic -p brigade-sync -p brigade-queue -p brigade-burst -p brigade-io -p brigade-task -p brigade --lib --tests "$@"
for trigger in level oneshot; do
    export BRIGADE_PORTABLE_TRIGGER=$trigger
    cargo test --locked -p brigade-io --features hyper --lib --tests "$@"
    cargo test --locked -p brigade --features io --test it driver "$@"
done
