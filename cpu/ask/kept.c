#include "cpu/ask/kept.h"

#include "base/job.h"
#include "base/parallel.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
        PART_NKMERS = 32 << 10, /* with its index, a part fits into an L2 cache */
        FEW = 64,               /* k-mers that are found together, in the order given */
        FEW_OF_PART = 16,
        FIND_NKMERS = 1 << 18, /* k-mers found in one step at most */
};

#define MOST_INDEXED (UINT64_C(1) << 30) /* of a part */

/* ---- loading ---- */

struct kept_loading {
        struct kc_ask_kept *kept;
        const struct kc_ask_table *table;
        struct kc_job *job;
        atomic_uint next_part;
        atomic_bool too_many;
};

/* Including slots or buckets, and spare room in what is allocated. */
uint64_t kc_ask_kept_nbytes(const struct kc_ask_table *table)
{
        const uint64_t nwords = (uint64_t)kc_kmer_nwords(table->k);
        return table->ndistinct * (nwords == 1 ? 24 : 20 * nwords + 10);
}

/* *walk is opened for the first part that the thread loads. */
static enum kc_status load_part(struct kept_loading *l, void **walk, uint32_t part,
                                struct kc_error *err)
{
        const struct kc_ask_table *table = l->table;
        struct kc_ask_index *index = &l->kept->parts[part];
        uint64_t from[KC_MAX_WORDS], to[KC_MAX_WORDS];
        enum kc_status status = KC_OK;
        if (*walk == NULL)
                KC_TRY(table->walk_open(table->ctx, walk, err));
        index->nwords = l->kept->plan.nwords;
        kc_ask_plan_range(&l->kept->plan, part, from, to);
        KC_TRY(table->walk_move(*walk, from, to, err));
        for (;;) {
                const uint64_t *kmers;
                const uint32_t *counts;
                size_t n;
                KC_TRY(table->walk_next(*walk, &kmers, &counts, &n, err));
                if (n == 0)
                        break;
                if (kc_job_is_canceled(l->job))
                        return kc_fail(err, KC_ECANCELED, "canceled");
                kc_job_advance(l->job, n);
                KC_TRY(kc_ask_index_add(index, kmers, counts, n, err));
                if (index->n > MOST_INDEXED) {
                        atomic_store(&l->too_many, true);
                        return KC_OK;
                }
        }
        KC_TRY(kc_ask_index_end(index, from, to, err));
        kc_ask_index_trim(index);
out:
        return status;
}

static enum kc_status load_parts(void *ctx, int worker, struct kc_error *err)
{
        struct kept_loading *l = ctx;
        void *walk = NULL;
        enum kc_status status = KC_OK;
        (void)worker;
        while (!atomic_load(&l->too_many)) {
                const uint32_t part = atomic_fetch_add(&l->next_part, 1);
                if (part >= l->kept->nparts)
                        break;
                KC_TRY(load_part(l, &walk, part, err));
        }
out:
        if (walk != NULL)
                l->table->walk_close(walk);
        return status;
}

enum kc_status kc_ask_kept_load(struct kc_ask_kept *kept, const struct kc_ask_table *table,
                                int nthreads, struct kc_job *job, bool *fits, struct kc_error *err)
{
        struct kept_loading l = { .kept = kept, .table = table, .job = job };
        const uint64_t nparts = table->ndistinct / PART_NKMERS + 1;
        enum kc_status status;
        KC_TRY(kc_ask_plan_make(&kept->plan, table,
                                nparts < KC_ASK_MAX_PARTS ? (uint32_t)nparts : KC_ASK_MAX_PARTS,
                                err));
        kept->parts = calloc(kept->plan.nparts, sizeof *kept->parts);
        if (kept->parts == NULL)
                KC_TRY(kc_fail(err, KC_ENOMEM, "out of memory for %u parts", kept->plan.nparts));
        kept->nparts = kept->plan.nparts;
        KC_TRY(kc_parallel(nthreads < (int)kept->nparts ? nthreads : (int)kept->nparts, load_parts,
                           NULL, &l, err));
out:
        *fits = !atomic_load(&l.too_many);
        if (status != KC_OK || !*fits)
                kc_ask_kept_free(kept);
        return status;
}

void kc_ask_kept_free(struct kc_ask_kept *kept)
{
        for (uint32_t i = 0; i < kept->nparts; i++)
                kc_ask_index_free(&kept->parts[i]);
        free(kept->parts);
        kc_ask_plan_free(&kept->plan);
        *kept = (struct kc_ask_kept){ 0 };
}

/* ---- finding ---- */

static inline uint32_t part_of(const struct kc_ask_plan *plan, const uint64_t *kmer, int nwords)
{
        return plan->parts[kc_ask_prefix(kmer, nwords, plan->shift)];
}

/* n <= FEW k-mers. Prefetching lets their reads from memory overlap. */
static void find_few(const struct kc_ask_kept *kept, const uint64_t *kmers, size_t n,
                     uint32_t *counts)
{
        const size_t nw = (size_t)kept->plan.nwords;
        const struct kc_ask_index *indexes[FEW];
        for (size_t i = 0; i < n; i++) {
                indexes[i] = &kept->parts[part_of(&kept->plan, kmers + i * nw, (int)nw)];
                __builtin_prefetch(indexes[i]);
        }
        if (n > 1) {
                for (size_t i = 0; i < n; i++)
                        kc_ask_index_prefetch(indexes[i], kmers + i * nw);
                for (size_t i = 0; i < n; i++)
                        kc_ask_index_prefetch_kmers(indexes[i], kmers + i * nw);
        }
        for (size_t i = 0; i < n; i++)
                kc_ask_index_find(indexes[i], kmers + i * nw, 1, &counts[i]);
}

static enum kc_status reserve(struct kc_ask_finder *f, const struct kc_ask_plan *plan, size_t n,
                              struct kc_error *err)
{
        if (n <= f->cap)
                return KC_OK;
        kc_ask_finder_free(f);
        f->kmers = malloc(n * (size_t)plan->nwords * sizeof *f->kmers);
        f->parts = malloc(n * sizeof *f->parts);
        f->places = malloc(n * sizeof *f->places);
        f->answers = malloc(n * sizeof *f->answers);
        f->ends = malloc(plan->nparts * sizeof *f->ends);
        if (f->kmers == NULL || f->parts == NULL || f->places == NULL || f->answers == NULL ||
            f->ends == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for finding %zu k-mers", n);
        f->cap = n;
        return KC_OK;
}

void kc_ask_finder_free(struct kc_ask_finder *finder)
{
        free(finder->kmers);
        free(finder->parts);
        free(finder->places);
        free(finder->answers);
        free(finder->ends);
        *finder = (struct kc_ask_finder){ 0 };
}

/* Put n k-mers in the order of their parts. f->ends is then where each part ends. */
static inline __attribute__((always_inline)) void distribute(struct kc_ask_finder *f,
                                                             const struct kc_ask_plan *plan,
                                                             const uint64_t *kmers, size_t n,
                                                             int nwords)
{
        const size_t nw = (size_t)nwords;
        uint32_t *ends = f->ends, before = 0;
        memset(ends, 0, plan->nparts * sizeof *ends);
        for (size_t i = 0; i < n; i++) {
                f->parts[i] = (uint16_t)part_of(plan, kmers + i * nw, nwords);
                ends[f->parts[i]]++;
        }
        for (uint32_t part = 0; part < plan->nparts; part++) {
                const uint32_t nhere = ends[part];
                ends[part] = before;
                before += nhere;
        }
        for (size_t i = 0; i < n; i++) {
                const uint32_t place = ends[f->parts[i]]++;
                f->places[i] = place;
                memcpy(f->kmers + place * nw, kmers + i * nw, nw * sizeof *kmers);
        }
}

/* n <= finder->cap k-mers, part by part. */
static void find_by_part(const struct kc_ask_kept *kept, struct kc_ask_finder *f,
                         const uint64_t *kmers, size_t n, uint32_t *counts)
{
        const size_t nw = (size_t)kept->plan.nwords;
        if (nw == 1)
                distribute(f, &kept->plan, kmers, n, 1);
        else
                distribute(f, &kept->plan, kmers, n, kept->plan.nwords);
        for (uint32_t part = 0, from = 0; part < kept->nparts; part++) {
                const uint32_t end = f->ends[part];
                if (end > from)
                        kc_ask_index_find(&kept->parts[part], f->kmers + from * nw, end - from,
                                          f->answers + from);
                from = end;
        }
        for (size_t i = 0; i < n; i++)
                counts[i] = f->answers[f->places[i]];
}

/* Whether there are too few k-mers of each part for ordering them to pay. */
static bool is_few(const struct kc_ask_kept *kept, size_t n)
{
        return n / FEW_OF_PART < kept->nparts;
}

enum kc_status kc_ask_kept_find(const struct kc_ask_kept *kept, struct kc_ask_finder *finder,
                                const uint64_t *kmers, size_t n, uint32_t *counts,
                                struct kc_error *err)
{
        const size_t nw = (size_t)kept->plan.nwords;
        const size_t most = is_few(kept, n) ? FEW : FIND_NKMERS;
        for (size_t m; n > 0; n -= m, kmers += m * nw, counts += m) {
                m = n < most ? n : most;
                if (most == FEW) {
                        find_few(kept, kmers, m, counts);
                        continue;
                }
                const enum kc_status status = reserve(finder, &kept->plan, m, err);
                if (status != KC_OK)
                        return status;
                find_by_part(kept, finder, kmers, m, counts);
        }
        return KC_OK;
}
