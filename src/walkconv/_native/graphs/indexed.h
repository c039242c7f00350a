/* All loops over the edges of a graph, for one type of index: INDEX, SUFFIX. */
#include "rank_row.h"
#include "tables.h"
#include "tallies.h"
#include "walk_rows.h"
#include "hubs.h"
#include "transition.h"
#include "reach.h"
