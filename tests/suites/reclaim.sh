# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# How memory is asked for where reclaim may wait for us: probes in the guest say what is
# in force there, whether memory is short or not. In a trace of their own: others count in
# the first one from one suite to the next.

RECLAIM_PROBES=/sys/kernel/tracing/kprobe_events
RECLAIM_TRACE=/sys/kernel/tracing/instances/reclaim
PF_WQ_WORKER=0x20 PF_MEMALLOC=0x800 PF_MEMALLOC_NOFS=0x40000 PF_MEMALLOC_NOIO=0x80000 PF_KTHREAD=0x200000

# reclaim_probe PROBE…
reclaim_probe() {
	local probe
	for probe; do echo "$probe" >>$RECLAIM_PROBES; done
	mkdir $RECLAIM_TRACE
}
reclaim_begin() { echo 1 >$RECLAIM_TRACE/events/reclaim/enable; }
# With the trace what was to be traced is forgotten
reclaim_unprobe() {
	local event
	[ ! -e $RECLAIM_TRACE ] || rmdir $RECLAIM_TRACE
	for event; do
		! grep -q ":reclaim/$event " $RECLAIM_PROBES || echo "-:reclaim/$event" >>$RECLAIM_PROBES
	done
}

# ---- teardown ------------------------------------------------------------------

# Whenever a worker goes to sleep, the kernel looks at its task: the flags are 44 octets
# behind its beginning on x86-64, and those of a worker tell that it is them.
reclaim_teardown_probe() {
	reclaim_probe 'p:reclaim/begin rpcrdma_ep_teardown' 'r:reclaim/end rpcrdma_ep_teardown' \
		'p:reclaim/sleep wq_worker_sleeping flags=+44(%di):x32'
	reclaim_begin
}
# The flags at each sleep within a teardown
reclaim_sleeps() {
	awk '
	{ pid = $1; sub(/.*-/, "", pid) }
	/ begin: / { within[pid] = 1 }
	/ end: / { delete within[pid] }
	/ sleep: / && pid in within { sub(/.*flags=/, ""); print }' $RECLAIM_TRACE/trace
}
reclaim_slept() { [ -n "$(reclaim_sleeps)" ]; }

# It sleeps for the queues to be drained, unless that is done before it looks: then there is
# nothing to see, and another one is needed.
reclaim_teardowns() {
	local tries
	for ((tries = 1; tries <= 10; tries++)); do
		mount_nfs vers=3
		umount_nfs
		! wait_for 3 reclaim_slept || ! on_server "wait_for 3 reclaim_slept" || break
	done
	echo "$tries mounts"
	[ $tries -le 10 ]
}

# reclaim_teardown_has FLAG…: each, in all teardowns that were seen
reclaim_teardown_has() {
	local flags flag wanted=0 n=0 without=0
	for flag; do wanted=$((wanted | flag)); done
	for flags in $(reclaim_sleeps); do
		[ $((flags & (PF_WQ_WORKER | PF_KTHREAD))) = $((PF_WQ_WORKER | PF_KTHREAD)) ] ||
			{ echo "these are no worker's flags: $flags"; return 1; }
		n=$((n + 1))
		[ $((flags & wanted)) = $wanted ] || without=$((without + 1))
	done
	echo "$n sleeps within a teardown, $without without what they should have"
	[ $n -ge 1 ] && [ $without = 0 ]
}

# A connection that pages are swapped out by is cut, until a teardown was seen to sleep
reclaim_swap_cut() {
	local tries
	for ((tries = 1; tries <= 10; tries++)); do
		cut_by_sysfs
		stat -f $MNT
		! wait_for 3 reclaim_slept || break
	done
	echo "$tries cuts"
	[ $tries -le 10 ]
}

# Both sides' teardowns come with the unmount
suite_teardown() {
	check "probes on teardowns" reclaim_teardown_probe
	check "probes on the server's teardowns" on_server reclaim_teardown_probe
	check "teardowns that sleep, on both sides" reclaim_teardowns
	check "a teardown allocates without I/O" reclaim_teardown_has $PF_MEMALLOC_NOIO
	check "the server's teardown allocates without I/O" on_server "reclaim_teardown_has \$PF_MEMALLOC_NOIO"
	on_server "reclaim_unprobe begin end sleep" >/dev/null
	reclaim_unprobe begin end sleep
	check "mount with a swap file" mount_nfs vers=3
	mountpoint -q $MNT || return 0
	check "swapon" swap_on 8
	check "probes on its teardowns" reclaim_teardown_probe
	check "a teardown that sleeps, while there is a swap file" reclaim_swap_cut
	check "it has the reserves, and no I/O" reclaim_teardown_has $PF_MEMALLOC $PF_MEMALLOC_NOIO
	reclaim_unprobe begin end sleep
	check "swapoff" swap_off
	check "umount with a swap file" umount_nfs
}

# ---- threads and workers of the server ------------------------------------------

# The flags of the task that runs, which the kernel keeps for each processor: the guest
# has one. The symbol is an offset, and on 7.2 an address, which is a negative number
reclaim_flags() {
	local task
	task=$(awk '$3 == "current_task" || $3 == "pcpu_hot" { print $1; exit }' /proc/kallsyms)
	printf 'flags=+44(%+d(@__per_cpu_offset)):x32' $((0x$task))
}

# Allocations are traced while a thread takes a message or sends a Reply
reclaim_server_probe() {
	local flags
	flags=$(reclaim_flags)
	reclaim_probe "p:reclaim/accepts rpcrdma_ep_set_up $flags" \
		"p:reclaim/takes svc_rdma_recvfrom $flags" 'r:reclaim/taken svc_rdma_recvfrom' \
		"p:reclaim/replies svc_rdma_sendto $flags" 'r:reclaim/replied svc_rdma_sendto' \
		"p:reclaim/maps rdma_rw_ctx_init $flags" 'r:reclaim/mapped rdma_rw_ctx_init'
	echo 'enable_event:kmem:kmalloc' >$RECLAIM_TRACE/events/reclaim/takes/trigger
	echo 'enable_event:kmem:kmalloc' >$RECLAIM_TRACE/events/reclaim/replies/trigger
	echo 'disable_event:kmem:kmalloc' >$RECLAIM_TRACE/events/reclaim/taken/trigger
	echo 'disable_event:kmem:kmalloc' >$RECLAIM_TRACE/events/reclaim/replied/trigger
	reclaim_begin
}

# reclaim_has EVENT FLAGS [PF_WQ_WORKER]: what nfsd's threads, or workers, have there of
# PF_MEMALLOC_NOIO and PF_MEMALLOC_NOFS
reclaim_has() {
	local flags n=0 other=0
	for flags in $(awk -v event=" $1: " 'index($0, event) { sub(/.*flags=/, ""); print }' $RECLAIM_TRACE/trace); do
		[ $((flags & (PF_WQ_WORKER | PF_KTHREAD))) = $((PF_KTHREAD | ${3:-0})) ] ||
			{ echo "these are flags of another task: $flags"; return 1; }
		n=$((n + 1))
		[ $((flags & (PF_MEMALLOC_NOIO | PF_MEMALLOC_NOFS))) = $(($2)) ] || other=$((other + 1))
	done
	echo "$1: $n times, $other of them with other flags than it should"
	[ $n -ge 1 ] && [ $other = 0 ]
}

# Contexts, and room for their pages. What ib_core asks for does as its flags say; and
# interrupts come in between, which do not wait
reclaim_server_asks() {
	awk '
	{ pid = $1; sub(/.*-/, "", pid) }
	/ (takes|replies): / { within[pid] = 1 }
	/ (taken|replied): / { delete within[pid] }
	/ maps: / { mapping[pid] = 1 }
	/ mapped: / { delete mapping[pid] }
	/ kmalloc: / && pid in within && !(pid in mapping) && !/GFP_(ATOMIC|NOWAIT)/ {
		print
		n++
		if (!/GFP_NOIO/)
			other++
	}
	END {
		printf "%d allocations of nfsd, %d that may be I/O\n", n, other
		exit !(n >= 3 && !other)
	}' $RECLAIM_TRACE/trace
}

# What has Read chunks, and what has Write chunks
reclaim_server_io() {
	iocheck write -l 512k -b 64k -s 1 -d $MNT/reclaim
	iocheck verify -l 512k -b 64k -s 1 -d $MNT/reclaim
	rm $MNT/reclaim
}

# Whoever uses a connection's device holds up the end of it, for which others wait
suite_reclaim() {
	check "probes on nfsd's threads" on_server reclaim_server_probe
	check "mount reclaim" mount_nfs vers=3
	mountpoint -q $MNT || return 0
	check "I/O reclaim" reclaim_server_io
	check "umount reclaim" umount_nfs
	# The kernel does not compact without I/O
	check "a worker accepts a connection without file systems" on_server "reclaim_has accepts \$PF_MEMALLOC_NOFS \$PF_WQ_WORKER"
	check "nfsd has chunks mapped without I/O" on_server "reclaim_has maps \$PF_MEMALLOC_NOIO"
	check "nfsd takes messages as it did before" on_server "reclaim_has takes 0"
	check "nfsd replies as it did before" on_server "reclaim_has replies 0"
	check "nfsd allocates without I/O where it uses a connection" on_server reclaim_server_asks
	on_server "reclaim_unprobe accepts takes taken replies replied maps mapped" >/dev/null
}

# ---- a callback's slot -----------------------------------------------------------

# Allocations are traced while a callback is being received only
reclaim_callback_probe() {
	reclaim_probe 'p:reclaim/called xprt_rdma_bc_received' 'r:reclaim/returned xprt_rdma_bc_received'
	echo 'enable_event:kmem:kmalloc' >$RECLAIM_TRACE/events/reclaim/called/trigger
	echo 'disable_event:kmem:kmalloc' >$RECLAIM_TRACE/events/reclaim/returned/trigger
	reclaim_begin
}

# Request, Call, Reply, and the buffer that it is sent from. Interrupts come in between:
# theirs are atomic.
reclaim_callback_fails() {
	awk '
	{ pid = $1; sub(/.*-/, "", pid) }
	/ called: / { within[pid] = 1 }
	/ returned: / { delete within[pid] }
	/ kmalloc: / && pid in within && !/GFP_ATOMIC/ {
		print
		n++
		if (!/GFP_NOIO/ || !/__GFP_NORETRY/)
			waits++
	}
	END {
		printf "%d allocations for a callback, %d that wait for memory\n", n, waits
		exit !(n >= 4 && !waits)
	}' $RECLAIM_TRACE/trace
}
