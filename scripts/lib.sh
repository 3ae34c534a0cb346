# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# What the host-side scripts share: where things are, and how to talk.
# Sourced; sets ROOT, SCRIPTS, TESTS, CACHE, PURE, PURE_HEADERS.

SCRIPTS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=${SCRIPTS%/*}
TESTS=$ROOT/tests
CACHE=${RPCRDMA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rpcrdma-kmod}

# The layer without a kernel: built in user space, too. Kbuild has a list of its own.
PURE=(common/{wire_decode,wire_encode,wire_v2,dispatch,cm_private,queue_sizes,send_slots}.c
      xprtrdma/{plan,negotiate}.c svcrdma/layout.c)
PURE_HEADERS=(include/rpcrdma/{wire_os,wire,queues}.h xprtrdma/plan.h
	      svcrdma/layout.h)

say() { printf '%s: %s\n' "${0##*/}" "$*"; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# The release (uname -r) that "6.1", "6.12", "debug" or "kcsan" stands for here.
kernel_release() {
	local meta
	case $1 in
	6.1) meta=linux-headers-amd64 ;;
	6.12) meta=linux-headers-6.12-amd64 ;;
	debug* | kcsan*) debug_release "$1"; return ;;
	*) die "no such kernel: $1 (6.1, 6.12, debug, debug-6.12, kcsan, kcsan-6.12)" ;;
	esac
	dpkg-query -W -f '${Depends}\n' "$meta" 2>/dev/null |
		sed -n 's/.*linux-headers-\(6[^ ,]*-amd64\).*/\1/p' | grep . ||
		die "$meta is not installed: run scripts/setup"
}

# Our own kernels: "debug" is of 6.1, "debug-6.12" of the other; "kcsan", "kcsan-6.12".
debug_series() {
	case $1 in
	*-*) echo "${1#*-}" ;;
	*) echo 6.1 ;;
	esac
}

# What is merged into tinyconfig, in order
debug_configs() {
	echo "$TESTS/configs/debug.config"
	case $1 in kcsan*) echo "$TESTS/configs/kcsan.config" ;; esac
}

# Of all that were built for the same purpose
debug_prefix() {
	case $1 in kcsan*) printf 'kcsan-' ;; esac
	debug_series "$1"
}

# Changes with Debian's source and with our configuration.
debug_key() {
	local ver series configs
	case $1 in
	debug | debug-6.12 | kcsan | kcsan-6.12) ;;
	*) die "no such kernel of our own: $1 (debug, debug-6.12, kcsan, kcsan-6.12)" ;;
	esac
	series=$(debug_series "$1")
	ver=$(dpkg-query -W -f '${Version}' "linux-source-$series" 2>/dev/null) ||
		die "linux-source-$series is not installed: run scripts/setup"
	mapfile -t configs < <(debug_configs "$1")
	printf '%s%s-%s\n' "$(debug_prefix "$1")" "${ver#"$series"}" "$(cat "${configs[@]}" | sha256sum | cut -c1-12)"
}

debug_dir() { printf '%s/debug/%s\n' "$CACHE" "$(debug_key "$1")"; }

debug_release() {
	local dir
	dir=$(debug_dir "$1")
	[ -e "$dir/.done" ] || die "no kernel $1 yet: run scripts/setup --debug-kernel=$1"
	cat "$dir/.release"
}

# For make KDIR=…
kernel_kdir() {
	case $1 in
	debug* | kcsan*) debug_release "$1" >/dev/null && debug_dir "$1" ;;
	*) printf '/usr/src/linux-headers-%s\n' "$(kernel_release "$1")" ;;
	esac
}

# Where vmlinuz lies.
kernel_dir() {
	case $1 in
	debug* | kcsan*) debug_dir "$1" ;;
	*) printf '%s/kernels/%s\n' "$CACHE" "$(kernel_release "$1")" ;;
	esac
}

print_fact() {
	case $1 in
	cache) echo "$CACHE" ;;
	kdir-*) kernel_kdir "${1#kdir-}" ;;
	*) kernel_release "$1" ;;
	esac
}

# What uname -r says in the kernel these headers are of. Not the file
# kernel.release: Debian's 6.1 has the upstream version in it.
headers_release() {
	[ -r "$1/include/generated/utsrelease.h" ] || return 1
	sed -n 's/.*UTS_RELEASE "\(.*\)".*/\1/p' "$1/include/generated/utsrelease.h"
}

# What building one directory of a kernel takes of its source, and its
# checkpatch.pl and kernel-doc: out of the source package once, and never
# written to. Prints the directory.
source_tree() {
	local series=$1 ver dir
	ver=$(dpkg-query -W -f '${Version}' "linux-source-$series" 2>/dev/null) ||
		die "linux-source-$series is not installed: run scripts/setup"
	dir=$CACHE/source/$series-$ver
	mkdir -p "$CACHE/source"
	(
		flock 9
		[ ! -d "$dir" ] || exit 0
		rm -rf "$CACHE/source/$series-"*
		mkdir "$dir.new"
		source_unpack "linux-source-$series" "$dir.new" && mv "$dir.new" "$dir"
	) 9>"$CACHE/source/.lock" || die "cannot unpack linux-source-$series"
	printf '%s\n' "$dir"
}

# Kconfig files name each other, wherever they are.
source_unpack() {
	tar -C "$2" --strip-components=1 --wildcards -xf "/usr/src/$1.tar.xz" '*/Kconfig*' \
		"$1"/{Makefile,Kbuild,scripts,include,kernel,arch/x86,net/Makefile,net/sunrpc} \
		"$1"/tools/{Makefile,arch,build,include,lib,objtool,scripts}
}
