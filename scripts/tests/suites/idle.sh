# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A connection that nobody uses is closed by the client, without a word in the log, and
# the next Call makes another. Calls that come just then, before, while or after the
# connection is closed, are all answered.

idle_lines() { dmesg | grep -c "rpcrdma:" || :; }
idle_none() { ! grep -q 'side=client' /proc/net/rpcrdma/connections; }

idle_closed() {
	local before lines
	before=$(connects)
	lines=$(idle_lines)
	wait_for 20 idle_none
	on_server "wait_for 20 peer_idle_none" >/dev/null
	stat -f $MNT
	echo "connects $before -> $(connects)"
	[ "$(connects)" = $((before + 1)) ]
	[ "$(idle_lines)" = "$lines" ]
}
peer_idle_none() { ! grep -q 'side=server' /proc/net/rpcrdma/connections; }

# The pauses are from less than the timeout to more than it
idle_race() {
	local i before lines t0=$SECONDS n=25
	before=$(connects)
	lines=$(idle_lines)
	for ((i = 0; i < n; i++)); do
		iocheck write -l 24k -b 8k -s "$i" -d -t $MNT/idle
		iocheck verify -l 24k -b 8k -s "$i" -d $MNT/idle
		read -rt "$(printf '%d.%03d' $(((900 + i * 10) / 1000)) $(((900 + i * 10) % 1000)))" <>/run/idle.fifo || :
	done
	echo "$((SECONDS - t0)) s, connects $before -> $(connects)"
	# Some came in time, some did not
	[ "$(connects)" -gt $((before + 5)) ]
	[ "$(connects)" -lt $((before + n - 5)) ]
	[ "$(idle_lines)" = "$lines" ]
}

suite_idle() {
	echo 1 >/proc/sys/sunrpc/rdma_idle_timeout
	[ -e /run/idle.fifo ] || mkfifo /run/idle.fifo
	check "mount idle vers=3" mount_nfs vers=3
	echo 300 >/proc/sys/sunrpc/rdma_idle_timeout
	mountpoint -q $MNT || return 0
	check "an idle connection is closed, and another made" idle_closed
	check "Calls race with the end of an idle connection" idle_race
	check "umount idle vers=3" umount_nfs
}
