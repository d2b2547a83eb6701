#!/usr/bin/env bash
# Measures what the figures in the READMEs come from, and prints their tables. By hand, on a machine that does nothing else.
#   ci/figures.sh quick     the answer in README.md; some two minutes
#   ci/figures.sh full      docs/figures.md, and the tables of the crates; some forty minutes
# Both on the same commit, one after the other.
set -euo pipefail
cd "$(dirname "$0")/.."

# In one line: a repository keeps each of them, and it is half as long.
measure() {
    lab all "--$1" --rounds "$2" --json "docs/results/$1.json" --force
    python3 - "docs/results/$1.json" <<'PYTHON'
import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    results = json.load(file)
with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump(results, file, separators=(",", ":"), ensure_ascii=False)
    file.write("\n")
PYTHON
}

lab() { cargo run --release --locked --quiet -p brigade-lab -- "$@"; }

case "${1-}" in
    # The quick rows are short: nine rounds of them take two minutes.
    quick) measure quick 9 ;;
    full) measure full 5 ;;
    *) echo "usage: ci/figures.sh quick|full" >&2; exit 2 ;;
esac
lab report "docs/results/$1.json"
