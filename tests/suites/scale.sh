# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Many clients of one server, which connect at once, are idle, and disconnect at once: how
# long that takes, and what each takes of the server's memory. SCALE has the numbers of
# clients; beside the last of them a mount does I/O. Works with the stock module as well.
# Leaves /run/scale, a line for each number: clients, ms to connect, KiB of the server for
# each client, ms to disconnect, ms until the server has none. tests/bench/scale runs it with
# both.

SCALE=${SCALE:-10 100 300}
# KiB of an idle client: what was seen, and a fifth. The stock module has more
SCALE_LIMIT=${SCALE_LIMIT:-0}

scale_server() { [ ! -e /proc/fs/nfsd/max_connections ] || echo 4096 >/proc/fs/nfsd/max_connections; }

# The clients, until there is a file /run/crowd.stop
scale_crowd() {
	trap - ERR
	set +e
	until [ -e /run/crowd.stop ]; do nap 0.2; done | crowd "$1"
	echo "${PIPESTATUS[1]}" >/run/crowd.rc
}

# scale_connect N: leaves "connected N MS" in /run/crowd
scale_connect() {
	rm -f /run/crowd /run/crowd.stop /run/crowd.rc
	scale_crowd "$1" >/run/crowd 2>&1 </dev/null &
	wait_for 150 scale_connected
	cat /run/crowd
	grep -q "^connected $1 " /run/crowd
}
scale_connected() { [ -e /run/crowd.rc ] || grep -q '^connected' /run/crowd; }

# scale_gone [N]: the server has no connections, or as many as without the crowd
scale_gone() {
	wait_for 120 memory_qps "${1:-0}"
	rdma resource show qp | grep -c 'type RC ' || :
	memory_qps "${1:-0}"
}
# scale_disconnect [N]
scale_disconnect() {
	local begin=${EPOCHREALTIME/[.,]/}
	touch /run/crowd.stop
	wait_for 150 test -e /run/crowd.rc
	cat /run/crowd
	[ "$(cat /run/crowd.rc)" = 0 ]
	ON_SERVER_LIMIT=150 on_server "scale_gone ${1:-0}"
	echo $(((${EPOCHREALTIME/[.,]/} - begin) / 1000)) >/run/scale.gone
}

# The server has a listener, and none refused a Connect Request
scale_none_refused() {
	cat /proc/net/rpcrdma/listeners
	awk -F'refused=' 'NF == 2 { n++; s += $2 } END { exit !n || s }' /proc/net/rpcrdma/listeners
}

# scale_memory N: KiB of each client, from what is free before and with them
scale_memory() {
	local with
	with=$(ON_SERVER_LIMIT=120 on_server "memory_free $1")
	echo $((($(cat /run/scale.free) - with) / $1)) | tee /run/scale.each
	[ "$SCALE_LIMIT" = 0 ] || [ "$(cat /run/scale.each)" -le "$SCALE_LIMIT" ]
}
scale_none() { ON_SERVER_LIMIT=120 on_server "memory_free 0" | tee /run/scale.free; }

# scale_ops FILE: GETATTRs in two seconds, by eight processes
scale_ops() {
	mount_nfs vers=4.2,actimeo=0,lookupcache=none
	rpcops getattr $MNT 2s 8 | tee "$1"
	umount_nfs
}

scale_line() {
	awk -v each="$(cat /run/scale.each)" -v gone="$(cat /run/scale.gone)" '
		$1 == "connected" { n = $2; up = $3 }
		$1 == "closed" { print n, up, each, $3, gone }' /run/crowd >>/run/scale
}

# Guests: -m 4096
suite_scale() {
	local n
	on_server scale_server >/dev/null
	on_server "dd if=/dev/zero of=$EXPORT/bench bs=1M count=16 status=none" >/dev/null
	: >/run/scale
	check "I/O without other clients" scale_ops /run/scale.alone
	# The first of all leave what stays
	check "two clients" scale_connect 2
	check "two clients disconnect" scale_disconnect
	for n in $SCALE; do
		check "memory without clients, before $n" scale_none
		check "$n clients connect at once" scale_connect "$n"
		[ -e /run/crowd.rc ] || check "memory of each of $n clients" scale_memory "$n"
		[ "$n" != "${SCALE##* }" ] || check "I/O beside $n clients" scale_ops /run/scale.beside
		check "$n clients disconnect at once" scale_disconnect
		scale_line
	done
	[ "$MODULE" = stock ] || check "each Connect Request was answered" on_server scale_none_refused
	check "all connections are gone" scale_none
	info "clients, ms to connect, KiB each, ms to disconnect, ms until none is left: $(paste -sd';' /run/scale)"
	info "GETATTRs alone: $(cat /run/scale.alone); beside ${SCALE##* } clients: $(cat /run/scale.beside)"
	save_file /run/scale
}

# ---- set-ups at the same time ---------------------------------------------------------------

# An adapter may take long for the queues of a connection: here half a second. One after the other
# 32 connections need 16 s.
slow_accept_overlap() {
	scale_connect 32
	awk '/^connected/ { exit !($3 < 8000) }' /run/crowd
}
# Guests: CONFIG_RPCRDMA_FAULT=y
suite_slow_accept() {
	on_server scale_server >/dev/null
	on_server "echo 250 >/sys/module/rpcrdma/parameters/slow_cq" >/dev/null
	check "32 clients connect within 8 s" slow_accept_overlap
	check "none was refused" on_server scale_none_refused
	on_server "echo 0 >/sys/module/rpcrdma/parameters/slow_cq" >/dev/null
	check "32 clients disconnect" scale_disconnect
}

# ---- some that are busy among many that are not ---------------------------------------

# scale_addresses N: more of the server, so that N mounts have connections of their own
scale_addresses() {
	local i
	for ((i = 1; i <= $1; i++)); do ip addr add "10.0.0.$((100 + i))/24" dev eth0; done
}

BUSY_EACH=13 BUSY=52
busy_mount() {
	for i in 1 2 3 4; do
		mount_nfs "vers=3,noac,nconnect=$BUSY_EACH" /mnt/busy$i "10.0.0.10$i"
	done
	[ "$(grep -c '^.xprt:.rdma' /proc/self/mountstats)" = $BUSY ]
}
busy_umount() {
	for i in 1 2 3 4; do umount_nfs /mnt/busy$i; done
}
# Each connection writes and reads, and all that is read is compared
busy_io() {
	for i in 1 2 3 4; do
		iocheck write -l 1m -b 4k -s "$i" -d -t "/mnt/busy$i/busy$i"
		iocheck verify -l 1m -b 4k -s "$i" -d "/mnt/busy$i/busy$i"
	done
}
# busy_ops FILE: READs in three seconds, over all connections; a line is added
busy_ops() {
	local pids=()
	for i in 1 2 3 4; do
		rpcops read4k /mnt/busy$i 3s 4 >/run/busy.$i &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i"; done
	awk '{ n += $1 } END { print n; exit !n }' /run/busy.[1-4] | tee -a "$1"
}
# busy_free N: KiB that are free on the server with N connections; a line is added
busy_free() { ON_SERVER_LIMIT=120 on_server "memory_free $1" | tee -a /run/busy.free; }
# Verified I/O on 52 connections beside the crowd costs memory for those 52 alone
busy_memory() {
	local free
	mapfile -t free </run/busy.free
	echo "KiB for each busy one $(((free[0] - free[1]) / BUSY)), each idle one $(((free[1] - free[2]) / $1)), for I/O beside these $((free[2] - free[3]))" | tee /run/busy.memory
	[ $((free[2] - free[3])) -le $((BUSY * 100)) ]
}
busy_ratio() {
	paste -d ' ' /run/busy.alone /run/busy.beside | awk '{ print $2 / $1 }' | sort -n | sed -n 2p
}

# Guests: -m 4096
suite_scale_busy() {
	local n=${SCALE##* }
	on_server scale_server >/dev/null
	on_server "scale_addresses 4" >/dev/null
	on_server "dd if=/dev/zero of=$EXPORT/bench bs=1M count=16 status=none" >/dev/null
	rm -f /run/busy.*
	check "memory without connections" busy_free 0
	check "mount $BUSY connections" busy_mount
	check "I/O on $BUSY connections" busy_io
	check "memory with them" busy_free $BUSY
	for round in 1 2 3; do
		check "READs without other clients, round $round" busy_ops /run/busy.alone
		check "$n clients connect at once, round $round" scale_connect "$n"
		[ $round != 1 ] || check "memory beside $n clients" busy_free $((BUSY + n))
		check "READs beside $n clients, round $round" busy_ops /run/busy.beside
		[ $round != 1 ] || check "I/O beside them" busy_io
		[ $round != 1 ] || check "memory after I/O beside them" busy_free $((BUSY + n))
		check "$n clients disconnect at once, round $round" scale_disconnect $BUSY
	done
	check "I/O takes memory for those that do it" busy_memory "$n"
	check "umount $BUSY connections" busy_umount
	info "$BUSY busy beside $n idle clients: $(cat /run/busy.memory); READs in 3 s alone: $(paste -sd' ' /run/busy.alone); beside: $(paste -sd' ' /run/busy.beside); ratio $(busy_ratio)"
	save_file /run/busy.memory
}

# ---- one that takes all it can get beside nine -----------------------------------------

FLOOD_OTHERS=9
# The tenth mount is of the one that floods
flood_mount() {
	for i in {1..10}; do mount_nfs vers=3,noac /mnt/flood$i "10.0.0.$((100 + i))"; done
	[ "$(grep -c '^.xprt:.rdma' /proc/self/mountstats)" = 10 ]
}
flood_umount() {
	for i in {1..10}; do umount_nfs /mnt/flood$i; done
}
# flood_reads NAME PROCESSES [SECONDS]: READs in ten seconds, or SECONDS, by four processes of each
# of the nine, and by PROCESSES of the tenth
flood_reads() {
	local pids=() rc=0
	for i in {1..9}; do
		LATENCY=y rpcops read4k /mnt/flood$i "${3:-10}s" 4 >"/run/flood.$1.$i" &
		pids+=($!)
	done
	rpcops read4k /mnt/flood10 "${3:-10}s" "$2" >"/run/flood.$1.10" || rc=1
	for i in "${pids[@]}"; do wait "$i" || rc=1; done
	[ $rc = 0 ]
}
# flood_share NAME: READs of the nine, fewest and most, of the tenth, and the longest 99th
# percentile of the nine. With this module each of them has 80 % of its share
flood_share() {
	awk -v others=$FLOOD_OTHERS -v stock="$([ "$MODULE" != stock ] || echo 1)" '
		FNR == 1 { n = $1; nr++ }
		FNR == 1 && nr <= others { if (!least || n < least) least = n; if (n > most) most = n }
		FNR == 1 { total += n }
		FNR > 1 && nr <= others && $2 > p99 { p99 = $2 }
		END {
			share = total / (others + 1)
			printf "%d to %d READs, the tenth %d; least of a fair share %.2f; p99 %d us\n",
				least, most, n, least / share, p99
			exit !(share && (least >= 0.8 * share || stock))
		}' /run/flood."$1".{1,2,3,4,5,6,7,8,9,10} | tee "/run/flood.$1"
	return "${PIPESTATUS[0]}"
}

# The server looks each 15 s which connections are crowded. Each has a tenth of 64 credits
flood_granted() {
	grep -o ' side=server .*' /proc/net/rpcrdma/connections | grep -o ' peer=[^ ]*\| granted=.*' | paste - -
	[ "$(grep -c ' side=server .* granted=6$' /proc/net/rpcrdma/connections)" = 10 ]
}

# Guests: -c 2
suite_scale_flood() {
	on_server "scale_addresses 10" >/dev/null
	on_server "dd if=/dev/zero of=$EXPORT/bench bs=1M count=16 status=none" >/dev/null
	check "mount ten connections" flood_mount
	check "ten read alike" flood_reads even 4
	check "each of ten has its share" flood_share even
	check "one takes all credits beside nine" flood_reads begin 128 32
	[ "$MODULE" = stock ] || check "it has as few credits as they" on_server flood_granted
	check "it takes all that it has" flood_reads all 128
	check "nine keep their share" flood_share all
	check "umount ten connections" flood_umount
	info "ten alike: $(cat /run/flood.even); beside a flood: $(cat /run/flood.all)"
	save_file /run/flood.all
}
