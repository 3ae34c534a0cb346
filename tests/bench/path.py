#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Where the time of one RPC goes, between two guests.

path.py DIRECTORY...     {client,server}.out/trace.TURN.MODULE of each, from rates.sh
path.py --self-test

The message packets are those above SMALL bytes: an acknowledgement is less. A step is the
median of all RPCs, in microseconds. The steps of the client between its packets are those of
the server and of both devices and wires.
"""

import collections
import glob
import os
import re
import statistics
import sys
import tempfile

SMALL = 100
EVENT = re.compile(r'^\s*(?P<comm>.+)-\d+\s+\[\d+\]\s+\S+\s+(?P<time>\d+\.\d+): (?P<event>\w+): (?P<rest>.*)$')
# The way of an RPC, as each side sees it
WAY = {'client': ('task', 'sent', 'received', 'woken', 'task'),
       'server': ('received', 'woken', 'task', 'sent')}
# Side, from where to where on its way, and in words
STEPS = (
    ('client', 0, 1, 'client: task runs, until the Call is on the wire'),
    ('server', 0, 1, 'server: Call received, until a thread is woken'),
    ('server', 1, 2, 'server: until the thread runs'),
    ('server', 2, 3, 'server: until the Reply is on the wire'),
    ('client', 2, 3, 'client: Reply received, until the task is woken'),
    ('client', 3, 4, 'client: until the task runs'),
    ('client', 0, 4, 'all, from task to task'),
)


def events(path, task):
    """(time, kind) of those on the way of an RPC."""
    with open(path, encoding='ascii', errors='replace') as lines:
        for line in lines:
            match = EVENT.match(line)
            if not match:
                continue
            event, rest, time = match['event'], match['rest'], float(match['time']) * 1e6
            if event in ('netif_receive_skb', 'net_dev_start_xmit'):
                length = re.search(r'\blen=(\d+)', rest)
                if length and int(length[1]) > SMALL:
                    yield time, 'received' if event == 'netif_receive_skb' else 'sent'
            elif event == 'sched_waking' and 'comm=%s ' % task in rest:
                yield time, 'woken'
            elif event == 'sched_switch' and 'next_comm=%s ' % task in rest:
                yield time, 'task'


def round_trips(path, side):
    """The times of each RPC that took the usual way."""
    way, times = WAY[side], []
    for time, kind in events(path, 'nfsd' if side == 'server' else 'rpcops'):
        if kind == way[len(times)]:
            times.append(time)
        elif kind == way[0]:
            times = [time]
        if len(times) == len(way):
            yield times
            times = times[-1:] if way[0] == way[-1] else []


def measure(directories):
    result = collections.defaultdict(lambda: collections.defaultdict(list))
    for directory in directories:
        for side in WAY:
            for path in sorted(glob.glob(os.path.join(directory, side + '.out', 'trace.*.*'))):
                found = result[path.rsplit('.', 1)[1]]
                for times in round_trips(path, side):
                    for of, begin, end, name in STEPS:
                        if of == side:
                            found[name].append(times[end] - times[begin])
    return result


def table(result):
    print('%-55s %6s %6s  ratio' % ('us, median of %d and %d RPCs' % tuple(
        len(result[module][STEPS[-1][3]]) for module in ('ours', 'stock')), 'ours', 'stock'))
    for *_, name in STEPS:
        ours, stock = (statistics.median(result[module][name]) for module in ('ours', 'stock'))
        print('%-55s %6.0f %6.0f   %.2f' % (name, ours, stock, ours / stock))


SAMPLE = {
    'client': (
        'rpcops-7 [000] d..2. 1.000000: sched_switch: prev_comm=swapper/0 ==> next_comm=rpcops next_pid=7',
        'kworker/u8:1-9 [000] b..2. 1.000050: net_dev_start_xmit: dev=eth0 len=232 data_len=0',
        '<idle>-0 [000] ..s1. 1.000200: netif_receive_skb: dev=eth0 skbaddr=0 len=48',
        '<idle>-0 [000] ..s1. 1.000400: netif_receive_skb: dev=eth0 skbaddr=0 len=300',
        'kworker/0:1H-43 [000] d..2. 1.000470: sched_waking: comm=rpcops pid=7 prio=120',
        'kworker/0:1H-43 [000] d..2. 1.000480: sched_switch: prev_comm=x ==> next_comm=rpcops next_pid=7',
    ),
    'server': (
        '<idle>-0 [000] ..s1. 1.000100: netif_receive_skb: dev=eth0 skbaddr=0 len=232',
        'kworker/0:1H-43 [000] d..2. 1.000150: sched_waking: comm=nfsd pid=7 prio=120',
        'kworker/0:1H-43 [000] d..2. 1.000160: sched_switch: prev_comm=x ==> next_comm=nfsd next_pid=7',
        'kworker/u8:1-9 [000] b..2. 1.000260: net_dev_start_xmit: dev=eth0 len=300 data_len=0',
    ),
}


def self_test():
    with tempfile.TemporaryDirectory() as directory:
        for side, lines in SAMPLE.items():
            os.mkdir(os.path.join(directory, side + '.out'))
            with open(os.path.join(directory, side + '.out', 'trace.1.ours'), 'w', encoding='ascii') as out:
                out.write('\n'.join(lines) + '\n')
        found = {name: [round(x) for x in times] for name, times in measure([directory])['ours'].items()}
    want = dict(zip((step[3] for step in STEPS), ([50], [50], [10], [100], [70], [10], [480])))
    assert found == want, found


if __name__ == '__main__':
    if sys.argv[1:] == ['--self-test']:
        self_test()
    else:
        table(measure(sys.argv[1:]))
