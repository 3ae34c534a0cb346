#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Tables of a bench, and what changed since an earlier one.

report.py KERNEL DIRECTORY
    events.json, insns.json and rates.json of DIRECTORY as one bench.json, a table, and
    the data for gnuplot
report.py --against FILE KERNEL DIRECTORY
    whole system and events of DIRECTORY/bench.json beside those that FILE has for this
    kernel; fails if the system spends more than 1 % more on an operation, or if there
    are more of any event
report.py --beside KERNEL DIRECTORY
    the same for what was counted in the place of the stock module
report.py --median FILE...
    the medians of what count.py found several times, as one
report.py --record FILE COMMIT DIRECTORY...
    write FILE, for --against, from DIRECTORY/bench.json of each kernel; what FILE has
    of other kernels stays if it is of the same COMMIT
"""

import json
import os
import statistics
import sys

OURS, TWO, STOCK = 'ours.1', 'ours.2', 'stock.1'
# How much more than before is no more. Work that the module asks for repeats from run to
# run. Batches and the scheduler do not: these events vary, by a tenth at depth 32,
# where they are shown but not judged.
SYSTEM_MORE = 0.01
WORK_MORE = 0.02
VARYING = {'post_recv', 'completion', 'switch', 'wake_module', 'wake', 'alloc'}
VARYING_MORE = 0.05

INSNS = (('client', 'client'), ('server', 'server'), ('module', 'module'),
         ('system', 'system'), ('system_rep', 'REP, system'),
         ('copied', 'copied by CPU'))
VERBS = (('post_send', 'post_send'), ('post_recv', 'post_recv'),
         ('completion', 'completions'), ('wr_send', 'SEND'),
         ('wr_send_inv', 'SEND_INV'), ('wr_write', 'WRITE'), ('wr_read', 'READ'),
         ('wr_reg_mr', 'REG_MR'), ('wr_local_inv', 'LOCAL_INV'),
         ('switch', 'switches'), ('wake_module', 'wakes, module'),
         ('wake', 'wakes'), ('alloc_module', 'allocs, module'),
         ('alloc', 'allocs'))


def merge(directory):
    result = {}
    for name in ('events', 'insns'):
        path = os.path.join(directory, name + '.json')
        if not os.path.exists(path):
            continue
        with open(path, encoding='ascii') as text:
            for phase, ops in json.load(text).items():
                for op, figures in ops.items():
                    result.setdefault(phase, {}).setdefault(op, {}).update(figures)
    return result


def median(paths):
    """What happened in one turn only counts as 0 in the others."""
    turns = []
    for path in paths:
        with open(path, encoding='ascii') as text:
            turns.append(json.load(text))
    return {phase: {op: {key: statistics.median(turn[phase][op].get(key, 0) for turn in turns)
                         for key in sorted({key for turn in turns for key in turn[phase][op]})}
                    for op in ops}
            for phase, ops in turns[0].items()}


def number(n):
    if n is None:
        return '-'
    return '%.0f' % n if abs(n) >= 100 else '%.2f' % n


def ratio(a, b):
    if a is None or not b:
        return '-'
    return '%.2f' % (a / b)


def figure(result, phase, op, key):
    ops = result.get(phase, {}).get(op)
    # What never happened has no line of its own
    counted_with = 'module' if key in dict(INSNS) else 'post_send'
    if ops is None or counted_with not in ops:
        return None
    return ops.get(key, 0)


def table(title, columns, rows):
    """Rows of text under their columns, the first to the left."""
    rows = [columns] + rows
    widths = [max(len(r[i]) for r in rows) for i in range(len(columns))]
    print(title)
    for r in rows:
        print('  ' + r[0].ljust(widths[0]) + ''.join(
            '  ' + c.rjust(w) for c, w in zip(r[1:], widths[1:])))
    print()


def ratios(result, ops):
    rows = []
    for op in ops:
        rows.append([op, ratio(figure(result, OURS, op, 'system'), figure(result, STOCK, op, 'system')),
                     ratio(figure(result, TWO, op, 'system'), figure(result, OURS, op, 'system')),
                     ratio(figure(result, OURS, op, 'module'), figure(result, STOCK, op, 'module'))])
    table('Instructions: ratio of the whole system to that with the stock module',
          ['operation', 'system', 'version 2 to 1', 'for information: module'], rows)


def wide(result, ops, title, keys, a, b):
    """One row an operation, "a / b" in each column."""
    rows = []
    for op in ops:
        rows.append([op] + ['%s/%s' % (number(figure(result, a, op, key)),
                                       number(figure(result, b, op, key)))
                            for key, _ in keys])
    table('%s (%s / %s), for one operation' % (title, a, b),
          ['operation'] + [name for _, name in keys], rows)


def instructions(result, ops, a, b):
    rows = []
    for op in ops:
        row = [op]
        for key, _ in INSNS:
            x, y = figure(result, a, op, key), figure(result, b, op, key)
            row += [number(x), number(y), ratio(x, y)]
        rows.append(row)
    head = ['operation']
    for _, name in INSNS:
        head += [name, b, 'ratio']
    table('Instructions of one operation, %s and %s' % (a, b), head, rows)


def rates(directory):
    path = os.path.join(directory, 'rates.json')
    if not os.path.exists(path):
        return None
    with open(path, encoding='ascii') as text:
        found = json.load(text)
    for title, latency in (('Throughput', False), ('Latency, us,', True)):
        rows = [[name, '%.1f' % f['ours'], '%.1f' % f['stock'], '%.2f' % f['ratio'],
                 '%.2f to %.2f' % (f['least'], f['most'])]
                for name, f in sorted(found.items())
                if name.endswith(('/median', '/p99')) == latency]
        table(title + ' between two guests (median; ratios of alternating runs)',
              ['what/threads/processors', 'ours', 'stock', 'ratio', 'ratios'], rows)
    return found


def plot_data(result, ops, path):
    with open(path, 'w', encoding='ascii') as out:
        for op in ops:
            row = [figure(result, phase, op, key) for key in ('module', 'system')
                   for phase in (OURS, STOCK)]
            if None not in row and row[1] and row[3]:
                print(op, *('%.1f' % n for n in row), file=out)


def is_more(key, op, before, now):
    """Whether @now is more than @before, beyond what varies."""
    if None in (before, now):
        return False
    if key == 'system':
        return now > before * (1 + SYSTEM_MORE)
    if key not in VARYING:
        return now > before + WORK_MORE
    return op.endswith('/1') and now > before * (1 + VARYING_MORE) + WORK_MORE


def against(path, kernel, directory):
    """Print a record and this run; the number of figures that are worse."""
    with open(path, encoding='ascii') as text:
        record = json.load(text)
    before = record['kernels'].get(kernel)
    if before is None:
        print('%s has no record of kernel %s' % (path, kernel))
        return 1
    return compare(kernel, record['commit'][:12], operations(directory), before, OURS)


def beside(kernel, directory):
    """The same with what ran in the place of the stock module."""
    now = operations(directory)
    return compare(kernel, 'in this run', now, now, STOCK)


def operations(directory):
    with open(os.path.join(directory, 'bench.json'), encoding='ascii') as text:
        return json.load(text)['operations']


def compare(kernel, title, now, before, phase):
    rows, worse = [], 0
    keys = (('system', 'system'),) + VERBS
    for op in order(now):
        row = [op]
        for key, _ in keys:
            a, b = figure(before, phase, op, key), figure(now, OURS, op, key)
            more = is_more(key, op, a, b)
            worse += more
            row.append('%s/%s%s' % (number(a), number(b), ' !' if more else ''))
        row.insert(2, ratio(figure(now, OURS, op, 'system'), figure(before, phase, op, 'system')))
        rows.append(row)
    table('Kernel %s: before (%s) / now, for one operation; "!" is worse' % (kernel, title),
          ['operation', 'system', 'ratio'] + [name for _, name in VERBS], rows)
    print('%d worse' % worse)
    return worse


def record(path, commit, directories):
    kernels = {}
    if os.path.exists(path):
        with open(path, encoding='ascii') as text:
            known = json.load(text)
        # Another kernel of the same commit
        kernels = known['kernels'] if known['commit'] == commit else {}
    for directory in directories:
        with open(os.path.join(directory, 'bench.json'), encoding='ascii') as text:
            found = json.load(text)
        kernels[found['kernel']] = {phase: {op: {k: round(n, 2) for k, n in figures.items()}
                                            for op, figures in ops.items()}
                                    for phase, ops in found['operations'].items()}
    with open(path, 'w', encoding='ascii') as out:
        json.dump({'commit': commit, 'kernels': kernels}, out, indent=1, sort_keys=True)
        print(file=out)


def main():
    if sys.argv[1:2] == ['--against']:
        sys.exit(1 if against(*sys.argv[2:5]) else 0)
    if sys.argv[1:2] == ['--median']:
        json.dump(median(sys.argv[2:]), sys.stdout, indent=1, sort_keys=True)
        return
    if sys.argv[1:2] == ['--beside']:
        sys.exit(1 if beside(*sys.argv[2:4]) else 0)
    if sys.argv[1:2] == ['--record']:
        record(sys.argv[2], sys.argv[3], sys.argv[4:])
        return
    report(*sys.argv[1:3])


def report(kernel, directory):
    result = merge(directory)
    ops = order(result)
    with open(os.path.join(directory, 'table'), 'w', encoding='ascii') as out:
        sys.stdout = out
        print('Kernel %s\n' % kernel)
        ratios(result, ops)
        instructions(result, ops, OURS, STOCK)
        wide(result, ops, 'Verbs and the rest', VERBS, OURS, STOCK)
        instructions(result, ops, TWO, OURS)
        wide(result, ops, 'Verbs and the rest', VERBS, TWO, OURS)
        found = rates(directory)
        sys.stdout = sys.__stdout__
    plot_data(result, ops, os.path.join(directory, 'plot.data'))
    with open(os.path.join(directory, 'bench.json'), 'w', encoding='ascii') as out:
        json.dump({'kernel': kernel, 'operations': result, 'rates': found}, out,
                  indent=1, sort_keys=True)
    with open(os.path.join(directory, 'table'), encoding='ascii') as text:
        print(text.read())


def order(result):
    """By depth, then as an RPC grows."""
    names = ('null', 'getattr', 'lookup', 'read4k', 'write4k', 'read64k',
             'write64k', 'read1m', 'write1m', 'create', 'readdir', 'floor',
             'floor-write64k', 'floor-read64k', 'floor-write1m', 'floor-read1m')
    ops = {op for phase in result.values() for op in phase}
    return sorted(ops, key=lambda op: (int(op.split('/')[1]),
                                       names.index(op.split('/')[0])))


main()
