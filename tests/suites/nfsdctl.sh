# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# nfsd configured by nfsdctl (nfs-utils 2.8, in guests with Debian 13's programs): listeners on
# addresses, by netlink. nfsd changes them only while it has no threads. To remove one it closes
# all, and opens those that stay again. Its last thread takes all listeners along.

# ---- on the server ------------------------------------------------------------

# RDMA listeners, ADDRESS PORT a line, as nfsdctl and as the module have them
nfsdctl_rdma() { nfsdctl listener | sed -nE 's/^rdma:(.*):([0-9]+)$/\1 \2/p' | sort; }
nfsdctl_shown() { sed -nE 's/^address=([^ ]*):([0-9]+) .*/\1 \2/p' /proc/net/rpcrdma/listeners | sort; }

# nfsdctl_are ADDRESS:PORT...: nfsdctl has these and no others, and portlist and the module agree
nfsdctl_are() {
	nfsdctl listener
	cat /proc/fs/nfsd/portlist
	nfsdctl_rdma >/run/nfsdctl
	[ "$(printf '%s\n' "$@" | sed -E 's/:([0-9]+)$/ \1/' | sort)" = "$(cat /run/nfsdctl)" ]
	[ "$(sed 's/.* //' /run/nfsdctl | sort)" = "$(sed -n 's/^rdma //p' /proc/fs/nfsd/portlist | sort)" ]
	[ "$(nfsdctl listener | grep -c .)" = "$(wc -l </proc/fs/nfsd/portlist)" ]
	# The stock module does not show its own
	[ "$MODULE" = stock ] || [ "$(nfsdctl_shown)" = "$(cat /run/nfsdctl)" ]
}

nfsdctl_stop() {
	nfsdctl threads 0
	wait_for 30 server_threads_gone
	[ -z "$(cat /proc/fs/nfsd/portlist)" ]
	[ -z "$(nfsdctl listener)" ]
	[ "$MODULE" = stock ] || [ -z "$(nfsdctl_shown)" ]
}

nfsdctl_threads() {
	nfsdctl threads 4
	[ "$(cat /proc/fs/nfsd/threads)" = 4 ]
	server_end_grace
}

# nfsdctl_set UPDATE...: listeners while nfsd has no threads
nfsdctl_set() {
	[ "$(cat /proc/fs/nfsd/threads)" = 0 ]
	nfsdctl listener "$@"
}

# nfsdctl_refused TEXT COMMAND...: nfsdctl fails, and says so; the listeners stay as they are
nfsdctl_refused() {
	local text=$1 before out
	shift
	before=$(sort /proc/fs/nfsd/portlist)
	out=$(nfsdctl "$@" 2>&1) && { echo "it succeeds: $out"; return 1; }
	echo "nfsdctl $*: $out"
	grep -q "$text" <<<"$out"
	# In another order
	[ "$(sort /proc/fs/nfsd/portlist)" = "$before" ]
}

# ---- on the client --------------------------------------------------------------

# nfsdctl shows where an RPC that the server works on came from, and where to: it waits for a disk
nfsdctl_status() {
	local line
	on_server abandon_disk
	EXPORT=$SLOW mount_nfs vers=4.2
	abandon_begin "READDIR(PLUS)?" ls $MNT/many
	line=$(on_server "nfsdctl status | grep NFS4")
	on_server abandon_resume
	trap - EXIT
	wait "$JOB"
	umount_nfs
	on_server abandon_undisk
	echo "nfsdctl status: $line"
	[[ $line = *" 10.0.0.2 $SERVER "* ]]
}

suite_nfsdctl() {
	check "threads end, and listeners with them" on_server nfsdctl_stop
	check "listeners on any address, and TCP" on_server "nfsdctl_set +rdma::20049 +tcp::2049"
	check "nfsdctl, portlist and the module agree" on_server "nfsdctl_are 0.0.0.0:20049 [::]:20049"
	check "threads" on_server nfsdctl_threads
	check "mount vers=4.2" listen_mount vers=4.2
	check "mount vers=3" listen_mount vers=3
	check "mount IPv6" listen_mount proto=rdma6,port=20049,vers=4.2 $SERVER6
	check "status of an RPC" nfsdctl_status
	check "threads run: no listener comes" on_server "nfsdctl_refused busy listener +rdma:$SERVER:20052"
	check "threads run: no listener goes" on_server "nfsdctl_refused busy listener -rdma:0.0.0.0:20049"
	check "mount after what was refused" listen_mount vers=4.2

	check "threads end again" on_server nfsdctl_stop
	check "listeners on addresses" on_server "nfsdctl_set +rdma:$SERVER:20049 +rdma:[$SERVER6]:20049 +rdma:$SERVER:20052 +tcp::2049"
	check "three listeners" on_server "nfsdctl_are $SERVER:20049 [$SERVER6]:20049 $SERVER:20052"
	check "a listener goes" on_server "nfsdctl_set -rdma:$SERVER:20049"
	check "two listeners" on_server "nfsdctl_are [$SERVER6]:20049 $SERVER:20052"
	check "an address of another host" on_server "nfsdctl_refused 'assign requested address' listener +rdma:192.0.2.1:20049"
	check "an IPv6 address of another host" on_server "nfsdctl_refused 'assign requested address' listener +rdma:[2001:db8::1]:20049"
	check "a transport that there is not" on_server "nfsdctl_refused . listener +rdmax:$SERVER:20053"
	check "two listeners after what was refused" on_server "nfsdctl_are [$SERVER6]:20049 $SERVER:20052"
	check "threads on two listeners" on_server nfsdctl_threads
	check "nobody listens where one went" listen_nobody proto=rdma,port=20049,vers=4.2
	check "mount on a listener that stayed" listen_mount proto=rdma,port=20052,vers=4.2
	check "mount on an IPv6 listener that stayed" listen_mount proto=rdma6,port=20049,vers=4.2 $SERVER6

	check "threads end once more" on_server nfsdctl_stop
	check "the listener comes again" on_server "nfsdctl_set +rdma:$SERVER:20049 +tcp::2049"
	check "one listener" on_server "nfsdctl_are $SERVER:20049"
	check "threads on one listener" on_server nfsdctl_threads
	check "mount on the listener that came again" listen_mount vers=4.2
	check "rpc.nfsd again" on_server "nfsdctl_stop && rpc.nfsd --rdma=20049 8 && server_end_grace"
	check "mount after rpc.nfsd" listen_mount vers=4.2
}
