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

scale_gone() {
	wait_for 120 memory_qps 0
	rdma resource show qp | grep -c 'type RC ' || :
	memory_qps 0
}
scale_disconnect() {
	local begin=${EPOCHREALTIME/[.,]/}
	touch /run/crowd.stop
	wait_for 150 test -e /run/crowd.rc
	cat /run/crowd
	[ "$(cat /run/crowd.rc)" = 0 ]
	ON_SERVER_LIMIT=150 on_server scale_gone
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
