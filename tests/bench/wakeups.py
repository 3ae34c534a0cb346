#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The wake-ups of one RPC, and the cause of each.

wakeups.py KERNEL DIRECTORY PHASES OPS
    DIRECTORY/wakeups/single.out has the traces of guest.sh: sched_switch, and
    sched_waking with its stack. Writes a table for each operation and
    DIRECTORY/wakeups.svg, the last GETATTR of the first phase.
wakeups.py --self-test

A figure is the difference between the operation's two traces, for one operation. The
cause is the first of CAUSES that matches, or the first function of the stack that says
more than that something is woken. Those of "device" are rxe's own: an adapter has none
of them. What the kernel wakes for itself (RCU, softirqs, compaction) is one line.
"""

import collections
import os
import re
import sys
import tempfile

# (cause, task that is woken, functions in the stack)
CAUSES = (
    ('kernel', r'rcu|ksoftirqd|kcompactd|khungtaskd|migration|kswapd|rpcbind', r''),
    ('device', r'', r'rxe_\w*sched_task|rxe_run_task|__rxe_do_task'),
    # Of ib_core's queue with priority: its function is not in a stack, as it ends in the call
    ('completion to a workqueue', r'kworker/\d+:\d+H', r'queue_work_on'),
    ('nfsd thread', r'nfsd', r'svc_xprt_enqueue|svc_pool_wake_idle_thread|svc_xprt_received|svc_wake_up'),
    ('task of the RPC', r'', r'xprt_complete_rqst|xprt_rdma_complete|rpcrdma_complete_rqst|rpc_wake_up\w*'),
    ('rpciod', r'kworker', r'rpc_make_runnable|rpc_execute'),
)
BEGIN = re.compile(r'trace_event|try_to_wake_up|__queue_work|queue_work_on|default_wake_function|autoremove_wake|'
                   r'__wake_up|wake_up|swake|complete|wake_bit_function|ttwu|kick_pool|insert_work')
HEAD = re.compile(r'^\s*(?P<comm>.+)-(?P<pid>\d+)\s+\[\d+\]\s+\S+\s+(?P<time>\d+\.\d+): (?P<event>\w+): (?P<rest>.*)$')
WAKING = re.compile(r'comm=(.+) pid=(\d+) prio=')
SWITCH = re.compile(r'prev_comm=(.+) prev_pid=(\d+) .*==> next_comm=(.+) next_pid=(\d+)')
FRAME = re.compile(r'^ => (.*)$')

Waking = collections.namedtuple('Waking', 'time waker pid woken woken_pid cause')
Switch = collections.namedtuple('Switch', 'time prev next next_comm')


def role(comm):
    """Workers have the name of what they did last, or do."""
    for start in ('kworker', 'ksoftirqd', 'swapper', 'rcu'):
        if comm.startswith(start):
            return start
    return comm


def cause(comm, stack):
    text = '\n'.join(stack)
    for name, woken, pattern in CAUSES:
        if re.match(woken, comm) and re.search(pattern, text):
            return name
    return next((f for f in stack if not BEGIN.match(f)), 'other')


def events_of(lines):
    """Wakings with the stack behind each, and switches."""
    events, waking, comm, stack = [], None, '', []

    def close():
        if waking:
            events.append(Waking(*waking, cause(comm, stack)))
    for line in lines:
        head = HEAD.match(line)
        if not head:
            frame = FRAME.match(line)
            if frame and waking:
                stack.append(frame.group(1))
            continue
        if head['event'] == 'sched_waking':
            close()
            comm, pid = WAKING.search(head['rest']).groups()
            waking = (float(head['time']), role(head['comm']), int(head['pid']), role(comm), int(pid))
            stack = []
        elif head['event'] == 'sched_switch':
            close()
            waking = None
            found = SWITCH.search(head['rest'])
            events.append(Switch(float(head['time']), int(found.group(2)), int(found.group(4)),
                                 found.group(3)))
    close()
    return events


def read(directory, phase, op, count):
    name = 'wakeups.%s.%s.%s' % (phase, op.replace('/', '.'), count)
    with open(os.path.join(directory, 'wakeups/single.out', name), encoding='ascii', errors='replace') as text:
        return events_of(text)


def counts(events):
    found = collections.Counter()
    for event in events:
        if isinstance(event, Waking):
            kernel = event.cause == 'kernel'
            found['' if kernel else event.waker, '' if kernel else event.woken, event.cause] += 1
        else:
            found['switch'] += 1
    return found


def per_operation(few, many, difference):
    """Counter of what one operation adds, without what rounds to nothing."""
    found = {key: (many[key] - few[key]) / difference for key in few | many}
    return {key: n for key, n in found.items() if abs(n) >= 0.05}


def table(title, found):
    switches = found.pop('switch', 0)
    of = {why: sum(n for key, n in found.items() if key[2] == why) for why in ('device', 'kernel')}
    print('%s: %.2f wake-ups for the RPC, %.2f by the device, %.2f by the kernel; %.2f context switches'
          % (title, sum(found.values()) - sum(of.values()), of['device'], of['kernel'], switches))
    for (waker, woken, why), n in sorted(found.items(), key=lambda item: -item[1]):
        if waker:
            print('  %6.2f  %-10s wakes %-10s %s' % (n, waker, woken, why))
    print()


def timeline(events, path, title):
    """The trip of the last RPC: from one wake-up of its caller to the next."""
    mine = [e for e in events if isinstance(e, Waking) and e.cause == 'task of the RPC']
    if len(mine) < 2:
        return
    begin, end = mine[-2].time, mine[-1].time
    lanes, spans, running = [], [], {}
    for event in events:
        if isinstance(event, Switch) and event.time <= end:
            if event.prev in running and event.time >= begin:
                spans.append((event.prev, max(running[event.prev][0], begin), event.time, running[event.prev][1]))
            running.pop(event.prev, None)
            running[event.next] = (event.time, event.next_comm)
    for pid, (since, comm) in running.items():
        spans.append((pid, max(since, begin), end, comm))
    spans = [s for s in spans if s[2] > s[1]]
    wakes = [e for e in events if isinstance(e, Waking) and begin <= e.time <= end]
    names = {pid: comm for pid, _, _, comm in spans}
    for pid in [s[0] for s in sorted(spans, key=lambda s: s[1])] + [w.woken_pid for w in wakes]:
        if pid not in lanes:
            lanes.append(pid)
    draw(path, title, lanes, names, spans, wakes, begin, end)


def draw(path, title, lanes, names, spans, wakes, begin, end):
    width, left, row = 1000, 170, 34

    def x(t):
        return left + (t - begin) / (end - begin) * (width - left - 20)

    def y(pid):
        return 50 + lanes.index(pid) * row
    with open(path, 'w', encoding='utf-8') as out:
        print('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" '
              'font-size="12">' % (width, 70 + row * len(lanes)), file=out)
        print('<defs><marker id="a" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
              '<path d="M0,0 L8,4 L0,8 z"/></marker></defs>', file=out)
        print('<text x="10" y="20" font-size="14">%s</text>' % title, file=out)
        for pid in lanes:
            name = 'idle' if pid == 0 else '%s %d' % (role(names.get(pid, '')), pid)
            print('<text x="10" y="%d">%s</text><line x1="%d" x2="%d" y1="%d" y2="%d" stroke="#ddd"/>'
                  % (y(pid) + 4, name, left, width - 20, y(pid), y(pid)), file=out)
        for pid, start, stop, _ in spans:
            print('<rect x="%.1f" y="%d" width="%.1f" height="14" fill="%s"/>'
                  % (x(start), y(pid) - 7, max(x(stop) - x(start), 1), '#eee' if pid == 0 else '#79a'), file=out)
        for wake in wakes:
            if wake.pid not in lanes:
                continue
            print('<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="%s" marker-end="url(#a)"><title>%s</title></line>'
                  % (x(wake.time), x(wake.time), y(wake.pid), y(wake.woken_pid),
                     '#999' if wake.cause == 'device' else '#b22', wake.cause), file=out)
        print('</svg>', file=out)


def main(kernel, directory, phases, ops):
    for op in ops.split():
        name, few, many, depth = op.split(':')
        for phase in phases.split():
            phase = phase.replace(':', '.')
            events = [read(directory, phase, name + '/' + depth, n) for n in (few, many)]
            table('%s/%s, %s, %s' % (name, depth, phase, kernel),
                  per_operation(counts(events[0]), counts(events[1]), int(many) - int(few)))
            if name == 'getattr' and phase == phases.split()[0].replace(':', '.'):
                timeline(events[1], os.path.join(directory, 'wakeups.svg'),
                         'A GETATTR, %s, Linux %s; red: wake-ups, grey: the device\'s' % (phase, kernel))


TRACE = '''
          rpcops-70      [000] d..2.     1.000100: sched_switch: prev_comm=rpcops prev_pid=70 prev_prio=120 prev_state=S ==> next_comm=nfsd next_pid=60 next_prio=120
            nfsd-60      [000] d.h2.     1.000200: sched_waking: comm=kworker/0:1H pid=9 prio=120 target_cpu=000
            nfsd-60      [000] d.h2.     1.000200: <stack trace>
 => try_to_wake_up
 => __queue_work
 => queue_work_on
 => rxe_cq_post
     kworker/0:1-9       [000] d..2.     1.000300: sched_waking: comm=rpcops pid=70 prio=120 target_cpu=000
     kworker/0:1-9       [000] d..2.     1.000300: <stack trace>
 => try_to_wake_up
 => xprt_complete_rqst
 => xprt_rdma_received [rpcrdma]
'''


def self_test():
    events = events_of(TRACE.splitlines())
    once, twice = counts(events), counts(events + events)
    found = per_operation(once, twice, 1)
    wanted = {('nfsd', 'kworker', 'completion to a workqueue'): 1, ('kworker', 'rpcops', 'task of the RPC'): 1,
              'switch': 1}
    if found != wanted:
        sys.exit('self-test: %s' % found)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'x.svg')
        later = [e._replace(time=e.time + 1) for e in events]
        timeline(events + later, path, 'x')
        with open(path, encoding='utf-8') as text:
            drawn = text.read()
    if drawn.count('marker-end') != 3 or '>nfsd 60<' not in drawn:
        sys.exit('self-test: %s' % drawn)


if sys.argv[1:] == ['--self-test']:
    self_test()
elif len(sys.argv) == 5:
    main(*sys.argv[1:])
else:
    sys.exit(__doc__)
