#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""report.py KERNEL DIRECTORY: events.json, insns.json and rates.json of a bench as
one bench.json, a table, and what gnuplot shows of it."""

import json
import os
import sys

OURS, TWO, STOCK = 'ours.1', 'ours.2', 'stock.1'
# Ratio to stock that is wanted at most: in the module, in the whole system
WANTED = {'read64k': (0.60, 0.90), 'write64k': (0.60, 0.90),
          'read1m': (0.40, 0.90), 'write1m': (0.40, 0.90)}
WANTED_OTHERS = (0.60, 0.80)
WANTED_TWO = 1.02

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


def wanted(op):
    return WANTED.get(op.split('/', maxsplit=1)[0], WANTED_OTHERS)


def judge(a, b, limit):
    if a is None or not b:
        return '-'
    return '%.3f %s %.2f' % (a / b, '<=' if a / b <= limit else '> ', limit)


def targets(result, ops):
    rows = []
    for op in ops:
        row = [op]
        for key, limit in zip(('module', 'system'), wanted(op)):
            row.append(judge(figure(result, OURS, op, key),
                             figure(result, STOCK, op, key), limit))
        row.append(judge(figure(result, TWO, op, 'module'),
                         figure(result, OURS, op, 'module'), WANTED_TWO))
        rows.append(row)
    table('Ratios, and what they are to be at most',
          ['operation', 'module', 'system', 'version two'], rows)


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
    rows = [[name, '%.1f' % f['ours'], '%.1f' % f['stock'], '%.2f' % f['ratio'],
             '%.2f to %.2f' % (f['least'], f['most'])]
            for name, f in sorted(found.items())]
    table('Throughput between two guests (median; ratios of alternating runs)',
          ['what/threads', 'ours', 'stock', 'ratio', 'ratios'], rows)
    return found


def plot_data(result, ops, path):
    with open(path, 'w', encoding='ascii') as out:
        for op in ops:
            row = [figure(result, phase, op, key) for key in ('module', 'system')
                   for phase in (OURS, STOCK)]
            if None not in row and row[1] and row[3]:
                print(op, *('%.1f' % n for n in row), file=out)


def main():
    kernel, directory = sys.argv[1:3]
    result = merge(directory)
    ops = order(result)
    with open(os.path.join(directory, 'table'), 'w', encoding='ascii') as out:
        sys.stdout = out
        print('Kernel %s\n' % kernel)
        targets(result, ops)
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
             'write64k', 'read1m', 'write1m', 'create', 'readdir')
    ops = {op for phase in result.values() for op in phase}
    return sorted(ops, key=lambda op: (int(op.split('/')[1]),
                                       names.index(op.split('/')[0])))


main()
