# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A burst leaves a client with many slots, which have buffers, and memory regions. While the
# kernel looks for memory, those that were not needed for a while go back, below I/O that goes
# on, and come again with the next burst.

# READs of 1 MiB by 64 processes, of which NFSv4.1 sends about thirty at a time. A server of
# eight threads, however slow, grants credits for them from the first.
give_back_burst() { rpcops read1m $MNT 256 64; }

give_back_has() { echo "$(client_field slots) slots, $(client_field mrs) MRs"; }
give_back_many() {
	give_back_has
	[ "$(client_field slots)" -ge 24 ]
	[ "$(client_field mrs)" -ge 20 ]
}

# Four slots; one RPC may need six regions, and four are kept ready. The Replies show that
# the device needs the buffers no more. drop_caches asks each shrinker.
give_back_few() {
	drop_caches
	rpcops getattr $MNT 1 1
	[ "$(client_field slots)" -le 4 ] && [ "$(client_field mrs)" -le 10 ]
}
give_back() { wait_for "${GIVE_BACK_LIMIT:-90}" give_back_few; give_back_has; }

# As long as a file is there, verified I/O of one process, which leaves others nothing to do
give_back_io() {
	local i=0
	while [ -e /run/give_back ]; do
		i=$((i + 1))
		iocheck write -l 2m -b 1m -s $i -d $MNT/give_back
		iocheck verify -l 2m -b 64k -s $i -d $MNT/give_back
	done
	echo "$i rounds"
	[ $i -ge 2 ]
}
give_back_below() {
	local job
	touch /run/give_back
	give_back_io >/run/give_back.io 2>&1 &
	job=$!
	wait_for "${GIVE_BACK_LIMIT:-90}" give_back_most
	give_back_has
	rm /run/give_back
	wait_job $job || { cat /run/give_back.io; return 1; }
	cat /run/give_back.io
}
give_back_most() {
	drop_caches
	[ "$(client_field slots)" -le 8 ] && [ "$(client_field mrs)" -le 12 ]
}

suite_give_back() {
	local v=${GIVE_BACK_VERSION:-4.2}
	on_server "dd if=/dev/zero of=$EXPORT/bench bs=1M count=16 status=none" >/dev/null
	on_server "peer_first_requests 64" >/dev/null
	check "mount give back vers=$v" mount_nfs "vers=$v"
	check "a burst" give_back_burst
	check "it leaves slots and MRs" give_back_many
	check "they go back" give_back
	check "another burst" give_back_burst
	check "it has its own" give_back_many
	check "they go back below I/O" give_back_below
	check "a burst after that" give_back_burst
	check "umount give back" umount_nfs
	on_server peer_first_requests >/dev/null
}

# ---- what the device may use once more ----------------------------------------------

GIVE_BACK_READS=32

# Each pass of the worker, and in what context it frees MRs. Guests: one processor
give_back_probe() {
	reclaim_probe "r:reclaim/gave xprt_rdma_shrink" "p:reclaim/frees ib_dereg_mr_user $(reclaim_flags)"
	reclaim_begin
}
give_back_passes() { grep -c ' gave: ' $RECLAIM_TRACE/trace || :; }
give_back_passed() { [ "$(give_back_passes)" -gt "$1" ]; }

give_back_id() { sed -n 's/^\(id=[0-9]*\) side=client .*/\1/p' /proc/net/rpcrdma/connections; }

# give_back_reads OPCODE: an MR for each. Packets of that opcode are lost until give_back_acks
give_back_reads() {
	opcode_lost "$1"
	trap acks_back EXIT
	timeout 5 dd if=$MNT/bench of=/dev/null bs=64k count=$GIVE_BACK_READS iflag=direct status=none || :
}
give_back_acks() { trap - EXIT; acks_back; }

# A pass comes ten seconds after it was asked for. READs are complete just before it, and
# the acknowledgements of their Calls are lost: the device repeats these half a second later
# (2 s on 6.1), and ends the queue pair when it does so once more. Leaves the MRs there are
# after the pass; nothing if READs, pass and what the device does came in another order.
give_back_attempt() {
	local begin took passes id
	begin=${EPOCHREALTIME/[.,]/}
	give_back_reads 255
	took=$((${EPOCHREALTIME/[.,]/} - begin))
	give_back_acks
	passes=$(give_back_passes)
	drop_caches
	wait_for 20 give_back_passed "$passes"
	id=$(give_back_id)
	echo "$(give_back_has), $GIVE_BACK_READS READs take $((took / 1000)) ms"

	drop_caches
	begin=$((${EPOCHREALTIME/[.,]/} + 9400000 - took * 5 / 4))
	while [ "${EPOCHREALTIME/[.,]/}" -lt $begin ]; do nap 0.05; done
	give_back_reads 17
	if give_back_passed $((passes + 1)); then
		echo "the pass came before the READs"
	elif wait_for 20 give_back_passed $((passes + 1)); then
		[ "$(give_back_id)" != "$id" ] || client_field mrs >/run/give_back.left
	fi
	give_back_acks
}
give_back_unacked() {
	local tries
	for tries in 1 2 3 4 5; do
		# A slow machine may not get that many in
		[ $tries -le 2 ] || GIVE_BACK_READS=16
		give_back_burst
		: >/run/give_back.left
		give_back_attempt
		[ ! -s /run/give_back.left ] || break
	done
	echo "attempt $tries of 5: $(cat /run/give_back.left) MRs left"
	[ "$(cat /run/give_back.left)" -ge $GIVE_BACK_READS ]
}

suite_give_back_unacked() {
	on_server "dd if=/dev/zero of=$EXPORT/bench bs=1M count=16 status=none" >/dev/null
	on_server "peer_first_requests 64" >/dev/null
	check "probes on the worker" give_back_probe
	check "mount give back unacked" mount_nfs vers=3,timeo=100
	check "MRs stay that the device may register once more" give_back_unacked
	check "a new connection" cut_by_sysfs
	check "a burst on it" give_back_burst
	check "they go back" give_back
	check "a worker frees them without I/O" reclaim_has frees $PF_MEMALLOC_NOIO $PF_WQ_WORKER
	reclaim_unprobe gave frees
	check "umount give back unacked" umount_nfs
	on_server peer_first_requests >/dev/null
}
