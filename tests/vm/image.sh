# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The guest's file system, as uncompressed cpio archives which the kernel
# unpacks one after the other: tools (cached), fio and Kerberos (cached, only on
# demand: their libraries are large), and what belongs to one run (modules, test
# scripts). Uncompressed because the guest is an emulator.
#
# Programs, libraries and files of Debian come from the root that root.sh describes.
#
# Sourced after lib.sh. Entry points: image_tools, image_fio, image_krb5, which take the
# kernel's name, and image_run.

# shellcheck source=tests/vm/root.sh
. "$TESTS/vm/root.sh"

# Real programs: where busybox has an applet of the same name, it is not enough. Some no
# script uses, nor what it starts: ss, nsenter, unshare, setpriv, stdbuf, showmount,
# nfsstat, nfs4_setfacl, strace, ucmatose and those of ibv_* are for work by hand
# (tests/vm/shell).
GUEST_PROGRAMS=(
	bash kmod ip rdma tc ss nft mount umount mountpoint dmesg flock setpriv unshare nsenter
	dd timeout chrt stat tail md5sum sha256sum stdbuf cmp mawk grep sed ps
	rpc.nfsd rpc.mountd rpc.statd exportfs rpcbind rpcinfo showmount nfsstat mount.nfs sm-notify
	getfacl setfacl nfs4_getfacl nfs4_setfacl
	dmsetup mke2fs mkfs.xfs
	ibv_devices ibv_devinfo ibv_rc_pingpong rping ucmatose strace
)

# Programs of one Debian only. nfsdcld keeps the clients that may reclaim state, which is
# nfsdcltrack's task in Debian 12.
GUEST_PROGRAMS_BOOKWORM=(nfsdcltrack)
GUEST_PROGRAMS_TRIXIE=(nfsdctl nfsdcld)

# Both halves of sec=krb5, and a key distribution centre
KRB5_PROGRAMS=(krb5kdc kdb5_util kadmin.local rpc.gssd rpc.svcgssd)

# Loaded by name or by need in the guest; depmod's dependencies come along. For work by
# hand alone: dummy, ib_umad, null_blk, sch_ingress, nf_conntrack and the nft_* but
# nft_counter.
GUEST_MODULES=(
	virtio_pci virtio_console virtio_net virtio_rng virtio_blk veth dummy
	ib_core ib_uverbs ib_umad ib_cm iw_cm rdma_cm rdma_ucm rdma_rxe
	sunrpc auth_rpcgss rpcsec_gss_krb5 cts cbc authenc krb5enc lockd grace nfs_acl nfs nfsv3 nfsv4 nfsd rpcrdma
	nfs_layout_flexfiles configfs ipv6
	crc32_generic crc32_pclmul crc32c_generic crc32c_intel libcrc32c
	nf_tables nft_ct nft_counter nft_limit nft_log nft_reject_inet nf_conntrack sch_netem sch_ingress
	null_blk loop dm_mod ext4 xfs
)

# Hash of what an archive is made of: this file, our sources, and the packages.
image_key() {
	{
		cat "$TESTS/vm/image.sh" "$TESTS/vm/init" "$TESTS"/vm/tools/*.c "$TESTS"/peer/src/*.[ch] \
			"${PURE[@]/#/$ROOT/}" "${PURE_HEADERS[@]/#/$ROOT/}"
		cat "$GUEST/.packages"
	} | sha256sum | cut -c1-16
}

# image_add_program IMAGE FILE: a file of the packages, and the libraries it needs,
# at their own paths
image_add_program() {
	local image=$1 file=$2
	[ -e "$GUEST$file" ] || die "no $file in $GUEST"
	[ ! -e "$image$file" ] || return 0
	install -D "$GUEST$file" "$image$file"
	image_add_libraries "$image" "$GUEST$file"
}

# ldd would find the host's.
image_add_libraries() {
	local image=$1 file=$2 dynamic name dir
	dynamic=$(readelf -d "$file" 2>/dev/null)
	for name in $(sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' <<<"$dynamic"); do
		# shellcheck disable=SC2046
		for dir in /usr/lib64 /usr/lib/x86_64-linux-gnu /usr/lib \
			$(sed -n 's/.*(R[UN]*PATH).*\[\(.*\)\]$/\1/p' <<<"$dynamic" | tr : ' '); do
			[ ! -e "$GUEST$dir/$name" ] || break
		done
		image_add_program "$image" "$dir/$name"
	done
}

image_pack() {
	local root=$1 out=$2
	(cd "$root" && find . -print0 | sort -z |
		cpio --null --quiet -o -H newc -R 0:0) >"$out.new"
	mv "$out.new" "$out"
}

image_skeleton() {
	local root=$1
	mkdir -p "$root"/{dev,proc,sys,run,tmp,mnt,etc,root,srv,usr/{bin,sbin,lib,lib64},var/lib/nfs/{sm,sm.bak,rpc_pipefs,v4recovery,nfsdcltrack,nfsdcld}}
	ln -s usr/bin "$root/bin"
	ln -s usr/sbin "$root/sbin"
	ln -s usr/lib "$root/lib"
	ln -s usr/lib64 "$root/lib64"
	ln -s ../run "$root/var/run"
	ln -s ../proc/self/mounts "$root/etc/mtab"
	chmod 755 "$root"
	chmod 1777 "$root/tmp"
	: >"$root/var/lib/nfs/etab"
	: >"$root/var/lib/nfs/rmtab"
	: >"$root/etc/exports"
	cp "$GUEST"/etc/{netconfig,protocols,rpc,services} "$root/etc/"
	# Of the drivers that the others name the guest has no libraries
	mkdir "$root/etc/libibverbs.d"
	cp "$GUEST"/etc/libibverbs.d/{rxe,siw}.driver "$root/etc/libibverbs.d/"
	printf '%s\n' 'passwd: files' 'group: files' 'hosts: files' 'services: files' \
		'protocols: files' 'rpc: files' 'netgroup: files' >"$root/etc/nsswitch.conf"
	printf '%s\n' 'root:x:0:0::/root:/bin/bash' '_rpc:x:101:65534::/run/rpcbind:/bin/false' \
		'statd:x:102:65534::/var/lib/nfs:/bin/false' 'alice:x:1000:1000::/tmp:/bin/bash' \
		'bob:x:1001:1001::/tmp:/bin/bash' 'nobody:x:65534:65534::/:/bin/false' >"$root/etc/passwd"
	printf '%s\n' 'root:x:0:' 'alice:x:1000:' 'bob:x:1001:' 'nogroup:x:65534:' >"$root/etc/group"
	printf '%s\n' '127.0.0.1 localhost' '10.0.0.1 server' '10.0.0.2 client' \
		'fd00::1 server6' 'fd00::2 client6' >"$root/etc/hosts"
}

# busybox for everything small; its applets lose against real programs.
image_busybox() {
	local root=$1 applet
	install -D "$GUEST/usr/bin/busybox" "$root/usr/bin/busybox"
	for applet in $("$GUEST/usr/bin/busybox" --list); do
		case $applet in
		busybox | ip | modprobe | insmod | rmmod | lsmod | depmod | modinfo | mount | umount | sh | ash) continue ;;
		esac
		ln -s busybox "$root/usr/bin/$applet"
	done
}

image_links() {
	local root=$1 name
	ln -sf bash "$root/usr/bin/sh"
	ln -sf mawk "$root/usr/bin/awk"
	for name in modprobe insmod rmmod lsmod depmod modinfo; do
		ln -sf ../bin/kmod "$root/usr/sbin/$name"
	done
	for name in mount.nfs4 umount.nfs umount.nfs4; do
		ln -sf mount.nfs "$root/usr/sbin/$name"
	done
}

# Helpers of our own, static so that they run anywhere.
image_helpers() {
	local root=$1 src
	for src in "$TESTS"/vm/tools/*.c; do
		gcc -O2 -Wall -Wextra -static -o "$root/usr/bin/$(basename "$src" .c)" "$src" ||
			die "cannot build $src"
	done
}

# Peers on user-space verbs: each NAME is made of tests/peer/src/NAME*.c, verbs*.c
# and the pure files.
image_peers() {
	local root=$1 name out sources
	for name in peer proxy relay crowd; do
		out=$root/usr/bin/$name
		sources=("$TESTS/peer/src/$name"*.c)
		[ -e "${sources[0]}" ] || continue
		gcc -O2 -Wall -Wextra -I "$ROOT/include" -o "$out" "${sources[@]}" "$TESTS"/peer/src/verbs*.c \
			"${PURE[@]/#/$ROOT/}" -lrdmacm -libverbs ||
			die "cannot build $name"
		image_add_libraries "$root" "$out"
	done
}

# What both Debians have, and what this one has
image_programs() {
	case $GUEST in
	*/trixie-*) printf '%s\n' "${GUEST_PROGRAMS[@]}" "${GUEST_PROGRAMS_TRIXIE[@]}" ;;
	*) printf '%s\n' "${GUEST_PROGRAMS[@]}" "${GUEST_PROGRAMS_BOOKWORM[@]}" ;;
	esac
}

image_tools_build() {
	local out=$1 root program file
	root=$(mktemp -d "$CACHE/image/.root.XXXXXX")
	image_skeleton "$root"
	image_busybox "$root"
	for program in $(image_programs); do
		file=$(guest_which "$GUEST" "$program") || exit
		rm -f "$root/usr/bin/$program"
		image_add_program "$root" "$file"
	done
	for file in rxe siw; do
		image_add_program "$root" "$(guest_glob "/usr/lib/x86_64-linux-gnu/libibverbs/lib$file-rdmav*.so")"
	done
	image_links "$root"
	image_helpers "$root"
	image_peers "$root"
	install -m 755 "$TESTS/vm/init" "$root/init"
	image_merge_usr "$root"
	image_pack "$root" "$out"
	rm -rf "$root"
}

# install -D follows our links: make sure that they are still there.
image_merge_usr() {
	local dir
	for dir in bin sbin lib lib64; do
		[ -L "$1/$dir" ] || die "image: /$dir is not a link"
	done
}

image_cached() {
	local what=$1 out=$2
	mkdir -p "$CACHE/image"
	if [ ! -e "$out" ]; then
		(
			flock 9
			[ -e "$out" ] && exit 0
			say "building the guest image ($what)" >&2
			find "$CACHE/image" -name "$what-*.cpio" -mtime +7 -delete
			"image_${what}_build" "$out"
		) 9>"$CACHE/image/.lock" || return
	fi
	printf '%s\n' "$out"
}

image_tools() {
	GUEST=$(guest_root "$1") || return
	image_cached tools "$CACHE/image/tools-$(image_key).cpio"
}

# image_extra OUT FILE…: programs and plugins on top of the tools
image_extra() {
	local out=$1 root file
	shift
	root=$(mktemp -d "$CACHE/image/.root.XXXXXX")
	mkdir -p "$root"/usr/{sbin,lib,lib64}
	for file in sbin lib lib64; do ln -s usr/$file "$root/$file"; done
	for file; do image_add_program "$root" "$file"; done
	image_pack "$root" "$out"
	rm -rf "$root"
}

image_fio_build() { image_extra "$1" /usr/bin/fio; }
image_fio() {
	GUEST=$(guest_root "$1") || return
	image_cached fio "$CACHE/image/fio-$(image_key).cpio"
}

# guest_glob PATTERN...: the files below the root, by their paths in it
guest_glob() {
	local pattern file
	for pattern; do
		for file in "$GUEST"$pattern; do printf '%s\n' "${file#"$GUEST"}"; done
	done
}

# The KDC's database and event loop, svcgssd's names: loaded when they run
image_krb5_build() {
	local out=$1 program file files lib=/usr/lib/x86_64-linux-gnu
	mapfile -t files < <(guest_glob $lib/krb5/plugins/kdb/db2.so $lib/libnfsidmap/nsswitch.so "$lib/libverto-*.so.1")
	for program in "${KRB5_PROGRAMS[@]}"; do
		file=$(guest_which "$GUEST" "$program") || exit
		files+=("$file")
	done
	image_extra "$out" "${files[@]}"
}
image_krb5() {
	GUEST=$(guest_root "$1") || return
	image_cached krb5 "$CACHE/image/krb5-$(image_key).cpio"
}

# ---- the kernel ----------------------------------------------------------------

# image_kernel DIR: the file that QEMU boots. A kernel with an entry for PVH is unpacked here,
# once: in the emulator that takes longer than all else until the first process.
image_kernel() {
	local dir=$1
	grep -qsx CONFIG_PVH=y "$dir/config" || { printf '%s\n' "$dir/vmlinuz"; return; }
	if [ ! -e "$dir/vmlinux" ]; then
		(
			flock 9
			[ -e "$dir/vmlinux" ] || image_unpack_kernel "$dir/vmlinuz" "$dir/vmlinux"
		) 9>"$dir/.lock" || return
	fi
	printf '%s\n' "$dir/vmlinux"
}

# Where the kernel is in a bzImage its header says (Documentation/arch/x86/boot.rst): behind the
# sectors of the setup. Its last four bytes are its length.
image_unpack_kernel() {
	local from=$1 to=$2 setup at length unpack=(xz -dc)
	setup=$(od -An -tu1 -j $((0x1f1)) -N 1 "$from")
	read -r at length < <(od -An -tu4 -j $((0x248)) -N 8 "$from")
	at=$(((setup + 1) * 512 + at))
	[ "$(od -An -tx4 -j $at -N 4 "$from")" != " fd2fb528" ] || unpack=(zstd -dc)
	head -c $((at + length - 4)) "$from" | tail -c +$((at + 1)) | "${unpack[@]}" >"$to.new" ||
		die "cannot unpack $from"
	mv "$to.new" "$to"
}

# ---- modules -----------------------------------------------------------------

# The part of a Debian kernel's modules that guests use, unpacked (.ko.xz) once.
image_modules() {
	local rel=$1 dir=$2 out key name file
	key=$(printf '%s\n' "${GUEST_MODULES[@]}" | cat - "$dir/.version" | sha256sum | cut -c1-16)
	out=$CACHE/image/modules-$rel-$key
	if [ ! -e "$out/.done" ]; then
		say "picking modules of $rel" >&2
		rm -rf "$CACHE/image/modules-$rel-"* "$CACHE/image/.pick.$rel"
		mkdir -p "$CACHE/image/.pick.$rel/lib/modules" "$out"
		ln -sfn "$dir/modules" "$CACHE/image/.pick.$rel/lib/modules/$rel"
		depmod -b "$CACHE/image/.pick.$rel" "$rel"
		for name in "${GUEST_MODULES[@]}"; do
			modprobe -d "$CACHE/image/.pick.$rel" -S "$rel" --show-depends "$name" 2>/dev/null || :
		done | awk '$1 == "insmod" { print $2 }' | sort -u |
			while read -r file; do
				name=${file##*/modules/"$rel"/}
				install -m 644 -D "$file" "$out/$name"
				case $name in *.xz) xz -d "$out/$name" ;; esac
			done
		cp "$dir"/modules/modules.{builtin,builtin.modinfo,order} "$out/"
		rm -rf "$CACHE/image/.pick.$rel"
		touch "$out/.done"
	fi
	printf '%s\n' "$out"
}

# MODULE of a guest: none, stock, ours, a .ko, or a directory of .ko files
# (which may hold one directory per kernel release). Prints the .ko files.
image_find_module() {
	local module=$1 rel=$2 dir
	case $module in
	none | stock) return ;;
	ours) dir=${RPCRDMA_BUILD:-$ROOT/build}/$rel ;;
	*.ko) printf '%s\n' "$module"; return ;;
	*) dir=$module; [ ! -d "$dir/$rel" ] || dir=$dir/$rel ;;
	esac
	[ -e "$dir/rpcrdma.ko" ] || die "no rpcrdma.ko for $rel in $dir"
	printf '%s\n' "$dir"/*.ko
}

# The archive of one run: modules, init's parameters, scripts and files.
#   image_run OUT KERNEL MODULE ENVFILE [SOURCE=TARGET]…
image_run() {
	local out=$1 kernel=$2 module=$3 env=$4 rel dir root ko add
	shift 4
	rel=$(kernel_release "$kernel")
	dir=$(kernel_dir "$kernel")
	root=$(mktemp -d "${out%/*}/.root.XXXXXX")
	chmod 755 "$root"	# its "." becomes the guest's /
	mkdir -p "$root/usr/lib/modules/$rel" "$root/test"
	case $kernel in
	debug* | kcsan*) cp "$dir"/modules.{builtin,builtin.modinfo,order} "$root/usr/lib/modules/$rel/" 2>/dev/null || : ;;
	*) cp -r "$(image_modules "$rel" "$dir")/." "$root/usr/lib/modules/$rel/" ;;
	esac
	[ "$module" = stock ] || find "$root/usr/lib/modules/$rel" -name 'rpcrdma.ko*' -delete
	for ko in $(image_find_module "$module" "$rel"); do
		image_check_vermagic "$ko" "$rel"
		# What a debugger would read is nineteen of twenty megabytes
		install -m 644 -D "$ko" "$root/usr/lib/modules/$rel/updates/${ko##*/}"
		strip --strip-debug "$root/usr/lib/modules/$rel/updates/${ko##*/}"
	done
	ln -s usr/lib "$root/lib"
	depmod -b "$root" "$rel"
	rm "$root/lib"
	cp "$env" "$root/test/env"
	cp "$TESTS/vm/guest.sh" "$root/test/guest.sh"
	for add; do
		mkdir -p "$root$(dirname "${add#*=}")"
		cp -rL "${add%%=*}" "$root${add#*=}"
	done
	image_pack "$root" "$out"
	rm -rf "$root"
}

# Say it here, where it can be read, rather than as a failed modprobe in there.
image_check_vermagic() {
	local magic
	magic=$(modinfo -F vermagic "$1" | cut -d' ' -f1)
	[ "$magic" = "$2" ] || die "$1 was built for ${magic:-nothing known}, the guest runs $2"
}
