# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The client's pool of MRs grows ahead of need, in steps that double, so that a burst of
# READs on a new connection does not stop at every eighth. And the completion queues of a
# connection have one vector, those of several connections each of the device's in turn.

MRS_PROBES=/sys/kernel/tracing/kprobe_events
MRS_TRACE=/sys/kernel/tracing/instances/mrs

mrs_probe() {
	echo 'p:mrs/stall xprt_wait_for_buffer_space' >>$MRS_PROBES
	echo 'p:mrs/cq __ib_alloc_cq ep=%si:x64 vector=%cx:s32' >>$MRS_PROBES
	mkdir $MRS_TRACE
	echo 1 >$MRS_TRACE/events/mrs/enable
	echo 1 >$MRS_TRACE/events/rpcrdma/xprtrdma_nomrs/enable
}
mrs_unprobe() {
	# The module can go when its event is off
	[ ! -e $MRS_TRACE ] || { echo 0 >$MRS_TRACE/events/rpcrdma/enable && rmdir $MRS_TRACE; }
	! grep -q ':mrs/stall ' $MRS_PROBES || echo '-:mrs/stall' >>$MRS_PROBES
	! grep -q ':mrs/cq ' $MRS_PROBES || echo '-:mrs/cq' >>$MRS_PROBES
}

# 64 READs at once, with credits for them, for which the pool has eight MRs: three times twice
# as many. In steps of eight it stops seven times at least. On a busy host the worker that adds
# MRs may come late, and each Reply lets one more Call go on until the next stop: so the best
# of five connections counts.
mrs_burst() {
	local stalls mrs n
	for n in 1 2 3 4 5; do
		mount_nfs vers=3,rsize=65536 || return
		echo >$MRS_TRACE/trace
		iocheck verify -l 4m -b 4m -d $MNT/mrs || return
		stalls=$(grep -c ' stall: ' $MRS_TRACE/trace || :)
		mrs=$(connection_sum mrs)
		umount_nfs || return
		echo "connection $n: $stalls stalls, $mrs MRs"
		[ "$mrs" -ge 32 ] || continue
		[ "$stalls" -gt 4 ] || return 0
	done
	return 1
}

# A Call that waits for an MR has its XID in the trace
mrs_named() {
	local n
	echo >$MRS_TRACE/trace
	for n in 1 2 3 4 5; do
		mount_nfs vers=3,rsize=65536 || return
		iocheck verify -l 4m -b 4m -d $MNT/mrs || return
		umount_nfs || return
		! grep ' xprtrdma_nomrs: ' $MRS_TRACE/trace || break
	done
	grep -q ' xprtrdma_nomrs: .* xid=0x' $MRS_TRACE/trace && ! grep -q ' xid=0x0* ' $MRS_TRACE/trace
}

# Two CQs for each connection
mrs_vectors() {
	iocheck verify -l 4m -b 64k -d $MNT/mrs
	grep ' cq: ' $MRS_TRACE/trace
	sed -n 's/.* cq: .*ep=\(0x[0-9a-f]*\) vector=\([0-9]*\)$/\1 \2/p' $MRS_TRACE/trace | awk '
		$1 in vector && vector[$1] != $2 { odd++ }
		{ vector[$1] = $2; seen[$2]++; n++ }
		END { exit odd || n < 8 || !seen[0] || !seen[1] }'
}

# Guests: -c 2
suite_mrs() {
	on_server "iocheck write -l 4m -b 64k $EXPORT/mrs" >/dev/null
	on_server "peer_first_requests 64" >/dev/null
	check "probes on MRs and CQs" mrs_probe
	check "a burst of READs on a new connection stalls seldom" mrs_burst
	check "Calls that wait for an MR are named in the trace" mrs_named
	echo >$MRS_TRACE/trace
	check "mount mrs vers=3,nconnect=4" mount_nfs vers=3,nconnect=4
	check "connections share the completion vectors" mrs_vectors
	check "umount mrs vers=3,nconnect=4" umount_nfs
	on_server peer_first_requests >/dev/null
	mrs_unprobe
}
