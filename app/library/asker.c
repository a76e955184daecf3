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
        MOST_PIECES = 1 << 12,  /* of sequences, in a slice that devices answer */
        MANY = 1 << 20,         /* k-mers; no fewer are asked in rounds if the counts are kept */
        DEVICE_LEAST = 1 << 10, /* k-mers; fewer take less time than starting threads */
        SLICES_DIVISOR = 8,     /* of the memory is for what threads need for slices... */
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
        /* Only if devices answer: */
        char *letters;                     /* [asker's slice_nkmers] */
        struct kc_ask_sequence *sequences; /* [MOST_PIECES] */
        struct kc_ask_answer *answers;     /* [MOST_PIECES] */
        size_t next, first; /* the thread's slices: to be added next, and to be taken next */
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
        atomic_bool is_full; /* the round has no room for more */
        struct kc_job job;   /* of the question */
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

/* ---- in rounds, or on devices ---- */

static enum kc_status open_rounds(struct kcount_asker *a, struct kc_error *err)
{
        const struct kc_ask_table table = kc_store_ask_table(a->counts->store);
        const struct kc_ask_setup setup = { .nthreads = a->nthreads,
                                            .memory_nbytes = a->memory_nbytes,
                                            .max_count = UINT32_MAX,
                                            .wants_counts = true,
                                            .job = &a->job };
        enum kc_gpu_ask_way way;
        if (a->rounds.close != NULL)
                return KC_OK;
        if (a->device.ndevices > 0)
                return kc_device_asker_open(&a->rounds, a->counts->store, &a->device, &setup, &way,
                                            err);
        return kc_cpu_ask_open(&a->rounds, &table, &setup, NULL, err);
}

static void close_rounds(struct kcount_asker *a)
{
        if (a->rounds.close != NULL)
                a->rounds.close(a->rounds.ctx);
        a->rounds.close = NULL;
}

static enum kc_status add_slice(struct kcount_asker *a, int worker, struct kc_error *err)
{
        struct asking_slice *s = &a->slices[worker];
        bool full = false;
        size_t n;
        enum kc_status status;
        if (a->device.ndevices > 0) {
                KC_TRY(check_canceled(a, err));
                KC_TRY(kc_question_letters(&a->question, s->next, s->letters, s->sequences, &n,
                                           err));
                KC_TRY(a->rounds.add(a->rounds.ctx, worker, s->sequences, n, &full, err));
        } else {
                KC_TRY(make(a, s, s->next, &n, err));
                KC_TRY(kc_cpu_ask_add_kmers(&a->rounds, worker, s->kmers, (uint32_t)n, &full, err));
        }
        if (full)
                atomic_store(&a->is_full, true);
        s->next += (size_t)a->nthreads;
out:
        return status;
}

static enum kc_status take_slice(struct kcount_asker *a, int worker, struct kc_error *err)
{
        struct asking_slice *s = &a->slices[worker];
        const bool on_device = a->device.ndevices > 0;
        const size_t n = kc_question_slice_nkmers(&a->question, s->first);
        struct kc_ask_answer answer, *answers = on_device ? s->answers : &answer;
        enum kc_status status;
        KC_TRY(a->rounds.take(a->rounds.ctx, worker, answers,
                              on_device ? kc_question_npieces(&a->question, s->first) : 1, err));
        if (on_device)
                kc_question_answer(&a->question, s->first, answers);
        else
                memcpy(found_of(a, s->first), answer.counts, n * sizeof *answer.counts);
        end_slice(a, s->first);
        s->first += (size_t)a->nthreads;
out:
        return status;
}

static enum kc_status add_slices(void *ctx, int worker, struct kc_error *err)
{
        struct kcount_asker *a = ctx;
        const struct asking_slice *s = &a->slices[worker];
        enum kc_status status = KC_OK;
        while (s->next < a->question.nslices && !atomic_load(&a->is_full))
                KC_TRY(add_slice(a, worker, err));
out:
        return status;
}

static enum kc_status take_slices(void *ctx, int worker, struct kc_error *err)
{
        struct kcount_asker *a = ctx;
        const struct asking_slice *s = &a->slices[worker];
        enum kc_status status = KC_OK;
        while (s->first < s->next)
                KC_TRY(take_slice(a, worker, err));
out:
        return status;
}

/* Of a prompt asker: a few slices are added before the first of them is taken. */
static enum kc_status stream_slices(void *ctx, int worker, struct kc_error *err)
{
        struct kcount_asker *a = ctx;
        const struct asking_slice *s = &a->slices[worker];
        const size_t ahead = a->rounds.depth * (size_t)a->nthreads, n = a->question.nslices;
        enum kc_status status = KC_OK;
        while (s->first < n)
                if (s->next < n && s->next - s->first < ahead)
                        KC_TRY(add_slice(a, worker, err));
                else
                        KC_TRY(take_slice(a, worker, err));
out:
        return status;
}

static bool is_answered(const struct kcount_asker *a)
{
        for (int i = 0; i < a->nthreads; i++)
                if (a->slices[i].next < a->question.nslices)
                        return false;
        return true;
}

static enum kc_status ask_in_rounds(struct kcount_asker *a, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(open_rounds(a, err));
        for (int i = 0; i < a->nthreads; i++)
                a->slices[i].next = a->slices[i].first = (size_t)i;
        if (a->rounds.answer == NULL)
                KC_TRY(kc_parallel(a->nthreads, stream_slices, NULL, a, err));
        while (!is_answered(a)) {
                atomic_store(&a->is_full, false);
                KC_TRY(kc_parallel(a->nthreads, add_slices, NULL, a, err));
                KC_TRY(a->rounds.answer(a->rounds.ctx, err));
                KC_TRY(kc_parallel(a->nthreads, take_slices, NULL, a, err));
        }
out:
        if (status != KC_OK)
                close_rounds(a);
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

static bool should_keep(const struct kcount_asker *a)
{
        return !a->is_kept && a->may_keep && a->nasked > a->few;
}

static enum kc_status ask(void *ctx, struct kc_error *err)
{
        struct kcount_asker *a = ctx;
        const size_t n = a->question.n;
        const bool in_rounds = uses_device(a) || n >= a->many;
        enum kc_status status = KC_OK;
        if (!in_rounds && should_keep(a))
                KC_TRY(keep(a, err));
        kc_job_begin_stage(&a->job, ASKING, n);
        if (in_rounds || (!a->is_kept && n > a->few))
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
        return a->question.nslices <= 1 && !uses_device(a) && !should_keep(a) &&
               (a->is_kept || (a->question.n <= a->few && a->progress == NULL));
}

/*
 * All but small questions are answered by other threads than the caller's: it calls its progress
 * callback meanwhile, and using a device would change its current one.
 */
static enum kc_status answer(struct kcount_asker *a, struct kc_error *err)
{
        static const char *const stages[] = { [LOADING] = "loading", [ASKING] = "asking" };
        const struct kc_working working = { a, ask, &a->job, stages, a->progress, a->progress_ctx };
        size_t slice_nkmers = a->slice_nkmers, most_pieces = SIZE_MAX;
        enum kc_status status;
        if (uses_device(a)) {
                most_pieces = MOST_PIECES;
                if (a->question.kmers != NULL)
                        slice_nkmers = slice_nkmers / ((size_t)a->counts->k + 1);
        } else if (a->question.n < a->many) {
                a->nasked += a->question.n;
        }
        KC_TRY(kc_question_cut(&a->question, slice_nkmers, most_pieces, err));
        atomic_store(&a->job.cancel, false);
        kc_job_begin_stage(&a->job, ASKING, a->question.n);
        KC_TRY(is_small(a) ? ask(a, err) : kc_working_run(&working, err));
out:
        return status;
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
        kc_job_begin_stage(&a->job, LOADING, 0);
        return open_rounds(a, err);
}

static enum kc_status reserve_letters(struct kcount_asker *a, struct kc_error *err)
{
        for (int i = 0; i < a->nthreads; i++) {
                struct asking_slice *s = &a->slices[i];
                s->letters = malloc(a->slice_nkmers);
                s->sequences = malloc(MOST_PIECES * sizeof *s->sequences);
                s->answers = malloc(MOST_PIECES * sizeof *s->answers);
                if (s->letters == NULL || s->sequences == NULL || s->answers == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory for %d threads", a->nthreads);
        }
        return KC_OK;
}

/* If no device is named, the CPU answers. */
static enum kc_status choose_device(struct kcount_asker *a, const char *device,
                                    struct kc_error *err)
{
        static const char *const stages[] = { [LOADING] = "loading" };
        const struct kc_working working = { a,      open_device, &a->job,
                                            stages, a->progress, a->progress_ctx };
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
        KC_TRY(reserve_letters(a, err));
        KC_TRY(kc_working_run(&working, err));
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
        const uint64_t taken = a->slice_nkmers * each + a->summed_nkmers * SUMMED_NBYTES;
        a->memory_nbytes = nbytes > taken ? (nbytes - taken) / 2 : 0;
}

static enum kc_status take_options(struct kcount_asker *a, const struct kcount_ask_options *given,
                                   const char **device, struct kc_error *err)
{
        struct kcount_ask_options options = KCOUNT_ASK_OPTIONS_INIT;
        enum kc_status status;
        KC_TRY(kc_library_take_options(&options, sizeof options, given,
                                       offsetof(struct kcount_ask_options, memory_nbytes),
                                       "KCOUNT_ASK_OPTIONS_INIT", err));
        const struct kc_library_limits limits = { .min_count = 1,
                                                  .max_count = UINT32_MAX,
                                                  .nthreads = options.nthreads };
        KC_TRY(kc_library_check_limits(&limits, err));
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
        return (struct kc_library_asking){ asker->counts->k, asker->nthreads,
                                           asker->summed_nkmers };
}

static enum kc_status close_device(void *ctx, struct kc_error *err)
{
        (void)err;
        close_rounds(ctx);
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
                free(s->answers);
                kc_ask_finder_free(&s->finder);
        }
        free(asker->slices);
        free(asker->question.slices);
        if (asker->device.ndevices > 0)
                (void)kc_working_run(&working, NULL);
        close_rounds(asker); /* on the CPU, or if no thread could be started */
        kc_ask_kept_free(&asker->kept);
        kc_lookup_close(asker->lookup);
        free(asker);
}
