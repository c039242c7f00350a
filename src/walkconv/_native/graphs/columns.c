/* Columns of a table, standardised as in `graphs/correlation/columns.py`.
 *
 * Why it is fast: each value is read once and written once.  A square of values is computed in
 * the first cache, so it may be written row by row or column by column. */

#include "graphs.h"

enum { ROWS_TOGETHER = 16, COLUMNS_TOGETHER = 64 };

/* Writes (value * factor - mean - rest) / length, 0 for NaN, for each value of a table (n_rows,
 * n_columns), whose rows lie `step` values apart.  The value of a row and a column goes to
 * out[row * row_step + column * column_step]. */
EXPORT void walkconv_standardise(int is_double, const void *table, int64_t step, int64_t n_rows,
                                 int64_t n_columns, const double *factor, const double *mean,
                                 const double *rest, const double *length, int makes_doubles,
                                 void *out, int64_t row_step, int64_t column_step)
{
    double values[ROWS_TOGETHER][COLUMNS_TOGETHER];
    for (int64_t row = 0; row < n_rows; row += ROWS_TOGETHER)
        for (int64_t column = 0; column < n_columns; column += COLUMNS_TOGETHER) {
            const int64_t height = n_rows - row < ROWS_TOGETHER ? n_rows - row : ROWS_TOGETHER;
            const int64_t width =
                n_columns - column < COLUMNS_TOGETHER ? n_columns - column : COLUMNS_TOGETHER;
            for (int64_t r = 0; r < height; r++) {
                const int64_t place = (row + r) * step + column;
                for (int64_t c = 0; c < width; c++) {
                    double value = is_double ? ((const double *)table)[place + c]
                                             : (double)((const float *)table)[place + c];
                    value = value * factor[column + c] - mean[column + c] - rest[column + c];
                    value /= length[column + c];
                    values[r][c] = value == value ? value : 0.0;
                }
            }
            for (int64_t c = 0; c < width; c++)
                for (int64_t r = 0; r < height; r++) {
                    const int64_t place = (row + r) * row_step + (column + c) * column_step;
                    if (makes_doubles)
                        ((double *)out)[place] = values[r][c];
                    else
                        ((float *)out)[place] = (float)values[r][c];
                }
        }
}
