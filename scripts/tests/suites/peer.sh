# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Scripted peers against our server: each script in peer/server is a check of
# its name. Meanwhile a mount of this guest does verified I/O, and must not
# notice anything.

PEER_CASES=/test/peer/server

# Contents as "peer" computes them: pattern(LENGTH, SEED)
peer_files() {
	mkdir -p $EXPORT/peer
	iocheck write -l 64k -s 64 -t $EXPORT/peer/64k
	iocheck write -l 4099 -s 4099 -t $EXPORT/peer/4099
	iocheck write -l 1m -s 1 -t $EXPORT/peer/1m
	ln -sf "$(head -c 1001 </dev/zero | tr '\0' x)" $EXPORT/peer/link
}

# What the server calls a file, for NFSv3
peer_handle() {
	local handle
	exec 9<>/proc/fs/nfsd/filehandle
	printf '%s %s 64\n' '*' "$1" >&9
	read -r handle <&9
	exec 9>&-
	printf '%s\n' "${handle#\\x}"
}

# Leaves its status behind: checks are subshells, and cannot wait for it
peer_bystander() {
	rm -f /run/bystander.*
	echo 0 >/run/bystander.passes
	trap - ERR
	set +e
	(
		set -e
		peer_bystander_io
	)
	echo $? >/run/bystander.rc
}
peer_bystander_io() {
	local n=0
	while [ ! -e /run/bystander.stop ]; do
		iocheck write -l 256k -b 64k -s "$n" -d -t $MNT/bystander
		iocheck verify -l 256k -b 64k -s "$n" -d $MNT/bystander
		n=$((n + 1))
		echo $n >/run/bystander.passes
		sleep 0.2
	done
}

peer_undisturbed() {
	touch /run/bystander.stop
	wait_for 60 test -e /run/bystander.rc
	echo "status $(cat /run/bystander.rc), $(cat /run/bystander.passes) passes, connects $1 -> $(connects)"
	[ "$(cat /run/bystander.rc)" = 0 ]
	[ "$(cat /run/bystander.passes)" -ge 1 ]
	[ "$(connects)" = "$1" ]
}

peer_case() { timeout -k 5 "${PEER_LIMIT:-120}" peer ${PEER_ARGS:-} "$1"; }

suite_peer() {
	local file before
	check "files for peers" on_server peer_files
	check "mount beside peers" mount_nfs vers=4.2
	mountpoint -q $MNT || return 0
	before=$(connects)
	peer_bystander &
	for file in "$PEER_CASES"/${PEER_ONLY:-*}.peer; do
		file=${file##*/}
		check "peer ${file%.peer}" peer_case "$PEER_CASES/$file"
	done
	check "the mount beside peers was not disturbed" peer_undisturbed "$before"
	check "umount beside peers" umount_nfs
}
