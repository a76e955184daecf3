#include "io/rescue.h"

#include "io/store/file.h"
#include "io/store/writer.h"

#include <stdlib.h>
#include <string.h>

struct rescue {
        const struct kc_store *store;
        const struct kc_run *run;
        uint32_t number; /* of the run */
        struct kc_store_writer *writer;
        struct kc_run_sink sink;
        struct kc_job *job;
        const struct kc_rescue_report *report;
        struct kc_walk walk;
        struct kc_page page;
        uint64_t ndistinct, sum; /* rescued from the run */
        struct kc_rescue_totals *totals;
};

/* Whether the fault is with the file or its disk. */
static bool is_damage(enum kc_status status)
{
        return status == KC_ECORRUPT || status == KC_EIO;
}

static enum kc_status lose(struct rescue *r, const struct kc_error *why, uint64_t nkmers,
                           const uint64_t *from, const uint64_t *to, struct kc_error *err)
{
        if (!is_damage(why->status))
                return kc_fail_as(err, why);
        const struct kc_loss loss = { .why = why->message,
                                      .run = r->number,
                                      .tombstones = r->run->kind == KC_RUN_TOMBSTONES,
                                      .nkmers = nkmers,
                                      .from = from,
                                      .to = to };
        r->report->lose(r->report->ctx, &loss);
        return KC_OK;
}

/* First k-mer of a page, from the footer; NULL after the last. */
static const uint64_t *page_first(const struct rescue *r, uint64_t page)
{
        return page < r->run->npages ? r->run->page_firsts + page * (uint64_t)r->store->nwords
                                     : NULL;
}

static enum kc_status lose_page(struct rescue *r, uint64_t page, const struct kc_error *why,
                                struct kc_error *err)
{
        const uint64_t page_nkmers = (uint64_t)KC_PAGE_NBLOCKS * KC_BLOCK_NKMERS;
        const uint64_t nleft = r->run->record.ndistinct - page * page_nkmers;
        return lose(r, why, nleft < page_nkmers ? nleft : page_nkmers, page_first(r, page),
                    page_first(r, page + 1), err);
}

static enum kc_status lose_block(struct rescue *r, uint64_t block, const struct kc_error *why,
                                 struct kc_error *err)
{
        const size_t i = block % KC_PAGE_NBLOCKS;
        const uint64_t *from = r->page.firsts + i * (size_t)r->store->nwords;
        const uint64_t *to = i + 1 < r->page.n ? from + r->store->nwords
                                               : page_first(r, block / KC_PAGE_NBLOCKS + 1);
        return lose(r, why, kc_run_block_nkmers(r->run, block), from, to, err);
}

static enum kc_status read_block(struct rescue *r, uint64_t block, struct kc_error *err)
{
        enum kc_status status;
        r->walk.chunk_nbytes = 1; /* only this block: its neighbour may be unreadable */
        KC_TRY(kc_walk_begin(&r->walk, r->store, r->run, block, block + 1, err));
        KC_TRY(kc_walk_next(&r->walk, err));
        KC_TRY(kc_walk_check_block(&r->walk, err));
out:
        return status;
}

static enum kc_status keep_block(struct rescue *r, struct kc_error *err)
{
        const struct kc_walk *walk = &r->walk;
        r->ndistinct += walk->n;
        for (size_t i = 0; i < walk->n; i++)
                r->sum += walk->counts[i];
        /* the walk has no bounds: its pairs begin where its buffers do */
        struct kc_run_pairs pairs = { .kmers = walk->kmers, .counts = walk->counts };
        pairs.n = kc_run_filter_pairs(&r->sink.filter, walk->kmers_buffer, walk->counts_buffer,
                                      walk->n, r->store->nwords, &pairs.dropped);
        return r->sink.put(r->sink.ctx, &pairs, err);
}

static enum kc_status rescue_page(struct rescue *r, uint64_t page, struct kc_error *err)
{
        struct kc_error own = { 0 };
        enum kc_status status = KC_OK;
        if (kc_job_is_canceled(r->job))
                return kc_fail(err, KC_ECANCELED, "canceled");
        if (kc_page_load(&r->page, r->store, r->run, page, &own) != KC_OK)
                return lose_page(r, page, &own, err);
        for (size_t i = 0; i < r->page.n; i++) {
                const uint64_t block = page * KC_PAGE_NBLOCKS + i;
                own = (struct kc_error){ 0 };
                if (read_block(r, block, &own) == KC_OK)
                        KC_TRY(keep_block(r, err));
                else
                        KC_TRY(lose_block(r, block, &own, err));
        }
        kc_job_advance(r->job, 1);
out:
        return status;
}

/* ---- a run ---- */

/* List the names, which are back to back in the footer; the caller frees the list. */
static const char **list_names(const struct kc_run *run)
{
        const char **names = malloc((run->record.nnames + 1) * sizeof *names);
        const char *name = run->names;
        for (uint64_t i = 0; names != NULL && i < run->record.nnames; i++) {
                names[i] = name;
                name += strlen(name) + 1;
        }
        return names;
}

/* What the record says about the run, without what is lost. */
static enum kc_status make_origin(const struct rescue *r, struct kc_store_origin *origin,
                                  struct kc_error *err)
{
        const struct kc_run_record *old = &r->run->record;
        *origin = (struct kc_store_origin){ .nnames = old->nnames,
                                            .nreads = old->nreads,
                                            .nbases = old->nbases,
                                            .nskipped = old->nskipped,
                                            .nlow_quality = old->nlow_quality,
                                            .nkmers = r->ndistinct };
        if (r->run->kind == KC_RUN_TOMBSTONES)
                return KC_OK;
        if (r->ndistinct > old->ndistinct || r->sum > old->sum || old->nsaturated > old->nkmers ||
            r->sum > old->nkmers - old->nsaturated)
                return kc_fail(err, KC_ECORRUPT,
                               "%s cannot be rescued: the blocks of run %u hold more than its "
                               "footer says",
                               r->store->path, r->number + 1);
        origin->nkmers = old->nkmers;
        origin->nsaturated = old->nsaturated;
        origin->ndropped_kmers = old->nkmers - old->nsaturated - r->sum;
        origin->ndropped_distinct = old->ndropped_distinct + old->ndistinct - r->ndistinct;
        return KC_OK;
}

static void add_totals(const struct rescue *r)
{
        if (r->run->kind == KC_RUN_TOMBSTONES) {
                r->totals->ntombstones += r->run->record.ndistinct - r->ndistinct;
                return;
        }
        r->totals->nkmers += r->run->record.ndistinct - r->ndistinct;
        r->totals->sum += r->run->record.sum - r->sum;
}

static enum kc_status end_run(struct rescue *r, struct kc_error *err)
{
        enum kc_status status;
        struct kc_store_origin origin;
        const char **names = list_names(r->run);
        if (names == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for the inputs' names");
        KC_TRY(make_origin(r, &origin, err));
        origin.names = names;
        add_totals(r);
        if (r->number + 1 < r->store->nruns) {
                KC_TRY(kc_store_end_run(r->writer, &origin, err));
        } else {
                struct kc_store_writer *writer = r->writer;
                r->writer = NULL; /* commit frees it in any case */
                KC_TRY(kc_store_commit(writer, &origin, NULL, err));
        }
out:
        free(names);
        return status;
}

static enum kc_status rescue_run(struct rescue *r, struct kc_error *err)
{
        enum kc_status status;
        r->ndistinct = r->sum = 0;
        r->page.n = 0;
        kc_writer_set_run(r->writer, r->run);
        r->sink = kc_store_sink(r->writer);
        for (uint64_t page = 0; page < r->run->npages; page++)
                KC_TRY(rescue_page(r, page, err));
        KC_TRY(r->sink.put(r->sink.ctx, &(struct kc_run_pairs){ .last = true }, err));
        KC_TRY(end_run(r, err));
out:
        kc_walk_free(&r->walk); /* it belongs to one run */
        r->walk = (struct kc_walk){ 0 };
        return status;
}

enum kc_status kc_store_rescue(struct kc_store *store, struct kc_store_writer *writer,
                               struct kc_job *job, const struct kc_rescue_report *report,
                               struct kc_rescue_totals *totals, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct rescue r = {
                .store = store, .writer = writer, .job = job, .report = report, .totals = totals
        };
        *totals =
                (struct kc_rescue_totals){ .misses_newest = store->footing == KC_FOOTING_DOUBTFUL };
        kc_job_expect(job, kc_store_npages(store));
        for (r.number = 0; r.number < store->nruns; r.number++) {
                r.run = &store->runs[r.number];
                KC_TRY(rescue_run(&r, err));
        }
out:
        kc_store_abort(r.writer);
        free(r.page.words);
        return status;
}
