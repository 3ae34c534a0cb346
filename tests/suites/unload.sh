# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The module goes while the teardown of its last connection, which holds no reference to it,
# is interrupted where it has just been counted.
#
# Guests: CONFIG_RPCRDMA_FAULT=y. -A "preempt=full slub_debug=P": what is freed is
# overwritten, and another task runs on the same processor.

UNLOAD_SLOW=/sys/module/rpcrdma/parameters/slow_last

unload_gone() { ! grep -q side=server /proc/net/rpcrdma/connections; }
unload_server() {
	echo 2000 >$UNLOAD_SLOW
	rpc.nfsd 0
	wait_for 20 unload_gone
	wait_for 20 rmmod rpcrdma
	load_transport
	rpc.nfsd --rdma=20049 8
	server_end_grace
}
unload_io() {
	iocheck write -l 1m -b 256k -s "$1" -d $MNT/unload
	iocheck verify -l 1m -b 256k -s "$1" -d $MNT/unload
}

suite_unload() {
	check "mount unload vers=3" mount_nfs vers=3
	mountpoint -q $MNT || return 0
	check "I/O before the server's module goes" unload_io 5
	check "the server's module goes behind its last connection" on_server unload_server
	check "I/O with the module that came" unload_io 6
	check "umount unload vers=3" umount_nfs
}

# nfsd goes, and its service, while the endpoints of its connections are still shown. Guests with
# KASAN tell whether they need it
stop_read() { while [ ! -e /run/stop.end ]; do cat /proc/net/rpcrdma/connections >/dev/null; done; }
stop_server() {
	local job
	rm -f /run/stop.end
	stop_read &
	job=$!
	rpc.nfsd 0
	wait_for 20 unload_gone
	touch /run/stop.end
	wait $job
	rpc.nfsd --rdma=20049 8
	server_end_grace
}
suite_stop() {
	local i
	check "mount stop vers=3" mount_nfs vers=3,nconnect=16
	mountpoint -q $MNT || return 0
	for i in 1 2 3; do
		check "I/O on its connections, $i" unload_io $i
		check "nfsd stops while its connections are shown, $i" on_server stop_server
	done
	check "I/O after that" unload_io 4
	check "umount stop vers=3" umount_nfs
}
