/* Types shared by the entry points (kernel.c) and the loops included once per
 * instruction set and dtype.  Every size is int64_t, every array contiguous. */
#ifndef WALKCONV_KERNEL_H
#define WALKCONV_KERNEL_H

#include <stddef.h>
#include <stdint.h>

/* Before a loop with a constant bound of at most 8, whose arrays of vectors are
 * to become registers. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

/* A function written for constant arguments. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

/* A function that Python calls. */
#define EXPORT __attribute__((visibility("default")))

enum { WALKCONV_OK = 0, WALKCONV_NO_MEMORY = 1, WALKCONV_BAD_ARGUMENT = 2 };

/* Input nodes owned by one work item of grad_x; a power of two, because a
 * reverse slot is packed as  output_node * BLOCK_NODES + input_node % BLOCK_NODES. */
enum { BLOCK_BITS = 7, BLOCK_NODES = 1 << BLOCK_BITS };

/* Rows handled together by a product; a multiple of every tile's rows (8, 6, 4). */
enum { ROWS = 48 };

/* One call: the operation's shapes and arrays (real = float or double). */
struct problem {
    int64_t n_samples, n_out, n_in; /* M, N, n_in */
    int64_t n_ranks, depth, width;  /* p, d, f */
    int64_t n_threads;
    int64_t per_sample;             /* 1: index and scale are (M, N, p); 0: (N, p) */
    const void *x;                  /* (M, n_in, d) */
    const int64_t *index;           /* (N, p) or (M, N, p) */
    const void *weight;             /* (p, d, f) */
    const void *bias;               /* (f) or NULL */
    const void *scale;              /* like index, or NULL */
    void *out;                      /* (M, N, f), forward only */
    const void *grad_out;           /* (M, N, f), backward only */
    const int64_t *reverse_start;   /* see walkconv_reverse_list, or NULL */
    const int64_t *reverse_slot;
    void *grad_x;                   /* (M, n_in, d) or NULL */
    void *grad_weight;              /* (p, d, f) or NULL */
    void *grad_bias;                /* (f) or NULL */
};

/* Groups of one sample that are one work item of a pooling. */
enum { POOL_GROUPS = 32 };

/* One pooling, forward, or backward where there is a gradient. */
struct pooling {
    int64_t n_samples, n_nodes, n_groups, channels, n_threads;
    const int64_t *start;  /* (n_groups + 1): where the members of a group begin in */
    const int64_t *member; /* (n_nodes) */
    const void *x;         /* (M, n_nodes, c), forward only */
    void *out;             /* (M, n_groups, c), forward only */
    uint8_t *winner;       /* (M, n_groups, c): which member has the largest value */
    const void *grad;      /* (M, n_groups, c), backward only */
    void *grad_x;          /* (M, n_nodes, c), backward only */
};

/* A piece of the summed axis (p, d): n_ranks whole ranks, or a part of one. */
struct chunk {
    int64_t rank, n_ranks; /* first rank, number of ranks */
    int64_t first, length; /* channels [first, first + length) of each */
};

static inline int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Chunk of at most `limit` columns beginning at column k of the (p, d) axis,
 * which is cut at `end`; several ranks only if they fit whole. */
static inline struct chunk chunk_at(int64_t k, int64_t end, int64_t depth, int64_t limit)
{
    struct chunk c = {0, 0, 0, 0};
    if (k >= end)
        return c;
    c.rank = k / depth;
    c.first = k % depth;
    c.n_ranks = c.first == 0 ? min64(limit, end - k) / depth : 0;
    c.length = depth;
    if (c.n_ranks == 0) {
        c.n_ranks = 1;
        c.length = min64(min64(limit, end - k), depth - c.first);
    }
    return c;
}

/* Calls body(context, item, scratch) for every item in [0, n_items), with
 * scratch_bytes of 64-byte aligned memory per thread.  `cost` is the work of
 * all items in multiply-adds: little work stays on the calling thread. */
typedef void (*item_body)(const void *context, int64_t item, void *scratch);
static int parallel_items(int64_t n_threads, int64_t n_items, double cost, size_t scratch_bytes,
                          item_body body, const void *context);

/* 64-byte aligned memory for `count` objects of `size` bytes, NULL on failure. */
static void *allocate(int64_t count, size_t size);

/* Index (N, p) of a table that all samples share as offsets (p, N) into one of them,
 * -1 for an empty slot: to find a neighbour by these takes a tenth of the time.  Sets
 * *offsets, to be freed, to NULL if they cannot be used: tables differ, offsets have more
 * than 32 bits, or there was no memory. */
static int share_offsets(const struct problem *a, int32_t **offsets);

/* Index (N, p) as 32-bit places in one sample of one channel, n_in for an empty slot;
 * to be freed, NULL on failure. */
static int32_t *scalar_places(const struct problem *a);

/* An output node that has some input node for a neighbour, and the rank at which. */
struct use {
    int32_t node, rank;
};

/* The uses of every input node by one table: (n_in + 1) places where those of a node
 * begin, then struct use by input node, rank and output node, and USES_AHEAD more that
 * may be read; to be freed, NULL on failure. */
enum { USES_AHEAD = 4 };
static int64_t *list_uses(const struct problem *a);

#endif
