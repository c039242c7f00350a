/* Memory, and work items shared out to threads: those of the OpenMP runtime that the
 * process already uses, or some of our own.  Included once, by kernel.c. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

static void *allocate(int64_t count, size_t size)
{
    if (count < 0 || (uint64_t)count > (SIZE_MAX - 128) / size)
        return NULL;
    return aligned_alloc(64, ((size_t)count * size + 64) / 64 * 64);
}

/* Asks for huge pages under a result that is about to be written: where its memory
 * is new, touching it for the first time in small pages takes longer than the sums. */
static void ask_for_huge_pages(void *array, int64_t count, size_t size)
{
#if defined(MADV_HUGEPAGE)
    const uintptr_t huge = 2 << 20, first = (uintptr_t)array;
    const uintptr_t begin = (first + huge - 1) / huge * huge;
    const uintptr_t end = (first + (uintptr_t)count * size) / huge * huge;
    if (array && begin < end)
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#else
    (void)array, (void)count, (void)size;
#endif
}

typedef void (*gomp_parallel)(void (*body)(void *), void *data, unsigned n_threads,
                              unsigned flags);
static _Atomic(gomp_parallel) openmp_parallel;

/* Hands over GOMP_parallel of the OpenMP runtime the process already uses, so
 * that its threads are shared; NULL returns to threads of our own. */
EXPORT void walkconv_use_openmp(void *function)
{
    atomic_store(&openmp_parallel, (gomp_parallel)function);
}

/* Work shared by the threads of one parallel_items call. */
struct team {
    item_body body;
    const void *context;
    int64_t n_items, grain; /* items are claimed `grain` at a time */
    char *scratch;
    size_t scratch_bytes; /* of one thread */
    int64_t n_threads;
    _Atomic int64_t next_item, next_thread;
};

/* One thread's part: items are claimed until none is left. */
static void work(void *data)
{
    struct team *team = data;
    const int64_t thread = atomic_fetch_add(&team->next_thread, 1);
    if (thread >= team->n_threads)
        return;
    void *scratch = team->scratch + (size_t)thread * team->scratch_bytes;
    for (;;) {
        const int64_t first = atomic_fetch_add(&team->next_item, team->grain);
        if (first >= team->n_items)
            return;
        for (int64_t item = first; item < min64(first + team->grain, team->n_items); item++)
            team->body(team->context, item, scratch);
    }
}

static void *work_thread(void *data)
{
    work(data);
    return NULL;
}

/* Runs `work` on the calling thread and on new threads, as many as can be had. */
static void run_threads(struct team *team)
{
    pthread_t threads[63];
    int64_t started = 0;
    while (started < min64(team->n_threads - 1, 63) &&
           pthread_create(&threads[started], NULL, work_thread, team) == 0)
        started++;
    work(team);
    while (started > 0)
        pthread_join(threads[--started], NULL);
}

static int parallel_items(int64_t n_threads, int64_t n_items, double cost, size_t scratch_bytes,
                          item_body body, const void *context)
{
    const gomp_parallel openmp = atomic_load(&openmp_parallel);
    /* Multiply-adds worth another thread, and worth one claim of items. */
    const double thread_cost = openmp ? 3e5 : 3e6, claim_cost = 3e4;
    if (n_items <= 0)
        return WALKCONV_OK;
    n_threads = min64(min64(n_threads, n_items), 1024);
    n_threads = max64(1, min64(n_threads, (int64_t)(cost / thread_cost)));
    struct team team = {.body = body, .context = context, .n_items = n_items};
    team.n_threads = n_threads;
    team.grain = max64(1, (int64_t)min64(n_items / (4 * n_threads),
                                         (int64_t)(claim_cost * (double)n_items / (cost + 1))));
    team.scratch_bytes = (scratch_bytes + 63) / 64 * 64;
    team.scratch = allocate(n_threads, team.scratch_bytes + 1);
    if (!team.scratch)
        return WALKCONV_NO_MEMORY;
    if (n_threads == 1)
        work(&team);
    else if (openmp)
        openmp(work, &team, (unsigned)n_threads, 0);
    else
        run_threads(&team);
    free(team.scratch);
    return WALKCONV_OK;
}
