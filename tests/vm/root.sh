# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The root that guests' programs, libraries and configuration come from: Debian
# packages, unpacked into the cache with all that they depend on. Nothing of them
# is installed on the host, and nothing of the host is in a guest, but for
# programs that image.sh compiles.
#
# There is a root for each Debian whose programs guests can have: those of the host's are
# updated with apt's index, the other's stay until their directory is removed.
#
# Sourced after lib.sh. Entry points: guest_suite, guest_root, guest_which, guest_root_fetch.

GUEST_PACKAGES=(
	busybox-static bash coreutils diffutils grep sed mawk procps
	util-linux mount kmod iproute2 nftables netbase strace
	dmsetup e2fsprogs xfsprogs acl fio
	ibverbs-providers ibverbs-utils rdmacm-utils
	nfs-common nfs-kernel-server nfs4-acl-tools rpcbind libtirpc-common
	krb5-kdc krb5-admin-server
)

# guest_suite KERNEL: the Debian whose programs a guest with this kernel has. $GUESTS chooses
# another. What the host compiles for guests runs with its own C library and newer ones.
guest_suite() {
	local suite=bookworm
	[ "$1" != 6.12+deb13 ] && [ "$HOST_SUITE" != trixie ] || suite=trixie
	case ${GUESTS:-$suite} in
	bookworm) [ "$HOST_SUITE" != trixie ] || die "on Debian 13 guests have programs of Debian 13" ;;
	trixie) ;;
	*) die "GUESTS= is bookworm or trixie" ;;
	esac
	echo "${GUESTS:-$suite}"
}

# guest_root_dir SUITE. Of this list of packages: checkouts share the cache.
guest_root_dir() {
	printf '%s/guest/%s-%s\n' "$CACHE" "$1" "$({
		printf '%s\n' "${GUEST_PACKAGES[@]}"
		declare -f guest_root_unpack
	} | sha256sum | cut -c1-16)"
}

has_guest_root() { [ -e "$(guest_root_dir "$1")/.packages" ]; }

# guest_root KERNEL
guest_root() {
	local suite
	suite=$(guest_suite "$1") || exit
	has_guest_root "$suite" || die "no programs of $suite for guests yet: run ${GUESTS:+GUESTS=$GUESTS }scripts/setup --kernel=$1"
	guest_root_dir "$suite"
}

# guest_which ROOT PROGRAM: its path below ROOT
guest_which() {
	local dir
	for dir in /usr/bin /usr/sbin; do
		[ ! -e "$1$dir/$2" ] || { printf '%s\n' "$dir/$2"; return; }
	done
	die "no $2 in $1: add its package to GUEST_PACKAGES in tests/vm/root.sh"
}

# guest_closure SUITE STATUS: PACKAGE=VERSION of all that apt would install where nothing is
# installed
guest_closure() {
	local suite=$1
	shift
	guest_apt "$suite" "$1.apt" apt-get install -s --no-install-recommends -o Dir::State::status="$1" \
		-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= "${GUEST_PACKAGES[@]}" 2>"$1.errors" |
		sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*/\1=\2/p' | sort
}

# guest_apt SUITE DIR COMMAND...: the host's apt, or one that knows SUITE alone
guest_apt() {
	local suite=$1 dir=$2
	shift 2
	if [ "$suite" = "$HOST_SUITE" ]; then
		"$@"
	else
		[ -e "$dir/apt.conf" ] || suite_apt_init "$dir" "$suite"
		suite_apt "$dir" "$@"
	fi
}

# guest_root_fetch SUITE
guest_root_fetch() {
	local suite=$1 dir tmp
	dir=$(guest_root_dir "$suite")
	mkdir -p "${dir%/*}"
	rm -rf "${dir%/*}"/.new.*
	tmp=$(mktemp -d "${dir%/*}/.new.XXXXXX")
	: >"$tmp/status"
	guest_closure "$suite" "$tmp/status" >"$tmp/packages" || :
	if [ -s "$tmp/packages" ] && ! cmp -s "$tmp/packages" "$dir/.packages"; then
		say "downloading $(wc -l <"$tmp/packages") packages of $suite for the guests (85 MB)"
		mkdir "$tmp/debs" "$tmp/root"
		# shellcheck disable=SC2046
		(cd "$tmp/debs" && guest_apt "$suite" "$tmp/status.apt" download $(cat "$tmp/packages"))
		guest_root_unpack "$tmp/debs" "$tmp/root"
		cp "$tmp/packages" "$tmp/root/.packages"
		[ ! -e "$dir" ] || mv "$dir" "$tmp/old"
		mv "$tmp/root" "$dir"
		find "${dir%/*}" -mindepth 2 -maxdepth 2 -name .packages -mtime +30 -printf '%h\0' | xargs -0r rm -rf
		say "programs for the guests are in $dir"
	fi
	[ -e "$dir/.packages" ] ||
		die "apt cannot resolve the packages of the guests: $(grep -m 1 '^E: ' "$tmp/status.errors")"
	rm -rf "$tmp"
}

# An absolute link would lead to the host's file.
guest_root_unpack() {
	local debs=$1 root=$2 name target
	mkdir -p "$root"/usr/{bin,sbin,lib,lib64}
	for name in bin sbin lib lib64; do ln -s "usr/$name" "$root/$name"; done
	for name in "$debs"/*.deb; do
		dpkg-deb --fsys-tarfile "$name" |
			tar -C "$root" -x --keep-directory-symlink --no-same-owner --exclude='./usr/share/*'
	done
	find "$root" -type l -lname '/*' -printf '%P\t%l\n' | while IFS=$'\t' read -r name target; do
		ln -sfn "$(realpath -ms --relative-to="$root/$(dirname "$name")" "$root$target")" "$root/$name"
	done
}
