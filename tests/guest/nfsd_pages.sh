#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The pages of nfsd's threads: the transport takes some out of rqstp, sunrpc puts others in
# their place, and how they share this work differs between kernels. A mistake loses a page
# with each RPC, which no log and no other test shows. So RPCs of each form run by thousands,
# and the free memory afterwards is what it was before.
# Guests: -t 2400
. /test/guest.sh

RPCS=${PAGES_RPCS:-1024}
# Free memory varies by half a MiB; a page for each RPC is 2 MiB and more
PAGES_MOST=512

pages_free() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	sleep 1
	echo 3 >/proc/sys/vm/drop_caches
	awk '$1 == "nr_free_pages" { print $2 }' /proc/vmstat
}

# RPCs of SIZE, from OFFSET in a page on
pages_read() { iocheck read -d -m 1 -b "$1" -o "$2" -l $((RPCS * $1)) $MNT/file; }
pages_write() { iocheck write -d -m 1 -b "$1" -o "$2" -l $((RPCS * $1)) $MNT/file; }
pages_stat() { local n; for ((n = 0; n < RPCS; n++)); do [ ! -e "$MNT/no.$n" ]; done; }
# READDIRs that the server was sent
pages_readdirs() {
	awk -v dir=$MNT '/^device / { here = $5 == dir }
		here && ($1 == "READDIR:" || $1 == "READDIRPLUS:") { n += $2 }
		END { print n + 0 }' /proc/self/mountstats
}
# The Reply is in a Reply chunk, and has pages of its own; over NFSv3 getfacl asks by NFSACL.
# Of what has changed the client has nothing in its cache
pages_list() {
	local n before
	before=$(pages_readdirs)
	for ((n = 0; n < RPCS; n++)); do
		touch -d "@$n" $EXPORT/many
		set -- $MNT/many/*
		[ $# = 60 ]
	done
	n=$(($(pages_readdirs) - before))
	echo "$n READDIRs"
	[ $n -ge "$RPCS" ]
}
pages_acl() {
	local n
	for ((n = 0; n < RPCS; n++)); do
		touch -d "@$n" $EXPORT/file
		getfacl -cp $MNT/file >/dev/null
	done
}

pages_same() {
	local before after
	"$@"
	before=$(pages_free)
	"$@"
	after=$(pages_free)
	info "$* vers=$VERS: $((before - after)) pages fewer"
	[ $((before - after)) -lt $PAGES_MOST ]
}

pages_all() {
	check "READ of 4 KiB vers=$VERS" pages_same pages_read 4096 0
	check "READ of 3 pages vers=$VERS" pages_same pages_read 12288 1000
	check "READ of 256 KiB vers=$VERS" pages_same pages_read 262144 1000
	check "WRITE of 512 bytes vers=$VERS" pages_same pages_write 512 0
	check "WRITE of 4 KiB vers=$VERS" pages_same pages_write 4096 0
	check "WRITE of 256 KiB vers=$VERS" pages_same pages_write 262144 1000
	check "LOOKUP vers=$VERS" pages_same pages_stat
	check "READDIR vers=$VERS" pages_same pages_list
	[ "$VERS" != 3 ] || check "GETACL vers=$VERS" pages_same pages_acl
}

pages_prepare() {
	iocheck write -b 1m -l $((RPCS * 262144 + 8192)) $EXPORT/file
	chmod 666 $EXPORT/file
	mkdir $EXPORT/many
	(cd $EXPORT/many && for n in $(seq 60); do printf 'name-%0120d\n' "$n"; done | xargs touch)
}

one_guest_veth
load_transport
server_up
check "files" pages_prepare
for VERS in ${PAGES_VERSIONS:-3 4.2}; do
	check "mount vers=$VERS" mount_nfs "vers=$VERS,noac"
	mountpoint -q $MNT || continue
	pages_all
	check "umount vers=$VERS" umount_nfs
done
server_down
unload_transport
check_rdma_clean
check_log_clean
finish
