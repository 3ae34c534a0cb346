# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# What RFC 8267, section 4, lets travel in chunks, and what it does not, each too long to
# go inline. The host reads from the capture what did: tests/wire/check-capture
# --chunks.

# Buffered, direct, and from memory that begins within a page
eligible_data() {
	iocheck write -l 200001 -b 64k -y -t $MNT/eligible/data
	drop_caches
	iocheck verify -l 200001 -b 64k $MNT/eligible/data
	iocheck write -l 200001 -b 30001 -s 2 -d -m 5 -t $MNT/eligible/data
	iocheck verify -l 200001 -b 30001 -s 2 -d -m 3 $MNT/eligible/data
}

eligible_links() {
	local n target
	for n in 1 700 1001 1024 4000 4095; do
		target=$(head -c "$n" </dev/zero | tr '\0' x)
		rm -f $MNT/eligible/link
		ln -s "$target" $MNT/eligible/link
		drop_caches
		[ "$(readlink $MNT/eligible/link)" = "$target" ]
	done
}

# The longest names, in CREATE, LOOKUP, MKDIR, RENAME, LINK and REMOVE; GETATTR, ACCESS
eligible_names() {
	local name one two
	name=$(head -c 254 </dev/zero | tr '\0' n)
	one=$MNT/eligible/${name}1 two=$MNT/eligible/${name}2
	echo one >"$one"
	mkdir "$MNT/eligible/${name}d"
	drop_caches
	[ "$(cat "$one")" = one ]
	mv "$one" "$two"
	ln "$two" "$one"
	chmod 600 "$one"
	drop_caches
	[ "$(stat -c %a "$two")" = 600 ]
	rm "$one" "$two"
	rmdir "$MNT/eligible/${name}d"
}

eligible_acl3() {
	: >$MNT/eligible/acl
	sizes_acl_entries | setfacl -M - $MNT/eligible/acl
	drop_caches
	[ "$(getfacl -n $MNT/eligible/acl 2>/dev/null | grep -c '^user:20[0-7][0-9]:rw-')" = 80 ]
}
# Read and set as it is. An ACL of NFSv4 that is mapped to that of POSIX may have more
# entries then: those that there were are there
eligible_acl4() {
	: >$MNT/eligible/acl4
	on_server "sizes_acl_entries | setfacl -M - $EXPORT/eligible/acl4"
	drop_caches
	nfs4_getfacl $MNT/eligible/acl4 | grep -v '^#' >/run/eligible.acl
	[ "$(grep -c '^A:.*:20[0-7][0-9]:' /run/eligible.acl)" = 80 ]
	nfs4_setfacl -S /run/eligible.acl $MNT/eligible/acl4
	on_server "getfacl -n $EXPORT/eligible/acl4 2>/dev/null | grep -c '^user:20[0-7][0-9]:rw-'" | grep -qx 80
}

eligible_readdir() { [ "$(ls $MNT/eligible/many | sort | md5sum)" = "$(sizes_names | sort | md5sum)" ]; }

eligible_one() {
	local v=$1
	check "mount eligible vers=$v" mount_nfs "vers=$v"
	mountpoint -q $MNT || return 0
	check "long data vers=$v" eligible_data
	check "long text of links vers=$v" eligible_links
	check "long names vers=$v" eligible_names
	check "long directory vers=$v" eligible_readdir
	check "ACL read and set vers=$v" "eligible_acl${v%%.*}"
	check "umount eligible vers=$v" umount_nfs
}

suite_eligible() {
	local v
	on_server "EXPORT=$EXPORT/eligible sizes_make_many" >/dev/null
	inline_sizes 1024
	for v in ${ELIGIBLE_VERSIONS:-3 4.0 4.2}; do
		eligible_one "$v"
	done
	inline_sizes
}
