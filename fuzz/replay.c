/* SPDX-License-Identifier: ISC */
/*
 * Gives the fuzz target its seeds, without a fuzzer: so it is built and run by
 * every compiler, and with every check.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TIMES 3u /* what a run learns changes the next one */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* 0 where there is nothing to read. */
static size_t read_input(const char *path, uint8_t *bytes, size_t most)
{
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(bytes, 1, most, f) : 0;

	if (f)
		fclose(f);
	return n;
}

static unsigned replay(const char *directory)
{
	static uint8_t bytes[1 << 16];
	DIR *dir = opendir(directory);
	const struct dirent *entry;
	unsigned inputs = 0;

	while (dir && (entry = readdir(dir)) != NULL) {
		char path[4096];
		size_t n;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
		n = read_input(path, bytes, sizeof bytes);
		for (unsigned i = 0; n > 0 && i < TIMES; i++)
			LLVMFuzzerTestOneInput(bytes, n);
		inputs += n > 0;
	}
	if (dir)
		closedir(dir);
	return inputs;
}

static char names[] = "/tmp/handoff-replay.XXXXXX";

/* After the target's own. */
static void clean_up(void)
{
	if (rmdir(names) != 0)
		_exit(1);
}

int main(int argc, char **argv)
{
	unsigned inputs;

	alarm(120);
	if (!mkdtemp(names) || setenv("HANDOFF_DIR", names, 1) != 0)
		return 99;
	atexit(clean_up);
	LLVMFuzzerInitialize(&argc, &argv);
	inputs = replay(argc > 1 ? argv[1] : SEEDS);
	printf("%u inputs\n", inputs);
	return inputs == 0;
}
