#include "gpu/runs/joiner.cuh"

#include "gpu/runs/join.cuh"
#include "kmer/block_codec.h"

#include <cstdlib>

#define MIB ((size_t)1 << 20)

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

template <class Key> void kc_gpu_joiner_close(struct kc_gpu_joiner<Key> *j)
{
        if (j->gpu == NULL)
                return;
        for (size_t i = 0; j->nodes != NULL && i < j->source->plan->nnodes; i++)
                drop(j, &j->nodes[i]);
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
                while (block < in->nblocks && in->blocks[block].run == run)
                        block++;
        }
}

/* Compute an inner node from its two sides, which are freed. If one side is empty, the other
 * becomes the node, unless the node is a file. */
template <class Key>
static enum kc_status join_node(struct kc_gpu_joiner<Key> *j, size_t number, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_join_node *node = &j->source->plan->nodes[number];
        struct kc_joined_node<Key> *left = &j->nodes[node->left], *right = &j->nodes[node->right];
        struct kc_joined_node<Key> *to = &j->nodes[number];
        if (!node->is_file && (left->run.n == 0 || right->run.n == 0)) {
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

template <class Key>
static enum kc_status join(struct kc_gpu_joiner<Key> *j, struct kc_gpu_run<Key> *result,
                           struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const struct kc_join_plan *plan = j->source->plan;
        const size_t root = plan->nnodes - 1;
        struct kc_joined_node<Key> none = {}, *left = &j->nodes[root], *right = &none;
        for (size_t i = 0; i < root; i++)
                if (plan->nodes[i].left >= 0)
                        KC_TRY(join_node(j, i, err));
        if (plan->nodes[root].left >= 0) {
                left = &j->nodes[plan->nodes[root].left];
                right = &j->nodes[plan->nodes[root].right];
        }
        KC_TRY(kc_gpu_join_root(j->gpu, plan, &left->run, &right->run, j->totals, result, err));
        drop(j, left);
        drop(j, right);
out:
        return status;
}

template <class Key>
enum kc_status kc_gpu_joiner_join(struct kc_gpu_joiner<Key> *j, const struct kc_join_range *in,
                                  struct kc_decode_range<Key> *range,
                                  struct kc_gpu_run<Key> *result, struct kc_error *err)
{
        enum kc_status status;
        *result = {};
        KC_TRY(decode(j, in, range, err));
        set_leaves(j, in);
        KC_TRY(join(j, result, err));
out:
        return status;
}

template <class Key>
enum kc_status kc_gpu_joiner_totals(const struct kc_gpu_joiner<Key> *j,
                                    struct kc_join_totals *totals, struct kc_error *err)
{
        enum kc_status status = kc_gpu_read(j->gpu, totals, j->totals, 1, err);
        totals->nread = j->nread;
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
                struct kc_decode_range<Key> *, struct kc_gpu_run<Key> *, struct kc_error *); \
        template enum kc_status kc_gpu_joiner_totals(const struct kc_gpu_joiner<Key> *, \
                                                     struct kc_join_totals *, struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
