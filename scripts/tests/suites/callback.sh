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
	for v in 4.1 4.2; do
		on_server "rm -f $EXPORT/deleg; echo original >$EXPORT/deleg; chmod 666 $EXPORT/deleg" >/dev/null
		check "mount callback vers=$v" mount_nfs "vers=$v"
		mountpoint -q $MNT || continue
		check "callback channel up vers=$v" on_server "wait_for 20 callback_up"
		exec 9<$MNT/deleg
		check "delegation granted vers=$v" callback_granted
		check "delegation recalled vers=$v" callback_recalled
		check "delegation returned vers=$v" callback_returned
		exec 9<&-
		check "content after the recall vers=$v" callback_content
		check "umount callback vers=$v" umount_nfs
	done
}
