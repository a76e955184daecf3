#include "io/store/join.h"

#include "kmer/remedy.h"

#include <stdlib.h>

enum {
        MARK_FIRST = 1, /* of the first file, so that its presence is a bit of its own */
        MARK_OTHER = 2, /* of any other */
};

size_t kc_set_nruns(const struct kc_set *set)
{
        size_t n = 0;
        for (size_t i = 0; i < set->nstores; i++)
                n += set->stores[i]->nruns;
        return n;
}

uint64_t kc_set_npairs(const struct kc_set *set)
{
        uint64_t n = 0;
        for (size_t i = 0; i < set->nstores; i++)
                for (uint32_t r = 0; r < set->stores[i]->nruns; r++)
                        n += set->stores[i]->runs[r].record.ndistinct;
        return n;
}

enum kc_status kc_stores_check_read(struct kc_store *const *stores, size_t nstores, uint64_t nread,
                                    struct kc_error *err)
{
        struct kc_store_info info;
        uint64_t sum = 0;
        for (size_t i = 0; i < nstores; i++) {
                kc_store_get_info(stores[i], &info);
                sum += info.sum;
        }
        if (nread == sum)
                return KC_OK;
        return kc_fail_file(err, KC_ECORRUPT, KC_REMEDY_CHECK, stores[0]->path,
                            "%s%s: the counts add up to %llu, but the footer%s %llu",
                            stores[0]->path, nstores > 1 ? " and others" : "",
                            (unsigned long long)nread, nstores > 1 ? "s say" : " says",
                            (unsigned long long)sum);
}

struct kc_set_run_at *kc_set_runs(const struct kc_set *set)
{
        struct kc_set_run_at *runs = malloc((kc_set_nruns(set) + 1) * sizeof *runs);
        size_t n = 0;
        for (size_t i = 0; runs != NULL && i < set->nstores; i++)
                for (uint32_t r = 0; r < set->stores[i]->nruns; r++)
                        runs[n++] =
                                (struct kc_set_run_at){ set->stores[i], &set->stores[i]->runs[r] };
        return runs;
}

/* ---- the tree: each function gives the number of the node it makes ---- */

static int join(struct kc_join_plan *p, int left, int right, enum kc_join_op op)
{
        p->nodes[p->nnodes] = (struct kc_join_node){ .left = left, .right = right, .op = op };
        return (int)p->nnodes++;
}

static int build_runs(struct kc_join_plan *p, const struct kc_store *store, uint32_t begin,
                      uint32_t end, enum kc_join_op op)
{
        if (end - begin == 1) {
                p->nodes[p->nnodes] = (struct kc_join_node){ .left = -1,
                                                             .right = -1,
                                                             .run = p->nruns++,
                                                             .removes = store->runs[begin].kind ==
                                                                        KC_RUN_TOMBSTONES };
                return (int)p->nnodes++;
        }
        uint32_t middle = begin + (end - begin) / 2;
        int left = build_runs(p, store, begin, middle, op);
        return join(p, left, build_runs(p, store, middle, end, op), op);
}

static bool has_tombstones(const struct kc_store *store)
{
        bool found = false;
        for (uint32_t r = 0; r < store->nruns; r++)
                found |= store->runs[r].kind == KC_RUN_TOMBSTONES;
        return found;
}

static int build_file(struct kc_join_plan *p, const struct kc_set *set, size_t file)
{
        const struct kc_store *store = set->stores[file];
        const bool removes = has_tombstones(store);
        const int node =
                build_runs(p, store, 0, store->nruns, removes ? KC_JOIN_RUNS : KC_JOIN_ADD);
        const uint64_t mark = file == 0 ? MARK_FIRST : MARK_OTHER;
        /* the sums of a single file matter only at the end */
        p->nodes[node].is_file = store->nruns > 1 && (set->nstores > 1 || !p->keeps_all || removes);
        p->nodes[node].mark = mark << KC_JOIN_MARK_SHIFT;
        return node;
}

static int build_files(struct kc_join_plan *p, const struct kc_set *set, size_t begin, size_t end,
                       enum kc_join_op op)
{
        if (end - begin == 1)
                return build_file(p, set, begin);
        size_t middle = begin + (end - begin) / 2;
        int left = build_files(p, set, begin, middle, op);
        return join(p, left, build_files(p, set, middle, end, op), op);
}

static void build_root(struct kc_join_plan *p, const struct kc_set *set)
{
        static const enum kc_join_op ops[] = { [KC_RULE_SUM] = KC_JOIN_ADD,
                                               [KC_RULE_MIN] = KC_JOIN_MIN,
                                               [KC_RULE_MAX] = KC_JOIN_MAX,
                                               [KC_RULE_LEFT] = KC_JOIN_LEFT,
                                               [KC_RULE_RIGHT] = KC_JOIN_RIGHT };
        const size_t n = set->nstores;
        if (set->rule != KC_RULE_DIFFERENCE || n == 1) {
                build_files(p, set, 0, n, ops[set->rule]);
                return;
        }
        int first = build_file(p, set, 0);
        join(p, first, build_files(p, set, 1, n, KC_JOIN_ADD), KC_JOIN_DIFFERENCE);
}

/* Set which k-mers are kept, by their marks. */
static void set_marks(struct kc_join_plan *p, const struct kc_set *set)
{
        const uint64_t all = MARK_FIRST + MARK_OTHER * (set->nstores - 1);
        if (set->operation == KC_SET_INTERSECT) {
                p->mark_mask = KC_JOIN_MARK_MASK;
                p->mark_wanted = all << KC_JOIN_MARK_SHIFT;
        } else if (set->rule == KC_RULE_DIFFERENCE) {
                p->mark_mask = p->mark_wanted = (uint64_t)MARK_FIRST << KC_JOIN_MARK_SHIFT;
        } else if (set->operation == KC_SET_SUBTRACT) {
                p->mark_mask = KC_JOIN_MARK_MASK;
                p->mark_wanted = (uint64_t)MARK_FIRST << KC_JOIN_MARK_SHIFT;
        }
        p->keeps_all = p->mark_mask == 0;
        p->saturates_files = set->rule != KC_RULE_SUM;
}

static enum kc_status new_plan(const struct kc_set *set, struct kc_join_plan *plan,
                               struct kc_error *err)
{
        *plan = (struct kc_join_plan){ 0 };
        plan->nodes = calloc(2 * kc_set_nruns(set) + 1, sizeof *plan->nodes);
        return plan->nodes != NULL ? KC_OK
                                   : kc_fail(err, KC_ENOMEM, "out of memory for merging %zu runs",
                                             kc_set_nruns(set));
}

enum kc_status kc_set_plan(const struct kc_set *set, struct kc_join_plan *plan,
                           struct kc_error *err)
{
        const enum kc_status status = new_plan(set, plan, err);
        if (status != KC_OK)
                return status;
        set_marks(plan, set);
        build_root(plan, set);
        return KC_OK;
}

enum kc_status kc_joint_plan(const struct kc_set *set, struct kc_join_plan *plan,
                             struct kc_error *err)
{
        const enum kc_status status = new_plan(set, plan, err);
        if (status != KC_OK)
                return status;
        plan->keeps_all = plan->saturates_files = true;
        build_files(plan, set, 0, set->nstores, KC_JOIN_PAIR);
        return KC_OK;
}
