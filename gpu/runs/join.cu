#include "gpu/runs/join.cuh"

#include "gpu/runs/merge_rule.cuh"

namespace
{

struct node_rule {
        typedef uint64_t in, out;
        enum { CHOOSES = false };
        struct tally {
                uint64_t nremoved, ndropped;
        };
        struct kc_join_node node;
        uint64_t file_most;
        struct kc_gpu_join_totals *totals; /* device */

        __device__ bool operator()(uint64_t a, uint64_t b, uint64_t *value, tally *tally) const
        {
                if (node.op == KC_JOIN_PAIR)
                        *value = kc_join_pair(a, b);
                else
                        *value = kc_join_values(node.op, a, b, a != 0 && b != 0, &tally->nremoved);
                if (node.is_file)
                        *value =
                                kc_join_finish_file(*value, node.mark, file_most, &tally->ndropped);
                return true;
        }

        __device__ void add(const tally &tally) const
        {
                add_to(&totals->joined.nremoved, tally.nremoved);
                add_to(&totals->joined.ndropped_distinct, tally.ndropped);
        }
};

struct root_rule {
        typedef uint64_t in;
        typedef uint32_t out;
        enum { CHOOSES = true };
        struct tally {
                node_rule::tally node;
                uint64_t nkept, nsaturated;
                struct kc_run_dropped dropped;
        };
        node_rule node;
        uint64_t mark_mask, mark_wanted;
        struct kc_run_filter filter;

        __device__ bool operator()(uint64_t a, uint64_t b, uint32_t *count, tally *tally) const
        {
                uint64_t value;
                node(a, b, &value, &tally->node);
                const uint64_t sum = value & KC_JOIN_SUM_MASK;
                const bool keep = (value & mark_mask) == mark_wanted && sum != 0;
                *count = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
                tally->node.ndropped += value != 0 && !keep;
                tally->nkept += keep ? *count : 0;
                tally->nsaturated += keep ? sum - *count : 0;
                const bool passes = kc_run_keeps(&filter, *count);
                if (keep && !passes) {
                        tally->dropped.ndistinct++;
                        tally->dropped.nkmers += *count;
                        tally->dropped.nunique += *count == 1;
                }
                return keep && passes;
        }

        __device__ void add(const tally &tally) const
        {
                node.add(tally.node);
                add_to(&node.totals->joined.nkept, tally.nkept);
                add_to(&node.totals->joined.nsaturated, tally.nsaturated);
                if (kc_run_keeps_all(&filter))
                        return;
                add_to(&node.totals->dropped.ndistinct, tally.dropped.ndistinct);
                add_to(&node.totals->dropped.nkmers, tally.dropped.nkmers);
                add_to(&node.totals->dropped.nunique, tally.dropped.nunique);
        }
};

} // namespace

static node_rule rule_of(const struct kc_join_plan *plan, const struct kc_join_node *node,
                         struct kc_gpu_join_totals *totals)
{
        return { *node, kc_join_file_most(plan), totals };
}

template <class Key>
enum kc_status kc_gpu_join(struct kc_gpu *gpu, const struct kc_join_plan *plan,
                           const struct kc_join_node *node,
                           const struct kc_gpu_run<Key, uint64_t> *a,
                           const struct kc_gpu_run<Key, uint64_t> *b,
                           struct kc_gpu_join_totals *totals,
                           struct kc_gpu_run<Key, uint64_t> *result, struct kc_error *err)
{
        return merge_by(gpu, a, b, rule_of(plan, node, totals), result, err);
}

template <class Key>
enum kc_status kc_gpu_join_root(struct kc_gpu *gpu, const struct kc_join_plan *plan,
                                const struct kc_run_filter *filter,
                                const struct kc_gpu_run<Key, uint64_t> *a,
                                const struct kc_gpu_run<Key, uint64_t> *b,
                                struct kc_gpu_join_totals *totals, struct kc_gpu_run<Key> *result,
                                struct kc_error *err)
{
        const struct kc_join_node *root = &plan->nodes[plan->nnodes - 1];
        const root_rule rule = { rule_of(plan, root, totals), plan->mark_mask, plan->mark_wanted,
                                 *filter };
        return merge_by(gpu, a, b, rule, result, err);
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_gpu_join( \
                struct kc_gpu *, const struct kc_join_plan *, const struct kc_join_node *, \
                const struct kc_gpu_run<Key, uint64_t> *, \
                const struct kc_gpu_run<Key, uint64_t> *, struct kc_gpu_join_totals *, \
                struct kc_gpu_run<Key, uint64_t> *, struct kc_error *); \
        template enum kc_status kc_gpu_join_root( \
                struct kc_gpu *, const struct kc_join_plan *, const struct kc_run_filter *, \
                const struct kc_gpu_run<Key, uint64_t> *, \
                const struct kc_gpu_run<Key, uint64_t> *, struct kc_gpu_join_totals *, \
                struct kc_gpu_run<Key> *, struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
