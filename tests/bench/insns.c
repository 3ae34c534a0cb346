// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * QEMU TCG plugin: instructions retired, by address, between the marks that a
 * guest sets; those of the transport module by side; octets copied, by who called
 * memcpy.
 *
 *	-plugin insns.so,out=FILE,sides0=FILE,sides1=FILE,family=START-END,…
 *
 * The guest talks to it by instructions that do nothing on a processor,
 *
 *	nopl 0x42450000+TAG(%rax,%rax,1)
 *
 *	TAG 0x000 to 0x00f	a mark. What was retired since the one before is
 *				appended to FILE: "mark TAG", then a line for each
 *				translated block: ADDRESS INSTRUCTIONS ITERATIONS
 *				CLIENT SERVER COPIED
 *	TAG 0x100 to 0x10f	four more bits of a number
 *	TAG 0x200, 0x201	the number is where .text is of the module, that of
 *				sides0 or that of sides1, which is loaded now
 *
 * ITERATIONS are those of the block's REP string instruction: TCG retires one
 * instruction for each, however many octets that moves. CLIENT and SERVER are the part
 * of INSTRUCTIONS that was executed for that side; COPIED are octets that a function
 * of the family stored which this block called: memcpy and its like, whose addresses
 * must be known before the first of them is translated.
 *
 * Sides: a line "OFFSET SIDE" for each function of the module, in the order of
 * offsets from its .text, SIDE one of client, server, both, entry. The code of "both"
 * works for the side that called it. An "entry" is called from elsewhere, before
 * anybody knows for whom: it and what it calls are the side's whose code comes next.
 *
 * Debian packages no header of the plugin interface, version 1: what is used of it
 * is declared here. One vCPU only: nothing is locked.
 */

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
struct qemu_info;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { QEMU_PLUGIN_CB_NO_REGS = 0 };
enum { QEMU_PLUGIN_MEM_W = 2 };
enum { QEMU_PLUGIN_INLINE_ADD_U64 = 0 };

typedef void (*tb_trans_cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*vcpu_cb)(unsigned int vcpu, void *data);
typedef void (*mem_cb)(unsigned int vcpu, uint32_t info, uint64_t vaddr,
		       void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, tb_trans_cb cb);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, vcpu_cb cb,
					  int flags, void *data);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op,
					      void *ptr, uint64_t imm);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn,
						int op, void *ptr, uint64_t imm);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    vcpu_cb cb, int flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, mem_cb cb,
				      int flags, int rw, void *data);
unsigned int qemu_plugin_mem_size_shift(uint32_t info);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
						 size_t idx);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);

EXPORT int qemu_plugin_version = 1;

enum side { CLIENT, SERVER, BOTH, ENTRY };
static const char * const side_names[] = { "client", "server", "both", "entry" };

enum { INSNS, REPS, FOR_CLIENT, FOR_SERVER, COPIED, COUNTS };

/* Never moved: translated code adds to it */
struct block {
	struct block *next;
	uint64_t addr;
	uint64_t n[COUNTS], then[COUNTS];
	unsigned int generation;	/* of the module that @function is of */
	struct function *function;
};

/* Of one address there may be several, of different lengths */
struct translation {
	struct block *block;
	uint64_t size;			/* instructions */
};

struct function {
	uint64_t offset;
	enum side own;
	enum side now;			/* for whom it was called, if BOTH */
};

#define BUCKETS		(1U << 18)
#define FUNCTIONS	4096
#define PENDING		4096
#define FAMILY		16
#define MODULES		2
/* Where x86-64 has its modules */
#define AREA_START	0xffffffffc0000000ULL
#define AREA_END	0xffffffffff000000ULL

static struct block *buckets[BUCKETS];
static FILE *out;

static struct block *block_at(uint64_t addr)
{
	struct block **head = &buckets[(addr ^ addr >> 18) % BUCKETS], *b;

	for (b = *head; b; b = b->next)
		if (b->addr == addr)
			return b;
	b = calloc(1, sizeof(*b));
	if (!b)
		abort();
	b->addr = addr;
	b->next = *head;
	*head = b;
	return b;
}

static void write_block(struct block *b)
{
	uint64_t sum = 0, n[COUNTS];
	int i;

	for (i = 0; i < COUNTS; i++) {
		n[i] = b->n[i] - b->then[i];
		b->then[i] = b->n[i];
		sum += n[i];
	}
	if (sum)
		fprintf(out, "%" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			" %" PRIu64 " %" PRIu64 "\n", b->addr, n[INSNS], n[REPS],
			n[FOR_CLIENT], n[FOR_SERVER], n[COPIED]);
}

static void mark(unsigned int tag)
{
	struct block *b;
	unsigned int i;

	fprintf(out, "mark %u\n", tag);
	for (i = 0; i < BUCKETS; i++)
		for (b = buckets[i]; b; b = b->next)
			write_block(b);
	fflush(out);
}

/* ---- sides ---------------------------------------------------------------- */

static struct function functions[MODULES][FUNCTIONS];
static unsigned int function_count[MODULES];

/* The module that is loaded */
static unsigned int generation, module;
static uint64_t text;

static enum side side = BOTH;
static struct translation *pending[PENDING];
static unsigned int pendings;

static struct function *function_of(uint64_t addr)
{
	struct function *f = functions[module];
	unsigned int low = 0, high = function_count[module], middle;

	/* The last is the end of .text */
	if (!high || addr < text || addr - text >= f[high - 1].offset)
		return NULL;
	while (high - low > 1) {
		middle = (low + high) / 2;
		if (f[middle].offset <= addr - text)
			low = middle;
		else
			high = middle;
	}
	return &f[low];
}

static void count_for(struct translation *t, enum side who)
{
	t->block->n[who == CLIENT ? FOR_CLIENT : FOR_SERVER] += t->size;
}

static void settle(enum side who)
{
	side = who;
	while (pendings) {
		pendings--;
		count_for(pending[pendings], who);
		pending[pendings]->block->function->now = who;
	}
}

static void module_executed(unsigned int vcpu, void *data)
{
	struct translation *t = data;
	struct block *b = t->block;
	struct function *f;

	(void)vcpu;
	if (b->generation != generation) {
		b->generation = generation;
		b->function = function_of(b->addr);
	}
	f = b->function;
	if (!f)
		return;
	if (f->own == CLIENT || f->own == SERVER) {
		settle(f->own);
		count_for(t, f->own);
		return;
	}
	if (b->addr == text + f->offset) {
		if (f->own == ENTRY) {
			side = BOTH;
			pendings = 0;
		}
		f->now = side;
	}
	if (f->now != BOTH) {
		side = f->now;
		count_for(t, side);
	} else if (pendings < PENDING) {
		pending[pendings++] = t;
	}
}

static enum side side_of(const char *name)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		if (!strcmp(name, side_names[i]))
			return i;
	abort();
}

static bool read_sides(unsigned int which, const char *path)
{
	FILE *file = fopen(path, "r");
	char name[16];
	uint64_t offset;

	if (!file)
		return false;
	while (fscanf(file, "%" SCNx64 " %15s", &offset, name) == 2 &&
	       function_count[which] < FUNCTIONS) {
		struct function *f = &functions[which][function_count[which]++];

		f->offset = offset;
		f->own = side_of(name);
		f->now = BOTH;
	}
	fclose(file);
	return function_count[which] > 1;
}

/* ---- octets copied -------------------------------------------------------- */

static struct { uint64_t start, end; } family[FAMILY];
static unsigned int family_count;
static struct block nobody, *copier = &nobody;

static bool in_family(uint64_t addr)
{
	unsigned int i;

	for (i = 0; i < family_count; i++)
		if (addr >= family[i].start && addr < family[i].end)
			return true;
	return false;
}

static void calls_family(unsigned int vcpu, void *data)
{
	(void)vcpu;
	copier = data;
}

static void stored(unsigned int vcpu, uint32_t info, uint64_t vaddr, void *data)
{
	(void)vcpu;
	(void)vaddr;
	(void)data;
	copier->n[COPIED] += 1U << qemu_plugin_mem_size_shift(info);
}

/* CALL or JMP with a displacement of 32 bits */
static bool is_call_of_family(struct qemu_plugin_insn *insn)
{
	const uint8_t *p = qemu_plugin_insn_data(insn);
	int32_t displacement;

	if (qemu_plugin_insn_size(insn) != 5 || (*p != 0xe8 && *p != 0xe9))
		return false;
	memcpy(&displacement, p + 1, sizeof(displacement));
	return in_family(qemu_plugin_insn_vaddr(insn) + 5 + displacement);
}

/* ---- what the guest says -------------------------------------------------- */

static uint64_t number;

static void loaded(unsigned int which)
{
	text = number;
	number = 0;
	module = which % MODULES;
	generation++;
	side = BOTH;
	pendings = 0;
}

static void heard(unsigned int vcpu, void *data)
{
	unsigned int tag = (uintptr_t)data;

	(void)vcpu;
	switch (tag >> 8) {
	case 0:
		mark(tag);
		break;
	case 1:
		number = number << 4 | (tag & 0xf);
		break;
	default:
		loaded(tag & 0xf);
		break;
	}
}

static bool is_message(const uint8_t *p, size_t len, uint32_t *tag)
{
	static const uint8_t nopl[] = { 0x0f, 0x1f, 0x84, 0x00 };
	uint32_t displacement;

	if (len != 8 || memcmp(p, nopl, sizeof(nopl)))
		return false;
	memcpy(&displacement, p + 4, sizeof(displacement));
	*tag = displacement & 0xffff;
	return displacement >> 16 == 0x4245;
}

/* ---- translation ---------------------------------------------------------- */

/* REP, maybe other prefixes, and MOVS, CMPS, STOS, LODS or SCAS */
static bool is_rep_string(const uint8_t *p, size_t len)
{
	bool rep = false;

	while (len && (*p == 0xf2 || *p == 0xf3 || *p == 0x66 || *p == 0x67 ||
		       (*p & 0xf0) == 0x40)) {
		rep |= *p == 0xf2 || *p == 0xf3;
		p++;
		len--;
	}
	return rep && len && ((*p >= 0xa4 && *p <= 0xa7) ||
			      (*p >= 0xaa && *p <= 0xaf));
}

/* Return: whether it is counted as an iteration */
static bool translate_insn(struct block *b, struct qemu_plugin_insn *insn)
{
	const uint8_t *octets = qemu_plugin_insn_data(insn);
	size_t len = qemu_plugin_insn_size(insn);
	uint32_t tag;

	if (in_family(b->addr))
		qemu_plugin_register_vcpu_mem_cb(insn, stored,
			QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_W, NULL);
	if (is_rep_string(octets, len)) {
		qemu_plugin_register_vcpu_insn_exec_inline(insn,
			QEMU_PLUGIN_INLINE_ADD_U64, &b->n[REPS], 1);
		return true;
	}
	if (is_message(octets, len, &tag))
		qemu_plugin_register_vcpu_insn_exec_cb(insn, heard,
			QEMU_PLUGIN_CB_NO_REGS, (void *)(uintptr_t)tag);
	return false;
}

/* What is allocated here lives as long as the emulator */
static void watch_module(struct qemu_plugin_tb *tb, struct block *b, uint64_t size)
{
	struct translation *t = malloc(sizeof(*t));

	if (!t)
		abort();
	t->block = b;
	t->size = size;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, module_executed,
					     QEMU_PLUGIN_CB_NO_REGS, t);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	struct block *b = block_at(qemu_plugin_tb_vaddr(tb));
	size_t i, n = qemu_plugin_tb_n_insns(tb), reps = 0;

	(void)id;
	for (i = 0; i < n; i++)
		reps += translate_insn(b, qemu_plugin_tb_get_insn(tb, i));
	if (n > reps)
		qemu_plugin_register_vcpu_tb_exec_inline(tb,
			QEMU_PLUGIN_INLINE_ADD_U64, &b->n[INSNS], n - reps);
	if (n && !in_family(b->addr) &&
	    is_call_of_family(qemu_plugin_tb_get_insn(tb, n - 1)))
		qemu_plugin_register_vcpu_tb_exec_cb(tb, calls_family,
						     QEMU_PLUGIN_CB_NO_REGS, b);
	if (b->addr >= AREA_START && b->addr < AREA_END)
		watch_module(tb, b, n - reps);
}

static bool read_family(const char *text)
{
	return family_count < FAMILY &&
	       sscanf(text, "%" SCNx64 "-%" SCNx64, &family[family_count].start,
		      &family[family_count].end) == 2 && ++family_count;
}

static bool argument(const char *text)
{
	if (!strncmp(text, "out=", 4))
		return (out = fopen(text + 4, "w"));
	if (!strncmp(text, "family=", 7))
		return read_family(text + 7);
	if (!strncmp(text, "sides0=", 7))
		return read_sides(0, text + 7);
	return !strncmp(text, "sides1=", 7) && read_sides(1, text + 7);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info,
			       int argc, char **argv)
{
	int i;

	(void)info;
	for (i = 0; i < argc; i++) {
		if (argument(argv[i]))
			continue;
		fprintf(stderr, "insns: what is %s?\n", argv[i]);
		return -1;
	}
	if (!out)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
