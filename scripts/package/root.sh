# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The root that the Debian package is built and checked in: debhelper, dh-dkms and lintian of
# Debian 12, unpacked into the cache. Nothing of them is installed on the host.
#
# Sourced after lib.sh. Entry points: package_root, package_root_fetch.

PACKAGE_SUITE=bookworm
PACKAGE_TOOLS=('?essential' debhelper dh-dkms lintian dpkg-dev make gawk tar xz-utils man-db)

# Of this list of packages: checkouts share the cache.
package_root_dir() {
	printf '%s/package/%s\n' "$CACHE" "$(printf '%s\n' "$PACKAGE_SUITE" "${PACKAGE_TOOLS[@]}" | sha256sum | cut -c1-12)"
}

package_root() {
	local dir
	dir=$(package_root_dir)
	[ -e "$dir/.done" ] || die "no tools for packages yet: run scripts/setup --package"
	printf '%s/root\n' "$dir"
}

package_root_fetch() {
	local dir tmp
	dir=$(package_root_dir)
	[ ! -e "$dir/.done" ] || return 0
	mkdir -p "${dir%/*}"
	rm -rf "${dir%/*}"/.new.*
	tmp=$(mktemp -d "${dir%/*}/.new.XXXXXX")
	chmod 755 "$tmp"
	suite_apt_init "$tmp/apt" "$PACKAGE_SUITE"
	say "downloading debhelper, dh-dkms and lintian of Debian $PACKAGE_SUITE (130 MB)"
	suite_apt "$tmp/apt" apt-get install -qq -y -d "${PACKAGE_TOOLS[@]}"
	suite_unpack_root "$tmp/apt/cache/archives" "$tmp/root"
	# What scripts of these packages would have made
	mkdir -p "$tmp/root/var/lib/dpkg"
	: >"$tmp/root/var/lib/dpkg/status"
	ln -sf debian "$tmp/root/etc/dpkg/origins/default"
	touch "$tmp/.done"
	rm -rf "$tmp/apt" "$dir"
	mv "$tmp" "$dir"
	say "the tools are in $dir/root"
}
