/* The common part of all loops over graphs.  They are plain C11: no threads, no state, no
 * memory that outlives a call.  Python hands out ranges to its own threads, and a call
 * releases the interpreter's lock. */
#ifndef WALKCONV_GRAPHS_H
#define WALKCONV_GRAPHS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Every sum is rounded as it is written, on every processor: a fused multiply-add would
 * round once where others round twice, and then the answer would depend on the machine. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#endif

/* A function that Python calls; one that is written for constant arguments; and a request
 * for a cache line that does not wait for it. */
#if defined(_MSC_VER) && !defined(__clang__)
#define EXPORT __declspec(dllexport)
#define ALWAYS_INLINE static __forceinline
#define FETCH(address) ((void)(address))
#else
#define EXPORT __attribute__((visibility("default")))
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define FETCH(address) __builtin_prefetch(address)
#endif

/* A function that is compiled for each width of vectors; the loader chooses.  Only for loops that
 * compare: they give the same bits with each. */
#if defined(__linux__) && defined(__x86_64__) && defined(__GNUC__)
#define FOR_EACH_VECTOR __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define FOR_EACH_VECTOR
#endif

enum { WALKCONV_OK = 0, WALKCONV_NO_MEMORY = 1 };

/* Loops over the edges of a graph are compiled for int32 and for int64 indices: `INDEX`.
 * NAMED(move) is move_i32 or move_i64. */
#define PASTED(name, suffix) name##_##suffix
#define JOINED(name, suffix) PASTED(name, suffix)
#define NAMED(name) JOINED(name, SUFFIX)

/* Spreads the bits of a number, so that its first bits choose a slot of a table. */
#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)

/* Makes room for `count` objects in `*memory`, which has room for `*held`; returns 0 if memory
 * is missing.  The old content is lost.  Twice the room, so that growing is rare. */
static inline int make_room(void **memory, int64_t *held, int64_t count, size_t size)
{
    if (count <= *held)
        return 1;
    free(*memory);
    *held = 0;
    *memory = (uint64_t)count > SIZE_MAX / 2 / size ? NULL : malloc(2 * (size_t)count * size);
    if (*memory)
        *held = 2 * count;
    return *memory != NULL;
}

#endif
