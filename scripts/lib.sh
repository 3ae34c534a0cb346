# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# What the host-side scripts share: where things are, and how to talk.
# Sourced; sets ROOT, SCRIPTS, TESTS, CACHE, DEBIAN_KERNELS, PURE, PURE_HEADERS.

SCRIPTS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=${SCRIPTS%/*}
TESTS=$ROOT/tests
CACHE=${RPCRDMA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rpcrdma-kmod}

# Debian's kernels that are tested, for which the package builds (scripts/package)
DEBIAN_KERNELS=(6.1 6.12 7.2)

# The layer without a kernel: built in user space, too. Kbuild has a list of its own.
PURE=(common/{wire_decode,wire_encode,wire_v2,dispatch,cm_private,queue_sizes,send_slots}.c
      xprtrdma/{plan,negotiate}.c svcrdma/layout.c)
PURE_HEADERS=(include/rpcrdma/{wire_os,wire,queues}.h xprtrdma/plan.h
	      svcrdma/layout.h)

# shellcheck source=scripts/suite.sh
. "$SCRIPTS/suite.sh"

say() { printf '%s: %s\n' "${0##*/}" "$*"; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "this needs root or sudo: $*"
	fi
}

# result_of NAME COMMAND...: a result as tests/run reads it; a failure with the last line that
# the command printed
result_of() {
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then
		echo "ok $name"
	else
		echo "not ok $name: $(tail -n 1 <<<"$out")"
	fi
}

# download PACKAGE[=VERSION]...: into the current directory. An old package index
# may name a version that the mirror no longer has. root downloads as root,
# because apt's own user cannot write here.
download() {
	apt-get download -qq -o APT::Sandbox::User=root "$@" && return 0
	say "refreshing the package lists"
	as_root apt-get update -q -o DPkg::Lock::Timeout=600
	apt-get download -qq -o APT::Sandbox::User=root "$@"
}

# The release (uname -r) of "6.1", "6.12", "debug" or "kcsan". scripts/setup keeps
# those of Debian as links in the cache: the release changes only when scripts/setup
# has the image and the headers of another one.
kernel_release() {
	if is_suite_kernel "$1"; then
		suite_release "$1"
		return
	fi
	case $1 in
	6.1 | 6.12) readlink "$CACHE/kernels/$1" || die "no kernel $1 yet: run scripts/setup" ;;
	debug* | kcsan*) debug_release "$1" ;;
	*) die "no such kernel: $1 (6.1, 6.12, 6.12+deb13, 7.2, debug, debug-6.12, debug-7.2, kcsan, kcsan-6.12)" ;;
	esac
}

# kernel_version SERIES: Debian's version of its packages, sources included
kernel_version() {
	if is_suite_kernel "$1"; then
		suite_version "$1"
		return
	fi
	cat "$CACHE/kernels/$1/.version" 2>/dev/null || die "no kernel $1 yet: run scripts/setup"
}

# Our own kernels: "debug" is of 6.1, "debug-6.12" and "debug-7.2" of the others; "kcsan",
# "kcsan-6.12".
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
	debug | debug-6.12 | debug-7.2 | kcsan | kcsan-6.12) ;;
	*) die "no such kernel of our own: $1 (debug, debug-6.12, debug-7.2, kcsan, kcsan-6.12)" ;;
	esac
	series=$(debug_series "$1")
	ver=$(kernel_version "$series") || exit
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
	local release
	if is_suite_kernel "$1"; then
		suite_kdir "$1"
		return
	fi
	release=$(kernel_release "$1") || exit
	case $1 in
	debug* | kcsan*) debug_dir "$1" ;;
	*) printf '%s/kernels/%s/headers/src/linux-headers-%s\n' "$CACHE" "$release" "$release" ;;
	esac
}

# A directory of headers, or the name of a kernel
headers_dir() { case $1 in */*) printf '%s\n' "${1%/}" ;; *) kernel_kdir "$1" ;; esac; }

# Where vmlinuz lies.
kernel_dir() {
	local release
	release=$(kernel_release "$1") || exit
	case $1 in
	debug* | kcsan*) debug_dir "$1" ;;
	*) printf '%s/kernels/%s\n' "$CACHE" "$release" ;;
	esac
}

print_fact() {
	case $1 in
	cache) echo "$CACHE" ;;
	kdir-*) kernel_kdir "${1#kdir-}" ;;
	*) kernel_release "$1" ;;
	esac
}

# kernel_make KDIR DIR ARGUMENT...: the kernel's build makes the modules of DIR, where the
# compiler of these headers is
kernel_make() {
	local kdir=$1 dir=$2 root
	shift 2
	root=$(suite_root "$kdir")
	if [ -n "$root" ]; then
		suite_run "$root" "$ROOT" "$dir" -- \
			make --no-print-directory -j"$(nproc)" -C "${kdir#"$root"}" M="$dir" modules "$@"
	else
		make --no-print-directory -j"$(nproc)" -C "$kdir" M="$dir" modules "$@"
	fi
}

# setup_kernel KERNEL: have all that a test with it needs
setup_kernel() {
	case $1 in
	debug* | kcsan*) "$SCRIPTS/setup" "--debug-kernel=$1" ;;
	*) "$SCRIPTS/setup" "--kernel=$1" ;;
	esac
}

# setup_suite_kernels KERNEL...: those that "make setup" does not fetch
setup_suite_kernels() {
	local kernel
	for kernel; do
		! is_suite_kernel "$kernel" || setup_kernel "$kernel" || return
	done
}

# What uname -r says in the kernel these headers are of. Not the file
# kernel.release: Debian's 6.1 has the upstream version in it.
headers_release() {
	[ -r "$1/include/generated/utsrelease.h" ] || return 1
	sed -n 's/.*UTS_RELEASE "\(.*\)".*/\1/p' "$1/include/generated/utsrelease.h"
}

# source_tar SERIES: the tar archive of Debian's kernel source, on standard output.
# Its package is in the cache from the first use on.
source_tar() {
	local deb
	deb=$(source_package "$1") || return
	dpkg-deb --fsys-tarfile "$deb" | tar -xO "./usr/src/linux-source-$1.tar.xz" | xz -dc
}

source_package() {
	local series=$1 ver deb tmp
	ver=$(kernel_version "$series") || return
	deb=$CACHE/source/linux-source-$series-$ver.deb
	mkdir -p "$CACHE/source"
	(
		flock 9
		[ ! -e "$deb" ] || exit 0
		say "downloading linux-source-$series $ver (150 MB)" >&2
		rm -rf "$CACHE/source/linux-source-$series-"*
		tmp=$(mktemp -d "$CACHE/source/.new.XXXXXX")
		(cd "$tmp" && source_download "$series" "$ver" >&2) && mv "$tmp"/*.deb "$deb"
		rm -rf "$tmp"
		[ -e "$deb" ]
	) 9>"$CACHE/source/.lock-package" ||
		die "cannot download linux-source-$series $ver: $(source_newer "$series")"
	printf '%s\n' "$deb"
}

source_download() {
	if is_suite_kernel "$1"; then
		suite_download "$1" "linux-source-$1=$2"
	else
		download "linux-source-$1=$2"
	fi
}

# What brings a kernel whose source there is
source_newer() {
	if is_suite_kernel "$1"; then
		echo "for a newer kernel remove $CACHE/suite/$1, then run scripts/setup"
	else
		echo "scripts/setup updates the kernels"
	fi
}

# Sources for the build of one directory, checkpatch.pl and kernel-doc: unpacked
# once, and never written to. Prints the directory.
source_tree() {
	local series=$1 ver dir
	ver=$(kernel_version "$series") || return
	dir=$CACHE/source/$series-$ver
	mkdir -p "$CACHE/source"
	(
		flock 9
		[ ! -d "$dir" ] || exit 0
		rm -rf "$CACHE/source/$series-"*
		mkdir "$dir.new"
		source_unpack "$series" "$dir.new" && mv "$dir.new" "$dir"
	) 9>"$CACHE/source/.lock" || die "cannot unpack linux-source-$series"
	printf '%s\n' "$dir"
}

# Kconfig files name each other, wherever they are.
source_unpack() {
	local top=linux-source-$1
	(
		set -o pipefail
		source_tar "$1" | tar -C "$2" --strip-components=1 --wildcards -x '*/Kconfig*' \
			"$top"/{Makefile,Kbuild,scripts,include,kernel,arch/x86,net/Makefile,net/sunrpc} \
			"$top"/tools/{Makefile,arch,build,include,lib,objtool,scripts}
	)
}
