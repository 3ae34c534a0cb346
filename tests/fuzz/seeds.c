// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Writes the seed corpus: the frames of the KUnit tables, and a few inputs
 * for the other targets.
 *
 * usage: seeds DIRECTORY	(DIRECTORY/{wire,cm_private,plan} exist)
 */
#include <stdio.h>
#include <stdlib.h>

#include "wire_fixed_cases.h"
#include "wire_chunk_cases.h"
#include "wire_v2_cases.h"
#include "answers_v2_cases.h"
#include "layout_cases.h"

static unsigned int seeds;

static void write_seed(const char *dir, const char *target, const void *data,
		       size_t len)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/seed-%03u", dir, target, seeds++);
	file = fopen(path, "wb");
	if (!file || fwrite(data, 1, len, file) != len || fclose(file)) {
		perror(path);
		exit(1);
	}
}

static void write_frame(const char *dir, const u32 *frame, u32 len)
{
	__be32 words[FRAME_WORDS];
	u32 i;

	for (i = 0; i < FRAME_WORDS; i++)
		words[i] = cpu_to_be32(frame[i]);
	write_seed(dir, "wire", words, len);
}

static void write_frames(const char *dir)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(fixed_cases); i++)
		write_frame(dir, fixed_cases[i].frame, fixed_cases[i].len);
	for (i = 0; i < ARRAY_SIZE(chunk_cases); i++)
		write_frame(dir, chunk_cases[i].frame, chunk_cases[i].len);
	for (i = 0; i < ARRAY_SIZE(answer_cases); i++)
		write_frame(dir, answer_cases[i].frame, answer_cases[i].len);
	for (i = 0; i < ARRAY_SIZE(v2_cases); i++)
		write_frame(dir, v2_cases[i].frame, v2_cases[i].len);
	for (i = 0; i < ARRAY_SIZE(answer_v2_cases); i++)
		write_frame(dir, answer_v2_cases[i].frame,
			    answer_v2_cases[i].len);
	for (i = 0; i < ARRAY_SIZE(tile_cases); i++)
		write_frame(dir, tile_cases[i].frame, tile_cases[i].len);
}

static void write_cm_private(const char *dir)
{
	static const u8 message[] = { 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3 };
	u8 buf[64] = { 0 };
	u32 at;

	for (at = 0; at < 12; at++) {
		memset(buf, 0, sizeof(buf));
		memcpy(buf + at, message, sizeof(message));
		write_seed(dir, "cm_private", buf, at + sizeof(message));
		write_seed(dir, "cm_private", buf, sizeof(buf) - at);
	}
}

static void write_plan(const char *dir)
{
	u8 buf[128];
	u32 i, at;

	for (i = 0; i < 64; i++) {
		for (at = 0; at < sizeof(buf); at++)
			buf[at] = i * 37 + at * (i + 1);
		write_seed(dir, "plan", buf, sizeof(buf));
	}
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return 1;
	}
	write_frames(argv[1]);
	write_cm_private(argv[1]);
	write_plan(argv[1]);
	printf("# fuzz: %u seeds\n", seeds);
	return 0;
}
