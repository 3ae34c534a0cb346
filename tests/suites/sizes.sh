# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Payload sizes at and around every boundary, aligned and odd offsets, buffered
# and O_DIRECT from unaligned memory; long READDIR and READLINK; ACLs; mmap.

SIZES="1 3 4 511 512 513 4095 4096 4097 65536 1048575 1048576 1048577"
OFFSETS="0 4096 4099"

sizes_empty() {
	: >$MNT/empty
	drop_caches
	[ ! -s $MNT/empty ]
	iocheck verify -l 0 $MNT/empty
}

sizes_buffered() {
	iocheck write -o "$2" -l "$1" -b 1m -s "$1" -y -t $MNT/size
	drop_caches
	iocheck verify -o "$2" -l "$1" -b 1m -s "$1" $MNT/size
}

sizes_direct() {
	iocheck write -o "$2" -l "$1" -b 1m -s "$1" -d -m 5 -t $MNT/size
	iocheck verify -o "$2" -l "$1" -b 1m -s "$1" -d -m 3 $MNT/size
}

# Memory in pieces, none of which begins or ends with a page: each is registered with
# others or not, as the device can
sizes_pieces() {
	local n o
	for n in 5 4096 8197 65536 262145 1048577; do
		for o in $OFFSETS; do
			iocheck write -o "$o" -l "$n" -b 256k -s "$n" -v "$@" -t -y $MNT/pieces
			drop_caches
			iocheck verify -o "$o" -l "$n" -b 256k -s "$n" -v "$@" $MNT/pieces
		done
	done
}

# Around the inline threshold: every third payload length for which a Call or
# Reply of some version passes it, and those next to the threshold itself.
sizes_threshold() {
	local n limit
	for limit in $(cat /proc/sys/sunrpc/rdma_max_inline_{read,write} | sort -u); do
		for n in $(seq $((limit - 266)) 3 $((limit + 2))) $((limit - 1)) $limit $((limit + 1)); do
			iocheck write -l "$n" -b 16k -s "$n" -d -m 1 -t $MNT/threshold
			iocheck verify -l "$n" -b 16k -s "$n" -d -m 7 $MNT/threshold
		done
	done
}

sizes_readdir() {
	[ "$(ls $MNT/many | sort | md5sum)" = "$(sizes_names | sort | md5sum)" ]
}
sizes_names() { local n; for n in $(seq 1 600); do printf 'name-%0120d\n' "$n"; done; }
sizes_make_many() { mkdir -p $EXPORT/many; (cd $EXPORT/many && sizes_names | xargs touch); }

sizes_readlink() {
	local n target
	for n in 1 4 1023 1024 1025 3990 4000 4095; do
		target=$(head -c "$n" </dev/zero | tr '\0' x)
		rm -f $MNT/link
		ln -s "$target" $MNT/link
		drop_caches
		[ "$(readlink $MNT/link)" = "$target" ]
	done
}

sizes_acl_entries() { local n; for n in $(seq 2000 2079); do printf 'u:%d:rw-\n' "$n"; done; }
sizes_acl3() {
	: >$MNT/acl
	sizes_acl_entries | setfacl -M - $MNT/acl
	drop_caches
	[ "$(getfacl -n $MNT/acl 2>/dev/null | grep -c '^user:20[0-7][0-9]:rw-')" = 80 ]
	on_server "getfacl -n $EXPORT/acl 2>/dev/null | grep -c '^user:20[0-7][0-9]:rw-'" | grep -qx 80
}
sizes_acl4() {
	: >$MNT/acl4
	on_server "$(printf 'sizes_acl_entries | setfacl -M - %s' $EXPORT/acl4)"
	drop_caches
	[ "$(nfs4_getfacl $MNT/acl4 | grep -c '^A:.*:20[0-7][0-9]:')" = 80 ]
}

sizes_mmap() {
	iocheck write -M -l 300001 -t -y $MNT/mmap
	drop_caches
	iocheck verify -M -l 300001 $MNT/mmap
}

sizes_one_version() {
	local v=$1 n o
	check "mount sizes vers=$v" mount_nfs "vers=$v,rsize=1048576,wsize=1048576,noac"
	mountpoint -q $MNT || return 0
	check "size 0 vers=$v" sizes_empty
	for n in $SIZES; do
		for o in $OFFSETS; do
			check "size $n at $o buffered vers=$v" sizes_buffered "$n" "$o"
			check "size $n at $o direct vers=$v" sizes_direct "$n" "$o"
		done
	done
	check "memory in pieces buffered vers=$v" sizes_pieces
	check "memory in pieces direct vers=$v" sizes_pieces -d
	check "payloads around the inline threshold vers=$v" sizes_threshold
	check "long READDIR vers=$v" sizes_readdir
	check "READLINK to 4095 octets vers=$v" sizes_readlink
	case $v in
	3) check "long ACL vers=$v" sizes_acl3 ;;
	*) check "long ACL vers=$v" sizes_acl4 ;;
	esac
	check "mmap vers=$v" sizes_mmap
	check "umount sizes vers=$v" umount_nfs
}

suite_sizes() {
	local v
	on_server sizes_make_many >/dev/null
	for v in ${SIZE_VERSIONS:-3 4.2}; do
		sizes_one_version "$v"
	done
}

# READs of several pages that go inline: the server's device gathers the pages in
# place. Head, fourteen pages and the header are as many SGEs as a Send has; what
# has more is copied.
sizes_inline() {
	local n o before
	for n in 4097 8192 20481 53249 57343 57344 57345 61441; do
		for o in 0 3 4093; do
			iocheck write -o "$o" -l "$n" -b 64k -s "$n" -d -t $MNT/inline
			before=$(connection_sum reg_mrs)
			iocheck verify -o "$o" -l "$n" -b 64k -s "$n" -d $MNT/inline
			echo "$n octets at $o, REG_MRs: $before, then $(connection_sum reg_mrs)"
			[ "$(connection_sum reg_mrs)" = "$before" ]
		done
	done
}

suite_sizes_inline() {
	local v before
	module_sysctl rdma_max_inline_read 65536
	on_server "module_sysctl svc_rdma/max_req_size 65536" >/dev/null
	for v in 3 4.2; do
		check "mount inline vers=$v" mount_nfs "vers=$v"
		mountpoint -q $MNT || continue
		before=$(connects)
		check "READs of many pages go inline vers=$v" sizes_inline
		check "one connection did vers=$v" [ "$(connects)" = "$before" ]
		check "umount inline vers=$v" umount_nfs
	done
	on_server "module_sysctl svc_rdma/max_req_size" >/dev/null
	module_sysctl rdma_max_inline_read
}

# ---- how nfsd of 7.2 reads and writes files -------------------------------------------------

# A direct READ begins where the device allows it: the Reply's data begin inside of a page. A
# direct WRITE wants the payload's middle aligned.
IO_CACHE=/iocache
IO_CACHE_DEBUG=/sys/kernel/debug/nfsd
IO_CACHE_TRACE=/sys/kernel/tracing/instances/iocache
io_cache_make() {
	local event
	modprobe -a loop ext4
	truncate -s 64M /run/iocache.img
	losetup /dev/loop4 /run/iocache.img
	mke2fs -q -F -t ext4 -b 4096 -O ^has_journal /dev/loop4
	mkdir $IO_CACHE $IO_CACHE_TRACE
	mount -t ext4 /dev/loop4 $IO_CACHE
	chmod 777 $IO_CACHE
	exportfs -o rw,no_root_squash,insecure,no_subtree_check,fsid=55 "*:$IO_CACHE"
	for event in read_direct write_direct; do echo 1 >$IO_CACHE_TRACE/events/nfsd/nfsd_$event/enable; done
}
# 0 buffered, 1 dropped behind, 2 direct
io_cache_mode() {
	echo "$1" >$IO_CACHE_DEBUG/io_cache_read
	echo "$1" >$IO_CACHE_DEBUG/io_cache_write
	echo >$IO_CACHE_TRACE/trace
}
io_cache_io() {
	local n o
	for n in 1 511 4096 5121 12289 65536 262147; do
		for o in 0 1 512 3585 4096 4099; do
			iocheck write -o "$o" -l "$n" -b 64k -s "$n" -d -m 5 -t $MNT/direct
			iocheck verify -o "$o" -l "$n" -b 64k -s "$n" -d -m 3 $MNT/direct
		done
	done
}
io_cache_direct() {
	local event n
	for event in read_direct write_direct; do
		n=$(grep -c "nfsd_$event: " $IO_CACHE_TRACE/trace || :)
		echo "$event: $n"
		[ "$n" -ge 20 ]
	done
}
io_cache_buffered() { [ "$(grep -c 'nfsd_.*_direct: ' $IO_CACHE_TRACE/trace)" = 0 ]; }
io_cache_remove() {
	local event
	io_cache_mode 0
	echo 0 >$IO_CACHE_DEBUG/disable-splice-read
	for event in read_direct write_direct; do echo 0 >$IO_CACHE_TRACE/events/nfsd/nfsd_$event/enable; done
	rmdir $IO_CACHE_TRACE
	exportfs -u "*:$IO_CACHE"
	wait_for 30 umount $IO_CACHE
	losetup -d /dev/loop4
	rmdir $IO_CACHE
	rm /run/iocache.img
}

suite_io_cache() {
	local v EXPORT=$IO_CACHE
	check "a file system for direct I/O" on_server io_cache_make
	for v in 3 4.2; do
		check "mount io_cache vers=$v" mount_nfs "vers=$v"
		mountpoint -q $MNT || continue
		check "nfsd does not keep what it reads and writes vers=$v" on_server "io_cache_mode 1"
		check "I/O that nfsd does not keep vers=$v" io_cache_io
		check "none of it was direct vers=$v" on_server io_cache_buffered
		check "nfsd reads and writes directly vers=$v" on_server "io_cache_mode 2"
		check "I/O that nfsd does directly vers=$v" io_cache_io
		check "it was direct vers=$v" on_server io_cache_direct
		check "umount io_cache vers=$v" umount_nfs
	done
	check "the file system for direct I/O goes" on_server io_cache_remove
}
