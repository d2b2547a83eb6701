#!/usr/bin/env bash
# Measures what the chart in docs/charts shows, and draws it. By hand, on a machine that does nothing else; some two minutes.
# With `--draw` it draws it again from the results that are there.
set -euo pipefail
cd "$(dirname "$0")/.."

charts=docs/charts
mkdir -p "$charts"
case "${1-}" in
    '') measure=1 ;;
    --draw) measure= ;;
    *) echo "usage: ci/charts.sh [--draw]" >&2; exit 2 ;;
esac

lab() { cargo run --release --locked --quiet -p brigade-lab -- "$@"; }

if [ "$measure" ]; then
    lab throughput --threads 2 --rounds 5 --target brigade,executors-stealing,rayon,tokio,rusty_pool,threadpool \
        --json "$charts/throughput.json" --force
fi
lab chart "$charts/throughput.json" --workload throughput --metric rate --title "Tasks per second of a fully loaded pool" \
    --svg "$charts/throughput.svg" --force
