/* grad_x of many samples that share a table: see kernel_loops.h for the macros.
 *
 * The uses of an input node, which are slots (i, r) of the table, are the same in every
 * sample.  So the rows of a tile are samples: they share the weight of each use, their sum
 * stays in registers over all uses, and every row of grad_x is written once. */

/* Whether grad_x can be done here: the weights, which are read again for every node, must
 * not fill the first-level cache, and the list of uses must be small beside the samples. */
static int NAME(is_sample_wise)(const struct problem *a)
{
    return !a->reverse_start && !a->scale && !a->per_sample && a->n_samples >= 16 &&
           a->n_ranks <= a->n_samples && a->n_out <= INT32_MAX &&
           a->depth >= NAME(direct_depth) && a->width > 0 &&
           !NAME(exceeds)(32, a->n_ranks * a->width, NAME(padded)(a->depth));
}

/* grad_x[:rows, :, column : column + nv * LANES], for `rows` <= tile_rows samples. */
static ALWAYS_INLINE void NAME(sample_tile)(const int tile_rows, const int nv,
                                            const struct problem *a, const REAL *weight,
                                            const int64_t *start, int64_t first, int64_t rows,
                                            int64_t column)
{
    const int64_t d = a->depth, f = a->width, n_in = a->n_in;
    const VECTOR *packed = (const VECTOR *)(weight + a->n_ranks * f * column);
    const struct use *uses = (const struct use *)(start + n_in + 1);
    const int64_t last_lanes = d - column - (nv - 1) * LANES;
    const REAL *sample[8]; /* grad_out of each, the last one repeated up to a whole tile */
    UNROLL
    for (int i = 0; i < tile_rows; i++)
        sample[i] = (const REAL *)a->grad_out + (first + min64(i, rows - 1)) * a->n_out * f;

    for (int64_t j = 0; j < n_in; j++) {
        VECTOR sum[8][3];
        UNROLL
        for (int i = 0; i < tile_rows; i++)
            UNROLL
            for (int v = 0; v < nv; v++)
                sum[i][v] = (VECTOR){0};

        for (int64_t u = start[j]; u < start[j + 1]; u++) {
            const struct use use = uses[u];
            const int64_t ahead = uses[u + USES_AHEAD].node * f;
            const VECTOR *panel = packed + use.rank * f * nv;
            const REAL *row[8];
            UNROLL
            for (int i = 0; i < tile_rows; i++) {
                row[i] = sample[i] + use.node * f;
                __builtin_prefetch(sample[i] + ahead);
                __builtin_prefetch(sample[i] + ahead + f - 1);
            }
            for (int64_t k = 0; k < f; k++, panel += nv) {
                UNROLL
                for (int i = 0; i < tile_rows; i++)
                    UNROLL
                    for (int v = 0; v < nv; v++)
                        sum[i][v] += row[i][k] * panel[v];
            }
        }

        UNROLL
        for (int i = 0; i < tile_rows; i++) {
            if (i >= rows)
                break;
            REAL *target = (REAL *)a->grad_x + ((first + i) * n_in + j) * d + column;
            UNROLL
            for (int v = 0; v < nv; v++)
                if (v == nv - 1 && last_lanes < LANES)
                    NAME(store_part)(target + v * LANES, sum[i][v], last_lanes, 0);
                else
                    *(UNALIGNED *)(target + v * LANES) = sum[i][v];
        }
    }
}

/* Tiles of samples for all panels: the number of work items. */
static int64_t NAME(sample_tiles)(const struct problem *a)
{
    int64_t tiles = 0;
    for (int64_t column = 0; column < a->depth;) {
        const int nv = NAME(panel_vectors)(column, a->depth);
        tiles += ceil_div(a->n_samples, TILE_ROWS(nv));
        column += nv * LANES;
    }
    return tiles;
}

/* Work item: one panel of a tile of samples, with weight packed as (p * f, d) panels and
 * the list of uses. */
static void NAME(grad_x_samples)(const struct problem *a, const REAL *weight,
                                 const int64_t *uses, int64_t item)
{
    int64_t column = 0;
    int nv = NAME(panel_vectors)(column, a->depth);
    for (;;) {
        const int64_t tiles = ceil_div(a->n_samples, TILE_ROWS(nv));
        if (item < tiles)
            break;
        item -= tiles;
        column += nv * LANES;
        nv = NAME(panel_vectors)(column, a->depth);
    }
    const int64_t first = item * TILE_ROWS(nv);
    const int64_t rows = min64(TILE_ROWS(nv), a->n_samples - first);
    if (nv == 1)
        NAME(sample_tile)(TILE_ROWS(1), 1, a, weight, uses, first, rows, column);
    else if (nv == 2)
        NAME(sample_tile)(TILE_ROWS(2), 2, a, weight, uses, first, rows, column);
    else
        NAME(sample_tile)(TILE_ROWS(3), 3, a, weight, uses, first, rows, column);
}
