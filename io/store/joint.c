/*
 * The joint histogram of several files: each thread joins parts of the key space, with a merge of
 * the runs of each file, and counts what it finds in cells of its own. The pairs of a file's counts
 * go to a sink, part by part.
 */
#include "io/joint.h"

#include "io/store/cells.h"
#include "io/store/part_buffer.h"
#include "io/store/parts.h"
#include "io/store/ranges.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum {
        BATCH_NKMERS = KC_BLOCK_NKMERS, /* what a merge gives at once, at most */
        MAX_BIG = 1 << 14,              /* of a thread; more than these go to the common cells */
};

struct joint {
        struct kc_store *const *stores;
        size_t nstores;
        const uint32_t *most; /* [nstores] */
        struct kc_joint_pairs *pairs;
        pthread_mutex_t lock;  /* also for the sums of pairs */
        struct kc_cells cells; /* of all threads; guarded by lock */
        uint64_t nread;        /* sum of counts read; likewise */
};

/* A file, as a thread walks it. */
struct joint_side {
        struct kc_merge *merge;
        const uint64_t *kmers;
        const uint32_t *counts;
        size_t n; /* left in the batch */
        bool is_at_end;
};

struct joiner {
        struct joint_side sides[KC_JOINT_MAX_FILES];
        size_t nsides;
        int nwords;
        struct kc_cells cells;
        uint32_t counts[KC_JOINT_MAX_FILES][BATCH_NKMERS];
        uint32_t zeros[BATCH_NKMERS];
        const struct kc_run_sink *sinks[KC_JOINT_MAX_FILES]; /* of pairs; NULL: none */
        struct kc_part_buffer buffers[KC_JOINT_MAX_FILES];   /* for the sinks */
        uint64_t sums[KC_JOINT_MAX_FILES];                   /* of pairs */
};

/* ---- joining ---- */

/* Take steps. Each consumes the least of the sides' next k-mers. */
ALWAYS_INLINE void join_steps(struct joint_side *const *sides, uint32_t *const *counts,
                              size_t nsides, size_t nsteps, int nwords)
{
        const uint64_t *kmers[KC_JOINT_MAX_FILES];
        const uint32_t *next[KC_JOINT_MAX_FILES];
        for (size_t i = 0; i < nsides; i++) {
                kmers[i] = sides[i]->kmers;
                next[i] = sides[i]->counts;
        }
        for (size_t step = 0; step < nsteps; step++) {
                bool is_least[KC_JOINT_MAX_FILES];
                for (size_t i = 0; i < nsides; i++) {
                        is_least[i] = true;
                        for (size_t j = 0; j < nsides; j++)
                                if (j != i)
                                        is_least[i] &=
                                                kc_kmer_is_at_most(kmers[i], kmers[j], nwords);
                }
                for (size_t i = 0; i < nsides; i++) {
                        counts[i][step] = *next[i] & -(uint32_t)is_least[i];
                        kmers[i] += is_least[i] * (size_t)nwords;
                        next[i] += is_least[i];
                }
        }
        for (size_t i = 0; i < nsides; i++) {
                sides[i]->n -= (size_t)(next[i] - sides[i]->counts);
                sides[i]->kmers = kmers[i];
                sides[i]->counts = next[i];
        }
}

static void join_some(struct joint_side *const *sides, uint32_t *const *counts, size_t nsides,
                      size_t nsteps, int nwords)
{
        if (nsides == 2 && nwords == 1)
                join_steps(sides, counts, 2, nsteps, 1);
        else if (nsides == 2 && nwords == 2)
                join_steps(sides, counts, 2, nsteps, 2);
        else if (nsides == 2)
                join_steps(sides, counts, 2, nsteps, nwords);
        else if (nwords == 1)
                join_steps(sides, counts, 3, nsteps, 1);
        else if (nwords == 2)
                join_steps(sides, counts, 3, nsteps, 2);
        else
                join_steps(sides, counts, 3, nsteps, nwords);
}

static enum kc_status fill(struct joiner *j, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < j->nsides; i++) {
                struct joint_side *side = &j->sides[i];
                if (side->n > 0 || side->is_at_end)
                        continue;
                KC_TRY(kc_merge_next(side->merge, &side->kmers, &side->counts, &side->n, err));
                side->is_at_end = side->n == 0;
        }
out:
        return status;
}

/* Put the pairs of the k-mers that a side has passed since `before`, in nsteps steps with these
 * values. */
static enum kc_status put_pairs(struct joiner *j, size_t side, const struct joint_side *before,
                                const uint32_t *const *values, size_t nsteps, uint64_t part,
                                struct kc_error *err)
{
        uint32_t pairs[BATCH_NKMERS + 1]; /* at first the counts in the first file */
        const size_t n = before->n - j->sides[side].n;
        size_t at = 0;
        if (n == 0)
                return KC_OK;
        for (size_t step = 0; step < nsteps; step++) {
                pairs[at] = values[0][step];
                at += values[side][step] > 0;
        }
        assert(at == n);
        for (size_t i = 0; i < n; i++) {
                pairs[i] = kc_pair_of(pairs[i], before->counts[i]);
                j->sums[side] += pairs[i];
        }
        return kc_part_buffer_add(&j->buffers[side], j->sinks[side], part, before->kmers, pairs, n,
                                  err);
}

/* Join what all sides that have k-mers left can give, and count it. *found: whether there was any.
 * Every side has more k-mers, or is at its end. */
static enum kc_status join_batch(struct joiner *j, uint64_t part, bool *found, struct kc_error *err)
{
        const uint32_t *values[KC_JOINT_MAX_FILES];
        struct joint_side *sides[KC_JOINT_MAX_FILES], before[KC_JOINT_MAX_FILES];
        uint32_t *counts[KC_JOINT_MAX_FILES];
        size_t nsides = 0, nsteps = SIZE_MAX;
        enum kc_status status = KC_OK;
        memcpy(before, j->sides, sizeof before);
        for (size_t i = 0; i < j->nsides; i++) {
                struct joint_side *side = &j->sides[i];
                values[i] = side->n > 0 ? j->counts[i] : j->zeros;
                if (side->n == 0)
                        continue;
                nsteps = nsteps < side->n ? nsteps : side->n;
                counts[nsides] = j->counts[i];
                sides[nsides++] = side;
        }
        *found = nsides > 0;
        if (nsides == 0)
                return KC_OK;
        if (nsides == 1) {
                memcpy(counts[0], sides[0]->counts, nsteps * sizeof *counts[0]);
                sides[0]->n = 0;
        } else {
                join_some(sides, counts, nsides, nsteps, j->nwords);
        }
        for (size_t i = 1; i < j->nsides; i++)
                if (j->sinks[i] != NULL)
                        KC_TRY(put_pairs(j, i, &before[i], values, nsteps, part, err));
        KC_TRY(kc_cells_add(&j->cells, values, nsteps, err));
out:
        return status;
}

static enum kc_status join_part(struct joiner *j, const struct kc_part *part, struct kc_error *err)
{
        enum kc_status status;
        bool found;
        for (size_t i = 0; i < j->nsides; i++) {
                j->sides[i] = (struct joint_side){ .merge = j->sides[i].merge };
                KC_TRY(kc_merge_range(j->sides[i].merge, part->from, part->to, err));
        }
        do {
                KC_TRY(fill(j, err));
                KC_TRY(join_batch(j, part->number, &found, err));
        } while (found);
        for (size_t i = 1; i < j->nsides; i++)
                if (j->sinks[i] != NULL)
                        KC_TRY(kc_part_buffer_end(&j->buffers[i], j->sinks[i], part->number, err));
out:
        return status;
}

/* ---- threads ---- */

static enum kc_status open_joiner(struct joiner **joiner, const struct joint *joint,
                                  struct kc_error *err)
{
        enum kc_status status;
        struct joiner *j = calloc(1, sizeof *j);
        *joiner = j;
        if (j == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for comparing files");
        j->nsides = joint->nstores;
        j->nwords = joint->stores[0]->nwords;
        KC_TRY(kc_cells_init(&j->cells, joint->nstores, joint->most, err));
        for (size_t i = 0; i < joint->nstores; i++) {
                const struct kc_set set = kc_set_of_one(&joint->stores[i]);
                KC_TRY(kc_merge_open(&j->sides[i].merge, &set, err));
                if (i > 0 && joint->pairs != NULL)
                        j->sinks[i] = joint->pairs->sinks[i];
                if (j->sinks[i] != NULL)
                        KC_TRY(kc_part_buffer_init(&j->buffers[i], j->nwords, err));
        }
out:
        return status;
}

static void close_joiner(struct joiner *j)
{
        if (j == NULL)
                return;
        for (size_t i = 0; i < j->nsides; i++) {
                kc_merge_close(j->sides[i].merge);
                kc_part_buffer_free(&j->buffers[i]);
        }
        kc_cells_free(&j->cells);
        free(j);
}

/* Large cells are kept once for all threads, so that these do not multiply the memory. */
static enum kc_status move_big(struct joint *joint, struct joiner *j, struct kc_error *err)
{
        if (j->cells.nbig <= MAX_BIG)
                return KC_OK;
        pthread_mutex_lock(&joint->lock);
        const enum kc_status status = kc_cells_move_big(&joint->cells, &j->cells, err);
        pthread_mutex_unlock(&joint->lock);
        return status;
}

static enum kc_status move_all(struct joint *joint, struct joiner *j, struct kc_error *err)
{
        pthread_mutex_lock(&joint->lock);
        for (size_t i = 0; i < j->nsides; i++) {
                joint->nread += kc_merge_get_totals(j->sides[i].merge)->nread;
                if (j->sinks[i] != NULL)
                        joint->pairs->sums[i] += j->sums[i];
        }
        const enum kc_status status = kc_cells_move(&joint->cells, &j->cells, err);
        pthread_mutex_unlock(&joint->lock);
        return status;
}

static enum kc_status join_parts(void *ctx, int worker, struct kc_parts *parts,
                                 struct kc_error *err)
{
        (void)worker;
        struct joint *joint = ctx;
        struct joiner *j;
        struct kc_part part = { 0 };
        bool found;
        enum kc_status status;
        KC_TRY(open_joiner(&j, joint, err));
        for (;;) {
                KC_TRY(kc_parts_next(parts, &part, &found, err));
                if (!found)
                        break;
                KC_TRY(join_part(j, &part, err));
                KC_TRY(move_big(joint, j, err));
        }
        KC_TRY(move_all(joint, j, err));
out:
        close_joiner(j);
        return status;
}

static void cancel_sinks(void *ctx)
{
        const struct joint *joint = ctx;
        for (size_t i = 1; joint->pairs != NULL && i < joint->nstores; i++)
                if (joint->pairs->sinks[i] != NULL)
                        joint->pairs->sinks[i]->cancel(joint->pairs->sinks[i]->ctx);
}

static enum kc_status check_files(struct kc_store *const *stores, size_t nstores,
                                  struct kc_error *err)
{
        if (nstores < 1 || nstores > KC_JOINT_MAX_FILES)
                return kc_fail(err, KC_EUSAGE, "%zu files cannot be compared; the most is %d",
                               nstores, KC_JOINT_MAX_FILES);
        return kc_set_check(&(struct kc_set){ .stores = stores, .nstores = nstores }, err);
}

enum kc_status kc_store_joint(struct kc_store *const *stores, size_t nstores, const uint32_t *most,
                              struct kc_joint_pairs *pairs, int nthreads, struct kc_job *job,
                              struct kc_joint_cell **cells, size_t *ncells, struct kc_error *err)
{
        struct joint joint = { .stores = stores, .nstores = nstores, .most = most, .pairs = pairs };
        const struct kc_parts_work work = { .ctx = &joint,
                                            .run = join_parts,
                                            .cancel = cancel_sinks };
        enum kc_status status = check_files(stores, nstores, err);
        if (status != KC_OK)
                return status;
        pthread_mutex_init(&joint.lock, NULL);
        KC_TRY(kc_cells_init(&joint.cells, nstores, most, err));
        KC_TRY(kc_parts_run(stores, nstores, nthreads, job, &work, err));
        KC_TRY(kc_stores_check_read(stores, nstores, joint.nread, err));
        KC_TRY(kc_cells_list(&joint.cells, cells, ncells, err));
out:
        pthread_mutex_destroy(&joint.lock);
        kc_cells_free(&joint.cells);
        return status;
}

/* ---- by an engine ---- */

static enum kc_status take_cells(void *ctx, const struct kc_joint_cell *cells, size_t n,
                                 struct kc_error *err)
{
        return kc_cells_add_cells(ctx, cells, n, err);
}

enum kc_status kc_store_joint_by(struct kc_store *const *stores, size_t nstores,
                                 const uint32_t *most, const struct kc_joint_engine *engine,
                                 struct kc_joint_cell **cells, size_t *ncells, struct kc_error *err)
{
        const struct kc_set set = { .stores = stores, .nstores = nstores };
        struct kc_cells found = { 0 };
        const struct kc_joint_taker taker = { &found, nstores, most, take_cells };
        struct kc_set_ranges *ranges = NULL;
        uint64_t nread = 0;
        enum kc_status status = check_files(stores, nstores, err);
        if (status != KC_OK)
                return status;
        KC_TRY(kc_cells_init(&found, nstores, most, err));
        KC_TRY(kc_joint_ranges_open(&ranges, &set, err));
        const struct kc_join_source source = kc_set_ranges_source(ranges);
        KC_TRY(engine->join(engine->ctx, &source, &taker, &nread, err));
        KC_TRY(kc_stores_check_read(stores, nstores, nread, err));
        KC_TRY(kc_cells_list(&found, cells, ncells, err));
out:
        kc_set_ranges_close(ranges);
        kc_cells_free(&found);
        return status;
}
