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

/* ThreadSanitizer does not see the locks of an OpenMP runtime.  Under it, the threads are always
 * our own, and even little work is shared. */
#if defined(__SANITIZE_THREAD__)
enum { IS_WATCHED = 1 };
#else
enum { IS_WATCHED = 0 };
#endif

typedef void (*gomp_parallel)(void (*body)(void *), void *data, unsigned n_threads,
                              unsigned flags);
typedef int (*gomp_thread)(void);
static _Atomic(gomp_parallel) openmp_parallel;
static _Atomic(gomp_thread) openmp_thread;

/* Hands over GOMP_parallel and omp_get_thread_num of the OpenMP runtime the process
 * already uses, so that its threads are shared; NULL returns to threads of our own. */
EXPORT void walkconv_use_openmp(void *parallel, void *thread)
{
    atomic_store(&openmp_thread, (gomp_thread)thread);
    atomic_store(&openmp_parallel, thread && !IS_WATCHED ? (gomp_parallel)parallel : NULL);
}

/* One thread's share of the items: those from next to end; its scratch lies behind. */
struct share {
    _Atomic int64_t next;
    int64_t end;
} __attribute__((aligned(64)));

/* Work shared by the threads of one parallel_items call. */
struct team {
    item_body body;
    const void *context;
    int64_t grain; /* items of one claim */
    int64_t n_threads;
    char *shares;
    size_t share_bytes;
    _Atomic int64_t n_helpers;
};

static struct share *share_of(const struct team *team, int64_t thread)
{
    return (struct share *)(team->shares + (size_t)thread * team->share_bytes);
}

/* One thread's part: its own share, then what others have left of theirs.  The same
 * thread begins at the same items in every call, as torch's own loops do: to write what
 * another core has written before takes twice as long. */
static void work(struct team *team, int64_t thread)
{
    for (int64_t turn = 0; turn < team->n_threads; turn++) {
        struct share *share = share_of(team, (thread + turn) % team->n_threads);
        for (;;) {
            const int64_t first = atomic_fetch_add(&share->next, team->grain);
            if (first >= share->end)
                break;
            for (int64_t item = first; item < min64(first + team->grain, share->end); item++)
                team->body(team->context, item, share_of(team, thread) + 1);
        }
    }
}

static void work_openmp(void *data)
{
    work(data, atomic_load(&openmp_thread)());
}

static void *work_thread(void *data)
{
    struct team *team = data;
    work(team, atomic_fetch_add(&team->n_helpers, 1) + 1);
    return NULL;
}

/* Runs `work` on the calling thread and on new threads; fewer if the system refuses some. */
static void run_threads(struct team *team)
{
    pthread_t threads[63];
    int64_t started = 0;
    while (started < min64(team->n_threads - 1, 63) &&
           pthread_create(&threads[started], NULL, work_thread, team) == 0)
        started++;
    work(team, 0);
    while (started > 0)
        pthread_join(threads[--started], NULL);
}

static int parallel_items(int64_t n_threads, int64_t n_items, double cost, size_t scratch_bytes,
                          item_body body, const void *context)
{
    const gomp_parallel openmp = atomic_load(&openmp_parallel);
    /* Multiply-adds worth another thread, and worth one claim of items. */
    const double thread_cost = IS_WATCHED ? 1.0 : openmp ? 3e5 : 3e6, claim_cost = 3e4;
    if (n_items <= 0)
        return WALKCONV_OK;
    n_threads = min64(min64(n_threads, n_items), 1024);
    n_threads = max64(1, min64(n_threads, (int64_t)(cost / thread_cost)));
    struct team team = {.body = body, .context = context, .n_threads = n_threads};
    team.grain = max64(1, (int64_t)min64(n_items / (4 * n_threads),
                                         (int64_t)(claim_cost * (double)n_items / (cost + 1))));
    team.share_bytes = sizeof(struct share) + (scratch_bytes + 63) / 64 * 64;
    team.shares = allocate(n_threads, team.share_bytes);
    if (!team.shares)
        return WALKCONV_NO_MEMORY;
    for (int64_t thread = 0; thread < n_threads; thread++) {
        struct share *share = share_of(&team, thread);
        atomic_init(&share->next, thread * n_items / n_threads);
        share->end = (thread + 1) * n_items / n_threads;
    }
    if (n_threads == 1)
        work(&team, 0);
    else if (openmp)
        openmp(work_openmp, &team, (unsigned)n_threads, 0);
    else
        run_threads(&team);
    free(team.shares);
    return WALKCONV_OK;
}
