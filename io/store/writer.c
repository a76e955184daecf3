/*
 * The store's writer: the file as a whole, and what follows the blocks of a run.
 */
#include "io/store/writer.h"
#include "base/file_lock.h"
#include "io/store/file.h"
#include "kmer/remedy.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/* ---- the sink ---- */

/* Make a call's failure that of all others, too. */
static enum kc_status pass_on(struct kc_store_writer *w, const struct kc_error *first,
                              struct kc_error *err)
{
        if (first->status == KC_OK)
                return KC_OK;
        kc_writer_fail(w, first);
        return kc_fail_as(err, first);
}

static enum kc_status put(void *ctx, const struct kc_run_pairs *pairs, struct kc_error *err)
{
        struct kc_error first = { 0 };
        kc_writer_put(ctx, pairs, &first);
        return pass_on(ctx, &first, err);
}

static enum kc_status put_blocks(void *ctx, const struct kc_run_blocks *blocks,
                                 struct kc_error *err)
{
        struct kc_error first = { 0 };
        kc_writer_put_blocks(ctx, blocks, &first);
        return pass_on(ctx, &first, err);
}

/* Reserve space for this many pairs: Elias-Fano code, with four bits for all but the low bits. */
static void expect(void *ctx, uint64_t npairs)
{
        struct kc_store_writer *w = ctx;
        unsigned nbits = 2 * (unsigned)w->options.k + 4, log2n = 0;
        while (log2n < 63 && npairs >> log2n > 1)
                log2n++;
        nbits = nbits > log2n + 8 ? nbits - log2n : 8;
        kc_reserve_ahead(&w->output.reserve, w->blocks_offset + npairs / 8 * nbits);
}

static void cancel(void *ctx)
{
        const struct kc_error canceled = { .status = KC_ECANCELED, .message = "canceled" };
        kc_writer_fail(ctx, &canceled);
}

void kc_store_set_stranded(struct kc_store_writer *writer, bool stranded)
{
        writer->options.stranded = stranded;
}

uint64_t kc_store_writer_only_checksum(const struct kc_store_writer *writer)
{
        return writer->options.only_checksum;
}

bool kc_store_writes_hpc(const struct kc_store_writer *writer)
{
        return writer->options.hpc;
}

struct kc_run_sink kc_store_sink(struct kc_store_writer *writer)
{
        return (struct kc_run_sink){ .ctx = writer,
                                     .filter = kc_writer_filter(writer),
                                     .put = put,
                                     .put_blocks = put_blocks,
                                     .expect = expect,
                                     .cancel = cancel };
}

/* ---- the end of a run ---- */

/* Add up what the encoders have counted, and reset them. */
static enum kc_status collect_tallies(struct kc_store_writer *w, struct kc_tally *total,
                                      struct kc_run_dropped *dropped, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (struct kc_encoder *e = w->made; e != NULL; e = e->next_made) {
                KC_TRY(kc_tally_merge(total, &e->tally, err));
                kc_run_add_dropped(dropped, &e->dropped);
                kc_tally_free(&e->tally);
                memset(&e->tally, 0, sizeof e->tally);
                e->dropped = (struct kc_run_dropped){ 0 };
        }
out:
        return status;
}

static enum kc_status append_record(struct kc_store_writer *w, struct kc_run_record *record,
                                    const struct kc_store_origin *origin, struct kc_error *err)
{
        enum kc_status status;
        struct kc_tally *total = calloc(1, sizeof *total);
        struct kc_run_dropped dropped = { 0 };
        struct kc_histogram_row *rows = NULL;
        size_t nrows;
        uint64_t ndistinct;
        if (total == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for the histogram of counts");
        KC_TRY(collect_tallies(w, total, &dropped, err));
        record->ndropped_distinct += dropped.ndistinct;
        record->ndropped_kmers += dropped.nkmers;
        KC_TRY(kc_tally_rows(total, &rows, &nrows, err));
        w->nunique = dropped.nunique + (nrows > 0 && rows[0].count == 1 ? rows[0].ndistinct : 0);
        kc_rows_totals(rows, nrows, &ndistinct, &record->sum);
        if (record->nkmers == KC_STORE_ANY_NKMERS)
                record->nkmers = record->sum + record->ndropped_kmers + record->nsaturated;
        /* An engine that encodes blocks also says what is in them, so the two may differ. */
        KC_TRY(kc_check_ndistinct(w->output.path, record->ndistinct, ndistinct, err));
        KC_TRY(kc_check_sum(w->output.path, record->sum, record->ndropped_kmers, record->nsaturated,
                            record->nkmers, err));
        struct kc_run_parts parts = { .rows = rows,
                                      .nrows = nrows,
                                      .page_firsts = &w->index.page_firsts,
                                      .page_checksums = &w->index.page_checksums,
                                      .names = origin->names,
                                      .nnames = origin->nnames };
        KC_TRY(kc_footer_append_run(&w->records, record, &parts, err));
        if (w->options.wants_rows) {
                free(w->rows);
                w->rows = rows;
                w->nrows = nrows;
                rows = NULL;
        }
out:
        kc_tally_free(total);
        free(total);
        free(rows);
        return status;
}

static void begin_run(struct kc_store_writer *w)
{
        w->form = KC_FORM_NONE;
        kc_turn_restart(&w->parts);
        kc_turn_restart(&w->tickets);
        w->next_ticket = 0;
        w->ndistinct = 0;
        kc_index_begin(&w->index);
        w->blocks_offset = w->end;
}

void kc_writer_set_run(struct kc_store_writer *w, const struct kc_run *like)
{
        w->tombstones = like->kind == KC_RUN_TOMBSTONES;
        w->options.min_count = (uint32_t)like->record.min_count;
        w->options.max_count = like->record.max_count;
        w->options.mixed = like->record.mixed;
}

enum kc_status kc_store_end_run(struct kc_store_writer *w, const struct kc_store_origin *origin,
                                struct kc_error *err)
{
        enum kc_status status;
        if (w->kinds.n == KC_STORE_MAX_RUNS)
                return kc_fail(err, KC_EUSAGE, "%s has %d runs, which is the most a file can hold",
                               w->output.path, KC_STORE_MAX_RUNS);
        KC_TRY(kc_writer_put_carry(w, err));
        struct kc_run_record record = {
                .blocks_offset = w->blocks_offset,
                .index_offset = w->end,
                .ndistinct = w->ndistinct,
                .min_count = w->options.min_count,
                .max_count = w->options.max_count,
                .mixed = w->options.mixed,
                .ndropped_distinct = origin->ndropped_distinct,
                .ndropped_kmers = origin->ndropped_kmers,
                .nreads = origin->nreads,
                .nbases = origin->nbases,
                .nskipped = origin->nskipped,
                .nlow_quality = origin->nlow_quality,
                .nkmers = origin->nkmers,
                .nsaturated = origin->nsaturated,
        };
        KC_TRY(kc_index_store(&w->index, w->nwords, &w->output, &w->end, err));
        KC_TRY(append_record(w, &record, origin, err));
        const uint64_t kind =
                kc_run_kind_word(w->tombstones ? KC_RUN_TOMBSTONES : KC_RUN_COUNTS, true);
        KC_TRY(kc_words_append(&w->kinds, &kind, sizeof kind, err));
        begin_run(w);
out:
        return status;
}

/* ---- the file ---- */

static void free_writer(struct kc_store_writer *w)
{
        kc_output_discard(&w->output);
        while (w->made != NULL) {
                struct kc_encoder *e = w->made;
                w->made = e->next_made;
                kc_encoder_free(e);
        }
        kc_turn_destroy(&w->parts);
        kc_turn_destroy(&w->tickets);
        pthread_mutex_destroy(&w->lock);
        free(w->carry_kmers);
        kc_index_free(&w->index);
        free(w->records.data);
        free(w->kinds.data);
        free(w->rows);
        free(w);
}

static enum kc_status check_options(const struct kc_store_options *o, struct kc_error *err)
{
        if (o->k < 1 || o->k > KC_MAX_K)
                return kc_fail(err, KC_EUSAGE, "k must be between 1 and %d, but is %d", KC_MAX_K,
                               o->k);
        if (o->max_count != 0 && o->min_count > o->max_count)
                return kc_fail(err, KC_EUSAGE,
                               "the lowest count to keep, %u, is above the highest, %u",
                               o->min_count, o->max_count);
        return KC_OK;
}

/* A writer without a file. */
static enum kc_status new_writer(struct kc_store_writer **writer, const char *path,
                                 const struct kc_store_options *options, struct kc_error *err)
{
        enum kc_status status = check_options(options, err);
        if (status != KC_OK)
                return status;
        struct kc_store_writer *w = calloc(1, sizeof *w);
        if (w == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for writing %s", path);
        w->output.file.fd = w->output.file.lock = w->index.fd = -1;
        pthread_mutex_init(&w->lock, NULL);
        kc_turn_init(&w->parts);
        kc_turn_init(&w->tickets);
        w->options = *options;
        if (options->min_count == 0)
                w->options.min_count = 1;
        if (options->max_count == 0)
                w->options.max_count = UINT32_MAX;
        w->nwords = kc_kmer_nwords(options->k);
        w->carry_kmers = malloc(KC_BLOCK_NKMERS * (size_t)w->nwords * sizeof *w->carry_kmers);
        if (w->carry_kmers == NULL) {
                free_writer(w);
                return kc_fail(err, KC_ENOMEM, "out of memory for writing %s", path);
        }
        w->end = sizeof(struct kc_store_header);
        begin_run(w);
        *writer = w;
        return KC_OK;
}

enum kc_status kc_store_create(struct kc_store_writer **writer, const char *path,
                               const struct kc_store_options *options, struct kc_error *err)
{
        struct kc_store_writer *w = NULL;
        enum kc_status status;
        KC_TRY(new_writer(&w, path, options, err));
        const struct kc_new_file_options creating = { .replace = options->replace,
                                                      .flush = options->careful,
                                                      .nameless = options->tmp_folder != NULL,
                                                      .lock = options->lock,
                                                      .guard = options->guard };
        KC_TRY(kc_output_create(&w->output, path, &creating, err));
        w->output.tmp_folder = options->tmp_folder;
        *writer = w;
        w = NULL;
out:
        kc_store_abort(w);
        return status;
}

/* Take over what the footer says about the existing runs. */
static enum kc_status inherit_runs(struct kc_store_writer *w, const struct kc_store *store,
                                   struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (uint32_t r = 0; r < store->nruns; r++) {
                const struct kc_run *run = &store->runs[r];
                const uint64_t kind = kc_run_kind_word(run->kind, run->linked);
                KC_TRY(kc_words_append(&w->kinds, &kind, sizeof kind, err));
        }
        size_t nwords;
        const uint64_t *records = kc_footer_records(
                store->footer, store->footer_nbytes / sizeof *store->footer, &nwords);
        KC_TRY(kc_words_append(&w->records, records, nwords * sizeof *records, err));
out:
        return status;
}

static enum kc_status store_reference(struct kc_store_writer *w, int number,
                                      const struct kc_footer_ref *ref, struct kc_error *err)
{
        const uint64_t offset =
                offsetof(struct kc_store_header, footer) + (uint64_t)number * sizeof *ref;
        return kc_output_pwrite(&w->output, ref, sizeof *ref, offset, err);
}

/*
 * Make both references sound, one of them leading to the footer in force, before anything after
 * that footer is touched. From then on, a damaged reference means that a newer footer was complete.
 * Files of earlier versions get their second reference here.
 */
static enum kc_status mend_references(struct kc_store_writer *w, const struct kc_store *store,
                                      struct kc_error *err)
{
        enum kc_status status;
        struct kc_store_header header;
        struct kc_footer_ref in_force;
        bool mended = false;
        kc_footer_ref_fill(&in_force, store->footer_offset, store->footer, store->footer_nbytes);
        KC_TRY(kc_store_pread(store, &header, sizeof header, 0, err));
        for (int i = 0; i < 2; i++) {
                if (kc_footer_ref_is_sound(&header.footer[i]))
                        continue;
                header.footer[i] = in_force;
                KC_TRY(store_reference(w, i, &in_force, err));
                mended = true;
        }
        if (mended)
                KC_TRY(kc_output_sync(&w->output, err));
        w->free_ref = 1 - kc_footer_ref_in_force(&header);
out:
        return status;
}

/* Open and lock the file, and only then look at what is in it. */
static enum kc_status append_to(struct kc_store_writer *w, const char *path,
                                struct kc_store **store, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_output_append(&w->output, path, err));
        KC_TRY(kc_store_open(store, path, err));
        KC_TRY(kc_store_check_writable(*store, err));
        if ((*store)->nruns == KC_STORE_MAX_RUNS)
                return kc_fail_file(err, KC_EUSAGE, KC_REMEDY_COMPACT, path,
                                    "%s has %d runs, which is the most a file can hold", path,
                                    KC_STORE_MAX_RUNS);
        KC_TRY(mend_references(w, *store, err));
        KC_TRY(inherit_runs(w, *store, err));
        w->end = (*store)->footer_offset + (*store)->footer_nbytes;
        KC_TRY(kc_output_keep(&w->output, w->end, err));
        begin_run(w);
        w->warning = (*store)->warning;
out:
        return status;
}

enum kc_status kc_store_append(struct kc_store_writer **writer, const char *path, bool tombstones,
                               int *k, bool *stranded, struct kc_error *err)
{
        struct kc_store_writer *w = NULL;
        struct kc_store *store = NULL;
        enum kc_status status;
        /* room for any k: the file that states k is opened later */
        KC_TRY(new_writer(&w, path, &(struct kc_store_options){ .k = KC_MAX_K }, err));
        KC_TRY(append_to(w, path, &store, err));
        w->tombstones = tombstones;
        w->options.k = *k = store->k;
        w->options.stranded = *stranded = store->stranded;
        w->options.hpc = store->hpc;
        w->options.only_checksum = store->only_checksum;
        w->nwords = store->nwords;
        *writer = w;
        w = NULL;
out:
        kc_store_close(store);
        kc_store_abort(w);
        return status;
}

static uint32_t flags_of(const struct kc_store_options *options)
{
        return (options->stranded ? KC_STORE_STRANDED : 0u) | (options->hpc ? KC_STORE_HPC : 0u) |
               (options->only_checksum != 0 ? KC_STORE_ONLY : 0u);
}

/* The header comes last: until then the file begins with zero bytes, and is not a .kc file. */
static enum kc_status store_header(struct kc_store_writer *w, const struct kc_footer_ref *ref,
                                   struct kc_error *err)
{
        struct kc_store_header header;
        kc_header_fill(&header, w->options.k, flags_of(&w->options), w->options.only_checksum);
        header.footer[0] = header.footer[1] = *ref;
        return kc_output_pwrite(&w->output, &header, sizeof header, 0, err);
}

/*
 * Switch the file over to the new footer when all of it is on the disk. Once the first byte of the
 * reference is written, nothing may be undone: readers that open the file may see it already.
 */
static enum kc_status switch_over(struct kc_store_writer *w, const struct kc_footer_ref *ref,
                                  struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_output_sync(&w->output, err));
        w->output.is_final = true;
        KC_TRY(store_reference(w, w->free_ref, ref, err));
        KC_TRY(kc_output_sync(&w->output, err));
out:
        return status;
}

/* What the file will hold, according to its footer. Also proves that the footer can be read. */
static enum kc_status describe(const struct kc_store_writer *w, const struct kc_words *footer,
                               struct kc_store_written *written, struct kc_error *err)
{
        const struct kc_file_shape shape = { .path = w->output.path,
                                             .nbytes = w->end + footer->n * sizeof *footer->data,
                                             .footer_offset = w->end,
                                             .key_nwords = w->nwords };
        struct kc_run *runs;
        uint32_t nruns;
        enum kc_status status =
                kc_footer_parse(footer->data, footer->n, &shape, &runs, &nruns, err);
        if (status != KC_OK)
                return status;
        kc_runs_info(runs, nruns, &written->info);
        written->info.k = w->options.k;
        written->info.version = kc_header_version(flags_of(&w->options));
        written->info.stranded = w->options.stranded;
        written->info.hpc = w->options.hpc;
        written->info.only_checksum = w->options.only_checksum;
        written->info.file_nbytes = shape.nbytes;
        written->nunique = w->nunique;
        free(runs);
        return KC_OK;
}

static enum kc_status store_ends(struct kc_store_writer *w, struct kc_store_written *written,
                                 struct kc_error *err)
{
        enum kc_status status;
        const bool appends = w->output.appends;
        struct kc_words footer = { 0 };
        struct kc_footer_ref ref;
        KC_TRY(kc_footer_assemble(&footer, w->end, &w->kinds, &w->records, err));
        KC_TRY(describe(w, &footer, written, err));
        size_t nbytes = footer.n * sizeof *footer.data;
        kc_footer_ref_fill(&ref, w->end, footer.data, nbytes);
        /* A search trusts a sound footer: write it only when what it refers to is on the disk. */
        if (appends)
                KC_TRY(kc_output_sync(&w->output, err));
        KC_TRY(kc_output_pwrite(&w->output, footer.data, nbytes, w->end, err));
        KC_TRY(appends ? switch_over(w, &ref, err) : store_header(w, &ref, err));
out:
        free(footer.data);
        return status;
}

/* Everything but the name. */
static enum kc_status complete(struct kc_store_writer *w, const struct kc_store_origin *origin,
                               struct kc_store_written *written, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_store_end_run(w, origin, err));
        KC_TRY(store_ends(w, written, err));
out:
        return status;
}

static void give_rows(struct kc_store_writer *w, struct kc_store_written *written)
{
        written->rows = w->rows;
        written->nrows = w->nrows;
        w->rows = NULL; /* the caller's */
}

static void give(struct kc_store_writer *w, const struct kc_store_written *file,
                 struct kc_store_written *written)
{
        if (written == NULL)
                return;
        *written = *file;
        give_rows(w, written);
}

enum kc_status kc_store_commit(struct kc_store_writer *w, const struct kc_store_origin *origin,
                               struct kc_store_written *written, struct kc_error *err)
{
        enum kc_status status;
        struct kc_store_written file = { 0 };
        KC_TRY(complete(w, origin, &file, err));
        KC_TRY(kc_output_commit(&w->output, err));
        give(w, &file, written);
out:
        free_writer(w);
        return status;
}

enum kc_status kc_store_commit_nameless(struct kc_store_writer *w,
                                        const struct kc_store_origin *origin,
                                        struct kc_store **store, struct kc_store_written *written,
                                        struct kc_error *err)
{
        enum kc_status status;
        struct kc_store_written file = { 0 };
        int fd;
        KC_TRY(complete(w, origin, &file, err));
        KC_TRY(kc_output_take(&w->output, &fd, err));
        KC_TRY(kc_store_open_file(store, w->output.path, fd, err));
        give(w, &file, written);
out:
        free_writer(w);
        return status;
}

enum kc_status kc_stores_commit(struct kc_store_writer *const *writers, size_t n,
                                const struct kc_store_origin *origins,
                                struct kc_store_written *written, struct kc_error *err)
{
        enum kc_status status;
        struct kc_output **outputs = malloc(n * sizeof(struct kc_output *));
        if (outputs == NULL)
                KC_TRY(kc_fail(err, KC_ENOMEM, "out of memory for writing %zu files", n));
        for (size_t i = 0; i < n; i++) {
                written[i] = (struct kc_store_written){ 0 };
                KC_TRY(complete(writers[i], &origins[i], &written[i], err));
                outputs[i] = &writers[i]->output;
        }
        KC_TRY(kc_outputs_commit(outputs, n, err));
        for (size_t i = 0; i < n; i++)
                give_rows(writers[i], &written[i]);
out:
        for (size_t i = 0; i < n; i++)
                free_writer(writers[i]);
        free(outputs);
        return status;
}

void kc_store_abort(struct kc_store_writer *writer)
{
        if (writer != NULL)
                free_writer(writer);
}

const struct kc_error *kc_store_writer_warning(const struct kc_store_writer *writer)
{
        return writer->warning.status == KC_OK ? NULL : &writer->warning;
}

enum kc_status kc_store_lock(int *lock, const char *path, struct kc_error *err)
{
        return kc_file_lock(lock, path, err);
}

void kc_store_unlock(int lock)
{
        if (lock >= 0)
                close(lock);
}
