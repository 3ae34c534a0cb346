# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The wire, processor and clock of an emulated machine. Sourced after lib.sh; its user sets RUN,
# the directory of this run, CPUS and NUMA, and starts the emulator with QEMU.

# A virtio-serial port: NAME and a character device.
port() { QEMU+=(-chardev "$2,id=$1" -device "virtserialport,chardev=$1,name=$1"); }

# A queue pair of rxe of 7.2 drops packets with interrupts off, and a page pool of the NIC turns
# them on: a timer may then wait for a lock that its processor has (known-issues.rst). virtio_net
# has no pool for large packets without merged buffers.
wire() {
	local role=$1 kernel=$2 here=server there=client mac=52:54:00:12:34:01 nic=virtio-net-pci
	case $kernel in *7.*) nic+=",mrg_rxbuf=off,host_mtu=4200" ;; esac
	[ "$role" = server ] || { here=client there=server mac=52:54:00:12:34:02; }
	QEMU+=(-netdev "dgram,id=net,local.type=unix,local.path=$RUN/$here.net,remote.type=unix,remote.path=$RUN/$there.net"
		-device "$nic,netdev=net,mac=$mac,romfile=${NUMA:+,bus=node1}")
}

# A guest cannot measure its time stamp counter against an emulated timer; then it
# counts ticks, of which a busy machine loses many. rdtsc is this machine's own in
# the emulator, so it can be told the rate; not where instructions are counted, and
# time with them. Measured once for each boot of this machine.
guest_clock() {
	local file
	case "${RPCRDMA_VM_ARGS:-}" in *-icount*) return ;; esac
	file=$CACHE/tsc-khz/$(cat /proc/sys/kernel/random/boot_id)
	if [ ! -e "$file" ]; then
		mkdir -p "${file%/*}"
		rm -f "${file%/*}"/*
		gcc -O2 -Wall -o "$RUN/tsc-khz" "$TESTS/vm/tsc-khz.c" || return
		"$RUN/tsc-khz" >"$RUN/tsc-khz.out"
		mv "$RUN/tsc-khz.out" "$file"
		rm -f "$RUN/tsc-khz"
	fi
	[ ! -s "$file" ] || echo "tsc_early_khz=$(cat "$file")"
}

# The vCPU has RDRAND, or the guest would wait for entropy; without la57 page
# table walks are a level shorter. Where each processor is a thread of the emulator, guests
# that allocate memory by CMPXCHG16B sometimes go on with a pointer for their flags. A
# processor that boasts of a fast REP STOSB has pages zeroed by it, and the emulator takes
# an octet at a time: a third of what a guest did that made connections and lost them.
# Where instructions are counted there is one thread, and what is counted stays as it was.
guest_cpu() {
	case "${RPCRDMA_VM_ARGS:-}" in
	*-icount*) echo max,la57=off ;;
	*) echo max,la57=off,cx16=off,erms=off,fsrm=off ;;
	esac
}

# Without a second processor to come the emulator leaves the barriers out of what a
# guest does. But its devices are a thread beside the only processor: a guest that writes to
# a queue and does not see at once that its device asked to be told of that tells it
# nothing, ever, and a guest's wire was dead for the rest of its life. Not where
# instructions are counted: there is no wire.
guest_cpus() {
	local most=$CPUS
	case "${RPCRDMA_VM_ARGS:-}" in
	*-icount*) ;;
	*) [ "$CPUS" -gt 1 ] || most=2 ;;
	esac
	echo "$CPUS,maxcpus=$most,sockets=$most"
}
