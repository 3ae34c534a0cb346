#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A server that mounts itself, and a program that writes three times the memory there: ext4 on a
# loop device, exported and mounted over RDMA from the same host. nfsd must know that the client
# is local, or it waits in the throttling of writeback for pages that only it can write: not for
# ever, but a Call at a time. Beside it the same over TCP, which is the measure.
# Guests: -m 512 -D 2048 -t 2400
. /test/guest.sh

SELF_MB=${SELF_MB:-1536}

self_disk() {
	modprobe -a virtio_blk loop ext4
	losetup /dev/loop0 /dev/vda
	mke2fs -q -F -t ext4 -b 4096 /dev/loop0
	mkdir -p $EXPORT
	mount -t ext4 /dev/loop0 $EXPORT
	chmod 777 $EXPORT
}
# self_write SEED NAME LIMIT: in at most LIMIT seconds
self_write() {
	local t0=$SECONDS job
	iocheck write -l "${SELF_MB}m" -b 1m -s "$1" -y -t $MNT/self &
	job=$!
	wait_for "$3" job_ended $job || { echo "not written within $3 s"; return 1; }
	wait $job
	echo 3 >/proc/sys/vm/drop_caches
	iocheck verify -l "${SELF_MB}m" -b 1m -s "$1" $MNT/self
	echo $((SECONDS - t0)) >/run/self.$2
	rm $MNT/self
}
self_mount() {
	check "mount $1 from the same host" mount_nfs "$2"
	mountpoint -q $MNT || return 0
	check "three times the memory over $1" self_write "$3" "$1" "$4"
	[ -e "/run/self.$1" ] || finish
	info "$1: $(cat "/run/self.$1") s for $SELF_MB MiB written and read"
	check "umount $1" umount_nfs
}

one_guest_veth
load_transport
check "ext4 on a loop device" self_disk
server_up 4.2
info "memory: $(awk '/^MemTotal|^MemAvailable/ { printf "%s %d MiB ", $1, $2 / 1024 }' /proc/meminfo)"
self_mount TCP proto=tcp,vers=4.2 1 900
self_mount RDMA vers=4.2 2 $((60 + 2 * $(cat /run/self.TCP)))
server_down
wait_for 30 umount $EXPORT
unload_transport
check_rdma_clean
check_log_clean
finish
