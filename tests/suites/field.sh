# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# What administrators do with a mount, and what happens to it: a suite for each kind. tests/soak
# runs all, 60-faults those in which the transport has a part of its own: Calls that outlive
# their thread, transports that come and go below a mount, addresses with a scope, a suspend. For
# the stock module: SERVER=stock CLIENT=stock.

# field_io FILE SEED: 200,001 bytes, through the page cache to the server and back
field_io() {
	iocheck write -l 200001 -b 64k -s "$2" -y -t "$1"
	drop_caches
	iocheck verify -l 200001 -b 64k -s "$2" "$1"
}

# field_load FILE: verified I/O in the background, until field_load_end in a check
field_load() {
	rm -f /run/field.*
	{
		trap - ERR
		set +e
		(
			set -e
			field_load_rounds "$1"
		) >/run/field.out 2>&1
		echo $? >/run/field.rc
	} &
}
field_load_rounds() {
	local n=0
	while [ ! -e /run/field.stop ]; do
		n=$((n + 1))
		iocheck write -l 256k -b 32k -s $n -d -t "$1"
		iocheck verify -l 256k -b 32k -s $n -d "$1"
		echo $n >/run/field.rounds
	done
}
field_rounds() { cat /run/field.rounds 2>/dev/null || echo 0; }
field_beyond() { [ -e /run/field.rc ] || [ "$(field_rounds)" -gt "$1" ]; }
# A round that begins after now completes within so many seconds
field_goes_on() {
	wait_for "${1:-60}" field_beyond $(($(field_rounds) + 1))
	[ ! -e /run/field.rc ] || { cat /run/field.out; return 1; }
}
field_load_end() {
	field_goes_on
	touch /run/field.stop
	wait_for 60 test -e /run/field.rc
	cat /run/field.out
	[ "$(cat /run/field.rc)" = 0 ]
}

# ---- Calls that sunrpc defers ----------------------------------------------------

# nfsd asks rpc.mountd about each client again, and rpc.mountd does not answer: after some
# seconds sunrpc copies a Call and frees the thread.
DEFER_TRACE=/sys/kernel/tracing/instances/defer
deferral_begin() {
	mkdir $DEFER_TRACE
	echo 1 >$DEFER_TRACE/events/sunrpc/svc_defer/enable
	echo 1 >$DEFER_TRACE/events/sunrpc/svc_defer_recv/enable
	killall -STOP rpc.mountd
	exportfs -f
}
deferral_count() { grep -c " $1: " $DEFER_TRACE/trace || :; }
deferral_has() { [ "$(deferral_count "$1")" -ge "$2" ]; }
deferral_end() {
	killall -CONT rpc.mountd
	wait_for 30 deferral_has svc_defer_recv "$1"
	echo "deferred $(deferral_count svc_defer), taken up again $(deferral_count svc_defer_recv)"
}
deferral_restore() {
	killall -CONT rpc.mountd
	rmdir $DEFER_TRACE
}
# GETATTRs are short enough to be deferred, the WRITE is not: nfsd has the client send it again
deferral_calls() {
	local i jobs=() before
	before=$(connects)
	for i in 1 2 3 4; do echo $i >"$MNT/defer.$i"; done
	trap 'on_server deferral_restore >/dev/null' EXIT
	on_server deferral_begin >/dev/null
	for i in 1 2 3 4; do
		stat "$MNT/defer.$i" >/dev/null &
		jobs+=($!)
	done
	iocheck write -l 64k -b 64k -s 4 -d -t $MNT/defer.write &
	jobs+=($!)
	on_server "wait_for 40 deferral_has svc_defer 4" >/dev/null
	for i in "${jobs[@]}"; do fails job_ended "$i"; done
	on_server "deferral_end 4"
	for i in "${jobs[@]}"; do wait_job "$i"; done
	iocheck verify -l 64k -b 64k -s 4 -d $MNT/defer.write
	echo "connects $before -> $(connects)"
	[ "$(connects)" = "$before" ]
}
suite_deferral() {
	check "mount deferral vers=3" mount_nfs vers=3,noac
	mountpoint -q $MNT || return 0
	check "Calls deferred while rpc.mountd is stopped" deferral_calls
	check "umount deferral vers=3" umount_nfs
}

# ---- sysfs: a transport of several goes offline, and goes ---------------------------

# xprts_main 0|1: transports that are, or are not, the first of their client
xprts_main() {
	local dir
	for dir in /sys/kernel/sunrpc/xprt-switches/*/xprt-*-rdma; do
		! grep -qx "main_xprt=$1" "$dir/xprt_info" || echo "$dir"
	done
}
# xprt_set XPRT STATE: the write waits for the transport's send lock, which sunrpc releases
# without a wake-up (xprt_clear_locked()). On a busy transport it may sleep for good: again.
xprt_set() {
	local rc i
	for i in {1..20}; do
		rc=0
		timeout 1 bash -c "echo $2 >$1/xprt_state" || rc=$?
		[ $rc = 124 ] || return $rc
		echo "attempt $i was not woken"
	done
	return 124
}
xprt_connections() { [ "$(live_connections)" = "$1" ]; }
xprt_offline() {
	local xprt
	xprt=$(xprts_main 0)
	wait_for 20 xprt_connections 2
	xprt_set "$xprt" offline
	cat "$xprt/xprt_state"
	grep -q OFFLINE "$xprt/xprt_state"
	field_goes_on
}
xprt_remove() {
	local xprt
	xprt=$(xprts_main 0)
	xprt_set "$xprt" remove
	wait_for 20 test ! -e "$xprt"
	wait_for 20 xprt_connections 1
	field_goes_on
}
xprt_main_refused() {
	local rc=0
	xprt_set "$(xprts_main 1)" offline || rc=$?
	echo "status $rc"
	# Not because it was not woken
	[ $rc != 0 ] && [ $rc != 124 ]
	field_goes_on
}
suite_xprt_state() {
	# With NFSv4 a mount of 6.1 over RDMA has one connection
	check "mount with two connections" mount_nfs vers=3,nconnect=2
	mountpoint -q $MNT || return 0
	field_load $MNT/xprt
	check "a transport goes offline" xprt_offline
	check "a transport is removed" xprt_remove
	check "the first transport stays" xprt_main_refused
	check "I/O on what is left" field_load_end
	check "umount with one connection" umount_nfs
}

# ---- sysfs: a mount is shut down (Linux 6.5) -----------------------------------------

shutdown_file() { ls /sys/fs/nfs/*:*/shutdown; }
shutdown_pending() {
	local job
	dd if=/dev/zero of=$MNT/shutdown bs=64k count=1 conv=notrunc oflag=direct status=none
	wire_down
	trap wire_up EXIT
	# Its OPEN
	dd if=/dev/zero of=$MNT/shutdown bs=64k count=1 conv=notrunc oflag=direct status=none &
	job=$!
	wait_for 20 abandon_pending "OPEN[A-Z_]*"
	echo 1 >"$(shutdown_file)"
	wait_for 10 job_ended $job
	fails wait $job
	fails timeout 10 stat -f $MNT
}
suite_shutdown() {
	check "mount shutdown vers=4.2" mount_nfs vers=4.2
	mountpoint -q $MNT || return 0
	if ! shutdown_file >/dev/null 2>&1; then
		info "this kernel cannot shut down a mount"
	else
		check "shutdown ends RPCs in flight and refuses others" shutdown_pending
	fi
	check "umount after the shutdown" umount_nfs
	check "mount again after the shutdown" mount_nfs vers=4.2
	check "I/O after the shutdown" field_io $MNT/shutdown 2
	check "umount shutdown vers=4.2" umount_nfs
}

# ---- trunking: two addresses of one server --------------------------------------------

TRUNK_ADDRESS=10.0.0.11
TRUNK=/trunk
trunking_sends() { sed -n 's/.*side=client state=live .* sends=\([0-9]*\) .*/\1/p' /proc/net/rpcrdma/connections; }
trunking_used() {
	local dir
	for dir in /sys/kernel/sunrpc/xprt-switches/*; do
		grep -H '^num_xprts=' "$dir/xprt_switch_info"
	done
	grep -qx num_xprts=2 /sys/kernel/sunrpc/xprt-switches/*/xprt_switch_info
	field_io $MNT/trunk.1 1
	field_io $TRUNK/trunk.2 2
	iocheck verify -l 200001 -b 64k -s 1 $TRUNK/trunk.1
	[ "$MODULE" != stock ] || return 0
	trunking_sends
	[ "$(trunking_sends | awk '$1 >= 3' | wc -l)" = 2 ]
}
suite_trunking() {
	check "a second address of the server" on_server "ip addr add $TRUNK_ADDRESS/24 dev eth0"
	check "mount by the first address" mount_nfs vers=4.1,max_connect=2
	check "mount by the second address" mount_nfs vers=4.1,max_connect=2 $TRUNK $TRUNK_ADDRESS
	! mountpoint -q $TRUNK || check "one client has a transport for each address" trunking_used
	! mountpoint -q $TRUNK || check "umount the second address" umount_nfs $TRUNK
	check "umount the first address" umount_nfs
	on_server "ip addr del $TRUNK_ADDRESS/24 dev eth0" >/dev/null
}

# ---- nfsd forgets a client ---------------------------------------------------------

expire_clients() { (cd /proc/fs/nfsd/clients && echo [0-9]*); }
expire_all() {
	local ctl
	for ctl in /proc/fs/nfsd/clients/*/ctl; do echo expire >"$ctl"; done
}
expire_one() {
	local before after
	before=$(on_server expire_clients)
	on_server expire_all
	field_goes_on 90
	after=$(on_server expire_clients)
	echo "clients $before -> $after"
	[ "$after" != "$before" ]
}
suite_expire() {
	check "mount expire vers=4.1" mount_nfs vers=4.1
	mountpoint -q $MNT || return 0
	field_load $MNT/expire
	check "nfsd expires the client below I/O" expire_one
	check "I/O after that" field_load_end
	check "umount expire vers=4.1" umount_nfs
}

# ---- file systems that are mounted on the way --------------------------------------------

# The directory refers to another export of the same server
referral_make() {
	mkdir -p $EXPORT/refer /target
	mount --bind $EXPORT/refer $EXPORT/refer
	mount -t tmpfs -o size=8m target /target
	chmod 777 /target
	exportfs -o rw,no_root_squash,insecure,no_subtree_check,fsid=51 "*:/target"
	exportfs -o rw,no_root_squash,insecure,no_subtree_check,fsid=52,refer=/target@$SERVER "*:$EXPORT/refer"
	echo there >/target/where
}
referral_remove() {
	exportfs -u "*:$EXPORT/refer"
	exportfs -u "*:/target"
	wait_for 30 umount /target
	umount $EXPORT/refer
}
referral_follow() {
	[ "$(cat $MNT/refer/where)" = there ]
	grep " $MNT/refer nfs4 .*proto=rdma" /proc/mounts
	field_io $MNT/refer/data 3
}
suite_referral() {
	check "a referral" on_server referral_make
	check "mount referral vers=4.2" mount_nfs vers=4.2
	check "the referral leads to a mount over RDMA" referral_follow
	umount $MNT/refer 2>/dev/null || :
	check "umount referral vers=4.2" umount_nfs
	check "the referral goes" on_server referral_remove
}

# Below the mount another file system of the server's, which the client unmounts when nobody uses it
SUBMOUNT_TIMEOUT=/proc/sys/fs/nfs/nfs_mountpoint_timeout
submount_make() {
	mkdir -p $EXPORT/sub
	mount -t tmpfs -o size=8m,mode=777 sub $EXPORT/sub
	exportfs -o rw,no_root_squash,insecure,no_subtree_check,fsid=53 "*:$EXPORT/sub"
}
submount_remove() {
	exportfs -u "*:$EXPORT/sub"
	wait_for 30 umount $EXPORT/sub
}
submount_gone() { ! grep -q " $MNT/sub " /proc/mounts; }
submount_again() {
	local i
	for i in 1 2 3; do
		field_io $MNT/sub/data $i
		grep " $MNT/sub nfs4 .*proto=rdma" /proc/mounts
		wait_for 30 submount_gone
	done
}
suite_submount() {
	local before
	before=$(cat $SUBMOUNT_TIMEOUT)
	check "a file system below the export" on_server submount_make
	echo 1 >$SUBMOUNT_TIMEOUT
	check "mount submount vers=4.2" mount_nfs vers=4.2
	check "a submount expires and comes back" submount_again
	check "umount submount vers=4.2" umount_nfs
	echo "$before" >$SUBMOUNT_TIMEOUT
	check "no file system below the export" on_server submount_remove
}

# ---- thousands of names --------------------------------------------------------------

DIRECTORIES_NAMES=${DIRECTORIES_NAMES:-4000}
directories_names() { seq "$DIRECTORIES_NAMES" | awk '{ printf "name-%05d-of-a-directory\n", $1 }'; }
directories_make() {
	mkdir -p $EXPORT/thousands
	(cd $EXPORT/thousands && directories_names | xargs touch)
}
directories_list() {
	drop_caches
	[ "$(ls $MNT/thousands | sort | md5sum)" = "$(directories_names | sort | md5sum)" ]
}
# With attributes: READDIRPLUS, or GETATTRs
directories_long() {
	drop_caches
	[ "$(cd $MNT/thousands && stat -c %F -- * | grep -c regular)" = "$DIRECTORIES_NAMES" ]
}
# Names go while the directory is being read
directories_remove() {
	local left
	(cd $MNT/thousands && rm -- *[05]-of-*)
	left=$(ls $MNT/thousands | wc -l)
	echo "$left names are left"
	[ "$left" = $((DIRECTORIES_NAMES * 4 / 5)) ]
	[ "$(on_server "ls $EXPORT/thousands | wc -l")" = "$left" ]
}
suite_directories() {
	local v
	for v in 3 4.2; do
		on_server "DIRECTORIES_NAMES=$DIRECTORIES_NAMES directories_make" >/dev/null
		check "mount directories vers=$v" mount_nfs "vers=$v"
		mountpoint -q $MNT || continue
		check "$DIRECTORIES_NAMES names vers=$v" directories_list
		check "$DIRECTORIES_NAMES names and attributes vers=$v" directories_long
		check "every fifth name is removed vers=$v" directories_remove
		check "umount directories vers=$v" umount_nfs
	done
	on_server "rm -r $EXPORT/thousands" >/dev/null
}

# ---- random operations: fallocate, clone, O_DIRECT ---------------------------------------

FSX=/fsx
fsx_make() {
	modprobe -a loop xfs
	truncate -s 400M /run/fsx.img
	losetup /dev/loop3 /run/fsx.img
	mkfs.xfs -q -f /dev/loop3
	mkdir $FSX
	mount -t xfs /dev/loop3 $FSX
	chmod 777 $FSX
	exportfs -o rw,no_root_squash,insecure,no_subtree_check,fsid=54 "*:$FSX"
}
fsx_remove() {
	exportfs -u "*:$FSX"
	wait_for 30 umount $FSX
	losetup -d /dev/loop3
	rmdir $FSX
	rm /run/fsx.img
}
# fsx_run OPTIONS: three orders
fsx_run() {
	local seed
	for seed in 1 2 3; do
		fsops -s $seed -n "${FSX_OPERATIONS:-300}" -l 524288 "$@" $MNT/fsx.$seed
	done
}
fsx_42() {
	fsx_run -f -c -d
	echo "ALLOCATE $(nfs42_ops ALLOCATE), DEALLOCATE $(nfs42_ops DEALLOCATE), CLONE $(nfs42_ops CLONE)"
	[ "$(nfs42_ops ALLOCATE)" -ge 10 ]
	[ "$(nfs42_ops DEALLOCATE)" -ge 10 ]
	[ "$(nfs42_ops CLONE)" -ge 10 ]
}
suite_fsx() {
	local EXPORT=$FSX
	check "a file system that clones" on_server fsx_make
	check "mount fsx vers=3" mount_nfs vers=3
	check "random operations, some direct vers=3" fsx_run -d
	check "umount fsx vers=3" umount_nfs
	check "mount fsx vers=4.2" mount_nfs vers=4.2
	check "random operations, some direct, fallocate and clone vers=4.2" fsx_42
	check "umount fsx vers=4.2" umount_nfs
	check "the file system that clones goes" on_server fsx_remove
}

# ---- networks ------------------------------------------------------------------------

linklocal_address() { ip -6 -o addr show dev eth0 scope link | awk '{ sub("/.*", "", $4); print $4; exit }'; }
suite_linklocal() {
	local server v
	server=$(on_server linklocal_address)
	for v in 3 4.2; do
		check "mount by a link-local address vers=$v" \
			mount_nfs "proto=rdma6,port=20049,vers=$v" $MNT "$server%eth0"
		mountpoint -q $MNT || continue
		check "I/O by a link-local address vers=$v" field_io $MNT/linklocal 1
		check "umount a link-local address vers=$v" umount_nfs
	done
}

# A network namespace has no RDMA device: rxe receives in the first namespace alone. A mount there
# fails in time, and holds nothing. A mount from outside works for its processes.
netns_make() {
	mkdir -p /run/netns
	modprobe veth
	ip netns add field
	ip link add field0 type veth peer name field1 netns field
	ip addr add 10.0.7.1/24 dev field0
	ip link set field0 up
	ip -n field addr add 10.0.7.2/24 dev field1
	ip -n field link set field1 up
	ip -n field link set lo up
}
netns_mount() {
	local t0=$SECONDS
	mkdir -p $MNT.netns
	fails ip netns exec field timeout 60 mount -t nfs \
		-o "retry=0,proto=rdma,port=20049,vers=4.2" "10.0.7.1:$EXPORT" $MNT.netns
	echo "failed after $((SECONDS - t0)) s"
	[ $((SECONDS - t0)) -le 40 ]
}
netns_use() {
	ip netns exec field iocheck write -l 200001 -b 64k -s 9 -y -t $MNT/netns
	drop_caches
	iocheck verify -l 200001 -b 64k -s 9 $MNT/netns
}
# The namespace is gone when its end of the pair is, and so this one
netns_gone() {
	ip netns del field
	wait_for 30 test ! -e /sys/class/net/field0
}
suite_netns() {
	check "a network namespace" netns_make
	check "a mount in it fails in time" netns_mount
	check "mount netns vers=4.2" mount_nfs vers=4.2
	check "its processes use a mount of the first namespace" netns_use
	check "the network namespace goes" netns_gone
	check "I/O without the network namespace" field_io $MNT/netns 2
	check "umount netns vers=4.2" umount_nfs
}

# rxe looks at the MTU when it connects; what it sends afterwards may be too long for the device
mtu_set() { ip link set eth0 mtu "$1"; }
mtu_change() {
	local before
	before=$(connects)
	mtu_set "$1"
	on_server "mtu_set $1" >/dev/null
	field_goes_on 120
	echo "connects $before -> $(connects)"
}
suite_mtu() {
	check "mount mtu vers=3" mount_nfs vers=3,timeo=100
	mountpoint -q $MNT || return 0
	field_load $MNT/mtu
	check "an MTU of 1500 below I/O" mtu_change 1500
	check "an MTU of 4200 below I/O" mtu_change 4200
	check "I/O after a change of the MTU" field_load_end
	check "umount mtu vers=3" umount_nfs
}

# ---- the client's mount is served to others --------------------------------------------

REEXPORT=/reexport
reexport_serve() {
	EXPORT=$MNT EXPORT_OPTS=rw,no_root_squash,insecure,no_subtree_check,fsid=60 NFSD_THREADS=4 server_up
}
reexport_mount() {
	EXPORT=$MNT mount_nfs "vers=$1" $REEXPORT 10.0.0.2
	field_io $REEXPORT/data "$2"
	umount_nfs $REEXPORT
}
# What the server wrote through its client is in its own file system
reexport_verify() { iocheck verify -l 200001 -b 64k -s "$1" $EXPORT/data; }
reexport_through() {
	on_server "reexport_mount $1 $2"
	on_server "reexport_verify $2"
}
suite_reexport() {
	check "mount reexport vers=4.2" mount_nfs vers=4.2
	mountpoint -q $MNT || return 0
	check "nfsd of the client exports its mount" reexport_serve
	check "I/O through two servers vers=3" reexport_through 3 5
	check "I/O through two servers vers=4.2" reexport_through 4.2 6
	check "nfsd of the client ends" server_down
	check "umount reexport vers=4.2" wait_for 30 umount_nfs
}

# ---- a server that is silent -----------------------------------------------------------

lazy_umount() {
	local job t0
	: >$MNT/lazy
	wire_down
	trap wire_up EXIT
	stat -f $MNT &
	job=$!
	wait_for 20 abandon_pending "(FSSTAT|STATFS)"
	t0=$SECONDS
	timeout 10 umount -l $MNT
	echo "umount -l took $((SECONDS - t0)) s"
	fails mountpoint -q $MNT
	# RPCs wait on, as nobody kills them, and are answered
	fails job_ended $job
	trap - EXIT
	wire_up
	wait_job $job
	wait_for 60 abandon_unused
}
suite_lazy() {
	local v
	for v in 3 4.2; do
		check "mount lazy vers=$v" mount_nfs "vers=$v,timeo=100"
		mountpoint -q $MNT || continue
		check "umount -l while the server is silent vers=$v" lazy_umount
	done
	check "mount after umount -l" mount_nfs vers=4.2
	check "I/O after umount -l" field_io $MNT/lazy 1
	check "umount after umount -l" umount_nfs
}

# ---- suspend ---------------------------------------------------------------------------

# The kernel goes as far as TEST, waits for a second and goes back (Documentation/power/
# basic-pm-debugging.rst)
suspend_to() {
	local before
	before=$(dmesg | grep -c 'PM: suspend exit' || :)
	echo "$1" >/sys/power/pm_test
	echo 1 >/sys/module/suspend/parameters/pm_test_delay
	echo freeze >/sys/power/state
	echo none >/sys/power/pm_test
	echo "suspended $before -> $(dmesg | grep -c 'PM: suspend exit')"
	[ "$(dmesg | grep -c 'PM: suspend exit')" -gt "$before" ]
	field_goes_on 120
}
suite_suspend() {
	local test
	[ -e /sys/power/pm_test ] || { info "this kernel cannot try a suspend"; return 0; }
	check "mount suspend vers=4.2" mount_nfs vers=4.2,timeo=150
	mountpoint -q $MNT || return 0
	field_load $MNT/suspend
	for test in freezer devices; do
		check "suspend below I/O: $test" suspend_to $test
	done
	check "I/O after a suspend" field_load_end
	check "umount suspend vers=4.2" umount_nfs
}
