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
#include "base/parallel.h"
#include "cpu/ask/ask.h"
#include "cpu/ask/kept.h"
#include "kmer/letters.h"
#include "kmer/remedy.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
        SLICE = 1 << 18,        /* k-mers */
        MANY = 1 << 20,         /* k-mers; no fewer are asked in rounds if the counts are kept */
        DEVICE_LEAST = 1 << 10, /* k-mers; fewer take less time than starting threads */
};

/* What a thread needs for a slice. */
struct asking_slice {
        uint64_t *kmers; /* [(cap + KC_LETTERS_SPARE) * nwords] */
        uint8_t *codes;  /* [cap + KCOUNT_MAX_K + 2 * KC_LETTERS_SPARE] */
        char *letters;   /* [SLICE] if devices answer, otherwise NULL */
        size_t cap;
        struct kc_ask_finder finder;
        size_t next, first; /* the thread's slices: to be added next, and to be taken next */
};

struct kcount_asker {
        struct kcount_counts *counts;
        int nthreads;
        uint64_t memory_nbytes; /* for the kept counts, and as much again for rounds */
        uint64_t nasked, few;   /* k-mers so far; how many are looked up at most */
        uint64_t many;          /* from so many k-mers on, a question is asked in rounds */
        struct kc_lookup *lookup;
        struct kc_ask_kept kept;
        bool is_kept, may_keep;
        struct kc_asker rounds;           /* if close is NULL, it is not open */
        struct kc_gpu_ask_options device; /* ndevices 0: the CPU answers */
        struct asking_slice *slices;      /* [nthreads] */

        /* The question: k-mers, or else windows of bases. */
        const uint64_t *kmers;
        const char *bases;
        size_t n, slice_nkmers;
        uint32_t *found;
        atomic_bool has_others; /* some of the letters are not bases */
        atomic_bool is_full;    /* the round has no room for more */
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

/* KC_EUSAGE if a number is not a k-mer: looking it up could read outside the index. */
static enum kc_status check(const struct kcount_asker *a, const uint64_t *kmers, size_t n,
                            struct kc_error *err)
{
        const size_t nwords = (size_t)a->counts->nwords;
        uint64_t used = 0;
        for (size_t i = 0; i < n; i++)
                used |= kmers[i * nwords];
        if ((used & ~kc_kmer_top_mask(a->counts->k)) == 0)
                return KC_OK;
        return kc_fail(err, KC_EUSAGE,
                       "a number is not a k-mer: for k = %d, only its low %d bits "
                       "may be set",
                       a->counts->k, 2 * a->counts->k);
}

/* The answer for a k-mer with a letter that is not a base is arbitrary: mark_valid replaces it. */
static void make_from_bases(struct kcount_asker *a, struct asking_slice *s, const char *bases,
                            size_t n)
{
        const int k = a->counts->k;
        const size_t nbases = n + (size_t)k - 1;
        struct kc_roller roller = kc_roller(k, a->counts->info.stranded);
        if (!kc_letters_encode(bases, nbases, s->codes)) {
                atomic_store(&a->has_others, true);
                for (size_t i = 0; i < nbases; i++)
                        s->codes[i] &= KC_NO_BASE - 1;
        }
        kc_roll_begin(&roller, s->codes);
        kc_roll(&roller, n, s->kmers);
}

static size_t slice_begin(const struct kcount_asker *a, size_t slice)
{
        return slice * a->slice_nkmers;
}

/* How many k-mers a slice of the question has. */
static size_t slice_nkmers(const struct kcount_asker *a, size_t slice)
{
        const size_t left = a->n - slice_begin(a, slice);
        return left < a->slice_nkmers ? left : a->slice_nkmers;
}

static bool has_slice(const struct kcount_asker *a, size_t slice)
{
        return a->n > 0 && slice <= (a->n - 1) / a->slice_nkmers;
}

/* Make the k-mers of a slice. */
static enum kc_status make(struct kcount_asker *a, struct asking_slice *s, size_t slice,
                           struct kc_error *err)
{
        const struct kcount_counts *counts = a->counts;
        const size_t from = slice_begin(a, slice), n = slice_nkmers(a, slice);
        const uint64_t *kmers = a->kmers + from * (size_t)counts->nwords;
        enum kc_status status;
        KC_TRY(reserve(s, counts->nwords, n, err));
        if (a->bases != NULL) {
                make_from_bases(a, s, a->bases + from, n);
                goto out;
        }
        KC_TRY(check(a, kmers, n, err));
        kc_library_turn_words(kmers, counts->nwords, n, s->kmers);
        if (!counts->info.stranded)
                kc_library_canonical(counts->k, s->kmers, n);
out:
        return status;
}

/* ---- looked up, or kept ---- */

static enum kc_status look_up(struct kcount_asker *a, struct kc_error *err)
{
        struct asking_slice *s = &a->slices[0];
        enum kc_status status = KC_OK;
        for (size_t slice = 0; has_slice(a, slice); slice++) {
                KC_TRY(make(a, s, slice, err));
                KC_TRY(kc_lookup_counts(a->lookup, s->kmers, slice_nkmers(a, slice),
                                        a->found + slice_begin(a, slice), err));
        }
out:
        return status;
}

/* ---- threads ---- */

typedef enum kc_status slice_work(struct kcount_asker *a, int worker, struct kc_error *err);

struct calling {
        struct kcount_asker *asker;
        slice_work *work;
};

/* The caller's thread leaves devices alone, because using one changes its current device. */
static enum kc_status call(void *ctx, int thread, struct kc_error *err)
{
        const struct calling *c = ctx;
        if (c->asker->device.ndevices == 0)
                return c->work(c->asker, thread, err);
        return thread > 0 ? c->work(c->asker, thread - 1, err) : KC_OK;
}

static enum kc_status in_threads(struct kcount_asker *a, int nthreads, slice_work *work,
                                 struct kc_error *err)
{
        struct calling calling = { a, work };
        return kc_parallel(nthreads + (a->device.ndevices > 0), call, NULL, &calling, err);
}

static enum kc_status find_slices(struct kcount_asker *a, int worker, struct kc_error *err)
{
        struct asking_slice *s = &a->slices[worker];
        enum kc_status status = KC_OK;
        for (size_t i = (size_t)worker; has_slice(a, i); i += (size_t)a->nthreads) {
                KC_TRY(make(a, s, i, err));
                KC_TRY(kc_ask_kept_find(&a->kept, &s->finder, s->kmers, slice_nkmers(a, i),
                                        a->found + slice_begin(a, i), err));
        }
out:
        return status;
}

/* ---- in rounds, or on devices ---- */

static enum kc_status open_rounds(struct kcount_asker *a, int worker, struct kc_error *err)
{
        const struct kc_ask_table table = kc_store_ask_table(a->counts->store);
        const struct kc_ask_setup setup = { .nthreads = a->nthreads,
                                            .memory_nbytes = a->memory_nbytes,
                                            .max_count = UINT32_MAX,
                                            .wants_counts = true };
        enum kc_gpu_ask_way way;
        (void)worker;
        if (a->rounds.close != NULL)
                return KC_OK;
        if (a->device.ndevices > 0)
                return kc_device_asker_open(&a->rounds, a->counts->store, &a->device, &setup, &way,
                                            err);
        return kc_cpu_ask_open(&a->rounds, &table, &setup, NULL, err);
}

static enum kc_status close_rounds(struct kcount_asker *a, int worker, struct kc_error *err)
{
        (void)worker, (void)err;
        if (a->rounds.close != NULL)
                a->rounds.close(a->rounds.ctx);
        a->rounds.close = NULL;
        return KC_OK;
}

static enum kc_status answer_round(struct kcount_asker *a, int worker, struct kc_error *err)
{
        (void)worker;
        return a->rounds.answer(a->rounds.ctx, err);
}

/* Add a slice to what devices answer. */
static enum kc_status add_letters(struct kcount_asker *a, int worker, size_t slice, bool *full,
                                  struct kc_error *err)
{
        const size_t from = slice_begin(a, slice), n = slice_nkmers(a, slice);
        const size_t k = (size_t)a->counts->k, nwords = (size_t)a->counts->nwords;
        char *letters = a->slices[worker].letters;
        struct kc_ask_sequence sequence = { letters, (uint32_t)(n * (k + 1)) };
        enum kc_status status;
        if (a->bases != NULL) {
                sequence = (struct kc_ask_sequence){ a->bases + from, (uint32_t)(n + k - 1) };
        } else {
                KC_TRY(check(a, a->kmers + from * nwords, n, err));
                for (size_t i = 0; i < n; i++, letters += k + 1) {
                        kcount_decode((int)k, a->kmers + (from + i) * nwords, 1, letters);
                        letters[k] = 'N';
                }
        }
        status = a->rounds.add(a->rounds.ctx, worker, &sequence, 1, full, err);
out:
        return status;
}

static enum kc_status add_slice(struct kcount_asker *a, int worker, struct kc_error *err)
{
        struct asking_slice *s = &a->slices[worker];
        bool full = false;
        enum kc_status status;
        if (a->device.ndevices > 0) {
                KC_TRY(add_letters(a, worker, s->next, &full, err));
        } else {
                KC_TRY(make(a, s, s->next, err));
                KC_TRY(kc_cpu_ask_add_kmers(&a->rounds, worker, s->kmers,
                                            (uint32_t)slice_nkmers(a, s->next), &full, err));
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
        const size_t n = slice_nkmers(a, s->first);
        uint32_t *found = a->found + slice_begin(a, s->first);
        struct kc_ask_answer answer;
        const enum kc_status status = a->rounds.take(a->rounds.ctx, worker, &answer, 1, err);
        if (status != KC_OK)
                return status;
        s->first += (size_t)a->nthreads;
        if (a->device.ndevices == 0 || a->bases == NULL) {
                memcpy(found, answer.counts, n * sizeof *found);
                return KC_OK;
        }
        if (answer.summary.nvalid < n)
                atomic_store(&a->has_others, true);
        for (size_t i = 0; i < answer.nstretches; i++) {
                const struct kc_ask_stretch stretch = answer.stretches[i];
                memcpy(found + stretch.begin, answer.counts, stretch.n * sizeof *found);
                answer.counts += stretch.n;
        }
        return KC_OK;
}

static enum kc_status add_slices(struct kcount_asker *a, int worker, struct kc_error *err)
{
        const struct asking_slice *s = &a->slices[worker];
        enum kc_status status = KC_OK;
        while (has_slice(a, s->next) && !atomic_load(&a->is_full))
                KC_TRY(add_slice(a, worker, err));
out:
        return status;
}

static enum kc_status take_slices(struct kcount_asker *a, int worker, struct kc_error *err)
{
        const struct asking_slice *s = &a->slices[worker];
        enum kc_status status = KC_OK;
        while (s->first < s->next)
                KC_TRY(take_slice(a, worker, err));
out:
        return status;
}

/* Of a prompt asker: a few slices are added before the first of them is taken. */
static enum kc_status stream_slices(struct kcount_asker *a, int worker, struct kc_error *err)
{
        const struct asking_slice *s = &a->slices[worker];
        const size_t ahead = a->rounds.depth * (size_t)a->nthreads;
        enum kc_status status = KC_OK;
        while (has_slice(a, s->first))
                if (has_slice(a, s->next) && s->next - s->first < ahead)
                        KC_TRY(add_slice(a, worker, err));
                else
                        KC_TRY(take_slice(a, worker, err));
out:
        return status;
}

static bool is_answered(const struct kcount_asker *a)
{
        for (int i = 0; i < a->nthreads; i++)
                if (has_slice(a, a->slices[i].next))
                        return false;
        return true;
}

static enum kc_status ask_in_rounds(struct kcount_asker *a, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(in_threads(a, 1, open_rounds, err));
        for (int i = 0; i < a->nthreads; i++)
                a->slices[i].next = a->slices[i].first = (size_t)i;
        if (a->rounds.answer == NULL)
                KC_TRY(in_threads(a, a->nthreads, stream_slices, err));
        while (!is_answered(a)) {
                atomic_store(&a->is_full, false);
                KC_TRY(in_threads(a, a->nthreads, add_slices, err));
                KC_TRY(in_threads(a, 1, answer_round, err));
                KC_TRY(in_threads(a, a->nthreads, take_slices, err));
        }
out:
        if (status != KC_OK)
                (void)in_threads(a, 1, close_rounds, NULL);
        return status;
}

/* ---- a question ---- */

static enum kc_status keep(struct kcount_asker *a, struct kc_error *err)
{
        const struct kc_ask_table table = kc_store_ask_table(a->counts->store);
        enum kc_status status = kc_ask_kept_load(&a->kept, &table, a->nthreads, &a->may_keep, err);
        if (status == KC_ENOMEM) { /* less memory is free than was allowed */
                a->may_keep = false;
                *err = (struct kc_error){ 0 };
                status = KC_OK;
        }
        a->is_kept = status == KC_OK && a->may_keep;
        return status;
}

static enum kc_status answer(struct kcount_asker *a, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        atomic_store(&a->has_others, false);
        a->slice_nkmers = SLICE;
        if (a->device.ndevices > 0 && a->n >= DEVICE_LEAST) {
                if (a->bases == NULL)
                        a->slice_nkmers = SLICE / ((size_t)a->counts->k + 1);
                return ask_in_rounds(a, err);
        }
        if (a->n >= a->many)
                return ask_in_rounds(a, err);
        a->nasked += a->n;
        if (!a->is_kept && a->may_keep && a->nasked > a->few)
                KC_TRY(keep(a, err));
        if (a->is_kept && a->n <= SLICE) /* starting threads would take longer */
                KC_TRY(find_slices(a, 0, err));
        else if (a->is_kept)
                KC_TRY(in_threads(a, a->nthreads, find_slices, err));
        else if (a->n <= a->few)
                KC_TRY(look_up(a, err));
        else
                KC_TRY(ask_in_rounds(a, err));
out:
        return status;
}

enum kcount_status kcount_ask(struct kcount_asker *asker, const uint64_t *kmers, size_t n,
                              uint32_t *found, struct kcount_error **error)
{
        struct kc_error err = { 0 };
        asker->kmers = kmers;
        asker->bases = NULL;
        asker->n = n;
        asker->found = found;
        return answer(asker, &err) == KC_OK ? KCOUNT_OK : kc_library_failed(&err, error);
}

/* K-mers that contain other letters have count 0. */
static void mark_valid(const struct kcount_asker *a, bool *valid)
{
        const size_t k = (size_t)a->counts->k;
        size_t run = 0; /* of bases, up to here */
        if (!atomic_load(&a->has_others)) {
                if (valid != NULL)
                        memset(valid, true, a->n);
                return;
        }
        for (size_t i = 0; i < a->n + k - 1; i++) {
                run = kc_base_code((unsigned char)a->bases[i]) >= 0 ? run + 1 : 0;
                if (i + 1 < k)
                        continue;
                if (run < k)
                        a->found[i + 1 - k] = 0;
                if (valid != NULL)
                        valid[i + 1 - k] = run >= k;
        }
}

enum kcount_status kcount_ask_sequence(struct kcount_asker *asker, const char *bases, size_t n,
                                       uint32_t *found, bool *valid, struct kcount_error **error)
{
        const size_t k = (size_t)asker->counts->k;
        struct kc_error err = { 0 };
        if (n < k)
                return KCOUNT_OK;
        asker->kmers = NULL;
        asker->bases = bases;
        asker->n = n - k + 1;
        asker->found = found;
        if (answer(asker, &err) != KC_OK)
                return kc_library_failed(&err, error);
        mark_valid(asker, valid);
        return KCOUNT_OK;
}

/* ---- opening and closing ---- */

/* The caller may have been compiled with an older, shorter struct. */
static struct kcount_ask_options options_of(const struct kcount_ask_options *given)
{
        struct kcount_ask_options options = KCOUNT_ASK_OPTIONS_INIT;
        if (given != NULL)
                memcpy(&options, given,
                       given->size < sizeof options ? given->size : sizeof options);
        return options;
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
        for (int i = 0; i < a->nthreads; i++)
                if ((a->slices[i].letters = malloc(SLICE)) == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory for %d threads", a->nthreads);
        status = in_threads(a, 1, open_rounds, err);
out:
        return status;
}

enum kcount_status kcount_asker_open(struct kcount_asker **asker, struct kcount_counts *counts,
                                     const struct kcount_ask_options *options,
                                     struct kcount_error **error)
{
        const struct kcount_ask_options wanted = options_of(options);
        const struct kc_ask_table table = kc_store_ask_table(counts->store);
        struct kc_error err = { 0 };
        enum kc_status status;
        struct kcount_asker *a = calloc(1, sizeof *a);
        if (a == NULL)
                KC_TRY(kc_fail(&err, KC_ENOMEM, "out of memory for asking"));
        a->counts = counts;
        a->nthreads = kc_machine_nthreads(wanted.nthreads > 0 ? (uint64_t)wanted.nthreads : 0);
        a->memory_nbytes =
                wanted.memory_nbytes > 0 ? wanted.memory_nbytes : kc_memory_guest_nbytes();
        a->memory_nbytes /= 2;
        a->few = kc_lookup_few(&counts->info);
        a->many = counts->info.ndistinct / 2 + MANY;
        a->may_keep = kc_ask_kept_nbytes(&table) <= a->memory_nbytes;
        a->slices = calloc((size_t)a->nthreads, sizeof *a->slices);
        if (a->slices == NULL)
                KC_TRY(kc_fail(&err, KC_ENOMEM, "out of memory for %d threads", a->nthreads));
        KC_TRY(kc_lookup_open(&a->lookup, counts->store, &err));
        KC_TRY(choose_device(a, wanted.device, &err));
        *asker = a;
        return KCOUNT_OK;
out:
        kcount_asker_close(a);
        return kc_library_failed(&err, error);
}

int kc_library_asker_k(const struct kcount_asker *asker)
{
        return asker->counts->k;
}

void kcount_asker_close(struct kcount_asker *asker)
{
        if (asker == NULL)
                return;
        for (int i = 0; asker->slices != NULL && i < asker->nthreads; i++) {
                free(asker->slices[i].kmers);
                free(asker->slices[i].codes);
                free(asker->slices[i].letters);
                kc_ask_finder_free(&asker->slices[i].finder);
        }
        free(asker->slices);
        if (in_threads(asker, 1, close_rounds, NULL) != KC_OK) /* no thread could be started */
                close_rounds(asker, 0, NULL);
        kc_ask_kept_free(&asker->kept);
        kc_lookup_close(asker->lookup);
        free(asker);
}
