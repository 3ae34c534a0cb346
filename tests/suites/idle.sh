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

# The pause that the timeout ends in is searched for, as what a Call takes differs: it gets
# longer while the connection is still there, and shorter when it is not
idle_race() {
	local i before now lines t0=$SECONDS kept=0 closed=0 pause=900
	lines=$(idle_lines)
	for ((i = 0; i < 30; i++)); do
		before=$(connects)
		iocheck write -l 24k -b 8k -s "$i" -d -t $MNT/idle
		iocheck verify -l 24k -b 8k -s "$i" -d $MNT/idle
		now=$(connects)
		if [ "$now" = "$before" ]; then
			kept=$((kept + 1))
			pause=$((pause + 60))
		else
			closed=$((closed + 1))
			pause=$((pause > 110 ? pause - 60 : 50))
		fi
		read -rt "$(printf '%d.%03d' $((pause / 1000)) $((pause % 1000)))" <>/run/idle.fifo || :
	done
	echo "$((SECONDS - t0)) s, pause $pause ms, kept $kept, closed $closed"
	# Some came in time, some did not
	[ $kept -ge 5 ]
	[ $closed -ge 5 ]
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
