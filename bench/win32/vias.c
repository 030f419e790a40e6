/* SPDX-License-Identifier: ISC */
/*
 * The list of all vias.
 */
#include "../via.h"

const struct via_table via_tables[] = {
	{ via_ours, &via_ours_count },
	{ via_direct, &via_direct_count },
	{ via_floors, &via_floors_count },
	{ via_fixed, &via_fixed_count },
	{ via_peers, &via_peers_count },
};
const size_t via_tables_count = sizeof(via_tables) / sizeof(via_tables[0]);
