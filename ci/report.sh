#!/usr/bin/env bash
# After a change of the report: opens the report of a result file in a browser without a window, on a wide screen and on a phone's, light and dark: no error, no
# request, no sideways scrolling, marks in every plot, and what assistive software reads. Screenshots go to target/report.
#   ci/report.sh [RESULTS]       without a file, a short run is measured first
# It needs chromium (Debian's, or what CHROMIUM names) and Node.js, and installs playwright-core below target/. Without these it checks
# nothing: it says so, and fails where CI is set.
set -euo pipefail
cd "$(dirname "$0")/.."

out="$PWD/target/report"
mkdir -p "$out"
for tool in node npm "${CHROMIUM:=chromium}"; do
    command -v "$tool" > /dev/null && continue
    echo "NOT CHECKED: no page was opened, as $tool is not installed (Debian: apt-get install chromium nodejs npm)" >&2
    if [ "${CI-}" ]; then exit 1; else exit 0; fi
done
export CHROMIUM="$(command -v "$CHROMIUM")"

lab() { cargo run --locked --quiet -p brigade-lab -- "$@"; }

results="${1-}"
if [ ! "$results" ]; then
    results="$out/results.json"
    lab burst --gap-ms 1 --bursts 10 --json "$results" --force --quiet
    lab throughput --threads 1,2,4 --messages 3000 --json "$out/sweep.json" --html "$out/sweep.html" --force --quiet
fi
lab report "$results" --html "$out/report.html" --force

[ -d "$out/node_modules/playwright-core" ] || npm install --prefix "$out" --silent --no-audit --no-fund playwright-core@1
cp ci/report.mjs "$out/report.mjs"
node "$out/report.mjs" "$out"
