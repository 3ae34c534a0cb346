# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# sec=krb5, krb5i and, on 6.12, krb5p, with a KDC in the server's guest. Data that the
# security layer only signs the header of may be placed directly; data that it
# touches may not (RFC 8166, section 3.4.1): long Calls travel in a Position-Zero
# Read chunk, long Replies in a Reply chunk. Wants vm/run -K.

# ---- on the server ------------------------------------------------------------

krb5_conf() {
	# Of the replay cache
	mkdir -p /var/tmp
	chmod 1777 /var/tmp
	cat >/etc/krb5.conf <<-END
		[libdefaults]
		default_realm = TEST
		dns_lookup_realm = false
		dns_lookup_kdc = false
		dns_canonicalize_hostname = false
		rdns = false
		[realms]
		TEST = {
			kdc = server
		}
		[domain_realm]
		server = TEST
		client = TEST
	END
	printf '[General]\nDomain = test\nLocal-Realms = TEST\n[Translation]\nMethod = nsswitch\n' >/etc/idmapd.conf
}

krb5_kdc() {
	krb5_conf
	mkdir -p /etc/krb5kdc /var/lib/krb5kdc
	kdb5_util create -s -r TEST -P master
	kadmin.local -q 'addprinc -randkey nfs/server'
	kadmin.local -q 'addprinc -randkey nfs/client'
	kadmin.local -q 'ktadd -k /etc/krb5.keytab nfs/server'
	kadmin.local -q 'ktadd -k /run/client.keytab nfs/client'
	krb5kdc
	modprobe -a auth_rpcgss rpcsec_gss_krb5
	rpc.svcgssd
	exportfs -o "sec=sys:krb5:krb5i:krb5p,rw,no_root_squash,insecure,no_subtree_check,fsid=1" "*:$EXPORT"
	pidof krb5kdc
	pidof rpc.svcgssd
}
krb5_end() {
	killall krb5kdc rpc.svcgssd
	exportfs -u "*:$EXPORT"
	exportfs -r
}

# A client that offers a Write list with each RPC, between a mount over TCP and our server
krb5_relay() {
	: >/run/relay.log
	relay 20099 /run/relay.log >/run/relay.out 2>&1 </dev/null &
	echo $! >/run/relay.pid
	wait_for 10 grep -qE '^ *[0-9]+: 0+:4E83 ' /proc/net/tcp
}
krb5_relay_end() {
	cat /run/relay.out
	kill "$(cat /run/relay.pid)"
	[ ! -s /run/relay.out ]
}

# krb5_relayed SERVICE YES|NO: four Replies, or more, had the data of a READ; in the Write
# chunk, all of them, or none of all Replies had an octet there
krb5_relayed() {
	awk -v service="gss=$1" -v used="$2" '
		{ split($3, i, "="); split($4, w, "="); split($5, r, "=") }
		$1 == service { n++; long += i[2] + w[2] + r[2] >= 65536; written += w[2] >= 65536; any += w[2] > 0 }
		END {
			print n " Replies, " long " long, " written " of them in the Write chunk, in which " any " had something"
			exit !(long >= 4 && (used == "YES" ? written == long : !any))
		}' /run/relay.log
}

# ---- on the client ------------------------------------------------------------

krb5_client() {
	krb5_conf
	on_server "base64 -w0 /run/client.keytab" | base64 -d >/etc/krb5.keytab
	modprobe -a auth_rpcgss rpcsec_gss_krb5
	mountpoint -q /var/lib/nfs/rpc_pipefs || mount -t rpc_pipefs rpc_pipefs /var/lib/nfs/rpc_pipefs
	rpc.gssd -p /var/lib/nfs/rpc_pipefs
	pidof rpc.gssd
}

# Columns of mountstats: segments of Read chunks (of any position), of Write chunks and of
# Reply chunks, Calls that are a Position-Zero Read chunk as a whole
krb5_counts() { awk '/xprt:.*rdma/ { print $13, $14, $15, $23 }' /proc/self/mountstats; }

# krb5_moves "READ WRITE REPLY NOMSG" COMMAND…: by so many, "N+": or more, "-": by any number
krb5_moves() {
	local want=$1 before after i by
	shift
	read -ra want <<<"$want"
	read -ra before < <(krb5_counts)
	"$@"
	read -ra after < <(krb5_counts)
	echo "${before[*]} -> ${after[*]}, wanted by ${want[*]}"
	for i in 0 1 2 3; do
		by=$((after[i] - before[i]))
		case ${want[i]} in
		-) ;;
		*+) [ $by -ge "${want[i]%+}" ] || return ;;
		*) [ $by = "${want[i]}" ] || return ;;
		esac
	done
}

# 4 Calls of 64 KiB, and no other that is long
krb5_write() { iocheck write -l 256k -b 64k -d $MNT/krb; }
krb5_read() { iocheck read -l 256k -b 64k -d $MNT/krb; }
krb5_large() {
	iocheck write -l 2m -b 512k -m 5 -d -t $MNT/large
	drop_caches
	iocheck verify -l 2m -b 512k $MNT/large
}
# Of odd lengths: what is protected has its XDR roundup
krb5_odd() {
	iocheck write -l 65528 -b 8191 -d -t $MNT/odd
	drop_caches
	iocheck verify -l 65528 -b 8191 -d $MNT/odd
}
krb5_flavor() { grep " $MNT nfs4\? .*proto=rdma.*sec=$1," /proc/mounts; }

krb5_one() {
	local v=$1 sec=$2 name="vers=$1 sec=$2" put get
	# Direct: the data and nothing else. Else: the whole message, of a segment or more,
	# and no Write list.
	case $sec in
	sys | krb5) put="4 0 - 0" get="0 4 - 0" ;;
	*) put="4+ 0 - 4" get="0 0 - 0" ;;
	esac
	# Root is root with sys, and nobody with the others
	on_server "rm -rf $EXPORT/krb $EXPORT/large $EXPORT/odd $EXPORT/file" >/dev/null
	check "mount $name" mount_nfs "vers=$v,sec=$sec" $MNT server
	mountpoint -q $MNT || return 0
	check "mounted with $name" krb5_flavor "$sec"
	check "prepare $name" iocheck write -l 256k -b 64k -d -t -y $MNT/krb
	check "chunks of a WRITE $name" krb5_moves "$put" krb5_write
	check "chunks of a READ $name" krb5_moves "$get" krb5_read
	check "megabytes $name" krb5_large
	check "odd lengths $name" krb5_odd
	check "directory and names $name" matrix_io
	check "umount $name" umount_nfs
}

# What the whole of is signed or sealed is not reduced, though a Write list is offered. What
# is not shows that the server would use it.
krb5_offered() {
	local v=$1 sec=$2 name="vers=$1 sec=$2" service=$3 used=$4
	on_server "rm -f $EXPORT/krb" >/dev/null
	check "mount through the relay $name" mount_nfs "proto=tcp,port=20099,vers=$v,sec=$sec" $MNT server
	mountpoint -q $MNT || return 0
	check "WRITEs through the relay $name" iocheck write -l 256k -b 64k -d -t -y $MNT/krb
	on_server ": >/run/relay.log" >/dev/null
	check "READs through the relay $name" iocheck verify -l 256k -b 64k -d $MNT/krb
	check "a Write list offered $name" on_server "krb5_relayed $service $used"
	check "umount through the relay $name" umount_nfs
}

krb5_offered_all() {
	local v sec
	check "the relay" on_server krb5_relay
	for v in 3 4.1; do
		for sec in ${KRB5_FLAVORS:-sys krb5 krb5i}; do
			case $sec in
			sys) krb5_offered $v $sec 0 YES ;;
			krb5) krb5_offered $v $sec 1 YES ;;
			krb5i) krb5_offered $v $sec 2 NO ;;
			krb5p) krb5_offered $v $sec 3 NO ;;
			esac
		done
	done
	check "the relay ends" on_server krb5_relay_end
}

# Guests: -K
suite_krb5() {
	local v sec
	check "KDC and svcgssd" on_server krb5_kdc
	check "keytab and gssd" krb5_client
	for v in ${KRB5_VERSIONS:-3 4.2}; do
		for sec in ${KRB5_FLAVORS:-sys krb5 krb5i}; do
			krb5_one "$v" "$sec"
		done
	done
	krb5_offered_all
	killall rpc.gssd
	check "KDC and svcgssd end" on_server krb5_end
}
