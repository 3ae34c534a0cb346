#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# One guest that is client and server, and swaps the module: see run. For each of
# PHASES it does each of OPS so many times, twice: what the second time has more is
# the cost of the additional operations, and of nothing else.
#
#	STOCK	"no" if the module called stock is another one of ours
#	PHASES	MODULE:VERSION …, as "ours:1 ours:2 stock:1"
#	OPS	NAME:FEW:MANY:DEPTH …, see rpcops
#	COUNT	insns: messages to the plugin, three marks an operation; events: kprobes
#		and trace points, which cost instructions of their own; wakeups: traces of
#		switches and wake-ups; kallsyms: nothing, but the kernel's addresses are saved
. /test/guest.sh
. /test/events.sh

MODULE=swapped

# bench_load MODULE: and tell the plugin where it is
bench_load() {
	local which=0 text
	insmod "/test/$1/rpcrdma.ko"
	[ "$1" = ours ] || which=1
	text=$(cat /sys/module/rpcrdma/sections/.text)
	[ "$COUNT" != insns ] || rpcops loaded $which "$text"
	grep -E ' [tTwW] ' /proc/kallsyms >"/run/kallsyms.$1"
	save_file "/run/kallsyms.$1"
}

bench_marks() {
	local name=$1 few=$2 many=$3 depth=$4
	rpcops mark 0
	rpcops "$name" $MNT "$few" "$depth"
	rpcops mark 1
	rpcops "$name" $MNT "$many" "$depth"
	rpcops mark 2
}

# A line "OPERATION EVENT NUMBER" for what MANY - FEW have
bench_events() {
	local name=$1 few=$2 many=$3 depth=$4
	events_of /run/few rpcops "$name" $MNT "$few" "$depth"
	events_of /run/many rpcops "$name" $MNT "$many" "$depth"
	awk -v op="$name/$depth" 'NR == FNR { n[$1] = $2; next } { print op, $1, $2 - n[$1] }' \
		/run/few /run/many >>"/run/events.$PHASE"
}

# A trace for FEW, and one for MANY
bench_wakeups() {
	local name=$1 depth=$4 trace=$TRACING/instances/wakeups n file
	for n in "$2" "$3"; do
		file=/run/wakeups.$PHASE.$name.$depth.$n
		echo >$trace/trace
		echo 1 >$trace/tracing_on
		rpcops "$name" $MNT "$n" "$depth"
		echo 0 >$trace/tracing_on
		cat $trace/trace >"$file"
		! grep -qE '^CPU:[0-9]+ \[LOST' "$file"
		save_file "$file"
		rm "$file"
	done
}

wakeups_on() {
	local trace=$TRACING/instances/wakeups
	mountpoint -q $TRACING || mount -t tracefs tracefs $TRACING
	[ ! -d $trace ] || return 0
	mkdir $trace
	echo 0 >$trace/tracing_on
	echo 65536 >$trace/buffer_size_kb
	echo stacktrace >$trace/events/sched/sched_waking/trigger
	echo 1 >$trace/events/sched/sched_waking/enable
	echo 1 >$trace/events/sched/sched_switch/enable
}

bench_op() {
	rpcops "$1" $MNT "$2" "$4"
	case $COUNT in
	insns) bench_marks "$@" ;;
	wakeups) bench_wakeups "$@" ;;
	*) bench_events "$@" ;;
	esac
}

bench_ops() {
	local op
	for op in $OPS; do
		# shellcheck disable=SC2046
		bench_op $(tr : ' ' <<<"$op")
	done
}

bench_version() {
	local file
	for file in rdma_max_version svc_rdma/max_version; do
		[ ! -e /proc/sys/sunrpc/$file ] || echo "$1" >/proc/sys/sunrpc/$file
	done
}

# bench_is MODULE VERSION: what runs is what was asked for
bench_is() {
	local found=1 stock
	stock=$([ "$1:${STOCK:-}" = stock: ] && echo yes || :)
	[ -n "$stock" ] || found=$(sed -n 's/.*side=client state=live.* version=\([0-9]*\).*/\1/p' \
		/proc/net/rpcrdma/connections | sort -u)
	[ "$found" = "$2" ]
	if [ -n "$stock" ]; then [ ! -e /proc/net/rpcrdma ]; fi
}

# Does rxe complete in a thread? (include/compat.h)
bench_in_thread() { [[ $(uname -r) = 6.[0-3].* ]] && echo 0 || echo 1; }

# A page that is read for the second time moves to another list of the kernel's, once: that
# shall be no phase's
bench_files() {
	local i op depth=1
	for op in $OPS; do
		case $op in
		readdir:*) ((depth >= ${op##*:})) || depth=${op##*:} ;;
		esac
	done
	rpcops_files 1000 $depth
	for i in 1 2 3; do
		cat $EXPORT/bench >/dev/null
	done
}

bench_phase() {
	local module=$1 version=$2
	PHASE=$module.$version
	bench_load "$module"
	bench_version "$version"
	NFSD_BLOCK=1048576 NFSD_THREADS=8 server_up 4.1
	[ -e $EXPORT/bench ] || check "files" bench_files
	check "mount $PHASE" mount_nfs "vers=4.1,lookupcache=none,actimeo=0"
	check "$PHASE runs" bench_is "$module" "$version"
	case $COUNT in
	events) events_on ;;
	wakeups) wakeups_on ;;
	esac
	check "operations $PHASE" bench_ops
	if [ "$COUNT" = events ]; then
		save_file "/run/events.$PHASE"
		events_off
	fi
	check "umount $PHASE" umount_nfs
	server_down
	unload_transport
}

if [ "$COUNT" = kallsyms ]; then
	grep -E ' [tTwW] ' /proc/kallsyms >/run/kallsyms
	save_file /run/kallsyms
	finish
fi
one_guest_veth
modprobe -a sunrpc rdma_cm ib_core nfsv4 nfsd
insmod /test/rpcnull.ko
# On the same device; with a thread that completes, as the module does: in a workqueue
case $OPS in
*floor*) insmod /test/rpcfloor.ko workqueue="$(bench_in_thread)" ;;
esac
for phase in $PHASES; do bench_phase "${phase%:*}" "${phase#*:}"; done
finish
