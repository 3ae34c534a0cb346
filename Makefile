# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# For people. The kernel's own build reads Kbuild, in build/<kernel release>/.

# KDIR=dir; or KERNEL=6.1, one of those of scripts/setup; or the running kernel's
# headers; or the last there are.
ifdef KDIR
HEADERS = $(KDIR)/
else ifdef KERNEL
HEADERS = $(KERNEL)
else ifneq ($(wildcard /lib/modules/$(shell uname -r)/build/Makefile),)
HEADERS = /lib/modules/$(shell uname -r)/build/
else
HEADERS = $(dir $(lastword $(wildcard /lib/modules/*/build/Makefile)))
endif

# What was said on the command line (V=1, LLVM=1, CONFIG_RPCRDMA_KUNIT=y) goes
# on to the kernel's build.
BUILD = scripts/build "$(HEADERS)" $(filter-out KDIR=% KERNEL=%,$(MAKEOVERRIDES))

.NOTPARALLEL:
.PHONY: module all modules modules-all install modules_install uninstall setup lint kunit fuzz coverage \
	mutants pictures htmldocs test check soak bench bench-profile bench-wakeups bench-scale demo vm-shell clean help
.PHONY: dist deb

module:
	@$(BUILD)

# By the names that the kernel's own build has for them
all modules: module
modules_install: install

modules-all: setup
	@scripts/build 6.1
	@scripts/build 6.12
	@scripts/build 7.2
	@! scripts/setup --print debug >/dev/null 2>&1 || scripts/build debug

install: module
	@scripts/install "$(HEADERS)"

uninstall:
	@scripts/install --remove "$(HEADERS)"

setup:
	@scripts/setup

dist:
	@scripts/package/build dist

deb:
	@scripts/package/build deb

lint: setup
	@scripts/lint

# The debug kernel takes ten minutes, once: not out of a group's budget
kunit:
	@scripts/setup --all
	@tests/run group/kunit

fuzz: setup
	@tests/run group/fuzz

coverage: setup
	@tests/coverage/run

mutants: setup
	@tests/mutants/run

pictures: setup
	@scripts/pictures

htmldocs:
	@scripts/htmldocs

# It asks for what a test needs, but for groups: the user-space ones need nothing
test:
	@case "$(T)" in *group/*) scripts/setup ;; esac
	@tests/run $(or $(T),$(error which test? T=unit, T=suite/NAME, T=peer/NAME: see make help))

check:
	@scripts/setup --all
	@tests/run

soak: setup
	@$(if $(MINUTES),MINUTES=$(MINUTES)) $(if $(SEED),SEED=$(SEED)) tests/soak $(or $(LOOPS),10000) $(WHAT)

bench: setup
	@tests/bench/run $(if $(RATES),-t) $(if $(AGAINST),-a $(AGAINST)) $(KERNEL)

bench-profile: setup
	@tests/bench/run -f -c insns $(KERNEL)

bench-wakeups: setup
	@tests/bench/run -w $(KERNEL)

bench-scale: setup
	@tests/bench/scale $(KERNEL)

demo: setup
	@scripts/demo

vm-shell: setup
	@tests/vm/shell $(KERNEL)

clean:
	rm -rf build

.DEFAULT:
	@echo "make: there is no target $@ (see make help)" >&2; exit 2

help:
	@sed -n 's/^#h //p' $(firstword $(MAKEFILE_LIST))

#h Look at it (the host stays as it is, but for tools: scripts/setup --help):
#h   make demo          two virtual machines: one serves NFS/RDMA, one mounts it
#h                      KERNEL=6.1|6.12|6.12+deb13|7.2  CLIENT=ours|stock  SERVER=ours|stock
#h   make check         everything that is tested; ends with "N passed, N failed".
#h                      Two groups run at a time; one that overruns its budget by a
#h                      quarter is stopped (tests/run --list)
#h   make test T=...    one test, or several: unit, unit/wire, unit/wire/CASE, suite/cut,
#h                      peer/read-length-0, badserver/never-kill, guest/selfmount, fuzz/wire, kunit,
#h                      group/50-peer; KERNEL=6.1|6.12|6.12+deb13|7.2|debug
#h                      SERVER=  CLIENT=  GUESTS=bookworm|trixie
#h                      OPTIONS= (tests/README.rst)
#h   make soak          the same faults in thousands, and more, for hours; LOOPS=
#h                      (10000), WHAT=6.1|6.12|7.2|debug|debug-7.2|alloc|removal|slots|busy|memory|
#h                      faults|field|siw|force-mr|kcsan|storm|storm-debug|swap|beside|fuzz|
#h                      in-tree|host|package|product (all),
#h                      MINUTES= SEED= STORM= KERNELS= BESIDE= PROCESSORS=
#h                      (tests/soak)
#h   make bench         what an RPC costs, with this module and with the stock one;
#h                      KERNEL=6.1|6.12 (both); RATES=y: throughput, latency;
#h                      AGAINST=tests/bench/before.json: compare, fail if worse
#h   make bench-profile the same by function, for a 4 KiB READ, WRITE and a GETATTR
#h   make bench-wakeups which task wakes which, and why, for one RPC, on both sides
#h   make bench-scale   up to 1,000 clients of one server, with either module;
#h                      KERNEL=6.12, SCALE="1 10 100 300 1000"
#h   make vm-shell      a shell in a virtual machine (6.1) with the module loaded
#h
#h Build and install:
#h   make [KDIR=dir]    build/<kernel release>/rpcrdma.ko, for the headers in dir; the
#h                      running kernel's, or else the last of /lib/modules/*/build.
#h                      KERNEL=6.1|6.12: for that of Debian in the cache (make setup)
#h   make modules-all   for each of Debian's kernels, and the debug kernel if there
#h                      is one
#h   make install       into /lib/modules/<kernel release>/updates (as root), without
#h                      debug information (INSTALL_MOD_STRIP=0: with it);
#h                      INSTALL_MOD_PATH: below that root; DESTDIR: the file alone,
#h                      for a package
#h   make uninstall     take it out again
#h   make deb           build/package/rpcrdma-dkms_VERSION_all.deb: DKMS builds the module
#h                      for each kernel, also after an update
#h   make dist          build/package/rpcrdma-VERSION.tar.xz: the sources
#h   make clean         remove build/
#h
#h Parts of make check:
#h   make lint          compiler and sparse warnings, style, comments, layers,
#h                      documents that must agree with the sources
#h   make kunit         KUnit suites, and a mount between two guests, in the debug
#h                      kernel (KASAN, lockdep)
#h   make fuzz          twenty seconds of each fuzzer
#h   make coverage      lines and branches of the pure files that tests take
#h   make mutants       change the pure files in 3,100 places: do tests notice?
#h                      (make check: in every tenth)
#h   make pictures      draw Documentation/pictures/*.dot again
#h   make htmldocs      Documentation/ as HTML, into build/html
#h   make setup         install tools, and download kernels and guests' programs, as
#h                      the above need them (they do it); the debug kernel is built by
#h                      what needs it
