# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Everything that happens to a connection, in an order that SEED (1) gives, for MINUTES
# (3), below two mounts (NFSv3 and 4.2) with verified I/O (of whole files, at random, and
# by fio, if the guest has it), files made and removed, delegations that are recalled, and
# locks. After each event both mounts go on. STORM names the kinds of events (default:
# all of them).

STORM_KINDS="cut silence loss disorder client_device server_device restart threads sizes version memory"
STORM_SYSCTL=/proc/sys/sunrpc

# ---- the load ------------------------------------------------------------------------

# Where a load pauses when it is told to
storm_rest() { while [ -e /run/storm.pause ]; do nap 0.1; done; }

# storm_remove DIR: executed again after nfsd was restarted, it finds nothing to remove
storm_remove() {
	local said
	said=$(rm -f "$1"/? 2>&1) || ! grep -v "No such file or directory" <<<"$said"
}

# storm_files DIR: each has its own contents, as long as it exists
storm_files() {
	local dir=$1/files.${1##*/} i=0 n
	mkdir -p "$dir"
	while [ ! -e /run/removal.stop ]; do
		i=$((i + 1))
		storm_rest
		for n in 1 2 3 4; do
			echo "$i $n" >"$dir/$n" && grep -qx "$i $n" "$dir/$n" || break 2
		done
		storm_remove "$dir" || break
	done
	[ -e /run/removal.stop ] || echo "$1: round $i" >>/run/removal.failed.files
}

# Two who count to the same number, one step at a time, under a lock
storm_count() {
	local n
	while [ ! -e /run/removal.stop ]; do
		storm_rest
		flock "$1/lock" bash -c 'read -r n <"$1/count" && echo $((n + 1)) >"$1/count"' bash "$1" || break
		echo >>"/run/storm.steps.$2"
	done
	[ -e /run/removal.stop ] || echo "$1: $2" >>/run/removal.failed.count
}

# storm_fsops DIR: random operations on a file, against what memory says of it
storm_fsops() {
	local i=0
	while [ ! -e /run/removal.stop ]; do
		i=$((i + 1))
		fsops -s $i -n 200 -p /run/storm.pause "$1/fsops.${1##*/}" || break
	done
	[ -e /run/removal.stop ] || echo "$1: seed $i" >>/run/removal.failed.fsops
}
storm_fio() {
	local i=0
	while [ ! -e /run/removal.stop ]; do
		i=$((i + 1))
		storm_rest
		fio --name=storm --filename="$1/fio.${1##*/}" --size=1m --bsrange=512-128k \
			--rw=randwrite --direct=1 --ioengine=psync --randseed=$i \
			--verify=crc32c --do_verify=1 --verify_fatal=1 --minimal >/run/storm.fio 2>&1 || break
	done
	[ -e /run/removal.stop ] || tail -n 5 /run/storm.fio >>/run/removal.failed.fio
}

# Who reads by NFSv4.2 is given a delegation, which who writes by NFSv3 makes the server
# recall. If the recall does not get through, the server takes the delegation away, and
# the client uses its cache until it hears of that.
storm_recalls() {
	local i=0
	while [ ! -e /run/removal.stop ]; do
		i=$((i + 1))
		storm_rest
		echo $i >/mnt3/recalled && wait_for 240 storm_reads $i || break
		echo $i >/run/storm.recalls
	done
	[ -e /run/removal.stop ] || echo "round $i" >>/run/removal.failed.recalls
}
storm_reads() { [ "$(cat /mnt42/recalled)" = "$1" ]; }
storm_recalled() {
	local returned
	returned=$(awk '/^device / { here = $5 == "/mnt42" } here && /DELEGRETURN:/ { print $2 }' /proc/self/mountstats)
	echo "$(cat /run/storm.recalls) rounds, $returned delegations returned"
	[ "$returned" -ge 1 ]
}
storm_counted() {
	local n
	read -r n </mnt42/count
	echo "$n steps, of $(cat /run/storm.steps.* | wc -l)"
	[ "$n" = "$(cat /run/storm.steps.* | wc -l)" ]
}

storm_loads() {
	local dir who
	rm -f /run/storm.*
	for dir in $REMOVAL_DIRS; do
		storm_files "$dir" &
		REMOVAL_JOBS+=" $!"
		storm_fsops "$dir" &
		REMOVAL_JOBS+=" $!"
		! command -v fio >/dev/null || { storm_fio "$dir" & REMOVAL_JOBS+=" $!"; }
	done
	echo 0 >/mnt3/recalled
	storm_recalls &
	REMOVAL_JOBS+=" $!"
	echo 0 >/mnt42/count
	: >/mnt42/lock
	for who in a b; do
		: >/run/storm.steps.$who
		storm_count /mnt42 $who &
		REMOVAL_JOBS+=" $!"
	done
}

# ---- the events, each with numbers of its own ------------------------------------------

# The load pauses: without, it may take long until the transport is idle (cut_dstaddr)
storm_cut() {
	local rc=0
	touch /run/storm.pause
	cut_by_sysfs || rc=1
	rm /run/storm.pause
	return $rc
}

# Neither hears the other, for up to 24 s: too short for anyone to notice, or not
storm_silence() {
	cable_gone
	sleep $(($1 % 25))
	cable_back
}
storm_loss() {
	on_server "loss_on $((50 + $1 % 200))" >/dev/null
	loss_on $((50 + $2 % 200))
	sleep $((2 + $3 % 6))
	on_server loss_off >/dev/null
	loss_off >/dev/null
}
# What the server sends arrives in another order, and none of it is dropped. Not
# what the client sends, which are the responses to the server's RDMA Reads: rxe of 6.12
# takes some of them for the end of one (Documentation/known-issues.rst).
# The queueing discipline is there from the beginning, and is told when to delay: while one
# is put in another's place the kernel drops what is sent, and rxe of 6.12 gives up each queue
# pair that has something to send then, that of the CM for good.
storm_netem() { tc qdisc "$1" dev eth0 root netem limit 1000000 ${2:-}; }
storm_disorder() {
	on_server "storm_netem change 'delay 2ms 1ms reorder $((10 + $1 % 40))% 50%'" >/dev/null
	sleep $((2 + $2 % 6))
	on_server "storm_netem change" >/dev/null
}
storm_away() {
	if [ $(($1 % 2)) = 1 ] && rxe_is_module; then away_module; else away_link; fi
}
storm_client_device() { one_line storm_away "$1"; }
storm_server_device() { on_server one_line storm_away "$1" >/dev/null; }

# nfsd with other credits, thresholds and threads. Whoever has open files wants them
# back before others may open any.
storm_nfsd() {
	within 60 nfsd_stop
	echo "$1" >$STORM_SYSCTL/svc_rdma/max_requests
	echo "$2" >$STORM_SYSCTL/svc_rdma/max_req_size
	rpc.nfsd --rdma=20049 --grace-time 90 "$3"
}
storm_reclaims() {
	awk '/^device / { here = $5 == "/mnt42" } here && /RECLAIM_COMPLETE:/ { print $2 }' /proc/self/mountstats
}
storm_reclaimed() { [ "$(storm_reclaims)" -gt "$1" ]; }
storm_restart() {
	local before
	before=$(storm_reclaims)
	on_server "storm_nfsd $((4 + $1 % 125)) $((4096 << $2 % 5)) $((1 + $3 % 16))" >/dev/null
	wait_for $REMOVAL_BACK storm_reclaimed "$before"
	on_server "wait_for 120 storm_grace_over"
}
# It refuses to end what is over; and nfsd of 7.2, where no daemon keeps a record of clients (as
# here), to end anything before its time
storm_grace_over() {
	[ "$(cat /proc/fs/nfsd/v4_end_grace)" = Y ] || { echo Y >/proc/fs/nfsd/v4_end_grace || :; false; }
}
storm_threads() { on_server "echo $((1 + $1 % 32)) >/proc/fs/nfsd/threads"; }

# Either kernel looks for memory: a client gives back slots and memory regions
storm_memory() {
	on_server drop_caches >/dev/null
	drop_caches
}

# What the next connection of the client is like
storm_sizes() {
	echo $((1024 << $1 % 7)) >$STORM_SYSCTL/rdma_max_inline_read
	echo $((1024 << $2 % 7)) >$STORM_SYSCTL/rdma_max_inline_write
	storm_cut
}
storm_version() {
	# The stock module has one
	if [ "$MODULE" != stock ]; then
		echo $((1 + $1 % 2)) >$STORM_SYSCTL/rdma_max_version
		on_server "echo $((1 + $2 % 2)) >$STORM_SYSCTL/svc_rdma/max_version"
	fi
	storm_cut
}

# What this guest can say of itself when something does not go on: ROLE.out/state, and the
# console, should it never come to an end
storm_state() {
	local task
	{
		date
		rdma resource show
		rdma resource show qp
		rdma resource show cm_id
		grep -r . /sys/class/infiniband/*/ports/1/{state,hw_counters,cm_*_msgs} | grep -v ':0$' || :
		tc -s qdisc show dev eth0
		cat /proc/net/rpcrdma/*
		for task in /proc/[0-9]*; do
			grep -qs 'State:.D' "$task/status" || grep -qsE 'nfsd|rpcrdma|rdma|rxe|ib_' "$task/stack" || continue
			echo "${task#/proc/} $(cat "$task/comm")"
			cat "$task/stack"
		done
		dmesg | tail -n 100
	} >>/run/state 2>&1
	save_file /run/state
	sed "s/^/$ROLE state: /" /run/state >/dev/console
}

# ---- one after the other ---------------------------------------------------------------

storm_event() {
	local dir rounds t0=$SECONDS t1
	"$@"
	t1=$SECONDS
	for dir in $REMOVAL_DIRS; do
		rounds=$(removal_rounds "$dir")
		wait_for $REMOVAL_BACK removal_beyond "$dir" "$rounds" ||
			{ storm_state; on_server storm_state; echo "$dir does not go on after: $*"; return 1; }
	done
	removal_good
	info "$*: $((t1 - t0)) s, and $((SECONDS - t1)) s until both mounts went on"
}

# The order is SEED's alone; how many of them the time allows is not
storm_go() {
	local end=$((SECONDS + ${MINUTES:-3} * 60)) kinds kind
	local -A count
	read -ra kinds <<<"${STORM:-$STORM_KINDS}"
	RANDOM=${SEED:-1}
	while [ $SECONDS -lt $end ]; do
		kind=${kinds[RANDOM % ${#kinds[@]}]}
		storm_event "storm_$kind" $RANDOM $RANDOM $RANDOM
		count[$kind]=$((${count[$kind]:-0} + 1))
	done
	for kind in "${kinds[@]}"; do
		info "seed ${SEED:-1}: ${count[$kind]:-0} $kind"
	done
}

# Guests: -f -m 4096
suite_storm() {
	local REMOVAL_BACK=180 ON_SERVER_LIMIT=180
	info "seed ${SEED:-1}, ${MINUTES:-3} minutes"
	check "packets can be disordered" on_server "storm_netem add"
	removal_begin proto=rdma,port=20049
	[ -n "$REMOVAL_JOBS" ] || return 0
	storm_loads
	check "a storm of ${MINUTES:-3} minutes, seed ${SEED:-1}" storm_go
	check "delegations were recalled" storm_recalled
	touch /run/removal.stop
	check "every step under the lock counted" storm_ended
	check "umount storm, nothing stuck" removal_end
	check "nothing is disordered any more" on_server "tc qdisc del dev eth0 root"
}
storm_ended() {
	local job
	for job in $REMOVAL_JOBS; do
		wait_for $REMOVAL_BACK job_ended "$job"
	done
	storm_counted
}
