# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Every sysctl of either side: both ends of its range, one past them, and what is no
# number; and a mount at each end.

# NAME LEAST MOST, and "mount" where a mount is made with each of the two; "bytes" has 64 bits
sysctls_table() {
	case $1 in
	client)
		# rdma_connect_timeout: a second is too little for this bench
		cat <<-END
			rdma_slot_table_entries 4 16384 mount
			rdma_max_inline_read 1024 65536 mount
			rdma_max_inline_write 1024 65536 mount
			rdma_connect_timeout 1 300
			rdma_idle_timeout 0 86400
			rdma_max_version 1 2 mount
			rdma_version_timeout 1 86400
			rdma_version_memory 1 86400
			rdma_inline_write_padding 0 4096
			rdma_memreg_strategy 0 6
			rdma_pad_optimize -2147483648 2147483647
		END
		;;
	server)
		cat <<-END
			max_requests 4 16384 mount
			first_requests 4 16384 mount
			max_req_size 4096 65536 mount
			max_outbound_read_requests 1 255 mount
			max_outbound_read_size 1060864 1073741824 mount
			max_outbound_reply_size 1060864 1073741824 mount
			max_total_size 1060864 18446744073709551615 bytes
			keepalive 0 86400
			max_version 1 2 mount
			rdma_stat_rq_starve 0 0
			rdma_stat_rq_poll 0 0
			rdma_stat_rq_prod 0 0
			rdma_stat_sq_poll 0 0
			rdma_stat_sq_prod 0 0
		END
		;;
	esac
}
sysctls_dir() { case $1 in client) echo /proc/sys/sunrpc ;; *) echo /proc/sys/sunrpc/svc_rdma ;; esac; }
sysctls_set() { printf '%s\n' "$2" >"$1"; }
sysctls_is() {
	echo "$1: $(cat "$1"), wanted: $2"
	[ "$(cat "$1")" = "$2" ]
}

# Whoever reads the table must not read it from the commands' standard input
sysctls_bounds() {
	local dir name least most rest bad was file beyond
	dir=$(sysctls_dir "$1")
	while read -r name least most rest <&6; do
		file=$dir/$name
		was=$(cat "$file")
		sysctls_set "$file" "$least"
		sysctls_is "$file" "$least"
		sysctls_set "$file" "$most"
		sysctls_is "$file" "$most"
		beyond=()
		[ "$rest" = bytes ] || beyond=($((most + 1)) 4294967296)
		for bad in $((least - 1)) "${beyond[@]}" 99999999999999999999 -99999999999999999999 \
			'' x "${most}x" 0x 1.5; do
			fails sysctls_set "$file" "$bad"
			sysctls_is "$file" "$most"
		done
		sysctls_set "$file" "$was"
		sysctls_is "$file" "$was"
	done 6< <(sysctls_table "$1")
}

# All that there are stand in the table, or count what happens
sysctls_complete() {
	local dir file name missing=
	dir=$(sysctls_dir "$1")
	for file in "$dir"/*; do
		name=${file##*/}
		case $1,$name in
		client,rdma_*) ;;
		client,* | *,rdma_stat_read | *,rdma_stat_recv | *,rdma_stat_write | *,rdma_stat_sq_starve) continue ;;
		esac
		sysctls_table "$1" | grep -q "^$name " || missing+=" $name"
	done
	echo "missing:$missing"
	[ -z "$missing" ]
}

# Whatever is written to them, they begin anew
sysctls_counters() {
	local name file
	for name in rdma_stat_read rdma_stat_recv rdma_stat_write rdma_stat_sq_starve; do
		file=/proc/sys/sunrpc/svc_rdma/$name
		echo "$name=$(cat "$file")"
		[ $name = rdma_stat_sq_starve ] || [ "$(cat "$file")" -gt 0 ]
		for bad in 7 -1 x ''; do
			sysctls_set "$file" "$bad"
			sysctls_is "$file" 0
		done
	done
}

sysctls_io() {
	iocheck write -l 1m -b 256k -y -t $MNT/sysctls
	drop_caches
	iocheck verify -l 1m $MNT/sysctls
}
sysctls_mount() {
	mount_nfs vers=4.2
	sysctls_io
	umount_nfs
}
sysctls_mounts() {
	local side=$1 name least most mount value was dir
	dir=$(sysctls_dir "$side")
	while read -r name least most mount <&6; do
		[ "$mount" = mount ] || continue
		for value in "$least" "$most"; do
			case $side in
			client)
				was=$(cat "$dir/$name")
				sysctls_set "$dir/$name" "$value"
				;;
			server)
				was=$(on_server "cat $dir/$name")
				on_server "sysctls_set $dir/$name $value" >/dev/null
				;;
			esac
			check "mount with $name=$value" sysctls_mount
			case $side in
			client) sysctls_set "$dir/$name" "$was" ;;
			server) on_server "sysctls_set $dir/$name $was" >/dev/null ;;
			esac
		done
	done 6< <(sysctls_table "$side")
}

suite_sysctls() {
	check "sysctls of the client: the table has all" sysctls_complete client
	check "sysctls of the server: the table has all" on_server "sysctls_complete server"
	check "sysctls of the client: ends, past them, no number" sysctls_bounds client
	check "sysctls of the server: ends, past them, no number" on_server "sysctls_bounds server"
	check "mount sysctls" mount_nfs vers=4.2
	mountpoint -q $MNT || return 0
	check "sysctls of the client, mounted" sysctls_bounds client
	check "sysctls of the server, mounted" on_server "sysctls_bounds server"
	check "I/O after that" sysctls_io
	check "umount sysctls" umount_nfs
	check "counters of the server: whatever is written" on_server sysctls_counters
	sysctls_mounts client
	sysctls_mounts server
}
