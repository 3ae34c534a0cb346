# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# In a guest: count what the transport does, whichever module it is, by hist
# triggers of tracefs. Nothing is recorded, only counted. Sourced after guest.sh.
#
#	events_on         once the module is loaded; events_off before it is unloaded
#	events_read       "NAME COUNT" since events_on; names with a dot are one of many
#	events_of FILE COMMAND…   what COMMAND added, into FILE
#	rpcops_files NAMES [DEPTH]  on the server: what so many processes of rpcops want to
#	                          find, and so many names for each
#
# doorbells, completions and WRs are those the device sees (rxe; wr.OPCODE is counted
# where the WR ends). A name that ends in "_module" counts calls from the module's
# code alone, the same without it the whole guest's.

TRACING=/sys/kernel/tracing
EVENTS_HISTS=()
EVENTS_TRIGGERS=()

# What wakes somebody up, or may, when the module calls it
EVENTS_WAKES="queue_work_on queue_delayed_work_on mod_delayed_work_on __wake_up wake_up_process
	complete complete_all wake_up_var rpc_wake_up rpc_wake_up_next svc_xprt_enqueue
	svc_pool_wake_idle_thread xprt_complete_rqst xprt_wake_pending_tasks
	xprt_wake_up_backlog xprt_write_space"
# Pages; kmalloc and its like have trace points
EVENTS_PAGES="alloc_pages alloc_pages_noprof alloc_pages_exact alloc_pages_exact_noprof
	__alloc_pages_bulk alloc_pages_bulk_noprof vmalloc vmalloc_noprof"

# first and last address of the module
events_range() {
	awk '$1 == "rpcrdma" { print $6, $2 }' /proc/modules
}

events_has() { grep -qE "^[0-9a-f]+ [tTwW] $1(\s|$)" /proc/kallsyms; }

# events_probe GROUP NAME FUNCTION [ARGUMENT]
events_probe() {
	events_has "$3" || return 0
	echo "p:$1/$2 $3 ${4:-}" >>$TRACING/kprobe_events
}

# events_hist EVENT KEY [FILTER]
events_hist() {
	local trigger="hist:keys=$2:size=512${3:+ if $3}"
	echo "$trigger" >>"$TRACING/events/$1/trigger"
	EVENTS_TRIGGERS+=("$1 $trigger")
	case " ${EVENTS_HISTS[*]-} " in
	*"/$1/hist "*) ;;
	*) EVENTS_HISTS+=("$TRACING/events/$1/hist") ;;
	esac
}

# Before the module goes, whose addresses the filters have. As they were written: what 7.2
# shows of them, "common_cpucommon_cpu", it does not read.
events_off() {
	local trigger
	for trigger in "${EVENTS_TRIGGERS[@]}"; do
		echo "!${trigger#* }" >>"$TRACING/events/${trigger%% *}/trigger"
	done
	EVENTS_TRIGGERS=() EVENTS_HISTS=()
	echo >$TRACING/kprobe_events
}

# Calls out of the module: who is asked by its return address
events_from_module() {
	local group=$1 f
	shift
	for f; do
		events_probe "$group" "$f" "$f" "caller=\$stack0:x64"
		[ ! -d "$TRACING/events/$group/$f" ] || events_hist "$group/$f" caller "caller >= $LOW && caller < $HIGH"
	done
}

events_on() {
	local start size f
	mountpoint -q $TRACING || mount -t tracefs tracefs $TRACING
	read -r start size < <(events_range)
	LOW=$start HIGH=$(printf '0x%x' $((start + size)))
	events_probe verbs post_send rxe_post_send
	events_probe verbs post_recv rxe_post_recv
	events_probe verbs completion rxe_cq_post
	# struct rxe_send_wr of the device's user interface: wr_id, reserved, opcode
	events_probe verbs wr do_complete "opcode=+12(%si):u32"
	for f in post_send post_recv completion; do events_hist verbs/$f common_cpu; done
	events_hist verbs/wr opcode
	# shellcheck disable=SC2086
	events_from_module wakes $EVENTS_WAKES
	# shellcheck disable=SC2086
	events_from_module pages $EVENTS_PAGES
	for f in kmalloc kmalloc_node kmem_cache_alloc kmem_cache_alloc_node; do
		[ -d $TRACING/events/kmem/$f ] || continue
		events_hist kmem/$f common_cpu
		events_hist kmem/$f call_site "call_site >= $LOW && call_site < $HIGH"
	done
	events_hist kmem/mm_page_alloc common_cpu
	events_hist sched/sched_waking common_cpu
}

# One program for all of them: they are read often
events_read() {
	awk -v root="$TRACING/events/" '
	FNR == 1 {
		name = substr(FILENAME, length(root) + 1)
		sub("/hist$", "", name)
		split(name, part, "/")
	}
	/trigger info:/ { module = / if / }
	part[2] == "wr" && $2 == "opcode:" { sub(/}/, "", $3); n["wr." $3 + 0] += $NF }
	$1 == "Hits:" && part[1] == "verbs" && part[2] != "wr" { n[part[2]] += $2 }
	$1 == "Hits:" && part[1] == "wakes" { n["wake_module"] += $2 }
	$1 == "Hits:" && part[1] == "pages" { n["alloc_module"] += $2 }
	$1 == "Hits:" && part[1] == "kmem" { n[module ? "alloc_module" : "alloc"] += $2 }
	$1 == "Hits:" && part[1] == "sched" { n["wake"] += $2 }
	$1 == "ctxt" { n["switch"] += $2 }
	END { for (name in n) print name, n[name] }' \
		"${EVENTS_HISTS[@]}" /proc/stat
}

events_of() {
	local out=$1
	shift
	events_read >/run/events.before
	"$@"
	events_read >/run/events.after
	awk 'NR == FNR { n[$1] = $2; next } { print $1, $2 - n[$1] }' /run/events.before /run/events.after >"$out"
}

rpcops_files() {
	local i p
	iocheck write -l 16m -b 1m -t "$EXPORT/bench"
	for ((p = 0; p < ${2:-1}; p++)); do
		mkdir "$EXPORT/names$p"
		for ((i = 0; i < $1; i++)); do : >"$EXPORT/names$p/a-name-of-a-file-$i"; done
	done
}
