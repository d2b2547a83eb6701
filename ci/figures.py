#!/usr/bin/env python3
"""The figures of README.md and of the guide, all from docs/results/quick.json, which `ci/lab.sh figures` measures: `ci/figures.py --write` writes
them into the pages, and without it they are compared."""
import json
import re
import sys
from pathlib import Path

FILE = json.loads(Path('docs/results/quick.json').read_text())
MACHINE, SHEETS = FILE['machine'], FILE['sheets']

# The rows of README's table: what is done, the workload, and options that tell the row from others of it.
ROWS = [
    ('empty jobs from two threads', 'throughput', {'messages': 100000}),
    ('recursion by `join`: fib 22', 'fork-join', {'program': 'fib'}),
    ('loops of some 2 µs from outside, 2,000 of them', 'fork-join', {'program': 'short'}),
    ('one job on an idle pool, until it starts', 'wake', {}),
    ('all idle threads at work', 'ramp-up', {}),
    ('a burst of short chains after a pause', 'latency', {}),
    ('create a task and wait for it', 'creation', {'kind': 'task'}),
    ('CPU time of a timer', 'timers', {'pattern': 'spread'}),
    ('64 connections of TCP echo', 'echo', {}),
]
PEERS = ['rayon', 'tokio', 'threadpool']

# Those of the guide's table of costs, and the command of each.
COSTS = [
    ('pass a byte through a pipe, 100 in a row', 'bucket-brigade', {'over': 'pipe', 'in-flight': 1}),
    ('pass a byte through a channel, 100 in a row', 'bucket-brigade', {'over': 'channel'}),
    ('create, run and join', 'creation', {}),
    ('resident memory while waiting', 'memory', {}),
    ('TCP echo, 64 connections', 'echo', {}),
]


def sheets(workload, options):
    """The rows of a workload with these options."""
    found = [s for s in SHEETS if s['workload'] == workload and options.items() <= s['params'].items()]
    if not found:
        sys.exit(f'ci/figures.py: docs/results/quick.json has no row {workload} {options}')
    return found


def medians(found):
    """The medians of the compared metric, by target, and whether each is a peer; and the metric."""
    head = found[0]['headline']
    lanes = [lane for sheet in found for lane in sheet['lanes'] if lane['failure'] is None]
    return {lane['name']: (lane['medians'][head], lane['peer']) for lane in lanes}, found[0]['metrics'][head]


def quantity(value, unit):
    """A value with three digits."""
    if unit == 's':
        value, unit = next((value * by, name) for by, name in ((1e9, 'ns'), (1e6, 'µs'), (1e3, 'ms')) if value * by < 1000)
    else:
        unit = {'B': 'B', 'tasks/s': '/s', 'requests/s': '/s'}[unit]
        by, prefix = next((by, name) for by, name in ((1e6, 'M'), (1e3, 'k'), (1, '')) if value >= by)
        value, unit = value / by, prefix + unit
    return f'{value:.{max(0, 2 - len(str(int(value))) + 1)}f} {unit}'


def ratio(own, other, metric):
    """How many times as good ours is: 2 is twice the rate, or half the time."""
    times = own / other if metric['direction'] == 'higher' else other / own
    text = f'{times:.2f}' if times < 2 else f'{times:.1f}' if times < 10 else f'{times:.0f}'
    return f'**{text}**' if times < 0.95 else text


def table(head, lines):
    return '\n'.join([head, '|---|' + '--:|' * (head.count('|') - 2), *(f'| {" | ".join(line)} |' for line in lines)])


def of_readme():
    lines = []
    for what, workload, options in ROWS:
        values, metric = medians(sheets(workload, options)[:1])
        own, _ = values['brigade']
        best = (max if metric['direction'] == 'higher' else min)((value, name) for name, (value, peer) in values.items() if peer)
        cells = [ratio(own, values[peer][0], metric) if peer in values else '–' for peer in PEERS]
        lines.append([what, quantity(own, metric['unit']), *cells, f'{ratio(own, best[0], metric)} {best[1]}'])
    return table('| | brigade | rayon | tokio | threadpool | best other |', lines)


def of_costs():
    lines = []
    for what, workload, options in COSTS:
        values, metric = medians(sheets(workload, options))
        targets = ['brigade', 'tokio', 'threads', 'floor']
        lines.append([what, *(quantity(values[name][0], metric['unit']) if name in values else '–' for name in targets)])
    return table('| | task, brigade | task, tokio | thread | system calls alone |', lines)


def best_rate():
    values, _ = medians(sheets(*ROWS[0][1:])[:1])
    return values['brigade'][0] / max(value for value, peer in values.values() if peer)


CPU = re.sub(r'\((R|TM)\)| Processor.*| CPU.*', '', MACHINE['cpu_model'])
WHERE = f'{MACHINE["cpus"]} virtual CPUs of an {CPU}, at {MACHINE["commit"][:8]}'
BUSY = FILE['noise'].get('busy')
# What a page has: an expression of the place, and the text for its group.
PLACES = {
    'README.md': [
        (r'\n(\d[\d.]*) times the throughput of the best of', f'{best_rate():.1f}'),
        (r'medians of \w+ rounds on (.*?)\s\(`ci/lab.sh figures`\)', WHERE + (f'; {BUSY}' if BUSY else '')),
        (r'(\| \| brigade \| rayon(?:.*\n)+?)\n', of_readme() + '\n'),
    ],
    'crates/brigade/src/guide/threads_or_tasks.md': [
        (r'Medians on (.*?) \(`ci/lab.sh figures`\)', WHERE),
        (r'(\| \| task, brigade(?:.*\n)+?)\n', of_costs() + '\n'),
    ],
}

failed = False
for page, places in PLACES.items():
    old = text = Path(page).read_text()
    for place, new in places:
        found = re.search(place, text, re.DOTALL if 'Medians' in place or 'medians' in place else 0)
        if not found:
            sys.exit(f'ci/figures.py: {page} has no place for {new!r}')
        text = text[:found.start(1)] + new + text[found.end(1):]
    if text != old and '--write' in sys.argv:
        Path(page).write_text(text)
    elif text != old:
        print(f'ci/figures.py: {page} differs from docs/results/quick.json; `ci/figures.py --write` writes it', file=sys.stderr)
        failed = True
# The chart, which the laboratory draws.
chart = Path('docs/charts/throughput.svg').read_text()
for name, (value, _) in medians(sheets(*ROWS[0][1:])[:1])[0].items():
    if f'\n{name}\n' in chart and f'\n{quantity(value, "tasks/s")}\n' not in chart:
        print(f'ci/figures.py: docs/charts/throughput.svg has another rate of {name}; `ci/lab.sh figures` draws it', file=sys.stderr)
        failed = True
sys.exit(failed)
