/* The largest of every group of nodes, channel by channel, and the member that has it.
 * Included once per instruction set and dtype, after kernel_loops.h. */

typedef WHOLE NAME(lanes) __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef uint8_t NAME(turns)
    __attribute__((vector_size(VECTOR_BYTES / sizeof(REAL)), aligned(1), may_alias));
#define MASK NAME(lanes)
#define TURNS NAME(turns)

/* One group of one sample: the largest values, and by channel the first member that has each. */
static ALWAYS_INLINE void NAME(pool_group)(const REAL *x, const int64_t *member, int64_t n_members,
                                           int64_t channels, REAL *out, uint8_t *winner)
{
    int64_t c = 0;
    for (; c + LANES <= channels; c += LANES) {
        VECTOR best = *(const UNALIGNED *)(x + member[0] * channels + c);
        MASK won = {0};
        for (int64_t turn = 1; turn < n_members; turn++) {
            const VECTOR value = *(const UNALIGNED *)(x + member[turn] * channels + c);
            const MASK wins = (MASK)(value > best) | (MASK)((value != value) & (best == best));
            best = (VECTOR)(((MASK)value & wins) | ((MASK)best & ~wins));
            won = (wins & ((MASK){0} + (WHOLE)turn)) | (won & ~wins);
        }
        *(UNALIGNED *)(out + c) = best;
        *(TURNS *)(winner + c) = __builtin_convertvector(won, TURNS);
    }
    for (; c < channels; c++) {
        REAL best = x[member[0] * channels + c];
        uint8_t won = 0;
        for (int64_t turn = 1; turn < n_members; turn++) {
            const REAL value = x[member[turn] * channels + c];
            if (value > best || (value != value && best == best)) {
                best = value;
                won = (uint8_t)turn;
            }
        }
        out[c] = best;
        winner[c] = won;
    }
}

/* The gradient of a group's members: that of the group where a member won, 0 elsewhere. */
static ALWAYS_INLINE void NAME(unpool_group)(const REAL *grad, const uint8_t *winner,
                                             const int64_t *member, int64_t n_members,
                                             int64_t channels, REAL *grad_x)
{
    int64_t c = 0;
    for (; c + LANES <= channels; c += LANES) {
        const MASK value = (MASK) * (const UNALIGNED *)(grad + c);
        const MASK won = __builtin_convertvector(*(const TURNS *)(winner + c), MASK);
        for (int64_t turn = 0; turn < n_members; turn++)
            *(UNALIGNED *)(grad_x + member[turn] * channels + c) =
                (VECTOR)(value & (MASK)(won == (MASK){0} + (WHOLE)turn));
    }
    for (; c < channels; c++)
        for (int64_t turn = 0; turn < n_members; turn++)
            grad_x[member[turn] * channels + c] = winner[c] == turn ? grad[c] : 0;
}

/* A work item: POOL_GROUPS groups of one sample. */
static void NAME(pool_item)(const void *context, int64_t item, void *scratch)
{
    const struct pooling *a = context;
    const int64_t n_blocks = ceil_div(a->n_groups, POOL_GROUPS);
    const int64_t sample = item / n_blocks, first = item % n_blocks * POOL_GROUPS;
    const int64_t last = min64(first + POOL_GROUPS, a->n_groups), c = a->channels;
    const int64_t of_x = sample * a->n_nodes * c;
    (void)scratch;
    for (int64_t g = first; g < last; g++) {
        const int64_t *member = a->member + a->start[g];
        const int64_t n_members = a->start[g + 1] - a->start[g];
        const int64_t of_group = (sample * a->n_groups + g) * c;
        if (a->grad)
            NAME(unpool_group)((const REAL *)a->grad + of_group, a->winner + of_group, member,
                               n_members, c, (REAL *)a->grad_x + of_x);
        else
            NAME(pool_group)((const REAL *)a->x + of_x, member, n_members, c,
                             (REAL *)a->out + of_group, a->winner + of_group);
    }
}

static int NAME(pool)(const struct pooling *a)
{
    const int64_t n_items = a->n_samples * ceil_div(a->n_groups, POOL_GROUPS);
    const double cost = (double)a->n_samples * (double)a->n_nodes * (double)a->channels;
    return parallel_items(a->n_threads, n_items, cost, 0, NAME(pool_item), a);
}

#undef MASK
#undef TURNS
