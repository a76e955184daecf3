#include "io/store/merge.h"

#include "base/simd.h"

#include <stdlib.h>
#include <string.h>

/* The hot loops are written once for any number of words and compiled for 1, 2 and n of them. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum { BATCH_NKMERS = KC_BLOCK_NKMERS };

/* Bytes that all walks of a merge read ahead, and the bounds for each of them. */
enum { CHUNKS_NBYTES = 8 << 20, MIN_CHUNK_NBYTES = 32 << 10, MAX_CHUNK_NBYTES = 256 << 10 };

/* Items that were made and not yet taken; n = 0: more must be made, or none are left. */
struct items {
        const uint64_t *kmers, *values;
        size_t n;
};

struct node {
        const struct kc_join_node *plan;
        struct items items;
        uint64_t *kmers; /* of joins [BATCH_NKMERS * nwords] */
        uint64_t *values;
        struct kc_walk walk;       /* of leaves */
        struct node *left, *right; /* NULL: a leaf */
        bool is_idle;              /* a leaf that gives nothing */
};

struct kc_merge {
        struct kc_join_plan plan;
        int nwords;
        struct node *nodes, *root;
        uint64_t *kmers; /* if not all are kept [BATCH_NKMERS * nwords] */
        uint32_t counts[BATCH_NKMERS];
        struct kc_join_totals totals;
};

/* ---- joining two nodes ---- */

/* Take steps that each consume one item of one side, or one of both. */
ALWAYS_INLINE void join_steps(struct items *a, struct items *b, size_t nsteps, int nwords,
                              enum kc_join_op op, uint64_t **kmers_end, uint64_t **values_end,
                              uint64_t *nremoved)
{
        const size_t nw = (size_t)nwords;
        const uint64_t *ak = a->kmers, *bk = b->kmers, *av = a->values, *bv = b->values;
        uint64_t *kmers = *kmers_end, *values = *values_end, hidden = 0;
        for (size_t i = 0; i < nsteps; i++) {
                const bool in_a = kc_kmer_is_at_most(ak, bk, nwords);
                const bool in_b = kc_kmer_is_at_most(bk, ak, nwords);
                for (size_t w = 0; w < nw; w++)
                        kmers[w] = in_a ? ak[w] : bk[w];
                *values++ = kc_join_values(op, *av & -(uint64_t)in_a, *bv & -(uint64_t)in_b,
                                           in_a && in_b, &hidden);
                kmers += nw;
                ak += in_a * nw;
                bk += in_b * nw;
                av += in_a;
                bv += in_b;
        }
        *nremoved += hidden;
        a->n -= (size_t)(av - a->values);
        b->n -= (size_t)(bv - b->values);
        *a = (struct items){ ak, av, a->n };
        *b = (struct items){ bk, bv, b->n };
        *kmers_end = kmers;
        *values_end = values;
}

#define STEPS(nwords, op) join_steps(a, b, nsteps, (nwords), (op), kmers_end, values_end, nremoved)
#define STEPS_BY_WIDTH(op) \
        case (op): \
                if (nwords == 1) \
                        STEPS(1, (op)); \
                else if (nwords == 2) \
                        STEPS(2, (op)); \
                else \
                        STEPS(nwords, (op)); \
                break

static void join_some(struct items *a, struct items *b, size_t nsteps, int nwords,
                      enum kc_join_op op, uint64_t **kmers_end, uint64_t **values_end,
                      uint64_t *nremoved)
{
        switch (op) {
                STEPS_BY_WIDTH(KC_JOIN_ADD);
                STEPS_BY_WIDTH(KC_JOIN_RUNS);
                STEPS_BY_WIDTH(KC_JOIN_MIN);
                STEPS_BY_WIDTH(KC_JOIN_MAX);
                STEPS_BY_WIDTH(KC_JOIN_DIFFERENCE);
                STEPS_BY_WIDTH(KC_JOIN_LEFT);
                STEPS_BY_WIDTH(KC_JOIN_RIGHT);
        case KC_JOIN_PAIR: /* in no plan of a set (kc_set_plan) */
                break;
        }
}

/* ---- making items ---- */

static enum kc_status fill(struct kc_merge *m, struct node *node, struct kc_error *err);

/* Convert counts to values; returns the sum of what the mask leaves of them. */
KC_SIMD_CLONES
static uint64_t make_values(const uint32_t *counts, size_t n, uint64_t count_mask, uint64_t mark,
                            uint64_t *values)
{
        uint64_t sum = 0;
        for (size_t i = 0; i < n; i++) {
                uint64_t count = counts[i] & count_mask;
                values[i] = count | mark;
                sum += count;
        }
        return sum;
}

static enum kc_status fill_leaf(struct kc_merge *m, struct node *leaf, struct kc_error *err)
{
        struct kc_walk *walk = &leaf->walk;
        if (leaf->is_idle)
                return KC_OK;
        enum kc_status status = kc_walk_next(walk, err);
        if (status != KC_OK)
                return status;
        const bool removes = leaf->plan->removes;
        const uint64_t count_mask = removes ? 0 : UINT32_MAX;
        const uint64_t mark = removes ? KC_JOIN_REMOVED : leaf->plan->mark;
        m->totals.nread += make_values(walk->counts, walk->n, count_mask, mark, leaf->values);
        leaf->items = (struct items){ walk->kmers, leaf->values, walk->n };
        return KC_OK;
}

/* Copy what one side has left when the other is at its end. */
static void copy_rest(const struct kc_merge *m, struct items *from, size_t cap,
                      uint64_t **kmers_end, uint64_t **values_end)
{
        const size_t nw = (size_t)m->nwords, n = from->n < cap ? from->n : cap;
        if (n == 0)
                return;
        memcpy(*kmers_end, from->kmers, n * nw * sizeof **kmers_end);
        memcpy(*values_end, from->values, n * sizeof **values_end);
        *kmers_end += n * nw;
        *values_end += n;
        *from = (struct items){ from->kmers + n * nw, from->values + n, from->n - n };
}

static enum kc_status fill_join(struct kc_merge *m, struct node *node, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct items *a = &node->left->items, *b = &node->right->items;
        uint64_t *kmers = node->kmers, *values = node->values, *const end = values + BATCH_NKMERS;
        while (values < end) {
                if (a->n == 0)
                        KC_TRY(fill(m, node->left, err));
                if (b->n == 0)
                        KC_TRY(fill(m, node->right, err));
                size_t nsteps = (size_t)(end - values);
                if (a->n == 0 || b->n == 0) {
                        copy_rest(m, a->n > 0 ? a : b, nsteps, &kmers, &values);
                        break;
                }
                nsteps = nsteps < a->n ? nsteps : a->n;
                nsteps = nsteps < b->n ? nsteps : b->n;
                join_some(a, b, nsteps, m->nwords, node->plan->op, &kmers, &values,
                          &m->totals.nremoved);
        }
        node->items = (struct items){ node->kmers, node->values, (size_t)(values - node->values) };
out:
        return status;
}

static inline void copy_kmer(uint64_t *to, const uint64_t *from, size_t nwords)
{
        for (size_t w = 0; w < nwords; w++)
                to[w] = from[w];
}

/* Finish the items of a file of several runs: drop what is removed, mark the rest. */
static void finish_file(struct kc_merge *m, struct node *node)
{
        const size_t nw = (size_t)m->nwords;
        const uint64_t most = kc_join_file_most(&m->plan);
        size_t n = 0;
        for (size_t i = 0; i < node->items.n; i++) {
                const uint64_t value = kc_join_finish_file(node->values[i], node->plan->mark, most,
                                                           &m->totals.ndropped_distinct);
                if (value == 0)
                        continue;
                copy_kmer(node->kmers + n * nw, node->kmers + i * nw, nw);
                node->values[n++] = value;
        }
        node->items.n = n;
}

static enum kc_status fill(struct kc_merge *m, struct node *node, struct kc_error *err)
{
        enum kc_status status;
        if (node->left == NULL)
                return fill_leaf(m, node, err);
        size_t nmade;
        do {
                KC_TRY(fill_join(m, node, err));
                nmade = node->items.n;
                if (node->plan->is_file)
                        finish_file(m, node);
        } while (nmade > 0 && node->items.n == 0);
out:
        return status;
}

/* ---- what comes out ---- */

/* Convert values to saturated counts; *kept: their sum, *sums: the sum without saturation. */
KC_SIMD_CLONES
static void make_counts(const uint64_t *values, size_t n, uint32_t *counts, uint64_t *kept,
                        uint64_t *sums)
{
        uint64_t all_kept = 0, all_sums = 0;
        for (size_t i = 0; i < n; i++) {
                const uint64_t sum = values[i] & KC_JOIN_SUM_MASK;
                const uint64_t count = sum < UINT32_MAX ? sum : UINT32_MAX;
                counts[i] = (uint32_t)count;
                all_kept += count;
                all_sums += sum;
        }
        *kept = all_kept;
        *sums = all_sums;
}

static void put_all(struct kc_merge *m, const struct items *in)
{
        uint64_t kept, sums;
        make_counts(in->values, in->n, m->counts, &kept, &sums);
        m->totals.nkept += kept;
        m->totals.nsaturated += sums - kept;
}

static size_t put_some(struct kc_merge *m, const struct items *in)
{
        const size_t nw = (size_t)m->nwords;
        size_t n = 0;
        for (size_t i = 0; i < in->n; i++) {
                const uint64_t sum = in->values[i] & KC_JOIN_SUM_MASK;
                if ((in->values[i] & m->plan.mark_mask) != m->plan.mark_wanted || sum == 0)
                        continue;
                m->counts[n] = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
                m->totals.nkept += m->counts[n];
                m->totals.nsaturated += sum - m->counts[n];
                copy_kmer(m->kmers + n * nw, in->kmers + i * nw, nw);
                n++;
        }
        m->totals.ndropped_distinct += in->n - n;
        return n;
}

enum kc_status kc_merge_next(struct kc_merge *m, const uint64_t **kmers, const uint32_t **counts,
                             size_t *n, struct kc_error *err)
{
        enum kc_status status;
        struct items in;
        do {
                KC_TRY(fill(m, m->root, err));
                in = m->root->items;
                m->root->items.n = 0;
                if (m->plan.keeps_all)
                        put_all(m, &in);
                *n = m->plan.keeps_all ? in.n : put_some(m, &in);
        } while (*n == 0 && in.n > 0);
        *kmers = m->plan.keeps_all ? in.kmers : m->kmers;
        *counts = m->counts;
out:
        return status;
}

const struct kc_join_totals *kc_merge_get_totals(const struct kc_merge *m)
{
        return &m->totals;
}

/* ---- the tree ---- */

static bool allocate(struct kc_merge *m)
{
        const size_t key_nbytes = (size_t)m->nwords * sizeof(uint64_t);
        bool complete = true;
        for (size_t i = 0; i < m->plan.nnodes; i++) {
                struct node *node = &m->nodes[i];
                node->values = malloc(BATCH_NKMERS * sizeof *node->values);
                if (node->left != NULL)
                        node->kmers = malloc(BATCH_NKMERS * key_nbytes);
                complete &= node->values != NULL && (node->left == NULL || node->kmers != NULL);
        }
        if (!m->plan.keeps_all)
                m->kmers = malloc(BATCH_NKMERS * key_nbytes);
        return complete && (m->plan.keeps_all || m->kmers != NULL);
}

/* Make the nodes of the plan; leaves get their runs. */
static enum kc_status build_tree(struct kc_merge *m, const struct kc_set *set, struct kc_error *err)
{
        enum kc_status status;
        struct kc_set_run_at *runs = NULL;
        KC_TRY(kc_set_plan(set, &m->plan, err));
        runs = kc_set_runs(set);
        m->nodes = calloc(m->plan.nnodes, sizeof *m->nodes);
        for (size_t i = 0; runs != NULL && m->nodes != NULL && i < m->plan.nnodes; i++) {
                struct node *node = &m->nodes[i];
                node->plan = &m->plan.nodes[i];
                if (node->plan->left >= 0) {
                        node->left = &m->nodes[node->plan->left];
                        node->right = &m->nodes[node->plan->right];
                } else {
                        node->is_idle = kc_set_run_is_idle(&runs[node->plan->run]);
                        node->walk.store = runs[node->plan->run].store;
                        node->walk.run = runs[node->plan->run].run;
                }
        }
        if (runs == NULL || m->nodes == NULL || !allocate(m))
                status = kc_fail(err, KC_ENOMEM, "out of memory for merging %zu runs",
                                 m->plan.nruns);
        else
                m->root = &m->nodes[m->plan.nnodes - 1];
out:
        free(runs);
        return status;
}

/* Bytes that the walk of each of nruns runs reads ahead. */
static size_t chunk_nbytes_of(size_t nruns)
{
        size_t nbytes = CHUNKS_NBYTES / nruns;
        if (nbytes < MIN_CHUNK_NBYTES)
                return MIN_CHUNK_NBYTES;
        return nbytes < MAX_CHUNK_NBYTES ? nbytes : MAX_CHUNK_NBYTES;
}

size_t kc_merge_nbytes(size_t nruns, int nwords)
{
        const size_t key_nbytes = (size_t)nwords * sizeof(uint64_t);
        /* of a leaf, or of the join above it */
        const size_t node = BATCH_NKMERS * (key_nbytes + sizeof(uint64_t)) + sizeof(struct node);
        const size_t walk = chunk_nbytes_of(nruns) + kc_block_max_words(nwords) * sizeof(uint64_t) +
                            KC_BLOCK_NKMERS * sizeof(uint32_t) +
                            kc_page_words(KC_PAGE_NBLOCKS, nwords, true) * sizeof(uint64_t);
        return nruns * (2 * node + walk) + BATCH_NKMERS * key_nbytes + sizeof(struct kc_merge);
}

static enum kc_status begin_walks(struct kc_merge *m, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const size_t chunk_nbytes = chunk_nbytes_of(m->plan.nruns);
        for (size_t i = 0; i < m->plan.nnodes; i++) {
                struct kc_walk *walk = &m->nodes[i].walk;
                if (m->nodes[i].left != NULL)
                        continue;
                walk->chunk_nbytes = chunk_nbytes;
                KC_TRY(kc_walk_begin(walk, walk->store, walk->run, 0, walk->run->nblocks, err));
        }
out:
        return status;
}

enum kc_status kc_merge_open(struct kc_merge **merge, const struct kc_set *set,
                             struct kc_error *err)
{
        enum kc_status status;
        struct kc_merge *m = calloc(1, sizeof *m);
        if (m == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for merging files");
        m->nwords = set->stores[0]->nwords;
        KC_TRY(build_tree(m, set, err));
        KC_TRY(begin_walks(m, err));
        *merge = m;
        m = NULL;
out:
        kc_merge_close(m);
        return status;
}

void kc_merge_close(struct kc_merge *m)
{
        if (m == NULL)
                return;
        for (size_t i = 0; m->nodes != NULL && i < m->plan.nnodes; i++) {
                kc_walk_free(&m->nodes[i].walk);
                free(m->nodes[i].kmers);
                free(m->nodes[i].values);
        }
        free(m->nodes);
        free(m->plan.nodes);
        free(m->kmers);
        free(m);
}

enum kc_status kc_merge_range(struct kc_merge *m, const uint64_t *from, const uint64_t *to,
                              struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < m->plan.nnodes; i++) {
                struct node *node = &m->nodes[i];
                node->items.n = 0;
                if (node->left == NULL)
                        KC_TRY(kc_walk_range(&node->walk, from, to, err));
        }
out:
        return status;
}
