/*
 * A full check of a file: each block is decoded and compared with what the index and the footer say
 * about it.
 */
#include "io/store/file.h"
#include "io/store/tally.h"

#include "base/file_lock.h"
#include "base/parallel.h"
#include "kmer/remedy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct store_check {
        const struct kc_store *store;
        const struct kc_run *run;
        struct kc_job *job;
        atomic_uint_fast64_t next_page;
        atomic_bool stop;
        struct kc_tally *tallies; /* one per thread */
};

static bool is_canonical(const uint64_t *kmer, int k, int nwords)
{
        uint64_t reverse[KC_MAX_WORDS];
        if (nwords == 1)
                return kmer[0] <= kc_reverse_bases(~kmer[0]) >> (64 - 2 * k);
        kc_kmer_reverse_complement(kmer, k, reverse);
        return kc_kmer_compare(kmer, reverse, nwords) <= 0;
}

/* Check that k-mers ascend, have no bits above 2k, and are canonical if they must be. */
static enum kc_status check_kmers(const struct kc_store *store, const struct kc_walk *walk,
                                  struct kc_error *err)
{
        const int nw = store->nwords;
        const uint64_t mask = kc_kmer_top_mask(store->k);
        bool ascending = true, fits = true, canonical = true;
        for (size_t i = 0; i < walk->n; i++) {
                const uint64_t *kmer = walk->kmers + i * (size_t)nw;
                ascending &= i == 0 || kc_kmer_compare(kmer - nw, kmer, nw) < 0;
                fits &= (kmer[nw - 1] & ~mask) == 0;
                canonical &= store->stranded || is_canonical(kmer, store->k, nw);
        }
        if (!ascending)
                return kc_block_damaged(store, walk->offset, "is out of order", err);
        if (!fits)
                return kc_block_damaged(store, walk->offset, "holds k-mers longer than k", err);
        if (!canonical)
                return kc_block_damaged(store, walk->offset, "holds k-mers that are not canonical",
                                        err);
        return KC_OK;
}

static bool counts_are_positive(const struct kc_walk *walk)
{
        bool positive = true;
        for (size_t i = 0; i < walk->n; i++)
                positive &= walk->counts[i] != 0;
        return positive;
}

enum kc_status kc_walk_check_block(const struct kc_walk *walk, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(check_kmers(walk->store, walk, err));
        if (!counts_are_positive(walk))
                status = kc_block_damaged(walk->store, walk->offset, "holds a count of 0", err);
out:
        return status;
}

static enum kc_status check_page(struct store_check *c, struct kc_walk *walk, uint64_t page,
                                 struct kc_tally *tally, struct kc_error *err)
{
        enum kc_status status;
        uint64_t begin = page * KC_PAGE_NBLOCKS, end = begin + KC_PAGE_NBLOCKS;
        end = end < c->run->nblocks ? end : c->run->nblocks;
        KC_TRY(kc_walk_begin(walk, c->store, c->run, begin, end, err));
        for (;;) {
                KC_TRY(kc_walk_next(walk, err));
                if (walk->n == 0)
                        break;
                KC_TRY(kc_walk_check_block(walk, err));
                KC_TRY(kc_tally_add(tally, walk->counts, walk->n, err));
        }
out:
        return status;
}

static enum kc_status check_pages(void *ctx, int worker, struct kc_error *err)
{
        struct store_check *c = ctx;
        enum kc_status status = KC_OK;
        struct kc_walk walk = { 0 };
        while (!atomic_load(&c->stop)) {
                uint64_t page = atomic_fetch_add(&c->next_page, 1);
                if (page >= c->run->npages)
                        break;
                if (kc_job_is_canceled(c->job)) {
                        status = kc_fail(err, KC_ECANCELED, "canceled");
                        break;
                }
                KC_TRY(check_page(c, &walk, page, &c->tallies[worker], err));
                kc_job_advance(c->job, 1);
        }
out:
        kc_walk_free(&walk);
        return status;
}

static void stop_check(void *ctx)
{
        struct store_check *c = ctx;
        atomic_store(&c->stop, true);
}

static enum kc_status run_is_wrong(const struct store_check *c, const char *what,
                                   struct kc_error *err)
{
        return kc_fail_file(err, KC_ECORRUPT, KC_REMEDY_RESCUE, c->store->path,
                            "%s is damaged: in run %d (footer at offset %llu), %s", c->store->path,
                            (int)(c->run - c->store->runs) + 1,
                            (unsigned long long)c->store->footer_offset, what);
}

/* Check the histogram, the sum (opening has checked that the footer's rows add up to it) and the
 * identity. */
static enum kc_status check_totals(struct store_check *c, const struct kc_tally *total,
                                   struct kc_error *err)
{
        const struct kc_run_record *r = &c->run->record;
        struct kc_histogram_row *rows;
        size_t nrows;
        enum kc_status status = kc_tally_rows(total, &rows, &nrows, err);
        if (status != KC_OK)
                return status;
        bool same = nrows == r->nhistogram &&
                    (nrows == 0 || memcmp(rows, c->run->rows, nrows * sizeof *rows) == 0);
        bool filtered = nrows == 0 ||
                        (rows[0].count >= r->min_count && rows[nrows - 1].count <= r->max_count);
        free(rows);
        if (!same)
                return run_is_wrong(c, "the counts do not match the histogram", err);
        if (!filtered)
                return run_is_wrong(c, "some counts are outside the bounds of the filter", err);
        if (r->sum + r->ndropped_kmers + r->nsaturated != r->nkmers)
                return run_is_wrong(
                        c, "the counts kept, dropped and saturated do not add up to the k-mers",
                        err);
        return KC_OK;
}

static enum kc_status check_run(struct store_check *c, int nthreads, struct kc_error *err)
{
        enum kc_status status;
        c->tallies = calloc((size_t)nthreads, sizeof *c->tallies);
        if (c->tallies == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for checking %s", c->store->path);
        atomic_store(&c->next_page, 0);
        KC_TRY(kc_parallel(nthreads, check_pages, stop_check, c, err));
        for (int t = 1; t < nthreads; t++)
                KC_TRY(kc_tally_merge(&c->tallies[0], &c->tallies[t], err));
        KC_TRY(check_totals(c, &c->tallies[0], err));
out:
        for (int t = 0; t < nthreads; t++)
                kc_tally_free(&c->tallies[t]);
        free(c->tallies);
        return status;
}

/* Whether the file still ends as when it was opened: with the same footer, and bytes after it. */
static enum kc_status is_unchanged(const struct kc_store *store, bool *same, struct kc_error *err)
{
        enum kc_status status;
        struct kc_store_header header;
        struct stat st;
        KC_TRY(kc_store_pread(store, &header, sizeof header, 0, err));
        if (fstat(store->fd, &st) != 0)
                return kc_fail(err, KC_EIO, "cannot read %s: %s", store->path, strerror(errno));
        const int ref = kc_footer_ref_in_force(&header);
        *same = ref >= 0 && header.footer[ref].offset == store->footer_offset &&
                (uint64_t)st.st_size > store->footer_offset + store->footer_nbytes;
out:
        return status;
}

/* Whether another process was appending when the file was opened. If so, it may not have finished
 * yet. */
static enum kc_status find_append(struct kc_store *store, struct kc_error *err)
{
        bool same = false;
        store->is_changing = !kc_file_lock_shared(store->fd);
        if (store->is_changing)
                return KC_OK;
        enum kc_status status = is_unchanged(store, &same, err);
        kc_file_unlock(store->fd);
        store->is_changing = status == KC_OK && !same;
        return status;
}

bool kc_store_is_changing(const struct kc_store *store)
{
        return store->is_changing;
}

/* Check what opening does not need: sound references, and nothing after the footer. */
static enum kc_status check_ends(struct kc_store *store, struct kc_error *err)
{
        const uint64_t end = store->footer_offset + store->footer_nbytes;
        if (store->footing != KC_FOOTING_SOUND)
                return kc_fail_as(err, &store->warning);
        if (kc_store_is_at_end(store))
                return KC_OK;
        const enum kc_status status = find_append(store, err);
        if (status != KC_OK || store->is_changing)
                return status;
        return kc_fail_file(err, KC_EUNTIDY, KC_REMEDY_CHANGE, store->path,
                            "%s: an interrupted append left %llu bytes after its footer, from "
                            "offset %llu on; no data is lost",
                            store->path, (unsigned long long)(store->nbytes - end),
                            (unsigned long long)end);
}

enum kc_status kc_store_check(struct kc_store *store, int nthreads, struct kc_job *job,
                              struct kc_error *err)
{
        enum kc_status status;
        kc_job_expect(job, kc_store_npages(store));
        for (uint32_t r = 0; r < store->nruns; r++) {
                struct store_check c = { .store = store, .run = &store->runs[r], .job = job };
                KC_TRY(check_run(&c, nthreads, err));
        }
        KC_TRY(check_ends(store, err));
out:
        return status;
}
