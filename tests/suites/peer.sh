# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Scripted peers against our server: each script in peer/server is a check of
# its name. (Those in peer/kernel-warns have guests of their own: the kernel warns of what
# it does itself.) Meanwhile a mount of this guest does verified I/O, and must not
# notice anything.

PEER_CASES=${PEER_CASES:-/test/peer/client}

# Contents as "peer" computes them: pattern(LENGTH, SEED)
peer_files() {
	local n
	mkdir -p $EXPORT/peer
	iocheck write -l 64k -s 64 -t $EXPORT/peer/64k
	iocheck write -l 4099 -s 4099 -t $EXPORT/peer/4099
	iocheck write -l 1m -s 1 -t $EXPORT/peer/1m
	: >$EXPORT/peer/scratch
	mkdir -p $EXPORT/peer/one $EXPORT/peer/many
	: >$EXPORT/peer/one/entry
	for n in $(seq 40); do
		: >$EXPORT/peer/many/entry-with-a-name-of-several-words-$n
	done
	# GETACL of it fills a page, and goes on in the next one
	mkdir -p $EXPORT/peer/acl
	seq 1000 1329 | sed 's/.*/d:u:&:r/' | setfacl -M - $EXPORT/peer/acl
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
		iocheck write -l 64k -b 16k -s "$n" -d -t $MNT/bystander
		iocheck verify -l 64k -b 16k -s "$n" -d $MNT/bystander
		n=$((n + 1))
		echo $n >/run/bystander.passes
		sleep 1
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

# While queue pairs die the number of nfsd threads goes up and down
peer_threads_start() {
	(
		set +e
		while [ ! -e /run/peer_threads_stop ]; do
			echo 2 >/proc/fs/nfsd/threads
			nap 0.3
			echo 8 >/proc/fs/nfsd/threads
			nap 0.3
		done
		rm -f /run/peer_threads_stop
	) >/dev/null 2>&1 &
}
peer_threads_stop() {
	touch /run/peer_threads_stop
	wait_for 20 test ! -e /run/peer_threads_stop
	echo 8 >/proc/fs/nfsd/threads
}

# RDMA Reads of new connections go to, or their Replies are sent from, as little memory as
# there may be for them; watched until peer_waited
SVC_SIZE=/proc/sys/sunrpc/svc_rdma/max_outbound_
peer_line() { sed -nE "s/.*side=server .* max_$1_pages=259 most_$1_pages=([0-9]+) $1_waits=([0-9]+).*/\1 \2/p" /proc/net/rpcrdma/connections; }
peer_bound() {
	cat $SVC_SIZE"$1_size" >/run/peer_before
	echo 1060864 >$SVC_SIZE"$1_size"
	rm -f /run/peer_stop /run/peer_seen /run/peer_done
	(
		set +e
		while [ ! -e /run/peer_stop ]; do
			peer_line "$1" >>/run/peer_seen
			nap 0.2
		done
		touch /run/peer_done
	) >/dev/null 2>&1 &
}

peer_waits() { [ -e /run/peer_stop ] || grep -q ' [1-9]' /run/peer_seen; }

# Packets of these kinds get lost. Not those of the mount beside peers: its Sends would
# exhaust their retries where this takes long. The queue pairs that there are, but the
# peer's; a packet names that which it is for
peer_lose() {
	local others
	nft delete table ip peer_hold 2>/dev/null || :
	others=$(live_qps | paste -sd, -)
	nft "add table ip peer_hold; add chain ip peer_hold in { type filter hook input priority 0; };
		add rule ip peer_hold in udp dport 4791 @th,104,24 { ${others:-0} } accept;
		add rule ip peer_hold in udp dport 4791 @th,64,8 $1 counter drop"
}

# The same, until Calls had to wait and COMMAND succeeds: peer_hold KIND PACKETS COMMAND... A
# time in its place may be longer than the device tries again
peer_hold() {
	peer_bound "$1"
	peer_lose "$2"
	shift 2
	(
		set +e
		wait_for 30 peer_waits
		wait_for 30 "$@"
		nft delete table ip peer_hold
	) >/dev/null 2>&1 &
}

# peer_took ID NAME N: on a connection that came after this one the count NAME is N at least
peer_took() {
	awk -v id="$1" -v name="$2" -v n="$3" '
		/ side=server / { split($1, at, "="); for (i = 2; i <= NF; i++) { split($i, kv, "="); if (at[2] > id && kv[1] == name && kv[2] >= n) found = 1 } }
		END { exit !found }' /proc/net/rpcrdma/connections
}

# Calls did wait, and what others had taken was not too much
peer_waited() {
	cat /run/peer_before >$SVC_SIZE"$1_size"
	peer_line "$1" >>/run/peer_seen
	touch /run/peer_stop
	nft delete table ip peer_hold 2>/dev/null || :
	wait_for 20 test -e /run/peer_done
	awk -v most="$2" '$1 > pages { pages = $1 } $2 > waits { waits = $2 }
		END { print pages + 0, "pages at most,", waits + 0, "Calls waited"; exit !(pages > 64 && pages <= most && waits) }' /run/peer_seen
}

# What RDMA Reads bring, until the small Calls of reads-wait, which come last, are answered
peer_reads_hold() {
	local before
	before=$(peer_newest)
	peer_hold read 13-16 peer_took "${before%% *}" sends 8
}
peer_reads_hold_once() { peer_hold read 13-16 true; }
peer_reads_waited() { peer_waited read 259; }

# All of what RDMA Reads bring, with one thread of nfsd; at least $1 packets of it
peer_reads_lose() {
	echo 1 >/proc/fs/nfsd/threads
	peer_lose 13-16
}
peer_reads_lost() {
	echo 8 >/proc/fs/nfsd/threads
	peer_lost "$1"
}
peer_lost() {
	local lost
	lost=$(nft list table ip peer_hold | sed -nE 's/.* counter packets ([0-9]+) .*/\1/p')
	nft delete table ip peer_hold
	echo "$lost packets lost"
	[ "$lost" -ge "$1" ]
}

# All acknowledgements, while the number of nfsd threads goes up and down
peer_acks_lose() {
	peer_threads_start
	peer_lose 17
}
peer_acks_lost() {
	peer_threads_stop
	peer_lost "$1"
}

# A file system that is frozen until COMMAND succeeds: peer_freeze THREADS COMMAND... Threads
# of nfsd hang in WRITEs there.
peer_freeze() {
	modprobe -a loop ext4
	truncate -s 32M /run/frozen.img
	losetup /dev/loop2 /run/frozen.img
	mke2fs -q -F -t ext4 -b 4096 -O ^has_journal /dev/loop2
	mkdir -p /frozen
	mount -t ext4 /dev/loop2 /frozen
	: >/frozen/file
	chmod 666 /frozen/file
	exportfs -o rw,no_root_squash,insecure,no_subtree_check,fsid=43 "*:/frozen"
	echo "$1" >/proc/fs/nfsd/threads
	shift
	rm -f /run/peer_thawed
	fsfreeze --freeze /frozen
	(
		set +e
		wait_for 60 "$@"
		echo $? >/run/peer_came
		device_count send_rnr_err >>/run/peer_rnr
		fsfreeze --unfreeze /frozen
		touch /run/peer_thawed
	) >/dev/null 2>&1 &
}
peer_thawed() {
	wait_for 70 test -e /run/peer_thawed
	echo 8 >/proc/fs/nfsd/threads
	exportfs -u '*:/frozen'
	wait_for 30 umount /frozen
	losetup -d /dev/loop2
	rm /run/frozen.img
	[ "$(cat /run/peer_came)" = 0 ]
}

# The only thread of nfsd hangs until $1 messages are here on the connection that is made
# next, so that each of them keeps its Receive: or cannot come, for want of one, which the
# device answers with RNR.
peer_newest() { sed -nE 's/^id=([0-9]+) side=server .* recvs=([0-9]+) .*/\1 \2/p' /proc/net/rpcrdma/connections | sort -n | tail -n 1; }
# peer_received ID: messages on the newest connection, if that came after this one
peer_received() { peer_newest | awk -v id="$1" '{ n = $1 > id ? $2 : 0 } END { print n + 0 }'; }
peer_received_all() { [ "$(peer_received "$1" | tee /run/peer_received)" -ge "$2" ]; }
peer_frozen() {
	local before
	device_count send_rnr_err >/run/peer_rnr
	before=$(peer_newest)
	peer_freeze 1 peer_received_all "${before%% *}" "$1"
}
peer_unfrozen() {
	peer_thawed
	echo "$(cat /run/peer_received) messages, RNR counted: $(paste -sd' ' /run/peer_rnr)"
	[ "$(sort -u /run/peer_rnr | wc -l)" = 1 ]
}

# Of new connections; without a number the default. The stock module has no such setting
peer_first_requests() {
	[ ! -e /proc/sys/sunrpc/svc_rdma/first_requests ] ||
		module_sysctl svc_rdma/first_requests "${1:-}"
}

# As many threads may hang as a client has credits (64), and eight others do not, until the
# peer has removed the file $1
peer_frozen_many() {
	: >"$EXPORT/peer/$1"
	peer_freeze 72 test ! -e "$EXPORT/peer/$1"
}

peer_replies_hold_once() { peer_hold reply 17 true; }
# Acknowledgements. With one thread of nfsd it is certain which Calls have to wait
peer_replies_hold() {
	local before
	before=$(peer_newest)
	echo 1 >/proc/fs/nfsd/threads
	# The last message but small Calls is the one that is refused
	peer_hold reply 17 peer_took "${before%% *}" bad_headers 1
}
# Each thread may find room, and take a page for the head and those of the largest READ here
peer_replies_waited() {
	echo 8 >/proc/fs/nfsd/threads
	peer_waited reply $((259 + $1 * 257))
}

# What is read, or the Replies, of the newest connection has had so many pages at most:
# peer_pages_are read|reply N
peer_pages_are() {
	sed -nE "s/^id=([0-9]+) side=server .* most_$1_pages=([0-9]+) .*/\1 \2/p" /proc/net/rpcrdma/connections |
		sort -n | awk -v want="$2" '{ pages = $2 } END { print pages + 0, "pages at most"; exit pages != want }'
}

# Whoever sets up a security context is referred to a gss-proxy that knows no procedure
# of its program: rpcbind
gss_proxy_deaf() {
	local switch=/proc/net/rpc/use-gss-proxy
	modprobe auth_rpcgss
	[ "$(cat $switch)" != 1 ] || return 0
	ln -sf /run/rpcbind.sock /run/gssproxy.sock
	echo 1 >$switch
}

# A script may name commands for the server in lines "# Before:", "# Held:" and "# After:"
peer_hook() {
	local command
	command=$(sed -n "s/^# $1: //p" "$2")
	[ -z "$command" ] || on_server "$command"
}

# PEER_ONLY and PEER_NOT: expressions for names. PEER_PART: I/N, every Nth one of those, from
# the Ith on, and each that not every server can have, as nobody knows which part has that
peer_cases() {
	(
		cd "$PEER_CASES" || exit
		# One look at all files: a process for each takes minutes in a guest. None may be needed
		needed=$(grep -l '^# Needs: ' -- *.peer | tr '\n' ' ') || :
		printf '%s\n' *.peer | grep -E "^${PEER_ONLY:-.}" | grep -vE "^${PEER_NOT:-$}" |
			awk -v part="${PEER_PART:-0/1}" -v needed="$needed" '
				BEGIN {
					split(part, of, "/")
					split(needed, files, " ")
					for (i in files)
						always[files[i]]
				}
				NR % of[2] == of[1] || $0 in always'
	)
}

# Names that match nothing are mistyped
peer_any() { peer_cases | grep -c .; }

# Until the script waits at its "hold"; then runs what it names, and lets it go on
peer_held() {
	until [ -e /run/peer.held ]; do
		kill -0 "$2" 2>/dev/null || return 0
		nap 0.1
	done
	peer_hook Held "$1" || { kill "$2"; return 1; }
	rm /run/peer.held
}

# SCRIPT [peer's arguments…]
peer_case() {
	local rc=0 file=$1 job
	shift
	peer_hook Before "$file"
	rm -f /run/peer.held
	timeout -k 5 "${PEER_LIMIT:-120}" peer ${PEER_ARGS:-} "$@" "$file" &
	job=$!
	! grep -q '^# Held: ' "$file" || peer_held "$file" "$job" || rc=$?
	wait $job || rc=$?
	peer_hook After "$file"
	return $rc
}

# nfsd of later kernels lets nobody wait for a lock on the file systems that there are here
peer_lock_waits() { case $RELEASE in 6.1.*) ;; *) return 1 ;; esac; }
# A line "# Needs: " names a command that fails on a server without what the case is about
peer_lacks() {
	local command
	command=$(sed -n "s/^# Needs: //p" "$1")
	[ -n "$command" ] && ! on_server "$command" >/dev/null
}

# NFSv3 has no path to a file: the server says what it calls them
peer_handles() {
	local file
	for file in 64k link scratch acl; do
		printf -- '-M fh-%s=X:%s ' $file "$(on_server "peer_handle $EXPORT/peer/$file")"
	done
	printf -- '-M fh-dir=X:%s ' "$(on_server "peer_handle $EXPORT/peer")"
	printf -- '-M fh-one=X:%s\n' "$(on_server "peer_handle $EXPORT/peer/one")"
}

# Guests: -a "$TESTS/peer=/test/peer"
suite_peer() {
	local file before nr=1
	check "files for peers" on_server peer_files
	# Some cases are of version two, and an ERR_VERS names both
	on_server version_server 2 >/dev/null
	# They have Calls outstanding at once, before the server knows that they are busy
	on_server "peer_first_requests 64" >/dev/null
	check "mount beside peers" mount_nfs vers=4.2
	mountpoint -q $MNT || return 0
	# A peer does not repeat an OPEN
	check "the server's grace period ends" on_server "wait_for 30 grep -q Y /proc/fs/nfsd/v4_end_grace"
	before=$(connects)
	PEER_ARGS="${PEER_ARGS:-} ${LOOPS:+-D loops=$LOOPS} $(peer_handles)"
	PEER_ARGS+=" -D payload=$(on_server "cat /proc/fs/nfsd/max_block_size")"
	peer_bystander &
	check "cases of peers" peer_any
	for file in $(peer_cases); do
		! peer_lacks "$PEER_CASES/$file" || { info "peer ${file%.peer}: not with this server"; continue; }
		check "peer ${file%.peer}" peer_case "$PEER_CASES/$file" -D "xid=$((nr++ << 20))"
	done
	check "the mount beside peers was not disturbed" peer_undisturbed "$before"
	check "umount beside peers" umount_nfs
	on_server version_server 1 >/dev/null
	on_server peer_first_requests >/dev/null
}
