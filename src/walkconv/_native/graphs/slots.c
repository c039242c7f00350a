/* Slots that are directions: the loops of `walks/slots.py`, as defined in
 * `walks/assignment.py`.
 *
 * Why it is fast: a row has some dozens of slots and candidates, so its costs fit in the first
 * cache, and memory is made once for a range of rows.  A path of the Hungarian method begins
 * with prices that fit all rows before, and is a step or two long as a rule. */

#include <math.h>

#include "graphs.h"

/* The positions of the nodes; an axis with a period runs round a ring. */
struct layout {
    const double *places, *period; /* (n_nodes, n_dims), (n_dims) */
    int64_t n_dims;
};

/* The displacement along an axis, the shorter way round where it has a period. */
static inline double gap_along(const struct layout *at, int64_t node, int64_t other, int64_t axis)
{
    const double gap = at->places[other * at->n_dims + axis] - at->places[node * at->n_dims + axis];
    const double period = at->period[axis];
    return period > 0 ? gap - period * rint(gap / period) : gap;
}

static inline void exchange(double *values, int64_t a, int64_t b)
{
    const double value = values[a];
    values[a] = values[b];
    values[b] = value;
}

/* Returns the value that sorting would put at `place`, in linear time (Hoare's selection).
 * Then no larger value stands before it. */
static double select_value(double *values, int64_t n, int64_t place)
{
    int64_t first = 0, last = n - 1;
    while (first < last) {
        const double pivot = values[first + (last - first) / 2];
        int64_t low = first, high = last;
        while (low <= high) {
            while (values[low] < pivot)
                low++;
            while (values[high] > pivot)
                high--;
            if (low <= high)
                exchange(values, low++, high--);
        }
        if (place <= high)
            last = high;
        else if (place >= low)
            first = low;
        else
            break;
    }
    return values[place];
}

/* own (n_nodes): the mean distance to the nearest `n_dims` candidates that lie apart, or 0. */
static void near_gaps(const struct layout *at, const int64_t *candidates, int64_t n_candidates,
                      int64_t start, int64_t stop, double *gaps, double *own)
{
    for (int64_t node = start; node < stop; node++) {
        int64_t n = 0;
        for (int64_t place = 0; place < n_candidates; place++) {
            const int64_t other = candidates[node * n_candidates + place];
            double squares = 0.0;
            for (int64_t axis = 0; other >= 0 && axis < at->n_dims; axis++) {
                const double gap = gap_along(at, node, other, axis);
                squares += gap * gap;
            }
            gaps[n] = sqrt(squares);
            n += squares > 0;
        }
        const int64_t n_nearest = n < at->n_dims ? n : at->n_dims;
        double total = 0.0;
        for (int64_t place = 0; place < n_nearest; place++)
            total += select_value(gaps, n, place);
        own[node] = n_nearest > 0 ? total / (double)n_nearest : 0.0;
    }
}

/* spacing (n_nodes): the usual distance to the nearest nodes around each node, the median of
 * `own` (n_nodes, scratch) over its candidates (n_nodes, n_candidates). */
EXPORT int walkconv_local_spacing(const int64_t *candidates, int64_t n_nodes,
                                  int64_t n_candidates, const double *places,
                                  const double *period, int64_t n_dims, double *own,
                                  double *spacing)
{
    const struct layout at = {places, period, n_dims};
    double *known = malloc(((size_t)n_candidates + 1) * sizeof(double));
    if (!known)
        return WALKCONV_NO_MEMORY;
    near_gaps(&at, candidates, n_candidates, 0, n_nodes, known, own);
    for (int64_t node = 0; node < n_nodes; node++) {
        int64_t n = 0;
        for (int64_t place = 0; place < n_candidates; place++) {
            const int64_t other = candidates[node * n_candidates + place];
            if (other >= 0 && own[other] > 0)
                known[n++] = own[other];
        }
        spacing[node] = 0.0;
        if (n > 0) {
            const double middle = select_value(known, n, n / 2);
            spacing[node] =
                n % 2 ? middle : (select_value(known, n / 2 + 1, n / 2 - 1) + middle) / 2.0;
        }
    }
    free(known);
    return WALKCONV_OK;
}

/* Memory of an assignment: costs (n_rows, n_columns) and arrays of (n_columns + n_rows). */
struct assignment {
    double *cost, *row_price, *column_price, *distance;
    int64_t *owner, *before, *chosen;
    uint8_t *is_settled;
};

/* Sets chosen (n_rows): a column for each row, -1 for none, no column twice, at the least total
 * cost.  Rows enter one by one along a cheapest augmenting path (Hungarian method with
 * potentials).  Column n_columns + row stands for none. */
static void assign(const struct assignment *a, int64_t n_rows, int64_t n_columns,
                   double cost_of_none)
{
    const int64_t n = n_columns + n_rows;
    for (int64_t target = 0; target < n; target++) {
        a->owner[target] = -1;
        a->column_price[target] = 0.0;
    }
    for (int64_t row = 0; row < n_rows; row++) {
        a->row_price[row] = 0.0;
        a->chosen[row] = -1;
    }
    for (int64_t entering = 0; entering < n_rows; entering++) {
        for (int64_t target = 0; target < n; target++) {
            a->distance[target] = INFINITY;
            a->before[target] = -1;
            a->is_settled[target] = 0;
        }
        /* The cheapest path from the entering row to a free column (Dijkstra).  The prices keep
         * all steps at least 0 long, which this search needs. */
        int64_t row = entering, column = -1;
        double travelled = 0.0;
        while (row >= 0) {
            /* A row has the real columns and one of its own that leaves it unassigned. */
            for (int64_t j = 0; j <= n_columns; j++) {
                const int64_t target = j < n_columns ? j : n_columns + row;
                const double step = j < n_columns ? a->cost[row * n_columns + j] : cost_of_none;
                if (a->is_settled[target] || !(step <= cost_of_none))
                    continue;
                const double length =
                    travelled + step - a->row_price[row] - a->column_price[target];
                if (length < a->distance[target]) {
                    a->distance[target] = length;
                    a->before[target] = column;
                }
            }
            column = -1;
            for (int64_t target = 0; target < n; target++)
                if (!a->is_settled[target] &&
                    (column < 0 || a->distance[target] < a->distance[column]))
                    column = target;
            travelled = a->distance[column];
            a->is_settled[column] = 1;
            row = a->owner[column];
        }
        /* New prices, so that steps between columns and their owners cost 0 again. */
        a->row_price[entering] += travelled;
        for (int64_t target = 0; target < n; target++)
            if (a->is_settled[target] && target != column) {
                a->row_price[a->owner[target]] += travelled - a->distance[target];
                a->column_price[target] -= travelled - a->distance[target];
            }
        /* Along the path every column passes to the row that reached it. */
        for (; a->before[column] >= 0; column = a->before[column])
            a->owner[column] = a->owner[a->before[column]];
        a->owner[column] = entering;
    }
    for (int64_t column = 0; column < n_columns; column++)
        if (a->owner[column] >= 0)
            a->chosen[a->owner[column]] = column;
}

/* Fills the slots of the nodes start, start + 1, ... with the candidates at their offsets:
 * index and slot_visits (n_rows, n_slots) from candidates and visits (n_rows, n_candidates),
 * spacing (n_rows) and offsets (n_slots, n_dims). */
EXPORT int walkconv_orient_rows(int64_t start, int64_t n_rows, const int64_t *candidates,
                                const double *visits, int64_t n_candidates, const double *places,
                                const double *period, int64_t n_dims, const double *spacing,
                                const double *offsets, int64_t n_slots, double reach,
                                int64_t *index, double *slot_visits)
{
    const struct layout at = {places, period, n_dims};
    const size_t n_most = (size_t)(n_slots + n_candidates + 1);
    struct assignment a = {
        .cost = malloc((size_t)(n_slots * n_candidates + 1) * sizeof(double)),
        .row_price = malloc(n_most * sizeof(double)),
        .column_price = malloc(n_most * sizeof(double)),
        .distance = malloc(n_most * sizeof(double)),
        .owner = malloc(n_most * sizeof(int64_t)),
        .before = malloc(n_most * sizeof(int64_t)),
        .chosen = malloc(n_most * sizeof(int64_t)),
        .is_settled = malloc(n_most),
    };
    double *steps = malloc((size_t)(n_candidates * n_dims + 1) * sizeof(double));
    int64_t *near = malloc(n_most * sizeof(int64_t));
    const int has_memory = a.cost && a.row_price && a.column_price && a.distance && a.owner &&
                           a.before && a.chosen && a.is_settled && steps && near;
    /* A candidate beyond the farthest offset by more than the reach fits no slot. */
    double farthest = 0.0;
    for (int64_t place = 0; place < n_slots * n_dims; place++)
        farthest = fabs(offsets[place]) > farthest ? fabs(offsets[place]) : farthest;
    farthest += reach;
    for (int64_t row = 0; has_memory && row < n_rows; row++) {
        const int64_t node = start + row;
        int64_t n_near = 0;
        for (int64_t slot = 0; slot < n_slots; slot++) {
            index[row * n_slots + slot] = slot == 0 ? node : -1;
            slot_visits[row * n_slots + slot] = 0.0;
        }
        for (int64_t place = 0; place < n_candidates; place++) {
            const int64_t other = candidates[row * n_candidates + place];
            if (other == node) {
                slot_visits[row * n_slots] = visits[row * n_candidates + place];
            } else if (other >= 0 && spacing[row] > 0) {
                int is_near = 1;
                for (int64_t axis = 0; axis < n_dims; axis++) {
                    const double step = gap_along(&at, node, other, axis) / spacing[row];
                    steps[n_near * n_dims + axis] = step;
                    is_near &= fabs(step) < farthest;
                }
                near[n_near] = place;
                n_near += is_near;
            }
        }
        for (int64_t slot = 1; slot < n_slots; slot++)
            for (int64_t place = 0; place < n_near; place++) {
                double misfit = 0.0;
                for (int64_t axis = 0; axis < n_dims; axis++) {
                    const double miss =
                        steps[place * n_dims + axis] - offsets[slot * n_dims + axis];
                    misfit += miss * miss;
                }
                a.cost[(slot - 1) * n_near + place] = misfit;
            }
        assign(&a, n_slots - 1, n_near, reach * reach);
        for (int64_t slot = 1; slot < n_slots; slot++)
            if (a.chosen[slot - 1] >= 0) {
                const int64_t place = row * n_candidates + near[a.chosen[slot - 1]];
                index[row * n_slots + slot] = candidates[place];
                slot_visits[row * n_slots + slot] = visits[place];
            }
    }
    free(a.cost);
    free(a.row_price);
    free(a.column_price);
    free(a.distance);
    free(a.owner);
    free(a.before);
    free(a.chosen);
    free(a.is_settled);
    free(steps);
    free(near);
    return has_memory ? WALKCONV_OK : WALKCONV_NO_MEMORY;
}
