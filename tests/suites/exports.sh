# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# sunrpc keeps with a connection to which exports its client's address belongs: it is not
# looked up for each RPC, and a client that may not have an export any more loses it.

EXPORTS_TRACE=/sys/kernel/tracing/instances/exports
EXPORTS_PROBES=/sys/kernel/tracing/kprobe_events

exports_count_begin() {
	mkdir $EXPORTS_TRACE
	echo 'p:exports/address ip_map_match' >>$EXPORTS_PROBES
	echo 1 >$EXPORTS_TRACE/events/exports/enable
}
exports_count_end() {
	echo 0 >$EXPORTS_TRACE/events/exports/enable
	grep -c ' address: ' $EXPORTS_TRACE/trace || :
	rmdir $EXPORTS_TRACE
	echo '-:exports/address' >>$EXPORTS_PROBES
}

# Another client of the same server is there: the export is of that one alone
exports_only_other() {
	exportfs -u "*:$EXPORT"
	exportfs -o rw,no_root_squash,insecure,no_subtree_check,fsid=1 "10.9.9.9:$EXPORT"
}
exports_again() {
	exportfs -u "10.9.9.9:$EXPORT"
	exportfs -r
}

# exports_calls N: GETATTRs
exports_calls() {
	local i
	for ((i = 0; i < $1; i++)); do
		stat -c %i "$MNT/exports" >/dev/null || return
	done
}

exports_looked_up() {
	local rpcs n
	exports_calls 2
	rpcs=$(replies)
	on_server exports_count_begin
	exports_calls 100
	n=$(on_server exports_count_end | tail -n 1)
	rpcs=$(($(replies) - rpcs))
	echo "$rpcs RPCs, the client's address was looked up $n times"
	[ "$rpcs" -ge 100 ] && [ "$n" -le 5 ]
}

exports_gone() {
	exports_calls 1
	on_server exports_only_other
	fails exports_calls 1
	on_server exports_again
	wait_for 60 exports_calls 1
}

suite_exports() {
	# No delegation answers a GETATTR in the server's place
	check "mount exports" mount_nfs vers=3,noac
	mountpoint -q $MNT || return 0
	check "a file for exports" touch $MNT/exports
	check "a client's address is looked up once, not for each RPC" exports_looked_up
	check "a client that may not have an export any more loses it, and gets it back" exports_gone
	check "umount exports" umount_nfs
}
