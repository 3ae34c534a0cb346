# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# RFC 8167: an NFSv4.1 delegation is granted, recalled over the same connection
# because a process on the server opens the file for writing, and returned.

delegations() { cat /proc/fs/nfsd/clients/*/states 2>/dev/null | grep -c 'type: deleg' || :; }
callback_up() { grep -q 'callback state: UP' /proc/fs/nfsd/clients/*/info; }
delegation_there() { [ "$(delegations)" -ge 1 ]; }

callback_granted() {
	on_server "wait_for 10 delegation_there"
}
# Without the callback the server waits for the lease break time, 45 s.
callback_recalled() {
	local t0=$SECONDS
	on_server "timeout 40 bash -c 'echo changed >$EXPORT/deleg'"
	echo "recall took $((SECONDS - t0)) s"
	[ $((SECONDS - t0)) -lt 20 ]
}
callback_returned() { [ "$(on_server delegations)" = 0 ]; }
callback_content() { [ "$(cat $MNT/deleg)" = changed ]; }

suite_callback() {
	local v
	for v in ${CALLBACK_VERSIONS:-4.1 4.2}; do
		on_server "rm -f $EXPORT/deleg; echo original >$EXPORT/deleg; chmod 666 $EXPORT/deleg" >/dev/null
		check "mount callback vers=$v" mount_nfs "vers=$v"
		mountpoint -q $MNT || continue
		check "callback channel up vers=$v" on_server "wait_for 20 callback_up"
		exec 9<$MNT/deleg
		check "delegation granted vers=$v" callback_granted
		check "probes on callbacks vers=$v" reclaim_callback_probe
		check "delegation recalled vers=$v" callback_recalled
		check "a callback's slot does not wait for memory vers=$v" reclaim_callback_fails
		reclaim_unprobe called returned
		check "delegation returned vers=$v" callback_returned
		exec 9<&-
		check "content after the recall vers=$v" callback_content
		check "umount callback vers=$v" umount_nfs
	done
}

callback_qps_gone() { [ -z "$(live_qps | grep -xFf /run/callback.qps)" ]; }

# The connection is lost while a recall is under way. Whether nfsd recalls again
# on the next connection or takes the delegation away in the end is its affair:
# either way the local open goes on, and the client with it.
callback_lost() {
	local t0=$SECONDS gone=yes
	on_server "live_qps | grep -vxFf /run/stale.qps >/run/callback.qps" >/dev/null
	wire_down
	on_server "timeout 90 bash -c 'echo changed >$EXPORT/deleg' & echo \$! >/run/opener" >/dev/null
	# The client may see it too, when it renews its lease: then it connects, of which
	# the server hears, and has another queue pair that is ready for half a minute
	on_server "wait_for 60 callback_qps_gone" >/dev/null || gone=no
	wire_up
	if [ $gone = no ]; then
		echo "queue pairs then: $(on_server "paste -sd ' ' /run/callback.qps"); now:"
		on_server "rdma resource show qp"
		return 1
	fi
	ls -l $MNT/deleg
	ON_SERVER_LIMIT=120 on_server "wait_for 100 job_ended \$(cat /run/opener)" >/dev/null
	echo "the open for writing took $((SECONDS - t0)) s"
	# Until it hears that its delegation is gone, the client may use its cache
	wait_for 60 callback_content
}

# Guests: -e NFSD_OPTS="--lease-time 20"
suite_callback_lost() {
	on_server "echo original >$EXPORT/deleg; chmod 666 $EXPORT/deleg" >/dev/null
	# Where a suite before this one lost packets the server may not know that the client
	# has gone, until its connection has been idle for long
	on_server "live_qps >/run/stale.qps || :" >/dev/null
	info "$(on_server "wc -l </run/stale.qps") queue pairs of connections that are lost"
	check "mount callback lost vers=4.2" mount_nfs "vers=4.2,timeo=150"
	check "callback channel up before the loss" on_server "wait_for 20 callback_up"
	exec 9<$MNT/deleg
	check "delegation granted before the loss" callback_granted
	check "connection lost with a recall in flight" callback_lost
	exec 9<&-
	check "callback channel up after the loss" on_server "wait_for 60 callback_up"
	check "umount callback lost vers=4.2" umount_nfs
}
