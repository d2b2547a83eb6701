#!/usr/bin/env python3
"""The tables of five crates, measured here: `ci/lab.sh seeds [TABLE...]` measures them (all, or some), and writes docs/results/seeds.json and from it
docs/results/seeds.md. `ci/seeds.py --check` compares the two, `--rows` prints the commands.

A table is measured on its own, so it can be repeated; the file has the date, the commit and the seconds of each."""
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path

DATA, PAGE = Path('docs/results/seeds.json'), Path('docs/results/seeds.md')
LAB = Path(os.environ.get('CARGO_TARGET_DIR', 'target'), 'release', 'brigade-lab').absolute()

# Columns of executors' tables, with its abbreviations; and ours.
EXECUTORS = {
    'TP': 'executors-threadpool',
    'CBCP': 'executors-channel',
    'CBWP': 'executors-stealing',
    'no-park': 'executors-no-park',
    'no timed fairness': 'executors-counted',
    'brigade': 'brigade',
    'brigade-spin': 'brigade-spin',
    'drop-in': 'brigade-executors-ws',
}
# The figures of its README, in millions a second, by threads.
LOW = ['2.4 3.1 3.4 3.5 3.5', '1.2 2.8 3.3 3.4 3.4', '1.5 3.1 4.0 4.0 4.0', '1.2 3.6 4.4 4.3 4.3', '1.3 3.6 4.2 4.2 4.2', '1.2 3.7 4.2 4.2 4.1',
       '1.1 3.7 3.7 4.1 3.3', '1.1 3.4 2.4 4.0 1.8', '1.1 3.4 1.5 3.6 1.6']
HIGH = ['6.8 9.4 10.9 10.9 10.9', '2.9 5.6 7.4 6.8 7.4', '3.3 6.7 9.0 8.3 8.5', '2.9 7.4 10.0 10.6 10.3', '2.8 8.0 11.1 12.4 12.0',
        '2.6 8.8 11.8 12.3 12.6', '2.5 9.0 12.8 12.7 12.5', '2.5 8.8 14.1 12.9 13.2', '2.4 8.9 13.4 12.7 12.7']


# With `--rows` nothing is run.
rows_only = sys.argv[1:] == ['--rows']


class Refused(Exception):
    """Why there is no number."""


def lab(line, targets, program=(), command=()):
    """Runs a row of the laboratory; the medians of each target by metric, its values of each round, what the first counted run spent, and what a
    command printed."""
    if rows_only:
        print(line, '--target', ','.join(targets))
        raise Refused('not run')
    with tempfile.NamedTemporaryFile(suffix='.json') as file:
        arguments = [*program, LAB, *line.split(), '--target', ','.join(targets), '--json', file.name, '--force', '--quiet', *command]
        done = subprocess.run(arguments, capture_output=True, text=True)
        said = re.sub(r'\x1b\[[0-9;]*m', '', done.stderr).strip()
        try:
            sheets = json.load(open(file.name))['sheets']
        except ValueError:
            why = next((line for line in said.splitlines() if line.startswith('brigade-lab: ')), f'exit code {done.returncode}')
            raise Refused(why.replace(f'{LAB.parent}/', '')) from None
    found = []
    for sheet in sheets:
        names = [metric['name'] for metric in sheet['metrics']]
        lanes = {lane['name']: lane for lane in sheet['lanes']}
        found.append((sheet['params'], {
            name: {'failure': lane['failure']} if lane['failure'] else {
                **dict(zip(names, lane['medians'])), 'spent': lane['spent'][0], 'rounds': dict(zip(names, lane['values']))}
            for name, lane in lanes.items()
        }))
    return found, done.stdout + said


def one(line, target, **more):
    (_, lanes), *_ = lab(line, [target], **more)[0]
    if lanes[target].get('failure'):
        raise Refused(lanes[target]['failure'])
    return lanes[target]


def cell(get):
    """What a function returns, or why it can't."""
    try:
        return get()
    except Refused as why:
        return str(why)


def spread(of, metric, scale, digits=0):
    """The least and the greatest value of all rounds."""
    ends = [f'{value * scale:.{digits}f}' for value in (min(of['rounds'][metric]), max(of['rounds'][metric]))]
    return '–'.join(dict.fromkeys(ends))


def throughput(messages, amplification, theirs):
    """Without `--pre` and `--post`: the work there is a sum that the compiler has a formula for. A task that no other spawns is not counted there."""
    def measure():
        rows = []
        for threads in range(1, 10):
            line = f'throughput --threads {threads} --producers 2 --messages {messages} --amplification {amplification} --rounds 2'
            counted = 1e-6 * amplification / (1 + amplification)
            own = [cell(lambda: spread(one(line, target), 'rate', counted, 1)) for target in EXECUTORS.values()]
            rows.append([str(threads), *with_theirs(own, theirs[threads - 1].split())])
        return ['threads', *EXECUTORS], rows
    return measure


def with_theirs(own, theirs):
    return [f'{mine} ({their})' for mine, their in zip(own, theirs)] + own[len(theirs):]


def latency():
    names = {name: target for name, target in EXECUTORS.items() if name != 'no timed fairness'}
    theirs = {1: ['0.539 ± 0.321', '0.442 ± 0.225', '0.372 ± 0.218', '0.072 ± 0.182'],
              100: ['9.062 ± 3.485', '4.215 ± 2.784', '3.941 ± 2.241', '0.343 ± 3.205'],
              10000: ['381.0 ± 3.2', '124.7 ± 2.3', '79.53 ± 41.63', '51.87 ± 43.89']}

    def get(amplification, target):
        # Until the relative standard error of the mean is below ten per cent, as there.
        of = one(f'latency --threads 6 --messages 100 --amplification {amplification} --sleep-ms 100 --bursts 20 --rse 10 --rounds 1', target)
        return f'{of["mean"] * 1e3:.3g} ± {of["bound"] * 1e3:.3g}'

    rows = [[f'100 messages, amplification {n}', *with_theirs([cell(lambda: get(n, target)) for target in names.values()], theirs[n])] for n in theirs]
    return ['burst', *names], rows


def submit():
    """As printed: milliseconds from the first submission to the last."""
    tests = {
        '1: 10,000,000 sleeping jobs': ('sleepers', 10_000_000, 1, '183.7', '354.3'),
        '2: eleven submitters of 10,000,000 each': ('contended', 10_000_000, 11, '7515', '9743'),
        '3: 10,000,000 empty jobs': ('empty', 10_000_000, 1, '2150', '677'),
    }
    names = {'rusty_pool': 'rusty_pool-elastic', 'threadpool': 'threadpool', 'brigade': 'brigade-elastic', 'drop-in': 'brigade-rusty_pool'}

    def get(pattern, messages, submitters, target):
        of = one(f'submit --pattern {pattern} --threads 10 --messages {messages} --rounds 2', target)
        return spread(of, 'submit', 1e3 * messages * submitters)

    rows = []
    for name, (pattern, messages, submitters, *theirs) in tests.items():
        rows.append([name, *with_theirs([cell(lambda: get(pattern, messages, submitters, target)) for target in names.values()], theirs)])
    return ['test', *names], rows


def burst():
    """Nanoseconds."""
    theirs = {
        (2, 3): ['3897 5144 8181 22370 31162 12146 31760', '4260 5454 7279 14389 30019 9169 8484'],
        (3, 3): ['4162 5116 8165 22000 35767 11565 14096', '3911 5454 8895 23216 61595 12102 10197'],
        (5, 3): ['3773 4786 8724 22877 34214 12091 10276', '4241 5931 12542 1064532 1086586 432018 516410'],
        (6, 6): ['5875 7344 12265 30397 47118 15984 10130', '4170 7050 14561 34644 59763 18003 12511'],
    }
    metrics = ['p1', 'p10', 'p50', 'p90', 'p99', 'mean', 'stddev']
    rows = []
    for (values, receivers), figures in theirs.items():
        for target, figures in zip(['burst-pool', 'spmc', 'brigade-burst'], [*figures, '']):
            def get():
                of = one(f'burst --messages {values} --receivers {receivers}', target)
                return [f'{of[name] * 1e9:.0f}' for name in metrics]
            got = cell(get)
            rows.append([f'{values} values, {receivers} workers', target, *(with_theirs(got, figures.split()) if isinstance(got, list) else [got] * 7)])
    return ['', 'target', *metrics], rows


def switches():
    """The mean and the standard deviation of an iteration, the resident set with all tasks in place, CPU seconds, and the system calls of a hop."""
    theirs = {(500, 'threads'): '2.76 ± 0.54 (6.1 MiB)', (500, 'tokio'): '1.8 (2.2 MiB)', (50_000, 'threads'): '(466 MiB)', (50_000, 'tokio'): '(21 MiB)'}
    # A pipe has two, and the laboratory needs some.
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    rows = []
    for wanted, iterations in ((500, 10_000), (50_000, 100), (250_000, 10)):
        tasks = min(wanted, files // 2 - 50)
        size = f'{tasks:,} × {iterations:,}' + (f', not {wanted:,}: `ulimit -n` is {files:,}' if tasks < wanted else '')
        for target in ('threads', 'tokio', 'brigade'):
            def get():
                line = f'bucket-brigade --tasks {tasks} --iterations {iterations} --warmups {max(2, min(100, iterations // 10))} --rounds 1'
                [(_, lanes)], said = lab(line, [target], command=['--command', 'grep VmRSS: /proc/{pid}/status'])
                of = lanes[target]
                if of.get('failure'):
                    raise Refused(of['failure'])
                resident = [int(kib) / 1024 for kib in re.findall(r'VmRSS:\s*(\d+)', said)]
                spent = of['spent']
                return [f'{of["mean"] * 1e3:.3g} ± {of["stddev"] * 1e3:.2g}', f'{resident[-1]:.0f}', f'{spent["user"]:.1f}', f'{spent["system"]:.1f}']
            got = cell(get)
            rows.append([size, target, *(got if isinstance(got, list) else [got, '–', '–', '–']), theirs.get((wanted, target), '–')])
    return ['tasks × iterations', 'target', 'mean ± stddev, ms', 'resident, MiB', 'user, s', 'system, s', 'there, ms'], rows


def calls():
    """What `strace -c` counts in 400 iterations of 100 tasks, a hop."""
    rows = []
    for target in ('threads', 'tokio', 'brigade'):
        def get():
            _, said = lab('bucket-brigade --tasks 100 --iterations 400 --warmups 2 --rounds 1', [target], program=['strace', '-c', '-f'])
            counted = {name: int(count) for count, name in re.findall(r'^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(?!total)([a-z]\w*)$', said, re.M)}
            # The round that warms up is counted too.
            hops = 2 * 402 * 101
            used = sorted(((count / hops, name) for name, count in counted.items() if count > hops / 20), reverse=True)
            if not used:
                raise Refused('strace counts nothing')
            return ', '.join(f'{name} {count:.2f}' for count, name in used)
        rows.append([target, cell(get)])
    return ['target', 'system calls a hop'], rows


def queues(pattern, unit, scale, theirs):
    def measure():
        extra = ' --workers 4' if pattern == 'executor' else ''
        names = ['st3-fifo', 'st3-lifo', 'tokio-fifo', 'crossbeam-fifo', 'crossbeam-lifo', 'brigade-fifo', 'brigade-lifo']
        return ['queue', f'here, {unit}', f'there, {unit}'], [
            [name, cell(lambda: spread(one(f'queue --pattern {pattern}{extra}', name), 'time', scale)), their]
            for name, their in zip(names, [*theirs, '–', '–'])
        ]
    return measure


# Each with its heading and how to measure it.
TABLES = {
    # These two take half an hour and an hour.
    'executors-low': ('executors: throughput, low amplification, millions of tasks a second, 10,000,000 messages', throughput(10_000_000, 1, LOW)),
    'executors-high': ('executors: throughput, amplification 50,000, millions of tasks a second', throughput(1000, 50_000, HIGH)),
    'executors-latency': ('executors: latency, mean ± max / min, ms', latency),
    'rusty_pool': ('rusty_pool: three tests, ms', submit),
    'burst-pool': ('burst-pool: from the sender to a worker, ns', burst),
    'context-switch': ('context-switch: a byte passes a line of tasks', switches),
    'context-switch-calls': ('context-switch: `strace -c -f`', calls),
    'st3-small': ('st3: `push_pop-small_batch`', queues('push-pop-small', 'ns', 1e9, ['841', '830', '834', '835', '1346'])),
    'st3-large': ('st3: `push_pop-large_batch`', queues('push-pop-large', 'ns', 1e9, ['3383', '3370', '3280', '5282', '7306'])),
    'st3-executor': ('st3: `executor`', queues('executor', 'µs', 1e6, ['216', '222', '254', '321', '301'])),
}


def page(data):
    text = ('# The tables of five crates, measured here\n\nWritten by `ci/lab.sh seeds [TABLE]`; [the programs](../seeds.md) say which command is which '
            'program. In parentheses, or in a column *there*, is the figure of the crate\'s own README: of another machine. Two figures are the least and '
            'the greatest of the rounds. A text in place of a number is the limit that stopped it.\n')
    for name, (title, _) in TABLES.items():
        if name not in data:
            continue
        of = data[name]
        text += f'\n## {title}\n\n`ci/lab.sh seeds {name}`, {of["date"]}, {of["commit"]}, {of["machine"]}, {of["seconds"]} s.\n\n'
        text += f'| {" | ".join(of["head"])} |\n|{"---|" * len(of["head"])}\n' + ''.join(f'| {" | ".join(row)} |\n' for row in of['rows'])
    return text


def main():
    names = sys.argv[1:]
    data = json.loads(DATA.read_text()) if DATA.exists() else {}
    if names == ['--check']:
        if PAGE.read_text() != page(data):
            sys.exit(f'ci/seeds.py: {PAGE} is not what {DATA} says')
        return
    if rows_only:
        for _, measure in TABLES.values():
            measure()
        return
    if wrong := [name for name in names if name not in TABLES]:
        sys.exit(f'ci/seeds.py: no table {", ".join(wrong)}; there are: {", ".join(TABLES)}')
    # As many files as are allowed.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    model = re.search(r'model name\s*: (.*)', Path('/proc/cpuinfo').read_text())
    for name in names or TABLES:
        begun = time.monotonic()
        head, rows = TABLES[name][1]()
        data[name] = {
            'date': datetime.now(timezone.utc).date().isoformat(),
            'commit': subprocess.check_output(['git', 'rev-parse', '--short=8', 'HEAD'], text=True).strip(),
            'machine': f'{os.cpu_count()} × {model[1] if model else "CPU"}',
            'seconds': round(time.monotonic() - begun),
            'head': head,
            'rows': rows,
        }
        DATA.write_text(json.dumps(data, indent=1, ensure_ascii=False) + '\n')
        PAGE.write_text(page(data))
        print(f'{name}: {data[name]["seconds"]} s', flush=True)


main()
