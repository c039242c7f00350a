/* The strongest correlations of every column, as defined in
 * `graphs/correlation/strongest.py`. */

#include <math.h>

#include "graphs.h"

/* Entries of a tile that are compared with the limits at once. */
enum { TOGETHER = 64 };

/* The best of some rows, strongest first, each (n_rows, n_kept), and how they are compared. */
struct best {
    int64_t *cell, *column;
    double *value;
    int64_t n_kept;
    double tie_cell, tiny;
};

/* Inserts a value if it is strong enough; returns the strength that the row still accepts. */
static double put(double value, int64_t row, int64_t column, const struct best *best)
{
    int64_t *cells = best->cell + row * best->n_kept;
    int64_t *columns = best->column + row * best->n_kept;
    double *values = best->value + row * best->n_kept;
    const int64_t cell = (int64_t)rint(fabs(value) / best->tie_cell), n_kept = best->n_kept;
    int64_t place = n_kept;
    while (place > 0 && (cell > cells[place - 1] ||
                         (cell == cells[place - 1] && column < columns[place - 1])))
        place--;
    /* Weaker entries move back by one; the last one is dropped. */
    for (int64_t later = n_kept - 1; later > place; later--) {
        cells[later] = cells[later - 1];
        columns[later] = columns[later - 1];
        values[later] = values[later - 1];
    }
    if (place < n_kept) {
        cells[place] = cell;
        columns[place] = column;
        values[place] = value;
    }
    const double limit = ((double)cells[n_kept - 1] - 0.5) * best->tie_cell;
    return limit > best->tiny ? limit : best->tiny;
}

#define REAL float
#define SUFFIX f32
#include "strongest.h"
#undef SUFFIX
#undef REAL

#define REAL double
#define SUFFIX f64
#include "strongest.h"
#undef SUFFIX
#undef REAL

/* Inserts the entries of a tile (n_rows, n_columns) that are at least as strong as the limits
 * of_rows (n_rows) and of_columns (n_columns), which are overwritten: infinite for none. */
EXPORT void walkconv_insert_tile(int is_double, const void *tile, int64_t n_rows,
                                 int64_t n_columns, int64_t row, int64_t column, void *of_rows,
                                 void *of_columns, int64_t n_kept, double tie_cell, double tiny,
                                 int64_t *my_cell, int64_t *my_column, double *my_value,
                                 int64_t *its_cell, int64_t *its_column, double *its_value)
{
    const struct best mine = {my_cell, my_column, my_value, n_kept, tie_cell, tiny};
    const struct best its = {its_cell, its_column, its_value, n_kept, tie_cell, tiny};
    if (is_double)
        insert_tile_f64(tile, n_rows, n_columns, row, column, of_rows, of_columns, &mine, &its);
    else
        insert_tile_f32(tile, n_rows, n_columns, row, column, of_rows, of_columns, &mine, &its);
}

/* Adds to value (n, n_others) the products of `nodes` with column (n, n_others): of rows
 * (n_nodes, m), m a multiple of four.  A column of -1 is an unused entry. */
EXPORT void walkconv_add_products(const double *rows, int64_t m, const int64_t *nodes,
                                  const int64_t *column, int64_t n_others, double *value,
                                  int64_t start, int64_t stop)
{
    for (int64_t place = start * n_others; place < stop * n_others; place++) {
        if (column[place] < 0)
            continue;
        const double *mine = rows + nodes[place / n_others] * m, *its = rows + column[place] * m;
        /* The next row lies anywhere: all its cache lines are requested at once. */
        if (place + 1 < stop * n_others && column[place + 1] >= 0)
            for (int64_t r = 0; r < m; r += 8)
                FETCH(rows + column[place + 1] * m + r);
        /* Four sums: one sum alone would wait for each addition before the next. */
        double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
        for (int64_t r = 0; r < m; r += 4) {
            a += mine[r] * its[r];
            b += mine[r + 1] * its[r + 1];
            c += mine[r + 2] * its[r + 2];
            d += mine[r + 3] * its[r + 3];
        }
        value[place] += (a + b) + (c + d);
    }
}
