/* SPDX-License-Identifier: ISC */
/*
 * What the bench does not do on Windows: it says so.
 */
#include <errno.h>

#include "../busy.h"
#include "../costs.h"
#include "../options.h"
#include "../plot.h"
#include "../record.h"

static int absent(const char *what)
{
	return options_wrong("not on this system", what);
}

#define COMMAND(name)                          \
	int name##_main(int argc, char **argv) \
	{                                      \
		(void)argc;                    \
		(void)argv;                    \
		return absent(#name);          \
	}

COMMAND(fairness)
COMMAND(grid)
COMMAND(ladder)
COMMAND(idle)
COMMAND(lab)
COMMAND(report)

/* ---- options of commands that there are -------------------------------- */

bool plot_prepare(const char *directory)
{
	(void)directory;
	absent("--plot");
	return false;
}

bool plot_pingpong(const char *directory, const struct figures *figures,
    size_t count)
{
	(void)figures;
	(void)count;
	return plot_prepare(directory);
}

bool record_begin(void)
{
	absent("--record");
	return false;
}

bool record_save(const char *path, const char *via, const char *place)
{
	(void)path;
	(void)via;
	(void)place;
	return record_begin();
}

int record_file(void)
{
	return -1;
}

int record_start(void)
{
	return ENOSYS;
}

void record_add(uint64_t ns)
{
	(void)ns;
}

int record_write(int file)
{
	(void)file;
	return ENOSYS;
}

int busy_start(struct busy *busy, unsigned count, int cpu, unsigned alarm_s)
{
	(void)cpu;
	(void)alarm_s;
	busy->count = 0;
	return count == 0 ? 0 : ENOSYS;
}

bool busy_stop(struct busy *busy)
{
	(void)busy;
	return true;
}

const bool costs_has_duels = false;

bool costs_duels(struct costs_rows *rows, unsigned trials)
{
	(void)rows;
	(void)trials;
	return false;
}

bool costs_matrix(struct costs_rows *rows, unsigned trials)
{
	(void)rows;
	(void)trials;
	return false;
}
