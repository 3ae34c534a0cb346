# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Kernels that this machine's Debian does not have: they come from another suite of the
# repository that apt is configured for. apt's own sources, lists and packages stay as they
# are: this has an apt directory of its own in the cache, signed with the same keys.
#
# The headers of such a kernel want that suite's compiler and C library. Both are unpacked,
# with the headers, into a root in the cache, and builds run inside that root. Nothing is
# installed. Also whole Debians of a suite, for tests of their own.
#
# Sourced by lib.sh, after CACHE is set. In the cache:
#
#   suite/KERNEL/root       where builds run; the headers are below usr/src
#   suite/KERNEL/.release   uname -r of the kernel; complete
#   kernels/RELEASE         image and modules, as of the other kernels
#
# Remove suite/KERNEL to have the next setup fetch the suite's newest kernel of that series.

# The suite of this machine's Debian, and the version of its clang and LLVM
HOST_SUITE=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
LLVM_VERSION=14
[ "$HOST_SUITE" != trixie ] || LLVM_VERSION=19

# kernel_suites KERNEL: where a kernel is searched, in this order. Suites with a comma between
# them are searched together.
kernel_suites() {
	case $1 in
	6.1 | 6.12) echo bookworm,bookworm-security ;;
	6.12+deb13) echo trixie ;;
	7.2) echo sid forky ;;
	esac
}

# What a build, also with C=2, needs beside the headers, which depend on a compiler
SUITE_PACKAGES=(make bash coreutils sed grep gawk findutils perl-base diffutils sparse)

# Debian 12 has 6.1 and 6.12 itself
is_suite_kernel() {
	case $1 in
	6.1 | 6.12) [ "$HOST_SUITE" != bookworm ] ;;
	6.12+deb13 | 7.2) ;;
	*) false ;;
	esac
}

suite_release() {
	cat "$CACHE/suite/$1/.release" 2>/dev/null ||
		die "no kernel $1 yet: run scripts/setup --kernel=$1"
}

# suite_version SERIES: Debian's version of its packages, sources included
suite_version() {
	local rel
	rel=$(suite_release "$1") || return
	zcat "$CACHE/suite/$1/root/usr/share/doc/linux-headers-$rel/changelog.Debian.gz" |
		sed -n '1s/^linux[^ ]* (\(.*\)) .*/\1/p'
}

suite_kdir() {
	local rel
	rel=$(suite_release "$1") || return
	printf '%s/suite/%s/root/usr/src/linux-headers-%s\n' "$CACHE" "$1" "$rel"
}

# ---- building ----------------------------------------------------------------

# suite_root KDIR: the root that these headers are in, or nothing
suite_root() {
	local root
	for root in "$CACHE"/suite/*/root; do
		case $1 in "$root"/*) printf '%s\n' "$root" ;; esac
	done
}

# suite_run ROOT DIR... -- COMMAND...: runs it inside of ROOT, where each DIR is at its own
# path. The mounts are seen by nobody else, and end with the command.
suite_run() {
	local root=$1 dirs=() unshare=(unshare -m)
	shift
	while [ "$1" != -- ]; do
		dirs+=("$1")
		shift
	done
	shift
	# The kernel lets each user do this in a user namespace
	[ "$(id -u)" = 0 ] || unshare+=(-r)
	# shellcheck disable=SC2016 # the inner shell expands them
	"${unshare[@]}" bash -ec '
		root=$1
		shift
		for dir in /proc /dev; do
			mkdir -p "$root$dir"
			mount --rbind "$dir" "$root$dir"
		done
		while [ "$1" != -- ]; do
			mkdir -p "$root$1"
			mount --bind "$1" "$root$1"
			shift
		done
		shift
		exec chroot "$root" env -i PATH=/usr/bin:/usr/sbin HOME=/ LC_ALL=C "$@"' \
		suite "$root" "${dirs[@]}" -- "$@"
}

# ---- fetching (scripts/setup) ------------------------------------------------

# suite_apt DIR COMMAND...: an apt command that knows the suite in DIR alone
suite_apt() {
	local dir=$1
	shift
	APT_CONFIG=$dir/apt.conf "$@"
}

# suite_uri LABEL: where this machine's Debian, or Debian-Security, comes from
suite_uri() {
	apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' 'Created-By: Packages' |
		awk -v label="$1" '$1 == "Debian" && $2 == label { print $3; exit }'
}

# suite_apt_init DIR SUITE[,SUITE]: where this machine's Debian comes from, but these suites.
# Without a line in its status file apt takes no package for installed. A mirror may be weeks
# behind, so that its list of packages has expired: it is signed all the same.
suite_apt_init() {
	local dir=$1 suite uri security
	uri=$(suite_uri Debian)
	[ -n "$uri" ] || die "apt has no source that is Debian's: run apt-get update"
	security=$(suite_uri Debian-Security)
	rm -rf "$dir"
	mkdir -p "$dir"/{state/lists/partial,cache/archives/partial}
	: >"$dir/status"
	for suite in ${2//,/ }; do
		printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' \
			"$(case $suite in *-security) echo "${security:-${uri%/}-security}" ;; *) echo "$uri" ;; esac)" \
			"$suite"
	done >"$dir/sources.list"
	cat >"$dir/apt.conf" <<-END
		Dir::State "$dir/state";
		Dir::State::status "$dir/status";
		Dir::Cache "$dir/cache";
		Dir::Etc::sourcelist "$dir/sources.list";
		Dir::Etc::sourceparts "/dev/null";
		Dir::Etc::preferences "/dev/null";
		Dir::Etc::preferencesparts "/dev/null";
		APT::Sandbox::User "root";
		APT::Install-Recommends "false";
		Acquire::Check-Valid-Until "false";
	END
	suite_apt "$dir" apt-get update -qq
}

# suite_find DIR KERNEL: the release of the newest kernel of that series
suite_find() {
	suite_apt "$1" apt-cache pkgnames "linux-headers-${2%+*}." |
		sed -nE 's/^linux-headers-([0-9.]+(-[0-9]+|\+deb[0-9]+)-amd64)$/\1/p' | sort -V | tail -n 1
}

# suite_download KERNEL PACKAGE=VERSION: into the current directory
suite_download() {
	local dir=$PWD/apt suite rc=1
	for suite in $(kernel_suites "$1"); do
		suite_apt_init "$dir" "$suite" && suite_apt "$dir" apt-get download -qq "$2" || continue
		rc=0
		break
	done
	rm -rf "$dir"
	return $rc
}

# suite_unpack_root ARCHIVES ROOT: usr-merged before the first package, which expects that.
# Without the packages' own scripts two names are missing.
suite_unpack_root() {
	local deb dir
	mkdir -p "$2"/usr/{bin,sbin,lib,lib64}
	for dir in bin sbin lib lib64; do ln -s "usr/$dir" "$2/$dir"; done
	for deb in "$1"/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -C "$2" -x --keep-directory-symlink --no-same-owner
	done
	ln -sf bash "$2/usr/bin/sh"
	ln -sf gawk "$2/usr/bin/awk"
	mkdir -p "$2/tmp"
	chmod 1777 "$2/tmp"
	# It says whether sparse is new enough, which Debian's headers leave out
	for dir in "$2"/usr/src/linux-headers-*-common/scripts; do
		[ ! -d "$dir" ] || [ -e "$dir/checker-valid.sh" ] ||
			install -m 755 <(printf '#!/bin/sh\necho 1\n') "$dir/checker-valid.sh"
	done
}

# suite_parts DIR RELEASE: the packages of a kernel, which were one until Debian 13
suite_parts() {
	local part one=linux-image-$2-unsigned
	if [ -n "$(suite_apt "$1" apt-cache pkgnames "$one")" ]; then
		echo "$one"
	else
		for part in base binary-unsigned modules; do echo "linux-$part-$2"; done
	fi
}

# suite_unpack_kernel DIR RELEASE: DIR/*.deb, in the form of the other kernels
suite_unpack_kernel() {
	local deb root=$1/root dir=$CACHE/kernels/$2 modules file
	for deb in "$1"/*.deb; do dpkg-deb -x "$deb" "$root"; done
	modules=$(find "$root" -maxdepth 4 -path "*lib/modules/$2")
	rm -rf "$dir"
	mkdir -p "$dir"
	for file in vmlinuz config; do
		mv "$(find "$root/boot" "$modules" -maxdepth 1 -name "$file*" 2>/dev/null | head -n 1)" "$dir/$file"
	done
	mv "$modules" "$dir/modules"
	printf '%s\n' "$2" >"$dir/.version"
}

# suite_is_there SERIES: the headers, with the root for builds, and the kernel
suite_is_there() {
	[ -e "$CACHE/suite/$1/.release" ] && [ -e "$CACHE/kernels/$(cat "$CACHE/suite/$1/.release")/.version" ]
}

suite_fetch() {
	local kernel=$1 dir=$CACHE/suite/$1 suite rel='' tmp part
	! suite_is_there "$kernel" || return 0
	mkdir -p "$CACHE/suite" "$CACHE/kernels"
	rm -rf "$CACHE/suite"/.new.*
	tmp=$(mktemp -d "$CACHE/suite/.new.XXXXXX")
	chmod 755 "$tmp"
	for suite in $(kernel_suites "$kernel"); do
		suite_apt_init "$tmp/apt" "$suite" && rel=$(suite_find "$tmp/apt" "$kernel") || continue
		[ -z "$rel" ] || break
	done
	[ -n "$rel" ] || die "no kernel $kernel in Debian's $(kernel_suites "$kernel")"
	say "downloading Linux $rel of Debian ${suite%%,*}, and its compiler (220 MB)"
	suite_apt "$tmp/apt" apt-get install -qq -y -d "linux-headers-$rel" "${SUITE_PACKAGES[@]}"
	mkdir "$tmp/kernel"
	(cd "$tmp/kernel" && for part in $(suite_parts "$tmp/apt" "$rel"); do
		suite_apt "$tmp/apt" apt-get download -qq "$part"
	done)
	say "unpacking $rel"
	suite_unpack_root "$tmp/apt/cache/archives" "$tmp/root"
	suite_unpack_kernel "$tmp/kernel" "$rel"
	rm -rf "$tmp/apt" "$tmp/kernel" "$dir"
	printf '%s\n' "$rel" >"$tmp/.release"
	mv "$tmp" "$dir"
	say "kernel $rel is in $CACHE/kernels/$rel, its headers in $dir/root"
}

# ---- a whole Debian ------------------------------------------------------------

# debian_sources SUITE: this machine's package sources, or those that it would have in SUITE
debian_sources() {
	local line='deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]' uri
	if [ "$1" = "$HOST_SUITE" ]; then
		find /etc/apt/sources.list /etc/apt/sources.list.d -name '*.list' -o -name '*.sources' 2>/dev/null
		return
	fi
	uri=$(suite_uri Debian)
	printf '%s %s main\n' "$line $uri" "$1" "$line $uri" "$1-updates" \
		"$line $(suite_uri Debian-Security)" "$1-security"
}

# debian_install SUITE DIR [option of mmdebstrap...]: into DIR/root, with all scripts of its
# packages. mmdebstrap is one script: unpacked into DIR/tool, not installed. It names the files that
# it has open to dash, which knows no file descriptor above 9.
debian_install() {
	local suite=$1 dir=$2 from
	shift 2
	mapfile -t from < <(debian_sources "$suite")
	mkdir -p "$dir/tool"
	(cd "$dir/tool" && download mmdebstrap && dpkg-deb -x mmdebstrap_*.deb .) &&
		no_files as_root unshare -m perl "$dir/tool/usr/bin/mmdebstrap" --mode=root \
			--aptopt='Acquire::Check-Valid-Until "false"' "$@" "${suite/#$HOST_SUITE/}" "$dir/root" "${from[@]}"
}

# no_files COMMAND...: with none open but the first three
no_files() (
	for fd in /proc/self/fd/*; do
		[ "${fd##*/}" -le 2 ] || eval "exec ${fd##*/}>&-"
	done
	"$@"
)

# debian_inside ROOT [NAME=VALUE...] COMMAND...: in it, as its root. / is a mount, as on a machine:
# unshare -m wants that.
debian_inside() {
	as_root unshare -m bash -euc '
		root=$1
		shift
		mount --bind "$root" "$root"
		mount -t proc proc "$root/proc"
		mount --rbind /dev "$root/dev"
		exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb "$@"
	' - "$@"
}
