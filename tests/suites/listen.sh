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

# What is refused; the listeners that there are do not notice. Only the end of nfsd takes
# one away here
listen_add() { echo "$1" >/proc/fs/nfsd/portlist; }
listen_refused() {
	local line before
	before=$(cat /proc/net/rpcrdma/listeners)
	for line in "rdma 20049" "rdma 20052" "rdma 0" "rdma 65536" "-rdma 20052" "rdma"; do
		fails listen_add "$line"
		echo "$line: $(cat /proc/net/rpcrdma/listeners)"
		[ "$(cat /proc/net/rpcrdma/listeners)" = "$before" ]
	done
}

# A listener on any address needs no device, and has the one that comes
listen_no_device() {
	local added=
	rdma link delete rxe0
	listen_add "rdma 20053" && added=yes
	cat /proc/net/rpcrdma/listeners
	rdma link add rxe0 type rxe netdev eth0
	wait_for 10 rxe_active rxe0
	[ "$added" = yes ]
	listen_shown 20053
}

listen_no_ipv4() { ip addr del $SERVER/24 dev eth0; }
listen_ipv4() { ip addr add $SERVER/24 dev eth0; }

# nfsd of 6.12, whose threads are stopped: the port of IPv6 is not that of IPv4, and of two
# listeners one goes
listen_set() {
	local tcp="tcp 0.0.0.0 2049"
	rpc.nfsd 0
	wait_for 30 server_threads_gone
	# shellcheck disable=SC2086
	nfsd-listen rdma 0.0.0.0 20049 rdma 0.0.0.0 20052 rdma :: 20054 $tcp
	listen_shown 20052
	# shellcheck disable=SC2086
	nfsd-listen rdma 0.0.0.0 20049 rdma :: 20054 $tcp
	cat /proc/net/rpcrdma/listeners
	[ "$(wc -l </proc/net/rpcrdma/listeners)" = 2 ]
	grep -qF "address=0.0.0.0:20049 " /proc/net/rpcrdma/listeners
	grep -qF "address=[::]:20054 " /proc/net/rpcrdma/listeners
	echo 8 >/proc/fs/nfsd/threads
	server_end_grace
}

# nfsd of another network namespace: the same port is another one there. What rxe receives
# is always of the first namespace, so that nobody can connect. It ends with the last one
# that has its filesystem
listen_inside() { nsenter -t "$(cat /run/apart.pid)" -m -n bash -c "$1"; }
listen_apart() {
	local before
	before=$(cat /proc/net/rpcrdma/listeners)
	mkdir -p /run/netns
	ip netns add apart
	ip netns exec apart bash -c "mount -t nfsd nfsd /proc/fs/nfsd && touch /run/apart.ready; exec sleep 1000" &
	echo $! >/run/apart.pid
	wait_for 10 test -e /run/apart.ready
	listen_inside "echo 'rdma 20049' >/proc/fs/nfsd/portlist && echo 'rdma 20055' >/proc/fs/nfsd/portlist"
	listen_inside "cat /proc/net/rpcrdma/listeners" | tee /run/apart
	grep -q ':20049 ' /run/apart
	grep -q ':20055 ' /run/apart
	[ "$(cat /proc/net/rpcrdma/listeners)" = "$before" ]
}
listen_none_apart() { [ -z "$(ip netns exec apart cat /proc/net/rpcrdma/listeners)" ]; }
listen_apart_end() {
	kill "$(cat /run/apart.pid)"
	wait_for 20 listen_none_apart
	ip netns del apart
}

# The same server again, configured by its file alone
listen_conf() {
	rpc.nfsd 0
	wait_for 30 server_threads_gone
	cat /proc/net/rpcrdma/listeners
	[ -z "$(cat /proc/net/rpcrdma/listeners)" ]
	printf '[nfsd]\nthreads=8\nrdma=y\nrdma-port=20049\ngrace-time=10\n' >/etc/nfs.conf
	rpc.nfsd
	rm /etc/nfs.conf
	listen_shown 20049
	server_end_grace
}

# OPTIONS [SERVER]
listen_mount() {
	mount_nfs "$1" $MNT "${2:-$SERVER}"
	iocheck write -l 64k -t -y $MNT/listen
	drop_caches
	iocheck verify -l 64k $MNT/listen
	umount_nfs
}
listen_nobody() {
	local out
	if out=$(mount_nfs "$1" 2>&1); then
		echo "mounted, of all things"
		return 1
	fi
	echo "$out"
	grep -q 'Connection refused' <<<"$out"
}

# nfsd of 6.1 has no interface for that
listen_netlink() {
	[ "$PEER_KERNEL" != 6.1 ] || return 0
	check "netlink: one listener of three goes" on_server listen_set
	check "nobody listens where one went" listen_nobody proto=rdma,port=20052,vers=4.2
	check "nobody listens on IPv4 at a port of IPv6" listen_nobody proto=rdma,port=20054,vers=4.2
	check "mount on a listener of IPv6" listen_mount proto=rdma6,port=20054,vers=4.2 $SERVER6
	check "mount on the listener that stays" listen_mount vers=4.2
}

suite_listen() {
	check "rpc.nfsd --rdma" on_server "listen_shown 20049"
	check "portlist: rdma 20052" on_server "listen_portlist 20052"
	check "mount on the second listener" listen_mount proto=rdma,port=20052,vers=4.2
	check "portlist: what is refused" on_server listen_refused
	check "mount after what was refused" listen_mount proto=rdma,port=20052,vers=4.2
	check "portlist: no device, and one that comes" on_server listen_no_device
	check "mount on the device that came" listen_mount proto=rdma,port=20053,vers=4.2
	check "mount on a listener that was there before" listen_mount vers=4.2
	check "no address of IPv4" on_server listen_no_ipv4
	check "mount of IPv6 alone" listen_mount proto=rdma6,port=20049,vers=4.2 $SERVER6
	check "an address of IPv4 again" on_server listen_ipv4
	check "mount of IPv4 again" listen_mount vers=4.2
	check "another network namespace" on_server listen_apart
	check "nobody listens for another network namespace" listen_nobody proto=rdma,port=20055,vers=4.2
	check "mount beside another network namespace" listen_mount vers=4.2
	check "the other network namespace ends" on_server listen_apart_end
	listen_netlink
	check "nfs.conf: rdma=y" on_server listen_conf
	check "mount after nfs.conf" listen_mount vers=4.2
}

# The CM ends the queue pair of a rejected connection before it says so: what is flushed comes
# first here. Guests: CONFIG_RPCRDMA_FAULT=y
suite_slow_reject() {
	echo 50 >/sys/module/rpcrdma/parameters/slow_reject
	check "nobody listens, and the queue pair has ended before" listen_nobody proto=rdma,port=20055,vers=4.2
	echo 0 >/sys/module/rpcrdma/parameters/slow_reject
	check "mount on a listener after that" listen_mount vers=4.2
}
