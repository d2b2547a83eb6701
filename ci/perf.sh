#!/usr/bin/env bash
# After a change of the hot path: builds the commit before it (or the one that is named) and what is here, lets both run a few quick workloads by
# turns, and fails if anything has become slower by more than a bound beyond the noise. On a machine that does nothing else; some
# two minutes, and twice as long as a build of the laboratory.
#
#     ci/perf.sh [COMMIT [PERCENT]]
set -euo pipefail
cd "$(dirname "$0")/.."

base=$(git rev-parse --verify "${1-HEAD^}^{commit}")
bound=${2-10%}
turns=6
workloads=(
    "throughput --messages 200000"
    "throughput --messages 200 --amplification 2000"
    "wake --shots 100"
    "fan-out --shots 60"
    "fork-join --program fib --size 22"
    "latency --sleep-ms 5 --bursts 40"
)

files=$(mktemp -d)
leave() {
    git worktree remove --force "$files/tree" 2>/dev/null || true
    rm -rf "$files"
}
trap leave EXIT

# Both with the same target folder, so that the dependencies are built once.
target=$PWD/target/perf
build() {
    (cd "$1" && CARGO_TARGET_DIR=$target cargo build --release --locked --quiet -p brigade-lab --bin brigade-lab)
    cp "$target/release/brigade-lab" "$files/$2"
}
git worktree add --quiet --detach "$files/tree" "$base"
build "$files/tree" old
build . new

pairs=()
for ((turn = 1; turn <= turns; turn++)); do
    # The first of two has the colder machine: they change places.
    if ((turn % 2)); then sides=(old new); else sides=(new old); fi
    for index in "${!workloads[@]}"; do
        read -ra workload <<<"${workloads[index]}"
        for side in "${sides[@]}"; do
            "$files/$side" "${workload[@]}" --target brigade --rounds 2 --quiet --json "$files/$side-$index-$turn.json"
        done
        pairs+=("$files/old-$index-$turn.json" "$files/new-$index-$turn.json")
    done
done
echo "$(git log -1 --format='%h %s' "$base"), and what is here"
"$files/new" compare "${pairs[@]}" --fail-above "$bound"
