#include "gpu/runs/cells.cuh"

#include "gpu/runs/merge_steps.cuh"
#include "kmer/join.h"
#include "kmer/remedy.h"

#include <cinttypes>
#include <cstdlib>

enum {
        MOST_EXTENT = 1 << 16,
        MOST_CELLS = 1 << 21, /* of the table: for three files, counts up to 127 in each */
        CELLS_AT_ONCE = 1 << 13,
};

/* ---- memory ---- */

/* Whether counts over `most` have cells of their own in the table. */
static bool has_over(const struct kc_cell_table *t)
{
        bool found = false;
        for (unsigned i = 0; i < t->nfiles; i++)
                found |= t->most[i] < t->extents[i] - 1;
        return found;
}

static size_t count_cells(const struct kc_cell_table *t)
{
        size_t n = 1;
        for (unsigned i = 0; i < t->nfiles; i++)
                n *= t->extents[i];
        return n;
}

/* Lay out the table: every axis up to the greatest count that has a cell, or as long as is possible
 * if all axes that are cut have the same length. */
static void plan_table(struct kc_cell_table *t, const struct kc_joint_taker *taker,
                       size_t most_nbytes)
{
        size_t most_cells = most_nbytes / ((1 + taker->nfiles) * sizeof *t->ndistinct);
        most_cells = most_cells < MOST_CELLS ? most_cells : (size_t)MOST_CELLS;
        t->nfiles = (unsigned)taker->nfiles;
        for (unsigned i = 0; i < t->nfiles; i++) {
                const uint32_t most = taker->most[i];
                t->most[i] = most > 0 ? most : UINT32_MAX;
                t->extents[i] = t->most[i] < MOST_EXTENT - 1 ? t->most[i] + 2 : (int)MOST_EXTENT;
        }
        for (;;) {
                unsigned longest = 0;
                for (unsigned i = 1; i < t->nfiles; i++)
                        if (t->extents[i] > t->extents[longest])
                                longest = i;
                if (count_cells(t) <= most_cells || t->extents[longest] == 1)
                        break;
                t->extents[longest] = (t->extents[longest] + 1) / 2;
        }
        t->ncells = count_cells(t);
}

template <class T>
static enum kc_status new_zeros(struct kc_gpu *gpu, T **pointer, size_t n, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_gpu_new(gpu, pointer, n, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(*pointer, 0, n * sizeof **pointer, gpu->stream)));
out:
        return status;
}

enum kc_status kc_gpu_cells_open(struct kc_gpu_cells *c, struct kc_gpu *gpu,
                                 const struct kc_joint_taker *taker, size_t max_kmers,
                                 struct kc_error *err)
{
        enum kc_status status;
        struct kc_cell_table *t = &c->table;
        *c = {};
        c->gpu = gpu;
        c->taker = taker;
        plan_table(t, taker, gpu->limit_nbytes / 8);
        t->large_cap = max_kmers;
        KC_TRY(new_zeros(gpu, &t->ndistinct, t->ncells, err));
        if (has_over(t))
                KC_TRY(new_zeros(gpu, &t->sums, t->nfiles * t->ncells, err));
        KC_TRY(kc_gpu_new(gpu, &t->large, t->nfiles * t->large_cap, err));
        KC_TRY(new_zeros(gpu, &t->nlarge, 1, err));
        KC_TRY(new_zeros(gpu, &t->sum, 1, err));
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&c->counts,
                                      t->nfiles * CELLS_AT_ONCE * sizeof *c->counts)));
        c->cells = (struct kc_joint_cell *)malloc(CELLS_AT_ONCE * sizeof *c->cells);
        if (c->cells == NULL)
                status = kc_fail(err, KC_ENOMEM, "out of memory");
out:
        return status;
}

void kc_gpu_cells_close(struct kc_gpu_cells *c)
{
        const struct kc_cell_table *t = &c->table;
        if (c->gpu == NULL)
                return;
        kc_gpu_delete(c->gpu, t->ndistinct, t->ncells);
        kc_gpu_delete(c->gpu, t->sums, t->nfiles * t->ncells);
        kc_gpu_delete(c->gpu, t->large, t->nfiles * t->large_cap);
        kc_gpu_delete(c->gpu, t->nlarge, 1);
        kc_gpu_delete(c->gpu, t->sum, 1);
        (void)cudaFreeHost(c->counts);
        free(c->cells);
        *c = {};
}

/* ---- adding: all 32 lanes of a warp take part ---- */

namespace
{

/* Gives merge_steps.cuh the type of values. */
struct cell_rule {
        typedef uint64_t in;
};

struct kmer_counts {
        uint32_t in[KC_JOINT_MAX_FILES];
};

} // namespace

static __device__ uint32_t count_of(uint64_t value)
{
        const uint64_t sum = value & KC_JOIN_SUM_MASK;
        return sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
}

/* The counts of a k-mer, from the values on both sides. */
static __device__ struct kmer_counts counts_of(const struct kc_cell_table &t, uint64_t left,
                                               uint64_t right)
{
        struct kmer_counts counts = { { count_of(left), count_of(right), 0 } };
        if (t.nfiles == 3) {
                counts.in[1] = (uint32_t)right;
                counts.in[2] = (uint32_t)(right >> 32);
        }
        return counts;
}

/* The sum of x over these lanes, which need not be the same for all callers. */
static __device__ uint64_t sum_over(uint32_t lanes, uint32_t x)
{
        uint64_t sum = 0;
        for (int lane = 0; lane < 32; lane++) {
                const uint32_t other = __shfl_sync(UINT32_MAX, x, lane);
                sum += lanes >> lane & 1 ? other : 0;
        }
        return sum;
}

static __device__ void append(const struct kc_cell_table &t, const struct kmer_counts &counts,
                              bool is_large)
{
        const unsigned long long place = kc_warp_append(t.nlarge, is_large);
#pragma unroll
        for (unsigned i = 0; i < KC_JOINT_MAX_FILES; i++)
                if (is_large && i < t.nfiles)
                        t.large[i * t.large_cap + place] = counts.in[i];
}

/* same: the lanes whose k-mers are in this cell. adds: this lane adds their sums. */
static __device__ void add_sums(const struct kc_cell_table &t, const struct kmer_counts &counts,
                                uint32_t at, uint32_t same, bool adds)
{
#pragma unroll
        for (unsigned i = 0; i < KC_JOINT_MAX_FILES; i++) {
                if (i >= t.nfiles)
                        continue;
                const uint64_t sum = sum_over(same, counts.in[i]);
                if (adds)
                        atomicAdd(&t.sums[i * t.ncells + at], (unsigned long long)sum);
        }
}

/* has: whether this lane has a k-mer. */
static __device__ void add_kmer(const struct kc_cell_table &t, const struct kmer_counts &counts,
                                bool has)
{
        bool is_large = false, is_over = false;
        uint32_t at = 0;
#pragma unroll
        for (unsigned i = 0; i < KC_JOINT_MAX_FILES; i++) {
                if (i >= t.nfiles)
                        continue;
                const bool over = counts.in[i] > t.most[i];
                const uint32_t slot = over ? t.most[i] + 1 : counts.in[i];
                is_over |= over;
                is_large |= slot >= t.extents[i];
                at = at * t.extents[i] + slot;
        }
        append(t, counts, has && is_large);
        const bool is_small = has && !is_large;
        const uint32_t same = __match_any_sync(UINT32_MAX, is_small ? at : UINT32_MAX);
        const bool leads = is_small && kc_warp_rank(same) == 0;
        if (leads)
                atomicAdd(&t.ndistinct[at], (unsigned long long)__popc(same));
        if (__any_sync(UINT32_MAX, is_small && is_over))
                add_sums(t, counts, at, same, leads && is_over);
}

/* A tile of the merged order for each block, as in merge_runs_kernel. */
template <class Key>
static __global__ void __launch_bounds__(kc_merge_shape<Key, uint64_t>::NTHREADS, 4)
        cells_kernel(struct kc_gpu_run<Key, uint64_t> a, struct kc_gpu_run<Key, uint64_t> b,
                     const struct kc_merge_cut<size_t> *cuts, struct kc_cell_table table)
{
        using shape = kc_merge_shape<Key, uint64_t>;
        using tile_type = merge_tile<cell_rule, Key>;
        __shared__ tile_type tile;
        __shared__ uint64_t values[shape::CAP];
        struct kc_merge_walk<Key> walk;
        uint64_t sum = 0;
        load_kmers(&tile, a, b, &cuts[blockIdx.x]);
        load_values(values, a, b, &cuts[blockIdx.x]);
        kc_merge_wait_for_loads();
        const unsigned end = begin_walk(&walk, tile);
        for (int i = 0; i < shape::NITEMS; i++) {
                const struct kc_merge_cut<unsigned> at = walk.at;
                uint64_t left = 0, right = 0;
                if (at.a + at.b < end) {
                        const struct kc_merge_item<Key> item = kc_merge_walk_step(&walk);
                        left = item.in_a ? values[at.a] : 0;
                        right = item.in_b ? values[tile.na + at.b] : 0;
                }
                const struct kmer_counts counts = counts_of(table, left, right);
                add_kmer(table, counts, (counts.in[0] | counts.in[1] | counts.in[2]) != 0);
                sum += (uint64_t)counts.in[0] + counts.in[1] + counts.in[2];
        }
        add_to(table.sum, sum);
}

/* ---- to the taker ---- */

/* Pass on the first n of c->cells. */
static enum kc_status take(struct kc_gpu_cells *c, size_t n, struct kc_error *err)
{
        for (size_t i = 0; i < n; i++)
                for (unsigned f = 0; f < c->table.nfiles; f++)
                        c->sum += c->cells[i].sums[f];
        return c->taker->take(c->taker->ctx, c->cells, n, err);
}

static struct kc_joint_cell large_cell(const struct kc_gpu_cells *c, size_t i)
{
        const struct kc_cell_table *t = &c->table;
        struct kc_joint_cell cell = {};
        cell.ndistinct = 1;
        for (unsigned f = 0; f < t->nfiles; f++) {
                const uint32_t count = c->counts[f * CELLS_AT_ONCE + i];
                cell.counts[f] = count <= t->most[f] ? count : t->most[f] + 1;
                cell.sums[f] = count;
        }
        return cell;
}

/* Empty the list of large k-mers; waits for the work on gpu->stream. */
static enum kc_status empty_list(struct kc_gpu_cells *c, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_cell_table *t = &c->table;
        unsigned long long n;
        KC_TRY(kc_gpu_read(c->gpu, &n, t->nlarge, 1, err));
        for (size_t from = 0; from < n; from += CELLS_AT_ONCE) {
                const size_t some = n - from < CELLS_AT_ONCE ? n - from : (size_t)CELLS_AT_ONCE;
                for (unsigned f = 0; f < t->nfiles; f++)
                        KC_TRY(kc_gpu_read(c->gpu, c->counts + f * CELLS_AT_ONCE,
                                           t->large + f * t->large_cap + from, some, err));
                for (size_t i = 0; i < some; i++)
                        c->cells[i] = large_cell(c, i);
                KC_TRY(take(c, some, err));
        }
        if (n > 0)
                KC_TRY(KC_CUDA(cudaMemsetAsync(t->nlarge, 0, sizeof *t->nlarge, c->gpu->stream)));
out:
        return status;
}

template <class Key>
enum kc_status kc_gpu_cells_add(struct kc_gpu_cells *c, const struct kc_gpu_run<Key, uint64_t> *a,
                                const struct kc_gpu_run<Key, uint64_t> *b, struct kc_error *err)
{
        enum kc_status status;
        enum { CUT_NTHREADS = 128 };
        cudaStream_t stream = c->gpu->stream;
        const size_t ntiles = kc_merge_count_tiles<Key, uint64_t>(a->n + b->n);
        struct kc_merge_cut<size_t> *cuts = NULL;
        if (ntiles == 0)
                return KC_OK;
        KC_TRY(kc_gpu_new(c->gpu, &cuts, ntiles + 1, err));
        merge_cut_kernel<<<kc_ceil_div(ntiles + 1, CUT_NTHREADS), CUT_NTHREADS, 0, stream>>>(
                *a, *b, ntiles, cuts);
        KC_TRY(KC_LAUNCHED());
        cells_kernel<<<(unsigned)ntiles, kc_merge_shape<Key, uint64_t>::NTHREADS, 0, stream>>>(
                *a, *b, cuts, c->table);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(empty_list(c, err));
out:
        kc_gpu_delete(c->gpu, cuts, ntiles + 1);
        return status;
}

/* The table on the host. */
struct host_table {
        unsigned long long *ndistinct; /* [ncells] */
        unsigned long long *sums;      /* [nfiles][ncells] or NULL */
};

static struct kc_joint_cell table_cell(const struct kc_cell_table *t, const struct host_table *host,
                                       size_t at)
{
        struct kc_joint_cell cell = {};
        size_t left = at;
        bool is_over = false;
        cell.ndistinct = host->ndistinct[at];
        for (unsigned f = t->nfiles; f-- > 0;) {
                cell.counts[f] = (uint32_t)(left % t->extents[f]);
                left /= t->extents[f];
                is_over |= cell.counts[f] > t->most[f];
        }
        for (unsigned f = 0; f < t->nfiles; f++)
                cell.sums[f] =
                        is_over ? host->sums[f * t->ncells + at] : cell.counts[f] * cell.ndistinct;
        return cell;
}

static enum kc_status take_table(struct kc_gpu_cells *c, const struct host_table *host,
                                 struct kc_error *err)
{
        enum kc_status status = KC_OK;
        size_t n = 0;
        for (size_t at = 0; at < c->table.ncells; at++) {
                if (host->ndistinct[at] == 0)
                        continue;
                c->cells[n++] = table_cell(&c->table, host, at);
                if (n < CELLS_AT_ONCE)
                        continue;
                KC_TRY(take(c, n, err));
                n = 0;
        }
        KC_TRY(take(c, n, err));
out:
        return status;
}

static enum kc_status read_table(struct kc_gpu_cells *c, struct host_table *host,
                                 struct kc_error *err)
{
        enum kc_status status;
        const struct kc_cell_table *t = &c->table;
        const size_t nsums = t->sums != NULL ? t->nfiles * t->ncells : 0;
        host->ndistinct =
                (unsigned long long *)malloc((t->ncells + nsums) * sizeof *host->ndistinct);
        if (host->ndistinct == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for the joint histogram");
        host->sums = host->ndistinct + t->ncells;
        KC_TRY(kc_gpu_read(c->gpu, host->ndistinct, t->ndistinct, t->ncells, err));
        if (nsums > 0)
                KC_TRY(kc_gpu_read(c->gpu, host->sums, t->sums, nsums, err));
out:
        return status;
}

enum kc_status kc_gpu_cells_end(struct kc_gpu_cells *c, struct kc_error *err)
{
        enum kc_status status;
        struct host_table host = {};
        uint64_t sum;
        KC_TRY(read_table(c, &host, err));
        KC_TRY(take_table(c, &host, err));
        KC_TRY(kc_gpu_read(c->gpu, &sum, c->table.sum, 1, err));
        if (sum != c->sum)
                status = kc_fail_remedy(err, KC_EDEVICE, KC_REMEDY_CPU,
                                        "the counts from the device add up to %" PRIu64
                                        " instead of %" PRIu64 "; please report this",
                                        c->sum, sum);
out:
        free(host.ndistinct);
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_gpu_cells_add( \
                struct kc_gpu_cells *, const struct kc_gpu_run<Key, uint64_t> *, \
                const struct kc_gpu_run<Key, uint64_t> *, struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
