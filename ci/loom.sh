#!/usr/bin/env bash
# After a change of an atomic or of a protocol: explores the loom models: those of `sync`, `queue`, `burst` and `task` beside their sources, those of the driver
# and of the wake rule inside `io` and `brigade`, as they need private items. Models are for what the order of memory accesses
# decides; `ci/seeded.sh` runs whole programs on the real engine.
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

# All of them each time: what is compiled depends on which packages are asked for.
packages=(-p brigade-sync -p brigade-queue -p brigade-burst -p brigade-task -p brigade-io -p brigade)
models=()
for model in parker parker_group ring transfer injector deque burst task completions future; do
    models+=(--test "loom_$model")
done
cargo test --release --locked "${packages[@]}" --lib -- "${@:-loom_tests}"
cargo test --release --locked "${packages[@]}" "${models[@]}" -- "$@"
