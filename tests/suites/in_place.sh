# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A Call of a peer with two WRITEs, of which the second's data begin within a page. nfsd of
# older kernels wants them in one range, so the module maps pages; that of 7.2 writes from
# the pages themselves, and must not get virtual memory.
#
# Guests: -a "$TESTS/peer=/test/peer"

IN_PLACE=/sys/kernel/tracing

in_place_begin() {
	[ -d $IN_PLACE/events ] || mount -t tracefs none $IN_PLACE
	echo 'p:in_place/vmap vmap' >>$IN_PLACE/kprobe_events
	echo 1 >$IN_PLACE/events/in_place/enable
}
in_place_end() {
	local maps
	maps=$(awk '$1 == "vmap" { print $2 }' $IN_PLACE/kprobe_profile)
	echo 0 >$IN_PLACE/events/in_place/enable
	echo '-:in_place/vmap' >>$IN_PLACE/kprobe_events
	echo "$maps calls of vmap()"
	case $RELEASE in
	6.*) [ "$maps" -gt 0 ] ;;
	*) [ "$maps" = 0 ] ;;
	esac
}
# Both WRITEs are read back, and what is on both sides of the seam
in_place_calls() {
	local file
	for file in position-zero-writes position-zero-writes-large; do
		# shellcheck disable=SC2046
		peer_case /test/peer/client/$file.peer $(peer_handles) -D xid=$((RANDOM << 8)) \
			-D payload="$(on_server "cat /proc/fs/nfsd/max_block_size")"
	done
}

suite_in_place() {
	check "files for peers in_place" on_server peer_files
	# The kernel knows what is exported when it was asked for it
	check "mount in_place" mount_nfs vers=4.2
	check "the server's grace period ends in_place" on_server "wait_for 30 grep -q Y /proc/fs/nfsd/v4_end_grace"
	check "calls of vmap() are counted" on_server in_place_begin
	check "two WRITEs in one Call" in_place_calls
	check "nfsd has them where it wants them" on_server in_place_end
	check "umount in_place" umount_nfs
}
