/* The strongest entries of a tile of correlations of type REAL.
 *
 * Why it is fast: hardly any entry is strong enough.  So a run of them is compared with the
 * limits of its row and its columns at once, without branches, in vector instructions, and
 * looked at one by one only if one of them is strong enough. */

FOR_EACH_VECTOR static void NAMED(insert_tile)(const REAL *tile, int64_t n_rows, int64_t n_columns, int64_t row,
                               int64_t column, REAL *of_rows, REAL *of_columns,
                               const struct best *mine, const struct best *its)
{
    for (int64_t here = 0; here < n_rows; here++)
        for (int64_t start = 0; start < n_columns; start += TOGETHER) {
            const REAL *entries = tile + here * n_columns;
            const int64_t stop = start + TOGETHER < n_columns ? start + TOGETHER : n_columns;
            const REAL of_row = of_rows[here];
            int32_t n_found = 0;
            for (int64_t there = start; there < stop; there++) {
                const REAL strength = entries[there] < 0 ? -entries[there] : entries[there];
                n_found += (strength >= of_row) | (strength >= of_columns[there]);
            }
            if (n_found == 0)
                continue;
            for (int64_t there = start; there < stop; there++) {
                const REAL value = entries[there], strength = value < 0 ? -value : value;
                if (strength >= of_rows[here])
                    of_rows[here] = (REAL)put((double)value, here, column + there, mine);
                if (strength >= of_columns[there])
                    of_columns[there] = (REAL)put((double)value, there, row + here, its);
            }
        }
}
