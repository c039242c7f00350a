/* grad_x of one channel for LANES samples at a time, which share a table: see
 * kernel_loops.h for the macros.
 *
 * A lane is a sample.  The samples' rows of grad_out for one node are transposed in
 * registers, some filters at a time, so that the products of all samples with a weight are
 * one multiply-add, and what a slot of the table adds to grad_x is one addition. */

/* Ranks, and nodes, summed at the same time; two nodes where registers suffice. */
enum { NAME(lane_ranks) = 8, NAME(lane_nodes) = VECTOR_BYTES == 64 ? 2 : 1 };

/* A vector as single-precision numbers, which shuffles move about, doubles by pairs. */
typedef float NAME(floats) __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t NAME(places) __attribute__((vector_size(VECTOR_BYTES)));
#define FLOATS ((int)(VECTOR_BYTES / sizeof(float)))

/* Numbers of places within 16 bytes, for each 16 bytes of a vector. */
#define PLACES_16(a, b, c, d) a, b, c, d
#define PLACES_32(a, b, c, d) PLACES_16(a, b, c, d), PLACES_16(a + 4, b + 4, c + 4, d + 4)
#define PLACES_64(a, b, c, d) PLACES_32(a, b, c, d), PLACES_32(a + 8, b + 8, c + 8, d + 8)
#if VECTOR_BYTES == 64
#define PLACES(a, b, c, d) PLACES_64(a, b, c, d)
#elif VECTOR_BYTES == 32
#define PLACES(a, b, c, d) PLACES_32(a, b, c, d)
#else
#define PLACES(a, b, c, d) PLACES_16(a, b, c, d)
#endif
#if defined(__clang__)
#define SHUFFLE(x, y, a, b, c, d) __builtin_shufflevector(x, y, PLACES(a, b, c, d))
#else
#define SHUFFLE(x, y, a, b, c, d)                                                              \
    __builtin_shuffle(x, y, (NAME(places)){PLACES(a, b, c, d)})
#endif
#define LOW_HALVES(x, y) SHUFFLE(x, y, 0, 1, FLOATS, FLOATS + 1)
#define HIGH_HALVES(x, y) SHUFFLE(x, y, 2, 3, FLOATS + 2, FLOATS + 3)
#define LOW_IN_TURNS(x, y) SHUFFLE(x, y, 0, FLOATS, 1, FLOATS + 1)
#define HIGH_IN_TURNS(x, y) SHUFFLE(x, y, 2, FLOATS + 2, 3, FLOATS + 3)

/* 16 bytes of every QUAD_LANES-th sample, side by side. */
static ALWAYS_INLINE NAME(floats) NAME(join_quads)(const REAL *grad, int64_t step)
{
    typedef float four __attribute__((vector_size(16), aligned(sizeof(REAL)), may_alias));
#if VECTOR_BYTES == 64
    __m512 joined = _mm512_castps128_ps512(*(const four *)grad);
    joined = _mm512_insertf32x4(joined, *(const four *)(grad + QUAD_LANES * step), 1);
    joined = _mm512_insertf32x4(joined, *(const four *)(grad + 2 * QUAD_LANES * step), 2);
    return (NAME(floats))_mm512_insertf32x4(
        joined, *(const four *)(grad + 3 * QUAD_LANES * step), 3);
#elif VECTOR_BYTES == 32
    const __m256 first = _mm256_castps128_ps256(*(const four *)grad);
    return (NAME(floats))_mm256_insertf128_ps(
        first, *(const four *)(grad + QUAD_LANES * step), 1);
#else
    (void)step;
    return *(const four *)grad;
#endif
}

/* column[c] = grad[lane * step + c] for QUAD_LANES filters c. */
static ALWAYS_INLINE void
NAME(transpose)(const REAL *grad, int64_t step, VECTOR column[4])
{
    NAME(floats) joined[4], turned[4];
    UNROLL
    for (int i = 0; i < QUAD_LANES; i++)
        turned[i] = joined[i] = NAME(join_quads)(grad + i * step, step);
    if (QUAD_LANES == 4) {
        turned[0] = LOW_IN_TURNS(joined[0], joined[1]);
        turned[1] = LOW_IN_TURNS(joined[2], joined[3]);
        turned[2] = HIGH_IN_TURNS(joined[0], joined[1]);
        turned[3] = HIGH_IN_TURNS(joined[2], joined[3]);
    }
    UNROLL
    for (int i = 0; i < QUAD_LANES; i += 2) {
        column[i] = (VECTOR)LOW_HALVES(turned[i], turned[i + 1]);
        column[i + 1] = (VECTOR)HIGH_HALVES(turned[i], turned[i + 1]);
    }
}

/* grad_x[place[i, r]] += grad[lane * step + i * f : + f] @ weight[:, r] for n_r ranks r of
 * n_i nodes i; weight is (f, n_r), a row of place p long. */
static ALWAYS_INLINE void
NAME(lane_tile)(const int n_i, const int n_r, const REAL *grad, int64_t step, int64_t f,
                const REAL *weight, const int32_t *place, int64_t p, VECTOR *grad_x)
{
    VECTOR sum[2][8], column[2][4];
    UNROLL
    for (int i = 0; i < n_i; i++)
        UNROLL
        for (int r = 0; r < n_r; r++)
            sum[i][r] = (VECTOR){0};
    int64_t k = 0;
    for (; k + QUAD_LANES <= f; k += QUAD_LANES) {
        UNROLL
        for (int i = 0; i < n_i; i++)
            NAME(transpose)(grad + i * f + k, step, column[i]);
        UNROLL
        for (int c = 0; c < QUAD_LANES; c++, weight += n_r)
            UNROLL
            for (int r = 0; r < n_r; r++)
                UNROLL
                for (int i = 0; i < n_i; i++)
                    sum[i][r] += column[i][c] * weight[r];
    }
    for (; k < f; k++, weight += n_r)
        UNROLL
        for (int i = 0; i < n_i; i++) {
            VECTOR last = {0};
            for (int64_t lane = 0; lane < LANES; lane++)
                last[lane] = grad[lane * step + i * f + k];
            UNROLL
            for (int r = 0; r < n_r; r++)
                sum[i][r] += last * weight[r];
        }
    UNROLL
    for (int i = 0; i < n_i; i++)
        UNROLL
        for (int r = 0; r < n_r; r++)
            grad_x[place[i * p + r]] += sum[i][r];
}

#define LANE_ROWS(n_r)                                                                         \
    case n_r:                                                                                  \
        for (; i + NAME(lane_nodes) <= rows; i += NAME(lane_nodes))                            \
            NAME(lane_tile)(NAME(lane_nodes), n_r, grad + i * f, step, f, weight,              \
                            place + i * p, p, grad_x);                                         \
        for (; i < rows; i++)                                                                  \
            NAME(lane_tile)(1, n_r, grad + i * f, step, f, weight, place + i * p, p, grad_x);  \
        break;

/* The same for `rows` nodes and n_r ranks of a table with p. */
static void NAME(add_lanes)(int64_t n_r, int64_t rows, const REAL *grad, int64_t step,
                            int64_t f, const REAL *weight, const int32_t *place, int64_t p,
                            VECTOR *grad_x)
{
    int64_t i = 0;
    switch (n_r) {
        LANE_ROWS(1)
        LANE_ROWS(2)
        LANE_ROWS(3)
        LANE_ROWS(4)
        LANE_ROWS(5)
        LANE_ROWS(6)
        LANE_ROWS(7)
        LANE_ROWS(8)
    }
}
#undef LANE_ROWS

/* Ranks from `rank` on that are one tile: all are of nearly equal height. */
static inline int64_t NAME(tile_ranks)(int64_t rank, int64_t p)
{
    return ceil_div(p - rank, ceil_div(p - rank, NAME(lane_ranks)));
}

/* Packs weight (p, f) as tiles of ranks, each (f, n_r). */
static void NAME(pack_tiles)(const struct problem *a, REAL *tiles)
{
    const int64_t p = a->n_ranks, f = a->width;
    for (int64_t rank = 0, n_r; rank < p; rank += n_r) {
        n_r = NAME(tile_ranks)(rank, p);
        for (int64_t k = 0; k < f; k++)
            for (int64_t r = rank; r < rank + n_r; r++)
                *tiles++ = ((const REAL *)a->weight)[r * f + k];
    }
}

/* Work item: grad_x of LANES samples, of which there must be as many; the last item fills
 * up with samples of the one before.  place is (N, p), n_in for an empty slot, and
 * grad_x, which is overwritten, (n_in + 1). */
static void NAME(grad_x_lanes)(const struct problem *a, const REAL *tiles,
                               const int32_t *place, int64_t item, VECTOR *grad_x)
{
    const int64_t p = a->n_ranks, f = a->width, n_in = a->n_in, step = a->n_out * f;
    const int64_t first = item * LANES, lane_0 = min64(first, a->n_samples - LANES);
    const REAL *grad = (const REAL *)a->grad_out + lane_0 * step;

    for (int64_t j = 0; j <= n_in; j++)
        grad_x[j] = (VECTOR){0};
    for (int64_t rank = 0, n_r; rank < p; rank += n_r) {
        n_r = NAME(tile_ranks)(rank, p);
        NAME(add_lanes)(n_r, a->n_out, grad, step, f, tiles + rank * f, place + rank, p, grad_x);
    }
    for (int64_t m = first; m < lane_0 + LANES; m++)
        for (int64_t j = 0; j < n_in; j++)
            ((REAL *)a->grad_x)[m * n_in + j] = grad_x[j][m - lane_0];
}
