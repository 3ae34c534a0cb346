# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# How a listener comes to be: rpc.nfsd --rdma (which started this server), a
# line written to portlist, nfs.conf.

listen_shown() { grep -qE "^address=[^ ]*:$1 " /proc/net/rpcrdma/listeners; }

listen_portlist() {
	echo "rdma $1" >/proc/fs/nfsd/portlist
	grep -q "^rdma.* $1$" /proc/fs/nfsd/portlist
	listen_shown "$1"
}

# The same server again, configured by its file alone
listen_conf() {
	rpc.nfsd 0
	wait_for 30 server_threads_gone
	fails listen_shown 20049
	printf '[nfsd]\nthreads=8\nrdma=y\nrdma-port=20049\ngrace-time=10\n' >/etc/nfs.conf
	rpc.nfsd
	rm /etc/nfs.conf
	listen_shown 20049
	echo Y >/proc/fs/nfsd/v4_end_grace
}

listen_mount() {
	mount_nfs "$1"
	iocheck write -l 64k -t -y $MNT/listen
	drop_caches
	iocheck verify -l 64k $MNT/listen
	umount_nfs
}

suite_listen() {
	check "rpc.nfsd --rdma" on_server "listen_shown 20049"
	check "portlist: rdma 20052" on_server "listen_portlist 20052"
	check "mount on the second listener" listen_mount proto=rdma,port=20052,vers=4.2
	check "nfs.conf: rdma=y" on_server listen_conf
	check "mount after nfs.conf" listen_mount vers=4.2
}
