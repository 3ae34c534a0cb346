# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# RPCs given up while the server works on them: kill -9, umount -f, a soft
# mount's timeout. The server's disk stops, its connection does not. Whoever
# waited is free within seconds, and no MR of the RPC stays valid. When the disk
# goes on the late Reply of a WRITE, whose data the server had read, brings the
# credit back on the same connection. That of a READ or READDIR begins with an RDMA
# Write to memory that is no longer offered: our device refuses it, which by the
# rules of RDMA costs the connection, and the mount goes on with the next one.

SLOW=/slow
BOUND=10

# ---- on the server: a file system whose disk can be stopped -------------------

abandon_disk() {
	[ ! -d $SLOW ] || return 0
	modprobe -a loop dm_mod ext4
	truncate -s 64M /run/slow.img
	losetup /dev/loop0 /run/slow.img
	dmsetup --noudevsync create slow --table '0 131072 linear /dev/loop0 0'
	mke2fs -q -F -t ext4 -O ^has_journal /dev/dm-0
	mkdir $SLOW
	mount -t ext4 -o noatime /dev/dm-0 $SLOW
	mkdir $SLOW/many
	(cd $SLOW/many && sizes_names | xargs touch)
	chmod -R 777 $SLOW
	exportfs -o rw,no_root_squash,insecure,no_subtree_check,fsid=2 "*:$SLOW"
}
# Pages go, inodes stay: whatever needs the disk waits, GETATTR does not
abandon_stall() {
	sync
	echo 1 >/proc/sys/vm/drop_caches
	dmsetup --noudevsync suspend slow
}
abandon_resume() { dmsetup --noudevsync resume slow; }
abandon_undisk() {
	abandon_resume
	exportfs -u "*:$SLOW"
	# nfsd keeps files open for some seconds
	wait_for 30 umount $SLOW
	dmsetup --noudevsync remove slow
	losetup -d /dev/loop0
	rmdir $SLOW
}

# ---- on the client ------------------------------------------------------------

abandon_pending() { grep -qE " $1 .*q:xprt_pending" /sys/kernel/debug/sunrpc/rpc_clnt/*/tasks; }
# The stock module does not say so
abandon_count() { [ "$MODULE" = stock ] || [ "$(connection_sum abandoned)" = "$1" ]; }
abandon_some() { [ "$MODULE" = stock ] || [ "$(connection_sum abandoned)" != 0 ]; }

# The disk stops, COMMAND runs into it with an RPC of the procedure PROC.
# Sets JOB. However the check ends, the disk goes on.
abandon_begin() {
	local proc=$1
	shift
	drop_caches
	trap 'on_server abandon_resume >/dev/null' EXIT
	on_server abandon_stall >/dev/null
	"$@" &
	JOB=$!
	wait_for 20 abandon_pending "$proc"
}

# abandon_end CONNECTS: how many connections there have been after it
abandon_end() {
	on_server abandon_resume >/dev/null
	wait_for 30 abandon_count 0
	abandon_io
	[ "$MODULE" = stock ] || echo "abandoned $(connection_sum abandoned)"
	echo "connects $(connects), wanted $1"
	[ "$(connects)" = "$1" ]
}
abandon_names() { [ "$(ls $MNT/many | md5sum)" = "$(sizes_names | md5sum)" ]; }
abandon_io() {
	iocheck write -l 300000 -b 64k -s 5 -t -y $MNT/after &&
		drop_caches &&
		iocheck verify -l 300000 -b 64k -s 5 $MNT/after &&
		abandon_names
}

# JOB ends in time, and not well.
abandon_gone() {
	local t0=$SECONDS
	wait_for $BOUND job_ended "$JOB"
	echo "ended within $((SECONDS - t0)) s"
	fails wait "$JOB"
}

# READDIR is synchronous: who is killed takes the RPC along, and its MRs with it.
abandon_kill_sync() {
	local c0 inv0
	c0=$(connects) inv0=$(mountstats_local_inv)
	abandon_begin "READDIR(PLUS)?" ls $MNT/many
	kill -9 "$JOB"
	abandon_gone
	echo "LOCAL_INVs $inv0 -> $(mountstats_local_inv)"
	[ "$(mountstats_local_inv)" -gt "$inv0" ]
	abandon_count 1
	abandon_end $((c0 + 1))
}

# O_DIRECT is not: the RPC goes on with the pages, the process is gone.
abandon_kill_direct() {
	local c0
	c0=$(connects)
	abandon_begin "$@"
	kill -9 "$JOB"
	abandon_gone
	abandon_pending "$1"
	abandon_end "$c0"
}

# The server's RDMA Write of the late Reply failed
abandon_logged() {
	dmesg | grep 'connection lost: ' | tail -n 3 | paste -sd ';'
	dmesg | grep -qE 'server .*: connection lost: remote access error \(-104\), (un)?signalled WR, vendor error 0x[0-9a-f]+$'
}

# The client's device ends its queue pair as well. When the client's Disconnect Request is
# faster than the server's completion, the server has nothing to log: then once more. rxe
# of 7.2 names the cause to the client, which may always be faster.
abandon_said() {
	local n
	for n in 1 2 3; do
		! on_server abandon_logged || return 0
		case $(uname -r) in
		6.*) abandon_kill_sync ;;
		*)
			dmesg | grep -q 'connection lost: QP access error (-104)'
			return
			;;
		esac
	done
	on_server abandon_logged
}

# umount ends in time, and says why it cannot
abandon_refused() {
	local rc=0
	timeout -k 1 $BOUND umount -f $MNT || rc=$?
	echo "umount: status $rc"
	[ $rc != 0 ]
	[ $rc -lt 124 ]
}

# The mount is busy and stays; its RPCs end.
abandon_force() {
	local c0 inv0
	c0=$(connects) inv0=$(mountstats_local_inv)
	exec 9<$MNT
	abandon_begin "$@"
	abandon_refused
	abandon_gone
	echo "LOCAL_INVs $inv0 -> $(mountstats_local_inv)"
	[ "$(mountstats_local_inv)" -gt "$inv0" ]
	abandon_some
	[ "$1" = WRITE ] || c0=$((c0 + 1))
	abandon_end "$c0"
}

# How many connections said so
abandon_late() { dmesg | grep -c "rpcrdma: client $SERVER:20049 on rxe0: connection lost: an RPC timed out (-110)" || :; }

# The RPC timeout costs the connection, which says so, and while there is none a soft mount
# fails what it is asked. For NFSv3 only: what NFSv4 has sent, sunrpc lets wait as
# long as the connection lives, soft or not.
abandon_soft() {
	local late
	BOUND=30
	late=$(abandon_late)
	abandon_begin "$@"
	abandon_gone
	[ "$MODULE" = stock ] || [ "$(abandon_late)" -gt "$late" ]
	on_server abandon_resume >/dev/null
	wait_for 60 abandon_io
}

# NFSv4 asks with a SEQUENCE, every 15 seconds, whether the server is done with a
# slot whose RPC was given up: the transport is in use for so long.
abandon_unused() { [ "$(cat /sys/module/rpcrdma/refcnt)" = 0 ]; }
abandon_umount() {
	umount_nfs
	wait_for 40 abandon_unused
}

abandon_one() {
	local v=$1 get put
	get="dd if=$MNT/file of=/dev/null bs=256k count=1 iflag=direct status=none"
	put="dd if=/dev/zero of=$MNT/file bs=256k count=1 oflag=direct conv=notrunc,nocreat status=none"
	check "mount abandon vers=$v" mount_nfs "vers=$v,nocto,actimeo=600"
	mountpoint -q $MNT || return 0
	check "prepare abandon vers=$v" iocheck write -l 256k -b 256k -d $MNT/file
	check "kill -9 with READDIR in flight vers=$v" abandon_kill_sync
	[ "$PEER_MODULE" = stock ] ||
		check "the server's log says which completion failed vers=$v" abandon_said
	check "kill -9 with a direct READ in flight vers=$v" abandon_kill_direct READ $get
	check "kill -9 with a direct WRITE in flight vers=$v" abandon_kill_direct WRITE $put
	check "umount -f with a READ in flight vers=$v" abandon_force READ $get
	check "umount -f with a WRITE in flight vers=$v" abandon_force WRITE $put
	check "umount abandon vers=$v" abandon_umount
	[ "$v" = 3 ] || return 0
	check "mount soft vers=$v" mount_nfs "vers=$v,nocto,actimeo=600,soft,timeo=20,retrans=1"
	check "soft mount's READ ends vers=$v" abandon_soft READ $get
	check "soft mount's WRITE ends vers=$v" abandon_soft WRITE $put
	check "umount soft vers=$v" abandon_umount
}

suite_abandon() {
	local v EXPORT=$SLOW
	check "a disk that can be stopped" on_server abandon_disk
	for v in ${ABANDON_VERSIONS:-3 4.2}; do
		abandon_one "$v"
	done
	check "the disk goes" on_server abandon_undisk
}

# All Receives of a new connection wait for Replies to RPCs that are killed, and when one more
# asked there was no memory for others. It sleeps, and no Reply wakes it: the end of each of
# those does, and then it gets more Receives. No credit is lacking.
abandon_credits() { awk -v key="$1" '/side=client/ { for (i = 1; i <= NF; i++) if (sub("^" key "=", "", $i)) print $i }' /proc/net/rpcrdma/connections; }
# The file system is frozen as well: a SETATTR waits for that, and a FSSTAT for nothing
abandon_setattrs() { [ "$(cat /sys/kernel/debug/sunrpc/rpc_clnt/*/tasks | grep -cE ' SETATTR .*q:xprt_pending')" = "$1" ]; }
abandon_all() {
	local i c0 n site asks jobs=()
	c0=$(connects) n=$(abandon_credits receivable)
	echo "Receives for $n Calls, $(abandon_credits granted) granted"
	[ "$(abandon_credits granted)" -gt $((n + 1)) ]
	site=$(alloc_hits | tr ' ' '\n' | sed -n 's/=.*//; /:rpcrdma_recvq_add:/p' | head -n 1)
	trap 'on_server abandon_resume >/dev/null' EXIT
	on_server abandon_stall >/dev/null
	for i in $(sizes_names | head -n "$n"); do
		chmod 600 "$MNT/many/$i" &
		jobs+=($!)
	done
	wait_for 20 abandon_setattrs "$n"
	alloc_arm "$site"
	stat -f $MNT &
	asks=$!
	wait_for 20 bad_waits FSSTAT sending
	alloc_failed "$site"
	kill -9 "${jobs[@]}"
	for i in "${jobs[@]}"; do wait_for $BOUND job_ended "$i"; done
	wait_for $BOUND job_ended $asks
	wait_job $asks
	echo "connects $c0 -> $(connects)"
	[ "$(connects)" = "$c0" ]
}

# Guests: CONFIG_RPCRDMA_FAULT=y
suite_abandon_all() {
	local EXPORT=$SLOW
	check "a disk that can be stopped" on_server abandon_disk
	# Each may hang in nfsd
	on_server "peer_first_requests 64; echo 32 >/proc/fs/nfsd/threads" >/dev/null
	check "mount abandon_all" mount_nfs vers=3,nocto,actimeo=600
	check "known before" abandon_names
	check "all Receives are those of killed RPCs" abandon_all
	check "all names are there" abandon_names
	check "umount abandon_all" umount_nfs
	on_server "peer_first_requests; echo 8 >/proc/fs/nfsd/threads" >/dev/null
	check "the disk goes" on_server abandon_undisk
}
