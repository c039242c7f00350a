/* Convolution over walks: out[m, i] = bias + sum_r scale[i, r] * x[m, index[i, r]] @ weight[r]
 * and its gradients, without ever holding the gathered (M, N, p, d) array; and pooling
 * by the maximum of groups of nodes.
 *
 * The loops are written once, with GCC/clang vector extensions, and compiled
 * here for each instruction set and dtype; the caller picks one at run time.
 * Results depend on the shapes and the instruction set, never on the number of
 * threads: the cut into work items and every order of summation is fixed.
 *
 * Build: cc -O3 -fPIC -shared -pthread kernel.c -o walkconv.so */

#include "kernel.h"
#include "kernel_threads.h"
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

/* ---- tables in a form that the loops read ---------------------------------- */

struct offsets {
    const struct problem *problem;
    int32_t *offset;
};

/* Nodes that are one work item of share_offsets. */
enum { OFFSET_NODES = 4096 };

/* Work item: the offsets of some nodes. */
static void offset_item(const void *context, int64_t item, void *scratch)
{
    const struct offsets *to = context;
    const struct problem *a = to->problem;
    const int64_t p = a->n_ranks, end = min64((item + 1) * OFFSET_NODES, a->n_out);
    (void)scratch;
    for (int64_t i = item * OFFSET_NODES; i < end; i++)
        for (int64_t r = 0; r < p; r++) {
            const int64_t j = a->index[i * p + r];
            const int used = (uint64_t)j < (uint64_t)a->n_in;
            to->offset[r * a->n_out + i] = used ? (int32_t)(j * a->depth) : -1;
        }
}

static int share_offsets(const struct problem *a, int32_t **offsets)
{
    *offsets = NULL;
    if (a->per_sample || a->n_in > INT32_MAX / a->depth)
        return WALKCONV_OK;
    *offsets = allocate(a->n_out * a->n_ranks, sizeof(int32_t));
    if (!*offsets)
        return WALKCONV_NO_MEMORY;
    const struct offsets to = {a, *offsets};
    const int status =
        parallel_items(a->n_threads, ceil_div(a->n_out, OFFSET_NODES),
                       4.0 * (double)(a->n_out * a->n_ranks), 0, offset_item, &to);
    if (status != WALKCONV_OK) {
        free(*offsets);
        *offsets = NULL;
    }
    return status;
}

static int32_t *scalar_places(const struct problem *a)
{
    const int64_t slots = a->n_out * a->n_ranks;
    int32_t *place = allocate(slots, sizeof(int32_t));
    for (int64_t s = 0; place && s < slots; s++)
        place[s] = (int32_t)((uint64_t)a->index[s] < (uint64_t)a->n_in ? a->index[s] : a->n_in);
    return place;
}

/* By counting sort. */
static int64_t *list_uses(const struct problem *a)
{
    const int64_t p = a->n_ranks, slots = a->n_out * p;
    int64_t *start = allocate(a->n_in + 1 + slots + USES_AHEAD, sizeof(int64_t));
    if (!start)
        return NULL;
    struct use *uses = (struct use *)(start + a->n_in + 1);
    for (int64_t j = 0; j <= a->n_in; j++)
        start[j] = 0;
    for (int64_t s = 0; s < slots; s++)
        if ((uint64_t)a->index[s] < (uint64_t)a->n_in)
            start[a->index[s]]++;
    int64_t end = 0;
    for (int64_t j = 0; j <= a->n_in; j++) /* start[j] = end of the uses of j */
        start[j] = end += start[j];
    for (int64_t r = p - 1; r >= 0; r--)
        for (int64_t i = a->n_out - 1; i >= 0; i--) {
            const int64_t j = a->index[i * p + r];
            if ((uint64_t)j < (uint64_t)a->n_in)
                uses[--start[j]] = (struct use){(int32_t)i, (int32_t)r};
        }
    for (int64_t u = 0; u < USES_AHEAD; u++)
        uses[end + u] = (struct use){0, 0};
    return start;
}

/* ---- the loops, once per instruction set and dtype ------------------------ */

#define PASTE(name, dtype, isa) name##_##dtype##_##isa
#define JOIN(name, dtype, isa) PASTE(name, dtype, isa)
#define NAME(name) JOIN(name, DTYPE, ISA)

#define ISA portable
#define VECTOR_BYTES 16
#include "kernel_dtypes.h"
#undef VECTOR_BYTES
#undef ISA

#if defined(__x86_64__)
#define X86 1

#define ISA avx2
#define VECTOR_BYTES 32
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#include "kernel_dtypes.h"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef VECTOR_BYTES
#undef ISA

#define ISA avx512
#define VECTOR_BYTES 64
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx2,fma")
#endif
#include "kernel_dtypes.h"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef VECTOR_BYTES
#undef ISA

#endif

/* ---- entries --------------------------------------------------------------- */

enum { PORTABLE = 0, AVX2 = 1, AVX512 = 2, N_ISAS = 3 };
enum { FLOAT32 = 0, FLOAT64 = 1, N_DTYPES = 2 };

typedef int (*operation)(const struct problem *);

static const operation forward_of[N_ISAS][N_DTYPES] = {
    {forward_f32_portable, forward_f64_portable},
#ifdef X86
    {forward_f32_avx2, forward_f64_avx2},
    {forward_f32_avx512, forward_f64_avx512},
#endif
};

static const operation backward_of[N_ISAS][N_DTYPES] = {
    {backward_f32_portable, backward_f64_portable},
#ifdef X86
    {backward_f32_avx2, backward_f64_avx2},
    {backward_f32_avx512, backward_f64_avx512},
#endif
};

static int (*const pool_of[N_ISAS][N_DTYPES])(const struct pooling *) = {
    {pool_f32_portable, pool_f64_portable},
#ifdef X86
    {pool_f32_avx2, pool_f64_avx2},
    {pool_f32_avx512, pool_f64_avx512},
#endif
};

/* 1 if this machine can run instruction set `isa` (0 portable, 1 AVX2 + FMA,
 * 2 AVX-512F), else 0. */
EXPORT int walkconv_supported(int isa)
{
    if (isa == PORTABLE)
        return 1;
#ifdef X86
    if (isa == AVX2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (isa == AVX512)
        return __builtin_cpu_supports("avx512f") && walkconv_supported(AVX2);
#endif
    return 0;
}

#ifdef X86
/* Whether this is AMD's family 19h: Zen 4, as Zen 3 has no AVX-512.  It computes a vector
 * of 512 bits in two halves, so that nothing is gained by one, and more is lost to padding. */
static int halves_vectors(void)
{
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(0, &eax, &ebx, &ecx, &edx) || ebx != signature_AMD_ebx ||
        !__get_cpuid(1, &eax, &ebx, &ecx, &edx))
        return 0;
    return (eax >> 8 & 0xf) + (eax >> 20 & 0xff) == 0x19;
}
#endif

/* The instruction set to use on this machine. */
EXPORT int walkconv_preferred(void)
{
#ifdef X86
    if (walkconv_supported(AVX512) && !halves_vectors())
        return AVX512;
    if (walkconv_supported(AVX2))
        return AVX2;
#endif
    return PORTABLE;
}

/* Runs an operation if its arguments can be; sizes are checked, not contents. */
static int run(const operation table[N_ISAS][N_DTYPES], int dtype, int isa, struct problem *a)
{
    if (dtype < 0 || dtype >= N_DTYPES || isa < 0 || !walkconv_supported(isa))
        return WALKCONV_BAD_ARGUMENT;
    if (a->n_samples < 0 || a->n_out < 0 || a->n_in < 0 || a->n_ranks < 0 || a->depth < 0 ||
        a->width < 0)
        return WALKCONV_BAD_ARGUMENT;
    if (a->depth == 0) { /* nothing is summed; grad_x has no elements */
        a->depth = 1;
        a->n_ranks = 0;
        a->grad_x = NULL;
    }
    const size_t size = dtype == FLOAT32 ? sizeof(float) : sizeof(double);
    ask_for_huge_pages(a->out, a->n_samples * a->n_out * a->width, size);
    ask_for_huge_pages(a->grad_x, a->n_samples * a->n_in * a->depth, size);
    return table[isa][dtype](a);
}

/* out (M, N, f) from x (M, n_in, d), index and optional scale (N, p), or
 * (M, N, p) if per_sample, weight (p, d, f) and optional bias (f).  dtype is 0
 * for float32, 1 for float64.  Returns 0, 1 (no memory) or 2 (bad argument). */
EXPORT int walkconv_forward(int dtype, int isa, int n_threads, int64_t n_samples, int64_t n_out,
                            int64_t n_in, int64_t n_ranks, int64_t depth, int64_t width,
                            int per_sample, const void *x, const int64_t *index,
                            const void *weight, const void *bias, const void *scale, void *out)
{
    struct problem a = {
        .n_samples = n_samples,
        .n_out = n_out,
        .n_in = n_in,
        .n_ranks = n_ranks,
        .depth = depth,
        .width = width,
        .n_threads = n_threads,
        .per_sample = per_sample,
        .x = x,
        .index = index,
        .weight = weight,
        .bias = bias,
        .scale = scale,
        .out = out,
    };
    return run(forward_of, dtype, isa, &a);
}

/* Gradients from grad_out (M, N, f): grad_x (M, n_in, d), grad_weight (p, d, f)
 * and grad_bias (f), each skipped if NULL.  With a reverse list, grad_x is
 * spread over samples and blocks of nodes, without over samples only. */
EXPORT int walkconv_backward(int dtype, int isa, int n_threads, int64_t n_samples,
                             int64_t n_out, int64_t n_in, int64_t n_ranks, int64_t depth,
                             int64_t width, int per_sample, const void *x, const int64_t *index,
                             const void *weight, const void *scale, const void *grad_out,
                             const int64_t *reverse_start, const int64_t *reverse_slot,
                             void *grad_x, void *grad_weight, void *grad_bias)
{
    struct problem a = {
        .n_samples = n_samples,
        .n_out = n_out,
        .n_in = n_in,
        .n_ranks = n_ranks,
        .depth = depth,
        .width = width,
        .n_threads = n_threads,
        .per_sample = per_sample,
        .x = x,
        .index = index,
        .weight = weight,
        .scale = scale,
        .grad_out = grad_out,
        .reverse_start = reverse_start,
        .reverse_slot = reverse_slot,
        .grad_x = grad_x,
        .grad_weight = grad_weight,
        .grad_bias = grad_bias,
    };
    return run(backward_of, dtype, isa, &a);
}

/* Length of one table's reverse_start. */
EXPORT int64_t walkconv_reverse_starts(int64_t n_in, int64_t n_ranks)
{
    return ceil_div(n_in, BLOCK_NODES) * n_ranks + 1;
}

struct reverse {
    int64_t n_out, n_in, n_ranks, n_starts;
    const int64_t *index;
    int64_t *start, *slot;
    _Atomic int invalid;
};

/* Reverse list of table `t`, by counting sort. */
static void reverse_table(const void *context, int64_t t, void *scratch)
{
    struct reverse *a = (struct reverse *)context;
    const int64_t p = a->n_ranks, size = a->n_out * p, n_buckets = a->n_starts - 1;
    const int64_t *index = a->index + t * size;
    int64_t *start = a->start + t * a->n_starts, *slot = a->slot + t * size;
    (void)scratch;

    for (int64_t b = 0; b <= n_buckets; b++)
        start[b] = 0;
    for (int64_t i = 0; i < a->n_out; i++)
        for (int64_t r = 0; r < p; r++) {
            const int64_t j = index[i * p + r];
            if ((uint64_t)j < (uint64_t)a->n_in)
                start[j / BLOCK_NODES * p + r]++;
            else if (j != -1)
                atomic_store(&a->invalid, 1);
        }
    int64_t end = 0;
    for (int64_t b = 0; b <= n_buckets; b++) /* start[b] = end of bucket b */
        start[b] = end += start[b];
    for (int64_t i = a->n_out - 1; i >= 0; i--)
        for (int64_t r = 0; r < p; r++) {
            const int64_t j = index[i * p + r];
            if ((uint64_t)j < (uint64_t)a->n_in)
                slot[--start[j / BLOCK_NODES * p + r]] = i * BLOCK_NODES + j % BLOCK_NODES;
        }
}

/* For each of n_tables tables index (N, p): which slots hold the nodes of each
 * block of 128 input nodes, rank by rank, in the order of the output nodes.
 * start (n_tables, walkconv_reverse_starts) and slot (n_tables, N * p), of which
 * bucket (block, r) is slot[start[block * p + r] : start[block * p + r + 1]],
 * holding output_node * 128 + input_node % 128.  Returns 2 if an index is
 * outside [-1, n_in). */
EXPORT int walkconv_reverse_list(int n_threads, int64_t n_tables, int64_t n_out, int64_t n_in,
                                 int64_t n_ranks, const int64_t *index, int64_t *start,
                                 int64_t *slot)
{
    if (n_tables < 0 || n_out < 0 || n_in < 0 || n_ranks < 0)
        return WALKCONV_BAD_ARGUMENT;
    struct reverse a = {
        .n_out = n_out,
        .n_in = n_in,
        .n_ranks = n_ranks,
        .n_starts = walkconv_reverse_starts(n_in, n_ranks),
        .index = index,
        .start = start,
        .slot = slot,
    };
    const double cost = 32.0 * (double)n_tables * (double)(n_out * n_ranks);
    const int status = parallel_items(n_threads, n_tables, cost, 0, reverse_table, &a);
    return status == WALKCONV_OK && a.invalid ? WALKCONV_BAD_ARGUMENT : status;
}

/* Forward: out and winner (M, n_groups, c) from x (M, n_nodes, c).  The members of
 * group g are member[start[g] : start[g + 1]], 1 to 256 of them, and a winner is a
 * place among these: the first of equal values, or the first NaN.  Backward, if
 * there is a gradient (M, n_groups, c): grad_x (M, n_nodes, c) from it and winner. */
EXPORT int walkconv_pool(int dtype, int isa, int n_threads, int64_t n_samples, int64_t n_nodes,
                         int64_t n_groups, int64_t channels, const int64_t *start,
                         const int64_t *member, const void *x, void *out, uint8_t *winner,
                         const void *grad, void *grad_x)
{
    if (dtype < 0 || dtype >= N_DTYPES || isa < 0 || !walkconv_supported(isa))
        return WALKCONV_BAD_ARGUMENT;
    if (n_samples < 0 || n_nodes < 0 || n_groups < 0 || channels < 0)
        return WALKCONV_BAD_ARGUMENT;
    const struct pooling a = {
        .n_samples = n_samples,
        .n_nodes = n_nodes,
        .n_groups = n_groups,
        .channels = channels,
        .n_threads = n_threads,
        .start = start,
        .member = member,
        .x = x,
        .out = out,
        .winner = winner,
        .grad = grad,
        .grad_x = grad_x,
    };
    const size_t size = dtype == FLOAT32 ? sizeof(float) : sizeof(double);
    ask_for_huge_pages(out, n_samples * n_groups * channels, size);
    ask_for_huge_pages(grad_x, n_samples * n_nodes * channels, size);
    return pool_of[isa][dtype](&a);
}
