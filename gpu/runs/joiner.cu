#include "gpu/runs/joiner.cuh"

#include "gpu/runs/join_feed.cuh"
#include "kmer/block_codec.h"
#include "kmer/remedy.h"

#include <cstdlib>

#define MIB ((size_t)1 << 20)

enum {
        USUAL_BLOCKS = 8192, /* in a range: 8 Mi pairs */
        BLOCKS_PER_RUN = 4,  /* the minimum, for ranges of many runs */
};

/* ---- memory ---- */

template <class Key> static size_t pairs_nbytes(size_t nblocks)
{
        return kc_gpu_run_nbytes<Key, uint64_t>(nblocks * KC_BLOCK_NKMERS);
}

template <class Key> size_t kc_gpu_joiner_own_nbytes(size_t nblocks)
{
        return pairs_nbytes<Key>(nblocks);
}

/* The input of joins, their output, and how tiles are cut. */
template <class Key> size_t kc_gpu_joiner_join_nbytes(size_t nblocks)
{
        return 2 * pairs_nbytes<Key>(nblocks) + pairs_nbytes<Key>(nblocks) / 16 + MIB;
}

enum kc_status kc_gpu_joiner_no_room(const struct kc_gpu *gpu, size_t nruns, struct kc_error *err)
{
        return kc_fail_remedy(err, KC_ENOMEM, KC_REMEDY_MORE_GPU_MEMORY | KC_REMEDY_CPU,
                              "%zu MiB of device memory is too little to merge %zu runs",
                              gpu->limit_nbytes / MIB, nruns);
}

template <class Key> static size_t range_nbytes(size_t nblocks, size_t more_nbytes)
{
        return kc_join_feed_nbytes<Key>(nblocks) + kc_gpu_joiner_own_nbytes<Key>(nblocks) +
               kc_gpu_joiner_join_nbytes<Key>(nblocks) + nblocks * more_nbytes;
}

template <class Key>
enum kc_status kc_gpu_joiner_plan(const struct kc_gpu *gpu, const struct kc_join_source *source,
                                  uint64_t batch_nkmers, size_t more_nbytes, size_t *max_blocks,
                                  struct kc_error *err)
{
        const size_t room = gpu->limit_nbytes / 8 * 5, nruns = source->plan->nruns;
        const size_t all = source->npairs / KC_BLOCK_NKMERS + nruns + 1;
        size_t n = BLOCKS_PER_RUN * nruns > USUAL_BLOCKS ? BLOCKS_PER_RUN * nruns
                                                         : (size_t)USUAL_BLOCKS;
        n = n < all ? n : all;
        if (batch_nkmers != 0 && n > batch_nkmers / KC_BLOCK_NKMERS)
                n = batch_nkmers / KC_BLOCK_NKMERS;
        n = n > nruns ? n : nruns + 1;
        while (n > nruns + 1 && range_nbytes<Key>(n, more_nbytes) > room)
                n = n / 4 * 3 > nruns ? n / 4 * 3 : nruns + 1;
        *max_blocks = n;
        return range_nbytes<Key>(n, more_nbytes) > room ? kc_gpu_joiner_no_room(gpu, nruns, err)
                                                        : KC_OK;
}

template <class Key>
enum kc_status kc_gpu_joiner_open(struct kc_gpu_joiner<Key> *j, struct kc_gpu *gpu,
                                  const struct kc_join_source *source, size_t max_blocks,
                                  struct kc_error *err)
{
        enum kc_status status;
        const struct kc_join_plan *plan = source->plan;
        *j = {};
        j->gpu = gpu;
        j->source = source;
        KC_TRY(kc_gpu_run_new(gpu, &j->pairs, max_blocks * KC_BLOCK_NKMERS, err));
        KC_TRY(kc_gpu_new(gpu, &j->runs, plan->nruns, err));
        KC_TRY(kc_gpu_new(gpu, &j->refused, 1, err));
        KC_TRY(kc_gpu_new(gpu, &j->totals, 1, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(j->totals, 0, sizeof *j->totals, gpu->stream)));
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&j->host_runs, plan->nruns * sizeof *j->host_runs)));
        j->nodes = (struct kc_joined_node<Key> *)calloc(plan->nnodes, sizeof *j->nodes);
        if (j->nodes == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
out:
        return status;
}

template <class Key>
static void drop(struct kc_gpu_joiner<Key> *j, struct kc_joined_node<Key> *node)
{
        if (node->is_own)
                kc_gpu_run_free(j->gpu, &node->run);
        *node = {};
}

template <class Key> void kc_gpu_joiner_drop(struct kc_gpu_joiner<Key> *j)
{
        for (size_t i = 0; j->nodes != NULL && i < j->source->plan->nnodes; i++)
                drop(j, &j->nodes[i]);
}

template <class Key> void kc_gpu_joiner_close(struct kc_gpu_joiner<Key> *j)
{
        if (j->gpu == NULL)
                return;
        kc_gpu_joiner_drop(j);
        free(j->nodes);
        kc_gpu_run_free(j->gpu, &j->pairs);
        kc_gpu_delete(j->gpu, j->runs, j->source->plan->nruns);
        kc_gpu_delete(j->gpu, j->refused, 1);
        kc_gpu_delete(j->gpu, j->totals, 1);
        (void)cudaFreeHost(j->host_runs);
        *j = {};
}

/* ---- a range ---- */

/* The plan's description of each run, for kc_gpu_decode. */
template <class Key> static void describe_runs(struct kc_gpu_joiner<Key> *j)
{
        const struct kc_join_plan *plan = j->source->plan;
        for (size_t i = 0; i < plan->nnodes; i++) {
                const struct kc_join_node *node = &plan->nodes[i];
                if (node->left >= 0)
                        continue;
                j->host_runs[node->run] = {};
                j->host_runs[node->run].mark = node->removes ? KC_JOIN_REMOVED : node->mark;
                j->host_runs[node->run].count_mask = node->removes ? 0 : UINT32_MAX;
        }
}

/* Decode the blocks, and find which pairs are in the range. */
template <class Key>
static enum kc_status decode(struct kc_gpu_joiner<Key> *j, const struct kc_join_range *in,
                             struct kc_decode_range<Key> *range, struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = j->gpu->stream;
        const size_t nbytes = j->source->plan->nruns * sizeof *j->runs;
        unsigned long long refused;
        describe_runs(j);
        range->runs = j->runs;
        KC_TRY(KC_CUDA(
                cudaMemcpyAsync(j->runs, j->host_runs, nbytes, cudaMemcpyHostToDevice, stream)));
        KC_TRY(kc_gpu_decode(j->gpu, range, &j->pairs, j->refused, err));
        KC_TRY(KC_CUDA(
                cudaMemcpyAsync(j->host_runs, j->runs, nbytes, cudaMemcpyDeviceToHost, stream)));
        KC_TRY(kc_gpu_read(j->gpu, &refused, j->refused, 1, err));
        if (refused != 0)
                status = j->source->refuse(j->source->ctx, in, in->nblocks - refused, err);
out:
        return status;
}

/* The leaves: for each run, its pairs in the range. */
template <class Key>
static void set_leaves(struct kc_gpu_joiner<Key> *j, const struct kc_join_range *in)
{
        const struct kc_join_plan *plan = j->source->plan;
        size_t block = 0;
        for (size_t i = 0; i < plan->nnodes; i++) {
                struct kc_joined_node<Key> *node = &j->nodes[i];
                *node = {};
                if (plan->nodes[i].left >= 0)
                        continue;
                const size_t run = plan->nodes[i].run;
                const struct kc_decode_run *found = &j->host_runs[run];
                const size_t begin = block * KC_BLOCK_NKMERS + found->nbelow_from;
                node->run.kmers = j->pairs.kmers + begin;
                node->run.counts = j->pairs.counts + begin;
                node->run.n = found->nbelow_end - found->nbelow_from;
                j->nread += found->sum;
                j->npairs += node->run.n;
                while (block < in->nblocks && in->blocks[block].run == run)
                        block++;
        }
}

/* Compute an inner node from its two sides, which are freed. If one side is empty, the other
 * becomes the node, unless this changes values. */
template <class Key>
static enum kc_status join_node(struct kc_gpu_joiner<Key> *j, size_t number, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_join_node *node = &j->source->plan->nodes[number];
        struct kc_joined_node<Key> *left = &j->nodes[node->left], *right = &j->nodes[node->right];
        struct kc_joined_node<Key> *to = &j->nodes[number];
        const bool changes = node->is_file || node->op == KC_JOIN_PAIR;
        if (!changes && (left->run.n == 0 || right->run.n == 0)) {
                struct kc_joined_node<Key> *full = left->run.n > 0 ? left : right;
                *to = *full;
                *full = {};
        } else {
                KC_TRY(kc_gpu_join(j->gpu, j->source->plan, node, &left->run, &right->run,
                                   j->totals, &to->run, err));
                to->is_own = true;
        }
        drop(j, left);
        drop(j, right);
        status = KC_OK;
out:
        return status;
}

/* Decode a range, and compute the first n nodes of the plan. */
template <class Key>
static enum kc_status join_nodes(struct kc_gpu_joiner<Key> *j, const struct kc_join_range *in,
                                 struct kc_decode_range<Key> *range, size_t n, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_join_plan *plan = j->source->plan;
        KC_TRY(decode(j, in, range, err));
        set_leaves(j, in);
        for (size_t i = 0; i < n; i++)
                if (plan->nodes[i].left >= 0)
                        KC_TRY(join_node(j, i, err));
out:
        return status;
}

/* The sides of the root, the last node; of a root that is a leaf, it and nothing. */
template <class Key>
static void find_sides(const struct kc_gpu_joiner<Key> *j, struct kc_gpu_run<Key, uint64_t> *left,
                       struct kc_gpu_run<Key, uint64_t> *right)
{
        const size_t last = j->source->plan->nnodes - 1;
        const struct kc_join_node *root = &j->source->plan->nodes[last];
        *left = j->nodes[root->left >= 0 ? (size_t)root->left : last].run;
        *right = {};
        if (root->left >= 0)
                *right = j->nodes[root->right].run;
}

template <class Key>
enum kc_status kc_gpu_joiner_join(struct kc_gpu_joiner<Key> *j, const struct kc_join_range *in,
                                  struct kc_decode_range<Key> *range,
                                  const struct kc_run_filter *filter,
                                  struct kc_gpu_run<Key> *result, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_join_plan *plan = j->source->plan;
        struct kc_gpu_run<Key, uint64_t> left, right;
        *result = {};
        KC_TRY(join_nodes(j, in, range, plan->nnodes - 1, err));
        find_sides(j, &left, &right);
        KC_TRY(kc_gpu_join_root(j->gpu, plan, filter, &left, &right, j->totals, result, err));
        kc_gpu_joiner_drop(j);
out:
        return status;
}

template <class Key>
enum kc_status kc_gpu_joiner_sides(struct kc_gpu_joiner<Key> *j, const struct kc_join_range *in,
                                   struct kc_decode_range<Key> *range,
                                   struct kc_gpu_run<Key, uint64_t> *left,
                                   struct kc_gpu_run<Key, uint64_t> *right, struct kc_error *err)
{
        enum kc_status status;
        const size_t last = j->source->plan->nnodes - 1;
        const bool is_pair = j->source->plan->nodes[last].op == KC_JOIN_PAIR;
        *left = *right = {};
        /* a single file has no pairs: it is the left side */
        KC_TRY(join_nodes(j, in, range, is_pair ? last : last + 1, err));
        if (is_pair)
                find_sides(j, left, right);
        else
                *left = j->nodes[last].run;
out:
        return status;
}

template <class Key>
enum kc_status kc_gpu_joiner_totals(const struct kc_gpu_joiner<Key> *j,
                                    struct kc_gpu_join_totals *totals, struct kc_error *err)
{
        enum kc_status status = kc_gpu_read(j->gpu, totals, j->totals, 1, err);
        totals->joined.nread = j->nread;
        return status;
}

#define INSTANTIATE(Key) \
        template size_t kc_gpu_joiner_own_nbytes<Key>(size_t); \
        template size_t kc_gpu_joiner_join_nbytes<Key>(size_t); \
        template enum kc_status kc_gpu_joiner_open(struct kc_gpu_joiner<Key> *, struct kc_gpu *, \
                                                   const struct kc_join_source *, size_t, \
                                                   struct kc_error *); \
        template void kc_gpu_joiner_close(struct kc_gpu_joiner<Key> *); \
        template enum kc_status kc_gpu_joiner_join( \
                struct kc_gpu_joiner<Key> *, const struct kc_join_range *, \
                struct kc_decode_range<Key> *, const struct kc_run_filter *, \
                struct kc_gpu_run<Key> *, struct kc_error *); \
        template enum kc_status kc_gpu_joiner_sides( \
                struct kc_gpu_joiner<Key> *, const struct kc_join_range *, \
                struct kc_decode_range<Key> *, struct kc_gpu_run<Key, uint64_t> *, \
                struct kc_gpu_run<Key, uint64_t> *, struct kc_error *); \
        template void kc_gpu_joiner_drop(struct kc_gpu_joiner<Key> *); \
        template enum kc_status kc_gpu_joiner_plan<Key>(const struct kc_gpu *, \
                                                        const struct kc_join_source *, uint64_t, \
                                                        size_t, size_t *, struct kc_error *); \
        template enum kc_status kc_gpu_joiner_totals(const struct kc_gpu_joiner<Key> *, \
                                                     struct kc_gpu_join_totals *, \
                                                     struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
