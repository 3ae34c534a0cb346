#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""What the plugin and the guest counted, for run:

    count.py sides BUILD-DIRECTORY     for the plugin: functions of our module, by side
    count.py sides MODULE.ko           the same of the stock module
    count.py family KALLSYMS           arguments of the plugin: memcpy and its like
    count.py add DIRECTORY PHASES OPS  what is in DIRECTORY, as JSON
    count.py profile DIRECTORY PHASES OPS PHASE OPERATION...
    count.py rates PROCESSORS=FILE...  what two guests measured, as JSON
"""

import bisect
import collections
import json
import os
import re
import statistics
import subprocess
import sys

KERNEL = 0xffff800000000000
FAMILY = ('memcpy', '__memcpy', 'memcpy_orig', 'memcpy_erms', 'memmove',
          '__memmove', 'memmove_erms')
# sunrpc's, which copy what the transport asks them to
COPIERS = ('write_bytes_to_xdr_buf', '__write_bytes_to_xdr_buf',
           'read_bytes_from_xdr_buf', '__read_bytes_from_xdr_buf',
           '_copy_to_pages', '_copy_from_pages')
WRS = {'0': 'write', '2': 'send', '4': 'read', '7': 'local_inv',
       '9': 'send_inv', '32': 'reg_mr'}


def readelf(*args):
    return subprocess.run(('readelf', '-W') + args, check=True, text=True,
                          stdout=subprocess.PIPE).stdout.splitlines()


def text_section(path):
    """Number, size and alignment of .text."""
    for line in readelf('-S', path):
        m = re.match(r' +\[ *(\d+)\] \.text +PROGBITS +\S+ \S+ (\S+)', line)
        if m:
            return m.group(1), int(m.group(2), 16), int(line.split()[-1])
    return None, 0, 1


def text_functions(path):
    """Offset and name of each function in .text."""
    number = text_section(path)[0]
    found = []
    for line in readelf('-s', path):
        f = line.split()
        if len(f) == 8 and f[3] == 'FUNC' and f[6] == number:
            found.append((int(f[1], 16), f[7]))
    return sorted(found)


def our_side(path, name):
    folder = os.path.basename(os.path.dirname(path))
    if folder in ('xprtrdma', 'svcrdma'):
        return 'client' if folder == 'xprtrdma' else 'server'
    # Completion handlers, which ib_core calls
    return 'entry' if re.search(r'_wc$', name) else 'both'


def our_sides(build):
    """The linker puts the objects behind each other."""
    module = os.path.join(build, 'rpcrdma.ko')
    known = set(text_functions(module))
    with open(os.path.join(build, 'rpcrdma.mod'), encoding='ascii') as objects:
        paths = objects.read().split()
    base, sides = 0, {}
    for path in paths:
        path = os.path.join(build, path)
        _, size, align = text_section(path)
        base = -(-base // align) * align
        for offset, name in text_functions(path):
            if (base + offset, name) not in known:
                sys.exit('count.py: %s of %s is elsewhere' % (name, path))
            sides[base + offset] = our_side(path, name)
        base += size
    return sides


def stock_sides(module):
    """The server's files have names that begin so, and are neighbours."""
    functions = text_functions(module)
    own = [offset for offset, name in functions if name.startswith(('svc_rdma_', 'pcl_'))]
    return {offset: 'server' if own[0] <= offset <= own[-1] else 'client'
            for offset, _ in functions}


def print_sides(path):
    build = os.path.isdir(path)
    sides = our_sides(path) if build else stock_sides(path)
    for offset in sorted(sides):
        print('%x %s' % (offset, sides[offset]))
    end = text_section(os.path.join(path, 'rpcrdma.ko') if build else path)[1]
    print('%x both' % end)


def symbols(path):
    """Sorted (address, name, module) of a guest's /proc/kallsyms."""
    found = []
    with open(path, encoding='ascii') as lines:
        for line in lines:
            fields = line.split()
            if fields[1] in 'tTwW':
                module = fields[3][1:-1] if len(fields) > 3 else ''
                found.append((int(fields[0], 16), fields[2], module))
    return sorted(found)


def print_family(path):
    addresses = symbols(path)
    starts = sorted({s[0] for s in addresses})
    ranges = set()
    for address, name, _ in addresses:
        if name in FAMILY:
            ranges.add((address, starts[bisect.bisect_right(starts, address)]))
    print(','.join('family=%x-%x' % r for r in sorted(ranges)))


def intervals(path):
    """Per mark: {address: counts} since the one before."""
    with open(path, encoding='ascii') as lines:
        blocks = None
        for line in lines:
            f = line.split()
            if f[0] == 'mark':
                if blocks is not None:
                    yield tag, blocks
                tag, blocks = int(f[1]), {}
            else:
                blocks[int(f[0], 16)] = [int(n) for n in f[1:]]
        yield tag, blocks


class Places:
    """Where an address is: (module, function)."""
    def __init__(self, path):
        self.symbols = symbols(path)
        self.addresses = [s[0] for s in self.symbols]
        self.known = {}

    def of(self, address):
        if address not in self.known:
            self.known[address] = self.find(address)
        return self.known[address]

    def find(self, address):
        if address < KERNEL:
            return 'user', ''
        i = bisect.bisect_right(self.addresses, address) - 1
        if i < 0:
            return 'kernel', '?'
        name, module = self.symbols[i][1:]
        name = re.sub(r'\.(constprop|isra|part|cold).*', '', name)
        return module or 'kernel', name


def names_of(op):
    name, few, many, depth = op.split(':')
    return '%s/%s' % (name, depth), int(many) - int(few)


def counted(directory, phases, ops):
    """For each phase and operation: {place: counts of one operation}."""
    marks = intervals(os.path.join(directory, 'insns'))
    for phase in phases:
        module, version = phase.split(':')
        places = Places(os.path.join(directory, 'single.out', 'kallsyms.' + module))
        for op in ops:
            three = [next(marks) for _ in range(3)]
            if [m[0] for m in three] != [0, 1, 2]:
                sys.exit('count.py: marks 0, 1, 2 were expected')
            name, count = names_of(op)
            yield module + '.' + version, name, difference(
                places, three[1][1], three[2][1], count)


def difference(places, few, many, count):
    total = collections.defaultdict(lambda: [0.0] * 5)
    for blocks, sign in ((many, 1), (few, -1)):
        for address, counts in blocks.items():
            cell = total[places.of(address)]
            for i, n in enumerate(counts):
                cell[i] += sign * n / count
    return total


def summary(total):
    """One operation's figures of what the plugin counted."""
    of = [0.0] * 5
    for (module, _), cell in total.items():
        if module == 'rpcrdma':
            of = [a + b for a, b in zip(of, cell)]
    copied = of[4] + sum(cell[4] for (module, name), cell in total.items()
                         if module == 'sunrpc' and name in COPIERS)
    return {'module': of[0], 'client': of[2], 'server': of[3],
            'neither': of[0] - of[2] - of[3],
            'copied': copied, 'module_rep': of[1],
            'system': sum(cell[0] for cell in total.values()),
            'system_rep': sum(cell[1] for cell in total.values())}


def add_events(directory, phase, ops, result):
    path = os.path.join(directory, 'single.out', 'events.' + phase)
    if not os.path.exists(path):
        return
    counts = dict(names_of(op) for op in ops)
    with open(path, encoding='ascii') as lines:
        for line in lines:
            op, event, n = line.split()
            if event.startswith('wr.'):
                event = 'wr_' + WRS.get(event[3:], event[3:])
            figures = result[phase].setdefault(op, {})
            figures[event] = int(n) / counts[op]


def add(directory, phases, ops):
    result = collections.defaultdict(dict)
    if os.path.exists(os.path.join(directory, 'insns')):
        for phase, name, total in counted(directory, phases, ops):
            result[phase][name] = summary(total)
    for phase in phases:
        add_events(directory, phase.replace(':', '.'), ops, result)
    json.dump(result, sys.stdout, indent=1, sort_keys=True)


def profile(directory, phases, ops, wanted, names):
    for phase, name, total in counted(directory, phases, ops):
        if phase != wanted or name not in names:
            continue
        print_profile(phase, name, total)


def print_profile(phase, name, total):
    modules = collections.defaultdict(lambda: [0.0, 0.0])
    for (module, _), cell in total.items():
        modules[module][0] += cell[0]
        modules[module][1] += cell[1]
    print('%s, %s: instructions and REP iterations of one operation' % (name, phase))
    print_rows(((m, cell) for m, cell in modules.items()), 12)
    print(' in the module, by function')
    print_rows((('%s' % f, cell) for (m, f), cell in total.items() if m == 'rpcrdma'), 100)
    print(' below and above it, by function')
    print_rows((('%s %s' % (m, f), cell) for (m, f), cell in total.items()
                if m not in ('rpcrdma', 'user')), 50)
    print()


def print_rows(rows, most):
    for name, cell in sorted(rows, key=lambda r: -r[1][0])[:most]:
        if cell[0] >= 0.5 or cell[1] >= 0.5:
            print('  %10.1f %10.1f  %s' % (cell[0], cell[1], name))


def rates(files):
    """Turns of ours and stock alternate: each pair is one ratio."""
    turns = collections.defaultdict(lambda: collections.defaultdict(list))
    for file in files:
        processors, path = file.split('=', 1)
        with open(path, encoding='ascii') as lines:
            for line in lines:
                _, module, op, threads, done, seconds, *times = line.split()
                name = '%s/%s/%s' % (op, threads, processors)
                rate = int(done) / float(seconds)
                # MB/s where an operation is of a megabyte
                if op.endswith('1m'):
                    rate *= 1.048576
                turns[name][module].append(rate)
                if times:
                    turns[name + '/median'][module].append(int(times[0]))
                    turns[name + '/p99'][module].append(int(times[1]))
    result = {}
    for name, by in turns.items():
        pairs = [a / b for a, b in zip(by['ours'], by['stock'])]
        result[name] = {'ours': statistics.median(by['ours']),
                        'stock': statistics.median(by['stock']),
                        'ratio': statistics.median(pairs),
                        'least': min(pairs), 'most': max(pairs)}
    json.dump(result, sys.stdout, indent=1, sort_keys=True)


def main():
    what, args = sys.argv[1], sys.argv[2:]
    if what == 'sides':
        print_sides(args[0])
    elif what == 'family':
        print_family(args[0])
    elif what == 'add':
        add(args[0], args[1].split(), args[2].split())
    elif what == 'profile':
        profile(args[0], args[1].split(), args[2].split(), args[3], args[4:])
    elif what == 'rates':
        rates(args)
    else:
        sys.exit(__doc__)


main()
