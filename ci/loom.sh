#!/usr/bin/env bash
# Explores the loom models: those of `sync`, `queue`, `burst` and `task` beside their sources, those of the driver
# and of the wake rule inside `io` and `brigade`, as they need private items.
#
# Each model names its own bound of preemptions; LOOM_MAX_PREEMPTIONS overrides all of them. BRIGADE_LOOM_SHORT takes one
# from each, which takes a fraction of the time: use it after every change, but explore the full bounds after a change of
# a protocol. Arguments are passed on to the test binaries: `ci/loom.sh submitter` explores the models with that in their
# name.
set -euo pipefail
cd "$(dirname "$0")/.."

# Their own folder: everything is compiled with the flag.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom"
export RUSTFLAGS='--cfg brigade_loom -D warnings'
# What the laboratory needs for its figures would take longer to compile here than it saves.
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=false

# The other crates' dev-dependencies enable this feature.
cargo test --release --locked -p brigade-sync --features loom --test loom_parker --test loom_parker_group -- "$@"
cargo test --release --locked -p brigade-queue --test loom_ring --test loom_transfer --test loom_injector --test loom_deque -- "$@"
cargo test --release --locked -p brigade-burst --test loom_burst -- "$@"
cargo test --release --locked -p brigade-task --lib --test loom_task --test loom_completions --test loom_future -- "$@"
cargo test --release --locked -p brigade-io --lib -- loom_tests "$@"
cargo test --release --locked -p brigade --lib -- loom_tests "$@"
