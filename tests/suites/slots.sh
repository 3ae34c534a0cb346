# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Far more processes than slots: each gets its turn, and none is forgotten. With few
# slots every RPC waits for one; the first that waits is the first that is served, so
# that others do not overtake the slowest much more often than any other one. That is
# counted in RPCs that ended meanwhile: when the host stands still for a second, so does
# each process's RPC of that moment, and no slot is at fault. SLOTS_RPCS says how many RPCs
# (10000), SLOTS_PROCESSES by how many processes (200).

SLOTS_ENTRIES=/proc/sys/sunrpc/rdma_slot_table_entries

# Median, P99 and longest, in microseconds, then in RPCs
slots_run() {
	LATENCY=y timeout -k 5 "${SLOTS_LIMIT:-300}" rpcops "$1" $MNT "${SLOTS_RPCS:-10000}" "${SLOTS_PROCESSES:-200}" |
		tail -n 1 >/run/latency
	grep . /run/latency
}

# even MEDIAN P99 MOST TIMES: P99 at most so many times the median, the most five times that
even() { [ "$2" -le $(($4 * $1)) ] && [ "$3" -le $((5 * $4 * $1)) ]; }

# A wake-up that gets lost is made good by another RPC's end, or never. P99 of the time tells
# of slots only if fewer than one RPC of a hundred are in progress at any one moment.
slots_even() {
	local us us99 us_most rpcs rpcs99 rpcs_most
	read -r us us99 us_most rpcs rpcs99 rpcs_most </run/latency
	echo "median $us us, P99 $us99, longest $us_most; $rpcs RPCs, P99 $rpcs99, most $rpcs_most"
	[ "${SLOTS_RPCS:-10000}" -ge $((100 * ${SLOTS_PROCESSES:-200})) ] || us99=$us
	even "$us" "$us99" "$us_most" 4 && even "$rpcs" "$rpcs99" "$rpcs_most" 2
}

# A connection has Receives for the Replies to so many Calls, and the server's for so many
slots_receives() {
	local client server
	client=$(client_field receivable)
	server=$(on_server "server_field receivable")
	echo "client $client, server $server"
	[ "$client" = "$1" ] && [ "$server" = "$2" ]
}

# The same after the RPCs, for those that the server's credits and the slots allow. The server
# has no more than four for a client that asks for four. It grants more to a client that has
# four Calls for each credit within a second: debug kernels may be too slow for that, but those
# that all four threads of nfsd have are the first four.
slots_receives_all() {
	local entries=$1 us client
	read -r us _ </run/latency
	if [ "$entries" -ge 64 ] && [ $((${SLOTS_PROCESSES:-200} * 1000000 / us)) -lt 512 ]; then
		client=$(client_field receivable)
		echo "slow: $us us for an RPC, $client Receives"
		[ "$client" -ge 16 ] && slots_receives "$client" "$client"
		return
	fi
	slots_receives $((entries < 64 ? entries : 64)) $((entries < 64 ? 4 : 64))
}

# slots_case OPERATION SLOTS [CHECK]: what must hold of the latencies
slots_case() {
	local op=$1 entries=$2 old
	old=$(cat $SLOTS_ENTRIES)
	echo "$entries" >$SLOTS_ENTRIES
	check "mount slots=$entries" mount_nfs vers=3,lookupcache=none,noac
	check "Receives for few Calls, slots=$entries" slots_receives $((entries < 8 ? entries : 8)) 4
	check "${SLOTS_RPCS:-10000} x $op slots=$entries" slots_run "$op"
	info "latency $op slots=$entries: $(cat /run/latency) (us, then RPCs: median, p99, most)"
	check "Receives for all Calls, slots=$entries" slots_receives_all "$entries"
	[ -z "${3:-}" ] || check "nobody waits much longer than others: $op slots=$entries" "$3"
	check "umount slots=$entries" umount_nfs
	echo "$old" >$SLOTS_ENTRIES
}

suite_slots() {
	on_server "dd if=/dev/zero of=$EXPORT/bench bs=1M count=16 status=none" >/dev/null
	slots_case getattr 4 slots_even
	slots_case read4k 4 slots_even
	slots_case getattr 128 slots_even
}

# Calls that take long do not use up the credits: with READs in nfsd that wait for the disk,
# as many as the first credits, GETATTRs go on.
slots_long() {
	local n jobs=() reads=8
	drop_caches
	trap 'on_server abandon_resume >/dev/null' EXIT
	on_server abandon_stall >/dev/null
	for ((n = 1; n <= reads; n++)); do
		cat "$MNT/long.$n" >/dev/null &
		jobs+=($!)
		# The Reply to its LOOKUP tells the client of more credits
		wait_for 20 slots_long_pending $n
	done
	timeout 10 stat $MNT >/dev/null
	echo "$(client_field receivable) Receives, $(slots_long_count) READs wait"
	slots_long_pending "$reads"
	on_server abandon_resume >/dev/null
	trap - EXIT
	for n in "${jobs[@]}"; do wait_job "$n"; done
}
slots_long_count() { grep -hcE " READ .*q:xprt_pending" /sys/kernel/debug/sunrpc/rpc_clnt/*/tasks | awk '{ s += $1 } END { print s + 0 }'; }
slots_long_pending() { [ "$(slots_long_count)" = "$1" ]; }
slots_long_files() {
	local n
	abandon_disk
	echo 16 >/proc/fs/nfsd/threads
	for n in 1 2 3 4 5 6 7 8; do dd if=/dev/urandom of="$SLOW/long.$n" bs=4k count=1 status=none; done
	chmod 666 $SLOW/long.*
}
suite_slots_long() {
	on_server slots_long_files >/dev/null
	check "mount slots_long" slots_long_mount
	mountpoint -q $MNT || return 0
	check "RPCs go on beside READs that take long" slots_long
	check "umount slots_long" umount_nfs
	on_server "echo 4 >/proc/fs/nfsd/threads; abandon_undisk" >/dev/null
}
slots_long_mount() { EXPORT=$SLOW mount_nfs vers=3,noac,lookupcache=none; }

# Each gets its turn. When, is the host's affair where a guest has more processors than
# the host has for it: one of them may stand still for long.
# Guests: -c 2
suite_slots_crowd() {
	on_server "dd if=/dev/zero of=$EXPORT/bench bs=1M count=16 status=none" >/dev/null
	slots_case getattr 4
	slots_case read4k 4
	slots_case getattr 128
}
