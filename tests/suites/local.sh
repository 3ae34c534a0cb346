# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A server that mounts itself. nfsd throttles a client of its own host less, or the
# client could wait for itself to write back: sunrpc marks its Calls. The only thread of
# nfsd serves Calls of both hosts in turn, and keeps no mark.

LOCAL_TRACE=/sys/kernel/tracing/instances/local
LOCAL_MNT=/mnt/local

local_start() {
	mkdir -p $LOCAL_TRACE
	echo 1 >/proc/fs/nfsd/threads
	mount_nfs "vers=4.2,proto=$1" $LOCAL_MNT
	: >$LOCAL_TRACE/trace
	echo 1 >$LOCAL_TRACE/events/sunrpc/svc_send/enable
}
local_call() { echo "$1" >"$LOCAL_MNT/local.$1"; }
local_stop() {
	echo 0 >$LOCAL_TRACE/events/sunrpc/svc_send/enable
	umount_nfs $LOCAL_MNT
	echo 8 >/proc/fs/nfsd/threads
}

# local_marked CLIENT WITH WITHOUT: Replies to it over RDMA with and without the mark
local_marked() {
	awk -v client=" client=$1" '
		/ svc_send: / && / server=10\.0\.0\.1:20049 / && index($0, client) { n[/flags=.*LOCAL/]++ }
		END { print n[1] + 0, "marked,", n[0] + 0, "not"; exit !(n[1] + 0 '"$2"' && n[0] + 0 '"$3"') }' \
		$LOCAL_TRACE/trace
}

local_calls() {
	local i
	for i in 1 2 3 4 5; do
		on_server "local_call $i"
		echo "$i" >"$MNT/remote.$i"
	done
}

suite_local() {
	local proto
	check "mount local" mount_nfs vers=4.2
	mountpoint -q $MNT || return 0
	for proto in tcp rdma; do
		check "the server mounts itself, $proto" on_server "local_start $proto,port=$([ $proto = tcp ] && echo 2049 || echo 20049)"
		check "Calls of both hosts, $proto" local_calls
		check "Calls of the client are not marked, $proto" on_server "local_marked 10.0.0.2 '== 0' '>= 10'"
		[ $proto = tcp ] ||
			check "Calls of the server's own host are marked" on_server "local_marked 10.0.0.1 '>= 10' '== 0'"
		check "the server unmounts itself, $proto" on_server local_stop
	done
	check "umount local" umount_nfs
}
