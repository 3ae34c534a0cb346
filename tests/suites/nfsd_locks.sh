# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# What nfsd loses of itself, over TCP, which no RDMA transport has a part in: for people, in
# the debug kernel, where kmemleak shows it (Documentation/known-issues.rst). Not for a group.
#
# Two mounts that do not know of each other lock the same files. The second one waits a
# second, is refused, and asks again: nfsd uses its waiting lock again, and loses the
# reference to the owner that this had. With NFSD_LOCKS_TURNS="1" it loses nothing.

# hold_lock FILE SECONDS
hold_lock() {
	exec 9<>"$1"
	flock 9
	: >"$1.held"
	sleep "$2"
}

# ask_for_lock FILE
ask_for_lock() {
	local turn
	exec 9<>"$1"
	# shellcheck disable=SC2034
	for turn in ${NFSD_LOCKS_TURNS:-1 2 3 4 5}; do
		flock -w 1 9 || :
	done
}

suite_nfsd_locks() {
	local file opts=vers=4.2,proto=tcp,nosharecache a=/run/locks.a b=/run/locks.b jobs=()
	check "mount nfsd_locks one" mount_nfs $opts $a
	check "mount nfsd_locks two" mount_nfs $opts $b
	for file in 1 2 3 4; do
		: >$a/$file
		hold_lock $a/$file 20 &
		jobs+=($!)
		wait_for 10 test -e $a/$file.held
	done
	for file in 1 2 3 4; do
		ask_for_lock $b/$file &
		jobs+=($!)
	done
	wait "${jobs[@]}"
	check "umount nfsd_locks one" umount_nfs $a
	check "umount nfsd_locks two" umount_nfs $b
}
