/*
 * Asking for counts. The k-mers of a question are prepared in slices, in the form in which the
 * store keeps them, and answered in one of three ways:
 *
 *      looked up  in the file, one by one: the first k-mers of an asker
 *      kept       in memory (cpu/ask/kept.h), if the counts fit there, once so many k-mers have
 *                 been asked for that looking them up would take longer
 *      in rounds  (cpu/ask/ask.h) for a question of that many k-mers if the counts do not fit, and
 *                 for any question of at least MANY k-mers more than half of what the store has.
 *                 Each part of the store is decoded once, and stays in the cache while all the
 *                 k-mers that belong to it are answered
 *
 * If the caller names devices, they answer all questions but small ones. They are given letters: an
 * N between any two k-mers makes these the only windows that are valid.
 */
#include "app/library/asking.h"
#include "app/library/device.h"
#include "app/library/device_asker.h"
#include "app/library/library.h"
#include "app/library/machine.h"
#include "app/library/memory.h"
#include "app/library/question.h"
#include "app/library/working.h"
#include "base/job.h"
#include "base/parallel.h"
#include "cpu/ask/ask.h"
#include "cpu/ask/kept.h"
#include "kmer/letters.h"
#include "kmer/remedy.h"

#include <stdlib.h>
#include <string.h>

enum {
        MOST_SLICE = 1 << 18, /* k-mers */
        LEAST_SLICE = 1 << 12,
        MOST_PIECES = 1 << 12,  /* of sequences, in a slice in rounds or on devices */
        MANY = 1 << 20,         /* k-mers; no fewer are asked in rounds if the counts are kept */
        DEVICE_LEAST = 1 << 10, /* k-mers; fewer take less time than starting threads */
        PROMPT = 64,            /* k-mers; no more are looked up in the file without progress */
        SLICES_DIVISOR = 8,     /* this part of the memory is for the slices of threads... */
        SUMMED_DIVISOR = 8,     /* ...and as much for counts that are summarized */
        SUMMED_NBYTES = sizeof(uint32_t) + sizeof(bool), /* of each */
};

enum asking_stage { LOADING, ASKING };

/* What a thread needs for a slice. */
struct asking_slice {
        uint64_t *kmers; /* [(cap + KC_LETTERS_SPARE) * nwords] */
        uint8_t *codes;  /* [cap + KCOUNT_MAX_K + 2 * KC_LETTERS_SPARE] */
        size_t cap;
        struct kc_ask_finder finder;
        /* Only in rounds, or if devices answer: */
        char *letters;                     /* [asker's slice_nkmers] */
        struct kc_ask_sequence *sequences; /* [MOST_PIECES] */
};

struct kcount_asker {
        struct kcount_counts *counts;
        int nthreads;
        size_t slice_nkmers;    /* at most */
        size_t summed_nkmers;   /* that are asked for at once, at most, to be summarized */
        uint64_t memory_nbytes; /* for the kept counts, and as much again for rounds */
        uint64_t nasked, few;   /* k-mers so far; how many are looked up at most */
        uint64_t many;          /* from so many k-mers on, a question is asked in rounds */
        struct kc_lookup *lookup;
        struct kc_ask_kept kept;
        bool is_kept, may_keep;
        struct kc_asker rounds;           /* if close is NULL, it is not open */
        struct kc_gpu_ask_options device; /* ndevices 0: the CPU answers */
        struct asking_slice *slices;      /* [nthreads] */
        struct kc_question question;
        struct kc_asking_block *blocks; /* [question.nslices] */
        atomic_size_t next_slice;
        struct kc_job job; /* of the question */
        kcount_progress *progress;
        void *progress_ctx;
};

/* ---- a slice ---- */

static enum kc_status reserve(struct asking_slice *s, int nwords, size_t n, struct kc_error *err)
{
        if (n <= s->cap)
                return KC_OK;
        free(s->kmers);
        free(s->codes);
        s->kmers = malloc((n + KC_LETTERS_SPARE) * (size_t)nwords * sizeof *s->kmers);
        s->codes = malloc(n + KCOUNT_MAX_K + 2 * KC_LETTERS_SPARE);
        s->cap = s->kmers != NULL && s->codes != NULL ? n : 0;
        return s->cap > 0 ? KC_OK : kc_fail(err, KC_ENOMEM, "out of memory for %zu k-mers", n);
}

/* About how many bytes a thread needs for a k-mer of its slice: the k-mer twice, in its order and
 * by parts; codes or letters; and what finding or looking up takes. */
static uint64_t slice_kmer_nbytes(int nwords)
{
        enum { LETTER = 1, FINDING = 12 };
        return 16 * (uint64_t)nwords + LETTER + FINDING;
}

static enum kc_status check_canceled(const struct kcount_asker *a, struct kc_error *err)
{
        return kc_job_is_canceled(&a->job) ? kc_fail(err, KC_ECANCELED, "canceled") : KC_OK;
}

/* Make the k-mers of a slice, of which there are *n. */
static enum kc_status make(struct kcount_asker *a, struct asking_slice *s, size_t slice, size_t *n,
                           struct kc_error *err)
{
        enum kc_status status;
        *n = kc_question_slice_nkmers(&a->question, slice);
        KC_TRY(check_canceled(a, err));
        KC_TRY(reserve(s, a->counts->nwords, *n, err));
        KC_TRY(kc_question_make(&a->question, slice, s->codes, s->kmers, err));
out:
        return status;
}

static uint32_t *found_of(const struct kcount_asker *a, size_t slice)
{
        return a->question.found + a->question.slices[slice].begin;
}

/* The counts of a slice have been found. */
static void end_slice(struct kcount_asker *a, size_t slice)
{
        kc_question_mark(&a->question, slice);
        kc_job_advance(&a->job, kc_question_slice_nkmers(&a->question, slice));
}

/* ---- looked up, or kept ---- */

static enum kc_status look_up(struct kcount_asker *a, struct kc_error *err)
{
        struct asking_slice *s = &a->slices[0];
        enum kc_status status = KC_OK;
        for (size_t slice = 0, n; slice < a->question.nslices; slice++) {
                KC_TRY(make(a, s, slice, &n, err));
                KC_TRY(kc_lookup_counts(a->lookup, s->kmers, n, found_of(a, slice), err));
                end_slice(a, slice);
        }
out:
        return status;
}

/* ctx of this and of all functions below: the asker. */
static enum kc_status find_slices(void *ctx, int worker, struct kc_error *err)
{
        struct kcount_asker *a = ctx;
        struct asking_slice *s = &a->slices[worker];
        enum kc_status status = KC_OK;
        for (size_t i = (size_t)worker, n; i < a->question.nslices; i += (size_t)a->nthreads) {
                KC_TRY(make(a, s, i, &n, err));
                KC_TRY(kc_ask_kept_find(&a->kept, &s->finder, s->kmers, n, found_of(a, i), err));
                end_slice(a, i);
        }
out:
        return status;
}

/* ---- in rounds, or on devices: slices are the blocks that kc_asking_run asks ---- */

static enum kc_status open_rounds(void *ctx, struct kc_asker *rounds,
                                  const struct kc_ask_setup *setup, uint64_t nbases,
                                  struct kc_error *err)
{
        const struct kcount_asker *a = ctx;
        const struct kc_ask_table table = kc_store_ask_table(a->counts->store);
        enum kc_gpu_ask_way way;
        (void)nbases;
        if (a->device.ndevices > 0)
                return kc_device_asker_open(rounds, a->counts->store, &a->device, setup, &way, err);
        return kc_cpu_ask_open(rounds, &table, setup, NULL, err);
}

static enum kc_status next_slice(void *ctx, int worker, struct kc_asking_block **block, bool *ended,
                                 struct kc_error *err)
{
        struct kcount_asker *a = ctx;
        const size_t slice = atomic_fetch_add(&a->next_slice, 1);
        (void)worker, (void)err;
        *ended |= slice >= a->question.nslices;
        *block = *ended ? NULL : &a->blocks[slice];
        return KC_OK;
}

static enum kc_status make_sequences(void *ctx, int worker, const struct kc_asking_block *block,
                                     const struct kc_ask_sequence **sequences, struct kc_error *err)
{
        struct kcount_asker *a = ctx;
        struct asking_slice *s = &a->slices[worker];
        *sequences = s->sequences;
        return kc_question_letters(&a->question, block->number, s->letters, s->sequences, err);
}

/* If the CPU answers k-mers, it takes them as they are. */
static enum kc_status add_kmers(void *ctx, int worker, const struct kc_asking_block *block,
                                const struct kc_asker *rounds, bool *full, struct kc_error *err)
{
        struct kcount_asker *a = ctx;
        struct asking_slice *s = &a->slices[worker];
        size_t n;
        enum kc_status status;
        KC_TRY(make(a, s, block->number, &n, err));
        KC_TRY(kc_cpu_ask_add_kmers(rounds, worker, s->kmers, (uint32_t)n, full, err));
out:
        return status;
}

static void release_slice(void *ctx, struct kc_asking_block *block)
{
        (void)ctx, (void)block;
}

static void resize_slot(void *ctx, uint64_t from_nbytes, uint64_t to_nbytes)
{
        (void)ctx, (void)from_nbytes, (void)to_nbytes;
}

static enum kc_status store_answers(void *ctx, int worker, const struct kc_asked *asked,
                                    struct kc_error *err)
{
        struct kcount_asker *a = ctx;
        (void)worker, (void)err;
        kc_question_answer(&a->question, asked->block->number, asked->answers);
        kc_question_mark(&a->question, asked->block->number);
        return KC_OK;
}

/* All is stored already. */
static enum kc_status end_block(void *ctx, const struct kc_asked *asked, struct kc_error *err)
{
        (void)ctx, (void)asked, (void)err;
        return KC_OK;
}

static enum kc_status make_blocks(struct kcount_asker *a, struct kc_error *err)
{
        const struct kc_question *q = &a->question;
        a->blocks = malloc((q->nslices + 1) * sizeof *a->blocks);
        if (a->blocks == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for a question");
        for (size_t i = 0; i < q->nslices; i++) {
                const size_t n = kc_question_slice_nkmers(q, i);
                a->blocks[i] = (struct kc_asking_block){ .number = i,
                                                         .nsequences = kc_question_npieces(q, i),
                                                         .nbases = n,
                                                         .nunits = n };
        }
        for (int i = 0; i < a->nthreads; i++) {
                struct asking_slice *s = &a->slices[i];
                s->letters = s->letters != NULL ? s->letters : malloc(a->slice_nkmers);
                s->sequences = s->sequences != NULL ? s->sequences
                                                    : malloc(MOST_PIECES * sizeof *s->sequences);
                if (s->letters == NULL || s->sequences == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory for %d threads", a->nthreads);
        }
        atomic_store(&a->next_slice, 0);
        return KC_OK;
}

static enum kc_status ask_blocks(struct kcount_asker *a, const struct kc_asking_source *source,
                                 const struct kc_asking_consumer *consumer, struct kc_error *err)
{
        const struct kc_asking_options options = { .nthreads = a->nthreads,
                                                   .memory_nbytes = a->memory_nbytes,
                                                   .max_count = UINT32_MAX,
                                                   .wants_counts = true,
                                                   .open = open_rounds,
                                                   .ctx = a,
                                                   .shared = &a->rounds,
                                                   .job = &a->job };
        const enum kc_status status =
                kc_asking_run(a->counts->store, source, &options, consumer, err);
        if (status != KC_OK)
                kc_asking_close(&a->rounds);
        return status;
}

static enum kc_status ask_in_rounds(struct kcount_asker *a, struct kc_error *err)
{
        const bool adds_kmers = a->question.kmers != NULL && a->device.ndevices == 0;
        const struct kc_asking_source source = { .ctx = a,
                                                 .nunits = a->question.n,
                                                 .next = next_slice,
                                                 .sequences = make_sequences,
                                                 .add = adds_kmers ? add_kmers : NULL,
                                                 .release = release_slice,
                                                 .resize_slot = resize_slot };
        const struct kc_asking_consumer consumer = { .ctx = a,
                                                     .format = store_answers,
                                                     .write = end_block };
        enum kc_status status;
        KC_TRY(make_blocks(a, err));
        KC_TRY(ask_blocks(a, &source, &consumer, err));
out:
        free(a->blocks);
        return status;
}

/* ---- a question ---- */

static enum kc_status keep(struct kcount_asker *a, struct kc_error *err)
{
        const struct kc_ask_table table = kc_store_ask_table(a->counts->store);
        kc_job_begin_stage(&a->job, LOADING, table.ndistinct);
        enum kc_status status =
                kc_ask_kept_load(&a->kept, &table, a->nthreads, &a->job, &a->may_keep, err);
        if (status == KC_ENOMEM) { /* less memory is free than was allowed */
                a->may_keep = false;
                *err = (struct kc_error){ 0 };
                status = KC_OK;
        }
        a->is_kept = status == KC_OK && a->may_keep;
        return status;
}

static bool uses_device(const struct kcount_asker *a)
{
        return a->device.ndevices > 0 && a->question.n >= DEVICE_LEAST;
}

static bool goes_in_rounds(const struct kcount_asker *a)
{
        const size_t n = a->question.n;
        return uses_device(a) || n >= a->many || (!a->is_kept && !a->may_keep && n > a->few);
}

static bool should_keep(const struct kcount_asker *a)
{
        return !a->is_kept && a->may_keep && a->nasked > a->few;
}

/* Letters take more room than k-mers. */
static enum kc_status cut(struct kcount_asker *a, struct kc_error *err)
{
        struct kc_question *q = &a->question;
        if (!goes_in_rounds(a))
                return kc_question_cut(q, a->slice_nkmers, SIZE_MAX, err);
        const bool spells = q->kmers != NULL && a->device.ndevices > 0;
        return kc_question_cut(
                q, spells ? a->slice_nkmers / ((size_t)a->counts->k + 1) : a->slice_nkmers,
                MOST_PIECES, err);
}

static enum kc_status ask(void *ctx, struct kc_error *err)
{
        struct kcount_asker *a = ctx;
        enum kc_status status = KC_OK;
        if (!goes_in_rounds(a) && should_keep(a))
                KC_TRY(keep(a, err));
        kc_job_begin_stage(&a->job, ASKING, a->question.n);
        KC_TRY(cut(a, err));
        if (goes_in_rounds(a))
                return ask_in_rounds(a, err);
        if (!a->is_kept)
                return look_up(a, err);
        /* starting threads for one slice would take longer */
        status = kc_parallel(a->question.nslices > 1 ? a->nthreads : 1, find_slices, NULL, a, err);
out:
        return status;
}

/* Whether the caller's thread can answer the question by itself in no time. */
static bool is_small(const struct kcount_asker *a)
{
        return a->question.n <= a->slice_nkmers && !goes_in_rounds(a) && !should_keep(a) &&
               (a->is_kept || a->question.n <= PROMPT || a->progress == NULL);
}

/* Work in other threads than the caller's: that thread calls the progress callback meanwhile, and
 * using a device would change its current device. */
static enum kc_status work_in_threads(struct kcount_asker *a, void *ctx,
                                      enum kc_status (*work)(void *ctx, struct kc_error *err),
                                      struct kc_error *err)
{
        static const char *const stages[] = { [LOADING] = "loading", [ASKING] = "asking" };
        const struct kc_working working = {
                ctx, work, &a->job, stages, a->progress, a->progress_ctx
        };
        atomic_store(&a->job.cancel, false);
        return kc_working_run(&working, err);
}

static enum kc_status answer(struct kcount_asker *a, struct kc_error *err)
{
        if (!uses_device(a) && a->question.n < a->many)
                a->nasked += a->question.n;
        kc_job_begin_stage(&a->job, ASKING, a->question.n);
        if (!is_small(a))
                return work_in_threads(a, a, ask, err);
        atomic_store(&a->job.cancel, false);
        return ask(a, err);
}

struct foreign_blocks {
        struct kcount_asker *asker;
        const struct kc_asking_source *source;
        const struct kc_asking_consumer *consumer;
};

static enum kc_status ask_foreign_blocks(void *ctx, struct kc_error *err)
{
        const struct foreign_blocks *blocks = ctx;
        return ask_blocks(blocks->asker, blocks->source, blocks->consumer, err);
}

enum kc_status kc_library_ask_blocks(struct kcount_asker *asker,
                                     const struct kc_asking_source *source,
                                     const struct kc_asking_consumer *consumer,
                                     struct kc_error *err)
{
        struct foreign_blocks blocks = { asker, source, consumer };
        kc_job_begin_stage(&asker->job, ASKING, source->nunits);
        return work_in_threads(asker, &blocks, ask_foreign_blocks, err);
}

enum kcount_status kcount_ask(struct kcount_asker *asker, const uint64_t *kmers, size_t n,
                              uint32_t *found, struct kcount_error **error)
{
        struct kc_error err = { 0 };
        struct kc_question *q = &asker->question;
        q->kmers = kmers;
        q->sequences = NULL;
        q->nsequences = 0;
        q->n = n;
        q->found = found;
        q->valid = NULL;
        return answer(asker, &err) == KC_OK ? KCOUNT_OK : kc_library_failed(&err, error);
}

enum kcount_status kcount_ask_sequences(struct kcount_asker *asker,
                                        const struct kcount_sequence *sequences, size_t n,
                                        uint32_t *found, bool *valid, struct kcount_error **error)
{
        struct kc_error err = { 0 };
        struct kc_question *q = &asker->question;
        q->kmers = NULL;
        q->sequences = sequences;
        q->nsequences = n;
        q->n = kc_question_count(q->k, sequences, n);
        q->found = found;
        q->valid = valid;
        return answer(asker, &err) == KC_OK ? KCOUNT_OK : kc_library_failed(&err, error);
}

enum kcount_status kcount_ask_sequence(struct kcount_asker *asker, const char *bases, size_t n,
                                       uint32_t *found, bool *valid, struct kcount_error **error)
{
        const struct kcount_sequence sequence = { bases, n };
        return kcount_ask_sequences(asker, &sequence, 1, found, valid, error);
}

/* ---- opening and closing ---- */

static enum kc_status open_device(void *ctx, struct kc_error *err)
{
        struct kcount_asker *a = ctx;
        const struct kc_ask_setup setup = { .nthreads = a->nthreads,
                                            .memory_nbytes = a->memory_nbytes,
                                            .max_count = UINT32_MAX,
                                            .wants_counts = true,
                                            .job = &a->job };
        return open_rounds(a, &a->rounds, &setup, KC_ASKING_UNKNOWN, err);
}

/* If no device is named, the CPU answers. */
static enum kc_status choose_device(struct kcount_asker *a, const char *device,
                                    struct kc_error *err)
{
        const int k = a->counts->k, most = kc_gpu_map_max_k(KC_GPU_MAP_WARPDRIVE);
        enum kc_status status;
        if (device == NULL || strcmp(device, "auto") == 0)
                return KC_OK;
        KC_TRY(kc_device_parse(device, a->device.devices, &a->device.ndevices, err));
        if (a->device.ndevices == 0)
                return KC_OK;
        if (k > most)
                return kc_fail_remedy(err, KC_EUSAGE, KC_REMEDY_CPU,
                                      "CUDA devices answer for k up to %d, but k is %d", most, k);
        a->device.map = KC_GPU_MAP_WARPDRIVE;
        a->device.stranded = a->counts->info.stranded;
        a->may_keep = false;
        kc_job_begin_stage(&a->job, LOADING, 0);
        KC_TRY(work_in_threads(a, a, open_device, err));
out:
        return status;
}

static uint64_t clamp(uint64_t least, uint64_t n, uint64_t most)
{
        return n < least ? least : n < most ? n : most;
}

/* Divide the memory: some for the slices of the threads, some for summaries, and of the rest one
 * half for the kept counts, and one for rounds. Summaries gain from rounds, too. */
static void plan_memory(struct kcount_asker *a, uint64_t nbytes)
{
        const uint64_t each = (uint64_t)a->nthreads * slice_kmer_nbytes(a->counts->nwords);
        a->slice_nkmers = clamp(LEAST_SLICE, nbytes / SLICES_DIVISOR / each, MOST_SLICE);
        a->summed_nkmers =
                clamp(a->slice_nkmers, nbytes / SUMMED_DIVISOR / SUMMED_NBYTES, 2 * a->many);
        const uint64_t pieces_nbytes =
                sizeof(struct kc_ask_sequence) + 2 * sizeof(struct kc_ask_answer);
        const uint64_t taken = a->slice_nkmers * each + a->summed_nkmers * SUMMED_NBYTES +
                               (uint64_t)a->nthreads * MOST_PIECES * pieces_nbytes;
        a->memory_nbytes = nbytes > taken ? (nbytes - taken) / 2 : 0;
}

static enum kc_status take_options(struct kcount_asker *a, const struct kcount_ask_options *given,
                                   const char **device, struct kc_error *err)
{
        struct kcount_ask_options options = KCOUNT_ASK_OPTIONS_INIT;
        enum kc_status status;
        KC_TRY(kc_library_take_options(&options, sizeof options, &options.nthreads, given,
                                       "KCOUNT_ASK_OPTIONS_INIT", err));
        a->nthreads = kc_machine_nthreads((uint64_t)options.nthreads);
        a->progress = options.progress;
        a->progress_ctx = options.progress_ctx;
        plan_memory(a,
                    options.memory_nbytes > 0 ? options.memory_nbytes : kc_memory_guest_nbytes());
        *device = options.device;
out:
        return status;
}

enum kcount_status kcount_asker_open(struct kcount_asker **asker, struct kcount_counts *counts,
                                     const struct kcount_ask_options *options,
                                     struct kcount_error **error)
{
        const struct kc_ask_table table = kc_store_ask_table(counts->store);
        struct kc_error err = { 0 };
        const char *device;
        enum kc_status status;
        struct kcount_asker *a = calloc(1, sizeof *a);
        if (a == NULL)
                KC_TRY(kc_fail(&err, KC_ENOMEM, "out of memory for asking"));
        a->counts = counts;
        a->question.k = counts->k;
        a->question.stranded = counts->info.stranded;
        a->few = kc_lookup_few(&counts->info);
        a->many = counts->info.ndistinct / 2 + MANY;
        KC_TRY(take_options(a, options, &device, &err));
        a->may_keep = kc_ask_kept_nbytes(&table) <= a->memory_nbytes;
        a->slices = calloc((size_t)a->nthreads, sizeof *a->slices);
        if (a->slices == NULL)
                KC_TRY(kc_fail(&err, KC_ENOMEM, "out of memory for %d threads", a->nthreads));
        KC_TRY(kc_lookup_open(&a->lookup, counts->store, &err));
        KC_TRY(choose_device(a, device, &err));
        *asker = a;
        return KCOUNT_OK;
out:
        kcount_asker_close(a);
        return kc_library_failed(&err, error);
}

struct kc_library_asking kc_library_asking(const struct kcount_asker *asker)
{
        return (struct kc_library_asking){ asker->counts->k, asker->nthreads, asker->summed_nkmers,
                                           asker->summed_nkmers * SUMMED_NBYTES };
}

static enum kc_status close_device(void *ctx, struct kc_error *err)
{
        (void)err;
        kc_asking_close(&((struct kcount_asker *)ctx)->rounds);
        return KC_OK;
}

void kcount_asker_close(struct kcount_asker *asker)
{
        const struct kc_working working = { asker, close_device, NULL, NULL, NULL, NULL };
        if (asker == NULL)
                return;
        for (int i = 0; asker->slices != NULL && i < asker->nthreads; i++) {
                struct asking_slice *s = &asker->slices[i];
                free(s->kmers);
                free(s->codes);
                free(s->letters);
                free(s->sequences);
                kc_ask_finder_free(&s->finder);
        }
        free(asker->slices);
        free(asker->question.slices);
        if (asker->device.ndevices > 0)
                (void)kc_working_run(&working, NULL);
        kc_asking_close(&asker->rounds); /* on the CPU, or if no thread could be started */
        kc_ask_kept_free(&asker->kept);
        kc_lookup_close(asker->lookup);
        free(asker);
}
