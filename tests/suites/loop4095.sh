# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The stock client registers its XDR pad once and offers it in every Write
# chunk: a server that invalidates that segment breaks the next READ.

suite_loop4095() {
	local v
	for v in 3 4.2; do
		check "mount loop vers=$v" mount_nfs "vers=$v"
		mountpoint -q $MNT || continue
		check "prepare loop vers=$v" iocheck write -l 4095 -b 4095 -t -y $MNT/pad
		check "READ of 4095 octets, 300 times vers=$v" iocheck verify -l 4095 -b 4095 -d -r 300 $MNT/pad
		check "umount loop vers=$v" umount_nfs
	done
}
