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
        struct kc_join_totals *totals; /* device */

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
                add_to(&totals->nremoved, tally.nremoved);
                add_to(&totals->ndropped_distinct, tally.ndropped);
        }
};

struct root_rule {
        typedef uint64_t in;
        typedef uint32_t out;
        enum { CHOOSES = true };
        struct tally {
                node_rule::tally node;
                uint64_t nkept, nsaturated;
        };
        node_rule node;
        uint64_t mark_mask, mark_wanted;

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
                return keep;
        }

        __device__ void add(const tally &tally) const
        {
                node.add(tally.node);
                add_to(&node.totals->nkept, tally.nkept);
                add_to(&node.totals->nsaturated, tally.nsaturated);
        }
};

} // namespace

static node_rule rule_of(const struct kc_join_plan *plan, const struct kc_join_node *node,
                         struct kc_join_totals *totals)
{
        return { *node, kc_join_file_most(plan), totals };
}

template <class Key>
enum kc_status kc_gpu_join(struct kc_gpu *gpu, const struct kc_join_plan *plan,
                           const struct kc_join_node *node,
                           const struct kc_gpu_run<Key, uint64_t> *a,
                           const struct kc_gpu_run<Key, uint64_t> *b, struct kc_join_totals *totals,
                           struct kc_gpu_run<Key, uint64_t> *result, struct kc_error *err)
{
        return merge_by(gpu, a, b, rule_of(plan, node, totals), result, err);
}

template <class Key>
enum kc_status kc_gpu_join_root(struct kc_gpu *gpu, const struct kc_join_plan *plan,
                                const struct kc_gpu_run<Key, uint64_t> *a,
                                const struct kc_gpu_run<Key, uint64_t> *b,
                                struct kc_join_totals *totals, struct kc_gpu_run<Key> *result,
                                struct kc_error *err)
{
        const struct kc_join_node *root = &plan->nodes[plan->nnodes - 1];
        const root_rule rule = { rule_of(plan, root, totals), plan->mark_mask, plan->mark_wanted };
        return merge_by(gpu, a, b, rule, result, err);
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_gpu_join( \
                struct kc_gpu *, const struct kc_join_plan *, const struct kc_join_node *, \
                const struct kc_gpu_run<Key, uint64_t> *, \
                const struct kc_gpu_run<Key, uint64_t> *, struct kc_join_totals *, \
                struct kc_gpu_run<Key, uint64_t> *, struct kc_error *); \
        template enum kc_status kc_gpu_join_root(struct kc_gpu *, const struct kc_join_plan *, \
                                                 const struct kc_gpu_run<Key, uint64_t> *, \
                                                 const struct kc_gpu_run<Key, uint64_t> *, \
                                                 struct kc_join_totals *, \
                                                 struct kc_gpu_run<Key> *, struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
