#!/usr/bin/env bash
# Draws a trace of a pool as the picture of the guide: `docs/trace-picture.sh trace.json > crates/brigade/src/guide/trace.svg`.
#
# Without a file it makes a trace with the example `trace`. Needs Python 3.
set -euo pipefail
cd "$(dirname "$0")/.."

trace="${1:-}"
if [ -z "$trace" ]; then
    trace="$(mktemp)"
    trap 'rm -f "$trace"' EXIT
    cargo run --quiet --locked --release -p brigade --features trace --example trace -- "$trace" >&2
fi

python3 - "$trace" <<'PYTHON'
import json
import sys
from html import escape

WIDTH, LEFT, ROW, GAP, TOP = 960, 150, 26, 26, 34
KINDS = {  # What the legend says, the fill and the text.
    "job": ("a job", "#4c78a8", "#fff"),
    "search": ("searches", "#f2cf5b", "#333"),
    "parked": ("parked", "#e4e4e4", "#666"),
    "blocked": ("blocked", "#b279a2", "#fff"),
    "wake-up": ("wakes another", "#e45756", "#fff"),
    "before": ("began before", "#9ecae9", "#333"),
}

events = json.load(open(sys.argv[1]))["traceEvents"]
names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
slices = [e for e in events if e["ph"] == "X"]
end = max(e["ts"] + e["dur"] for e in slices)


def x(ts):
    return LEFT + ts / end * (WIDTH - LEFT - 10)


def depth(event):
    """How many slices this one lies in; what is drawn has one row for them."""
    inside = [
        e for e in slices
        if e is not event and e["tid"] == event["tid"] and e["cat"] == "job"
        and e["ts"] <= event["ts"] and event["ts"] + event["dur"] <= e["ts"] + e["dur"]
    ]
    return min(len(inside), 1)


tracks, height = {}, TOP
for tid in sorted(names):
    tracks[tid] = height
    height += ROW * (1 + max(depth(e) for e in slices if e["tid"] == tid)) + GAP
height += 24
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
      f'aria-label="A trace: the jobs of a pool of two threads over time" '
      f'font-family="sans-serif" font-size="11">')
print(f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>')
print('<defs><marker id="brigade-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
      'orient="auto"><path d="M0 0L8 4L0 8z" fill="#e45756"/></marker></defs>')
steps = [50, 100, 200, 250, 500] + [m * 10 ** power for power in range(3, 12) for m in (1, 2, 5)]
step = next(s for s in steps if end / s <= 10)
at = 0
while at <= end:
    print(f'<path d="M{x(at):.1f} {TOP - 8}V{height - 36}" stroke="#eee"/>'
          f'<text x="{x(at):.1f}" y="{TOP - 14}" fill="#666" text-anchor="middle">{at / 1000:g} ms</text>')
    at += step
for tid, y in tracks.items():
    title, _, thread = names[tid].partition(" (")
    print(f'<text x="8" y="{y + 17}" fill="#222" font-weight="bold">{escape(title)}</text>'
          f'<text x="8" y="{y + 32}" fill="#666">{escape(thread.rstrip(")"))}</text>')
for e in slices:
    _, fill, text = KINDS.get(e["cat"], KINDS["job"])
    left, width = x(e["ts"]), max(x(e["ts"] + e["dur"]) - x(e["ts"]), 1)
    y = tracks[e["tid"]] + ROW * depth(e)
    print(f'<rect x="{left:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 2}" fill="{fill}" stroke="#fff" '
          f'stroke-width=".5"><title>{escape(e["name"])}, {e["dur"]:.1f} µs</title></rect>')
    room = int((width - 6) / 6)
    if len(e["name"]) <= room:
        print(f'<text x="{left + 4:.1f}" y="{y + 16}" fill="{text}">{escape(e["name"])}</text>')
for e in events:
    if e["ph"] == "i" and e["cat"] == "steal":
        y = tracks[e["tid"]]
        print(f'<path d="M{x(e["ts"]):.1f} {y}l-5 -9h10z" fill="#54a24b"><title>{escape(e["name"])}</title></path>')
        print(f'<text x="{x(e["ts"]) + 8:.1f}" y="{y - 2}" fill="#3a7d32">steals {e["args"].get("jobs", 1)}</text>')
ends = {e["id"]: e for e in events if e["ph"] == "f"}
for e in events:
    if e["ph"] == "s":
        to = ends[e["id"]]
        from_y, to_y = tracks[e["tid"]], tracks[to["tid"]]
        from_y, to_y = (from_y, to_y + ROW - 2) if to_y < from_y else (from_y + ROW, to_y)
        print(f'<path d="M{x(e["ts"]):.1f} {from_y}L{x(to["ts"]):.1f} {to_y}" stroke="#e45756" fill="none" '
              f'stroke-width="1.3" marker-end="url(#brigade-arrow)"/>')
left = LEFT
for kind in ("job", "search", "parked", "blocked", "wake-up"):
    title, fill, _ = KINDS[kind]
    print(f'<rect x="{left}" y="{height - 24}" width="12" height="12" fill="{fill}"/>'
          f'<text x="{left + 17}" y="{height - 14}" fill="#333">{title}</text>')
    left += 40 + 7 * len(title)
print(f'<path d="M{left} {height - 18}h24" stroke="#e45756" stroke-width="1.3" marker-end="url(#brigade-arrow)"/>'
      f'<text x="{left + 30}" y="{height - 14}" fill="#333">wake-up</text>')
left += 92
print(f'<path d="M{left + 6} {height - 13}l-5 -9h10z" fill="#54a24b"/>'
      f'<text x="{left + 17}" y="{height - 14}" fill="#333">steal</text>')
print('</svg>')
PYTHON
