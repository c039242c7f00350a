/* The most visited nodes of a row in order, ties included.  What it computes is defined in
 * `walks/ranking.py`.
 *
 * Why it is fast: a row has a hundred candidates and ten slots, so most candidates are
 * compared with the last slot once and forgotten.  Few slots are kept sorted, where the
 * candidates of a walk, which come nearly in order, move little; many slots are a heap.
 * Ties are ordered only among the nodes that are held, and whether the last tie goes on
 * below is asked in one pass without branches, which the compiler turns into vector code. */
#ifndef WALKCONV_RANK_H
#define WALKCONV_RANK_H

#include <math.h>

#include "graphs.h"

/* Visits of a row in descending order belong to one tie while each lies within a relative TIE
 * of the one before.  Fewer visits than REACHED count as none. */
#define TIE 1e-9
#define REACHED 2.2250738585072014e-308

/* Most slots that are kept sorted. */
enum { FEW_SLOTS = 48 };

enum { BY_INDEX = 0, BY_CHANCE = 1, BY_DISPLACEMENT = 2 };

/* How tied nodes are ordered. */
struct rule {
    int64_t kind;
    uint64_t seed;
    const double *places; /* (n_nodes, n_axes): a displacement is a whole number of units */
    int64_t n_axes;
};

/* The slots of a row, to be filled: nodes, and visits that are 0 where a slot is empty. */
struct slots {
    int64_t *index;
    double *best;
    int64_t n;
};

static inline uint64_t mixed(uint64_t bits)
{
    bits += GOLDEN;
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94D049BB133111EB);
    return bits ^ (bits >> 31);
}

/* A number that looks random, the same for the same pair of nodes (splitmix64). */
static inline uint64_t chance_of(uint64_t seed, int64_t node, int64_t other)
{
    return mixed(mixed(mixed(seed) ^ (uint64_t)node) ^ (uint64_t)other);
}

/* Whether a comes before b in a tie of `node`. */
static inline int comes_before(int64_t a, int64_t b, int64_t node, const struct rule *rule)
{
    if (a == node || b == node)
        return a == node;
    if (rule->kind == BY_CHANCE)
        return chance_of(rule->seed, node, a) < chance_of(rule->seed, node, b);
    if (rule->kind == BY_DISPLACEMENT) {
        const int64_t n_axes = rule->n_axes;
        const double *from = rule->places + node * n_axes;
        const double *to_a = rule->places + a * n_axes, *to_b = rule->places + b * n_axes;
        for (int64_t axis = 0; axis < n_axes; axis++) {
            const double step_a = rint(to_a[axis] - from[axis]);
            const double step_b = rint(to_b[axis] - from[axis]);
            if (step_a != step_b)
                return step_a < step_b;
        }
    }
    return a < b;
}

/* Puts a value into the hole at `place` of a heap, whose least value stands first. */
static inline void settle(int64_t place, int64_t node, double value, int64_t n, int64_t *nodes,
                          double *values)
{
    for (int64_t child = 2 * place + 1; child < n; child = 2 * place + 1) {
        if (child + 1 < n && values[child + 1] < values[child])
            child++;
        if (values[child] >= value)
            break;
        nodes[place] = nodes[child];
        values[place] = values[child];
        place = child;
    }
    nodes[place] = node;
    values[place] = value;
}

/* Sorts a heap: the largest value comes first. */
static inline void sort_heap(int64_t n, int64_t *nodes, double *values)
{
    for (int64_t last = n - 1; last > 0; last--) {
        const int64_t node = nodes[last];
        const double value = values[last];
        nodes[last] = nodes[0];
        values[last] = values[0];
        settle(0, node, value, last, nodes, values);
    }
}

ALWAYS_INLINE void empty_slots(const struct slots *slots)
{
    for (int64_t slot = 0; slot < slots->n; slot++) {
        slots->index[slot] = -1;
        slots->best[slot] = 0.0;
    }
}

/* A node is held if it has more visits than this. */
ALWAYS_INLINE double least_held(const struct slots *slots)
{
    return slots->n <= FEW_SLOTS ? slots->best[slots->n - 1] : slots->best[0];
}

/* Holds a node in place of the one with the least visits. */
ALWAYS_INLINE void hold(int64_t node, double value, const struct slots *slots)
{
    int64_t *index = slots->index;
    double *best = slots->best;
    if (slots->n > FEW_SLOTS) {
        settle(0, node, value, slots->n, index, best);
        return;
    }
    int64_t slot = slots->n - 1;
    for (; slot > 0 && best[slot - 1] < value; slot--) {
        index[slot] = index[slot - 1];
        best[slot] = best[slot - 1];
    }
    index[slot] = node;
    best[slot] = value;
}

ALWAYS_INLINE void offer(int64_t node, double value, const struct slots *slots)
{
    if (value > least_held(slots) && value >= REACHED)
        hold(node, value, slots);
}

/* Finds the least and the most visits of the tie that the last slot, with `last`, belongs to.
 * It may be large, as all leaves of a star are, so it is never sorted.  Where slots stay empty
 * there is no such tie, and the bounds hold nothing. */
ALWAYS_INLINE void last_tie(const double *visits, int64_t n, double last, double *least,
                            double *most)
{
    const double close = 1.0 - TIE;
    double low = last, high = last;
    int64_t n_beside = last > 0;
    while (n_beside > 0) {
        const double floor = low * close;
        n_beside = 0;
        for (int64_t place = 0; place < n; place++) {
            const double value = visits[place];
            n_beside += ((value >= floor) & (value < low)) |
                        ((value > high) & (value * close <= high));
        }
        if (n_beside == 0)
            break;
        double lower = low, higher = high;
        for (int64_t place = 0; place < n; place++) {
            const double value = visits[place];
            if (value >= floor && value < lower)
                lower = value;
            if (value > higher && value * close <= high)
                higher = value;
        }
        low = lower;
        high = higher;
    }
    *least = low > REACHED ? low : REACHED;
    *most = high;
}

/* Puts a node into its slot, moving later ones on; `n_filled` slots are filled then. */
ALWAYS_INLINE void insert(int64_t node, double value, int64_t slot, int64_t n_filled,
                          const struct slots *slots)
{
    for (int64_t later = n_filled - 1; later > slot; later--) {
        slots->index[later] = slots->index[later - 1];
        slots->best[later] = slots->best[later - 1];
    }
    slots->index[slot] = node;
    slots->best[slot] = value;
}

/* The slot in a tie, from `first` on, of a node that comes before the slot `end`. */
ALWAYS_INLINE int64_t slot_in_tie(int64_t candidate, int64_t first, int64_t end, int64_t node,
                                  const struct rule *rule, const struct slots *slots)
{
    while (end > first && comes_before(candidate, slots->index[end - 1], node, rule))
        end--;
    return end;
}

/* Brings the ties of nodes in descending order of visits into the order of the rule. */
ALWAYS_INLINE void order_ties(int64_t node, const struct rule *rule, int64_t n_filled,
                              const struct slots *slots)
{
    int64_t first = 0;
    double before = 0.0;
    for (int64_t place = 0; place < n_filled; place++) {
        const int64_t candidate = slots->index[place];
        const double value = slots->best[place];
        const int is_apart = value < before * (1.0 - TIE);
        before = value;
        if (is_apart || place == 0) {
            first = place;
            continue;
        }
        const int64_t slot = slot_in_tie(candidate, first, place, node, rule, slots);
        if (slot < place)
            insert(candidate, value, slot, place + 1, slots);
    }
}

#endif
