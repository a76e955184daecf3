/*
 * Workers and files.
 *
 * A worker that needs a batch packs records of its chunk; when the chunk is used up it fills
 * another, from the first file that has text to give. Files are opened in order, another one only
 * if all open ones are busy with serial work (inflating a gzip stream). So as many gzip files are
 * inflated at once as there are workers, and all workers together read plain or BGZF files one
 * after the other, and gzip files, too, if they are few.
 */
#include "io/reader.h"

#include "io/input/detect.h"
#include "io/input/inputs.h"
#include "io/parse/file.h"
#include "io/parse/pieces.h"
#include "io/parse/segment.h"
#include "io/parse/stored.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/*
 * A chunk stays in the second-level cache from filling to packing. From 128 KiB to 2 MiB the speed
 * of one thread was the same within 10%; but each chunk waits twice for the previous one, and with
 * smaller chunks this slows 16 threads down.
 */
enum { CHUNK_NBYTES = 512 << 10, CACHE_LINE = 64 };

/* A file that is open, or was. */
struct active {
        struct kc_file file;
        size_t input;
        int nusers; /* workers that fill or parse a chunk of it */
        bool busy;  /* a worker does serial work; for serial files only */
        bool ended; /* gives no more chunks */
};

struct worker {
        _Alignas(CACHE_LINE) struct kc_chunk chunk;
        struct kc_segmenter segmenter;
        /* The worker's totals; other threads may read them at any time. */
        atomic_uint_fast64_t nreads, nbases, nskipped, nlow_quality, nleft_out, input_nbytes,
                text_nbytes, inflated_nbytes;
};

struct kc_reader {
        struct kc_inputs inputs;
        atomic_uint *marks;            /* [inputs.n] of enum kc_input_mark */
        uint8_t *percent_other;        /* [inputs.n] as in struct kc_detected; workers use the
                                          lock */
        struct kc_input_piece *pieces; /* [npieces] of the inputs, that are to be read */
        size_t npieces;
        struct kc_file_options file_options;
        struct kc_stored stored;
        struct kc_job *job;
        uint64_t expected_nbases, fingerprint;
        atomic_bool any_qualities, any_flags; /* in the files that are closed */
        int nworkers;
        struct worker *workers;

        pthread_mutex_t lock; /* for all below */
        pthread_cond_t changed;
        struct active **active; /* [nworkers] files open now, in order */
        int nactive, nopening;
        size_t next_piece;
        struct kc_error error; /* the first failure */
        atomic_bool failed;
};

static enum kc_status record_failure(struct kc_reader *reader, const struct kc_error *own)
{
        pthread_mutex_lock(&reader->lock);
        kc_fail_as(&reader->error, own);
        atomic_store(&reader->failed, true);
        pthread_cond_broadcast(&reader->changed);
        pthread_mutex_unlock(&reader->lock);
        return own->status;
}

/* Every worker gets the first failure. */
static enum kc_status give_failure(struct kc_reader *reader, struct kc_error *err)
{
        pthread_mutex_lock(&reader->lock);
        enum kc_status status = kc_fail_as(err, &reader->error);
        pthread_mutex_unlock(&reader->lock);
        return status;
}

/* ---- files ---- */

static void free_active(struct active *a)
{
        kc_file_close(&a->file);
        free(a);
}

/* The worker is done with a file; its last user closes it. */
static void leave(struct kc_reader *reader, struct active *a)
{
        pthread_mutex_lock(&reader->lock);
        bool last = --a->nusers == 0 && a->ended;
        if (last) {
                int i = 0;
                while (reader->active[i] != a)
                        i++;
                reader->nactive--;
                memmove(&reader->active[i], &reader->active[i + 1],
                        sizeof reader->active[0] * (size_t)(reader->nactive - i));
        }
        pthread_mutex_unlock(&reader->lock);
        if (last && kc_file_has_qualities(&a->file))
                atomic_store(&reader->any_qualities, true);
        if (last && kc_file_has_flags(&a->file))
                atomic_store(&reader->any_flags, true);
        if (last)
                free_active(a);
}

/*
 * Under the lock: how many workers inflate a gzip stream together. Guessing what is not known yet
 * takes half as much work again, so one worker per file is better if there are enough files; and
 * also if there are only two workers, since the text keeps the other one busy.
 */
static int ninflaters(const struct kc_reader *reader)
{
        enum { MIN_WORKERS = 3 };
        size_t nfiles = reader->npieces - reader->next_piece + (size_t)reader->nactive;
        size_t nworkers = (size_t)reader->nworkers;
        bool together = nworkers >= MIN_WORKERS && (nfiles <= 1 || 2 * nfiles <= nworkers);
        return together ? reader->nworkers : 1;
}

/* Open the next input; the lock is held on entry and on return. */
static enum kc_status open_next(struct kc_reader *reader, struct kc_error *err)
{
        struct kc_file_options options = reader->file_options;
        options.ninflaters = ninflaters(reader);
        options.nfiles = reader->npieces < (size_t)reader->nworkers ? (int)reader->npieces
                                                                    : reader->nworkers;
        const struct kc_input_piece *piece = &reader->pieces[reader->next_piece++];
        const char *path = reader->inputs.names[piece->input];
        reader->nopening++;
        pthread_mutex_unlock(&reader->lock);

        enum kc_status status;
        bool empty = false;
        struct active *a = calloc(1, sizeof *a);
        if (a == NULL)
                status = kc_fail(err, KC_ENOMEM, "out of memory for reading");
        else
                status = kc_file_open(&a->file, path, piece, &options, &empty, err);
        if (a != NULL && (status != KC_OK || empty))
                free_active(a);

        pthread_mutex_lock(&reader->lock);
        reader->nopening--;
        if (status == KC_OK && !empty) {
                a->input = piece->input;
                reader->percent_other[a->input] = a->file.percent_other;
                reader->active[reader->nactive++] = a;
        }
        pthread_cond_broadcast(&reader->changed);
        return status;
}

/* Under the lock: the first file that a worker can fill a chunk from; *any: there is one to wait
 * for. */
static struct active *first_free(struct kc_reader *reader, bool *any)
{
        *any = reader->nopening > 0;
        for (int i = 0; i < reader->nactive; i++) {
                struct active *a = reader->active[i];
                if (a->ended)
                        continue;
                *any = true;
                if (!a->busy)
                        return a;
        }
        return NULL;
}

/* Choose a file to fill a chunk from, to be left with leave(); NULL if nothing is left, or on
 * failure. */
static enum kc_status choose(struct kc_reader *reader, struct active **chosen, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        bool any;
        *chosen = NULL;
        pthread_mutex_lock(&reader->lock);
        while (status == KC_OK && !atomic_load(&reader->failed)) {
                *chosen = first_free(reader, &any);
                if (*chosen != NULL) {
                        (*chosen)->nusers++;
                        (*chosen)->busy = kc_file_is_serial(&(*chosen)->file);
                        break;
                }
                if (reader->next_piece < reader->npieces &&
                    reader->nactive + reader->nopening < reader->nworkers)
                        status = open_next(reader, err);
                else if (any)
                        pthread_cond_wait(&reader->changed, &reader->lock);
                else
                        break;
        }
        pthread_mutex_unlock(&reader->lock);
        return status;
}

static void filled(struct kc_reader *reader, struct active *a, bool ended)
{
        bool serial = kc_file_is_serial(&a->file);
        if (!serial && !ended)
                return;
        pthread_mutex_lock(&reader->lock);
        a->busy = false;
        a->ended |= ended;
        pthread_cond_broadcast(&reader->changed);
        pthread_mutex_unlock(&reader->lock);
}

/* ---- batches ---- */

static void add_to(atomic_uint_fast64_t *total, uint64_t n)
{
        /* no atomic add: only this worker writes it */
        uint64_t now = atomic_load_explicit(total, memory_order_relaxed) + n;
        atomic_store_explicit(total, now, memory_order_relaxed);
}

static void count_input(struct kc_reader *reader, const struct active *a, struct worker *w)
{
        const uint64_t ntext = w->chunk.end - w->chunk.text;
        add_to(&w->input_nbytes, w->chunk.input_nbytes);
        add_to(&w->text_nbytes, ntext);
        add_to(&w->inflated_nbytes, kc_file_inflates(&a->file) ? ntext : 0);
        kc_job_advance(reader->job, w->chunk.input_nbytes);
}

static void publish(struct worker *w)
{
        struct kc_segmenter *s = &w->segmenter;
        add_to(&w->nbases, s->nbases);
        add_to(&w->nskipped, s->nskipped);
        add_to(&w->nlow_quality, s->nlow_quality);
        s->nbases = s->nskipped = s->nlow_quality = 0;
}

static bool has_bases(const struct kc_chunk *chunk)
{
        bool found = chunk->nblanks > 0 || chunk->nleft_out > 0;
        for (size_t i = 0; i < chunk->nrecords && !found; i++)
                found = chunk->records[i].nbases > chunk->records[i].ncontext;
        return found;
}

/* Mark the input with what its parsed chunk shows. */
static void mark_input(struct kc_reader *reader, const struct active *a,
                       const struct kc_chunk *chunk)
{
        atomic_uint *marks = &reader->marks[a->input];
        const unsigned known = atomic_load_explicit(marks, memory_order_relaxed);
        if (!(known & KC_INPUT_HAS_BASES) && has_bases(chunk))
                atomic_fetch_or(marks, KC_INPUT_HAS_BASES);
        if (chunk->open_end.found)
                atomic_fetch_or(marks, KC_INPUT_NO_END_BLOCK);
}

/* Refill the worker's chunk with records; *end if no input is left. */
static enum kc_status refill(struct kc_reader *reader, struct worker *w, bool *end,
                             struct kc_error *err)
{
        struct active *a;
        enum kc_status status = choose(reader, &a, err);
        *end = a == NULL;
        if (a == NULL) {
                kc_chunk_free(&w->chunk); /* the memory is needed elsewhere from now on */
                return status;
        }
        bool got = kc_file_fill(&a->file, &w->chunk);
        filled(reader, a, !got || w->chunk.last);
        if (got) {
                count_input(reader, a, w);
                status = kc_file_parse(&a->file, &w->chunk, err);
                add_to(&w->nreads, w->chunk.nreads);
                add_to(&w->nleft_out, w->chunk.nleft_out);
                mark_input(reader, a, &w->chunk);
        }
        leave(reader, a);
        return status;
}

static enum kc_status fill_batch(struct kc_reader *reader, struct worker *w, struct kc_batch *batch,
                                 struct kc_error *err)
{
        bool end = false;
        batch->nwords = batch->nsegments = 0;
        while (!end && kc_segmenter_pack(&w->segmenter, &w->chunk, batch)) {
                if (atomic_load(&reader->failed))
                        return KC_OK;
                if (kc_job_is_canceled(reader->job))
                        return kc_fail(err, KC_ECANCELED, "stopped");
                enum kc_status status = refill(reader, w, &end, err);
                if (status != KC_OK)
                        return status;
        }
        return KC_OK;
}

static enum kc_status next(void *ctx, int worker, struct kc_batch *batch, struct kc_error *err)
{
        struct kc_reader *reader = ctx;
        struct worker *w = &reader->workers[worker];
        struct kc_error own = { 0 };
        if (fill_batch(reader, w, batch, &own) != KC_OK)
                record_failure(reader, &own);
        publish(w);
        return atomic_load(&reader->failed) ? give_failure(reader, err) : KC_OK;
}

struct kc_batch_source kc_reader_source(struct kc_reader *reader)
{
        return (struct kc_batch_source){ .ctx = reader, .next = next };
}

/* ---- opening and closing ---- */

/* Whether a path can be inspected without consuming anything: a pipe cannot. */
static enum kc_status is_regular(const char *path, bool *regular, struct kc_error *err)
{
        struct stat st;
        bool standard = strcmp(path, "-") == 0;
        if ((standard ? fstat(STDIN_FILENO, &st) : stat(path, &st)) != 0)
                return kc_input_open_failed(path, errno, err);
        *regular = S_ISREG(st.st_mode);
        if (S_ISDIR(st.st_mode))
                return kc_input_is_folder(path, KC_EINPUT, err);
        if (!*regular && !standard && access(path, R_OK) != 0)
                return kc_input_open_failed(path, errno, err);
        return KC_OK;
}

/* Inspect input i. *sized: what can be said of its size; size_known stays true if it is known.
 *   shared  by several ranks, of which only rank 0 has the user's standard input */
static enum kc_status inspect(struct kc_reader *reader, size_t i, bool shared,
                              struct kc_sized_input *sized, bool *size_known, struct kc_error *err)
{
        const char *path = reader->inputs.names[i];
        struct kc_detected found;
        struct kc_input in;
        bool regular = false;
        enum kc_status status = is_regular(path, &regular, err);
        if (status != KC_OK)
                return status;
        if (!regular || (shared && strcmp(path, "-") == 0)) {
                *size_known = false;
                reader->stored.unfit = true;
                return KC_OK;
        }
        status = kc_input_open(&in, path, err);
        if (status == KC_OK)
                status = kc_detect(&in, reader->file_options.accepted, &found, err);
        if (status == KC_OK) {
                sized->nbytes = in.size;
                sized->nbases = (double)in.size * found.bases_per_byte;
                sized->cuttable = (found.container == KC_CONTAINER_PLAIN ||
                                   found.container == KC_CONTAINER_BGZF) &&
                                  sized->nbases > 0 && (found.first == '@' || found.first == '>');
                reader->expected_nbases += (uint64_t)sized->nbases;
                reader->percent_other[i] = found.percent_other;
                kc_stored_note(&reader->stored, i, in.size, &found);
        }
        kc_input_close(&in);
        return status;
}

/* All inputs, from their beginning to their end. */
static enum kc_status take_all(struct kc_reader *reader, struct kc_error *err)
{
        reader->pieces = malloc((reader->inputs.n + 1) * sizeof *reader->pieces);
        if (reader->pieces == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        for (size_t i = 0; i < reader->inputs.n; i++)
                reader->pieces[reader->npieces++] =
                        (struct kc_input_piece){ .input = i, .to = UINT64_MAX };
        return KC_OK;
}

static enum kc_status take_pieces(struct kc_reader *reader, const struct kc_sized_input *sized,
                                  const struct kc_reader_options *options, struct kc_error *err)
{
        if (options->nranks == 0)
                return take_all(reader, err);
        return kc_divide_inputs(sized, reader->inputs.n, options->nranks, options->rank,
                                &reader->pieces, &reader->npieces, err);
}

/* The bytes of the pieces. */
static uint64_t sum_pieces(const struct kc_reader *reader, const struct kc_sized_input *sized)
{
        uint64_t sum = 0;
        for (size_t i = 0; i < reader->npieces; i++) {
                const struct kc_input_piece *piece = &reader->pieces[i];
                const uint64_t end = sized[piece->input].nbytes;
                sum += (piece->to < end ? piece->to : end) - piece->from;
        }
        return sum;
}

/* A hash of everything that the pieces depend on. */
static uint64_t fingerprint_of(const struct kc_reader *reader, const struct kc_sized_input *sized)
{
        uint64_t hash = reader->inputs.n;
        for (size_t i = 0; i < reader->inputs.n; i++) {
                const char *name = reader->inputs.names[i];
                const uint64_t numbers[] = { sized[i].nbytes, (uint64_t)sized[i].nbases,
                                             sized[i].cuttable };
                hash = XXH3_64bits_withSeed(name, strlen(name), hash);
                hash = XXH3_64bits_withSeed(numbers, sizeof numbers, hash);
        }
        return hash;
}

/* A device reads whole files, and all of every read. */
static bool selects(const struct kc_selection *selection)
{
        return selection->nskip > 0 || selection->required != 0 || selection->excluded != 0 ||
               selection->hpc;
}

static enum kc_status inspect_all(struct kc_reader *reader, const struct kc_reader_options *options,
                                  struct kc_error *err)
{
        enum kc_status status = KC_OK;
        bool size_known = true;
        struct kc_sized_input *sized = calloc(reader->inputs.n + 1, sizeof *sized);
        if (sized == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        for (size_t i = 0; i < reader->inputs.n; i++) {
                struct kc_error own = { 0 };
                if (inspect(reader, i, options->nranks > 0, &sized[i], &size_known, &own) !=
                    KC_OK) {
                        status = kc_inputs_blame(&reader->inputs, i, &own, err);
                        goto out;
                }
        }
        reader->stored.unfit |= options->nranks > 0 || selects(&options->selection);
        reader->fingerprint = fingerprint_of(reader, sized);
        KC_TRY(take_pieces(reader, sized, options, err));
        if (!size_known)
                reader->expected_nbases = 0;
        kc_job_expect(reader->job, size_known ? sum_pieces(reader, sized) : 0);
out:
        free(sized);
        return status;
}

/* Give files the memory that the workers' chunks leave; for BGZF, chunks also hold compressed
 * text. */
static void share_memory(struct kc_file_options *file, const struct kc_reader_options *options)
{
        enum { WORKER_NBYTES = 5 << 19 };
        size_t all = options->memory_nbytes, chunks = (size_t)options->nworkers * WORKER_NBYTES;
        file->memory_nbytes = all > 2 * chunks ? all - chunks : all / 2;
        file->bound_factor = options->bound.factor;
        file->bound_nbytes = options->bound.fixed_nbytes + options->bound.factor * 2 * chunks;
}

static enum kc_status make_workers(struct kc_reader *reader,
                                   const struct kc_reader_options *options, struct kc_error *err)
{
        size_t n = (size_t)options->nworkers;
        reader->workers = aligned_alloc(CACHE_LINE, n * sizeof *reader->workers);
        reader->active = calloc(n, sizeof *reader->active);
        if (reader->workers == NULL || reader->active == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        memset(reader->workers, 0, n * sizeof *reader->workers);
        for (; reader->nworkers < options->nworkers; reader->nworkers++) {
                struct worker *w = &reader->workers[reader->nworkers];
                kc_segmenter_init(&w->segmenter, reader->file_options.kernels, options->k,
                                  reader->file_options.k, options->min_quality,
                                  options->selection.hpc);
                enum kc_status status =
                        kc_chunk_init(&w->chunk, reader->file_options.chunk_nbytes, err);
                if (status != KC_OK) {
                        kc_chunk_free(&w->chunk);
                        return status;
                }
        }
        return KC_OK;
}

static struct kc_file_options file_options_of(const struct kc_reader_options *options)
{
        struct kc_file_options file = {
                .kernels = kc_kernels_best(),
                .k = options->max_k > 0 ? options->max_k : options->k,
                .min_quality = options->min_quality,
                .selection = options->selection,
                .nworkers = options->nworkers,
                .chunk_nbytes = options->chunk_nbytes > 0 ? options->chunk_nbytes : CHUNK_NBYTES,
                .record_max = options->record_max,
                .sequence_max = options->sequence_max,
                .accepted = options->empty ? KC_ACCEPT_EMPTY : 0,
        };
        /* the base before a piece decides whether its first one counts, even if k is 1 */
        if (options->selection.hpc && file.k == 1)
                file.k = 2;
        share_memory(&file, options);
        return file;
}

enum kc_status kc_reader_open_inputs(struct kc_reader **reader, struct kc_inputs *inputs,
                                     const struct kc_reader_options *options, struct kc_error *err)
{
        enum kc_status status;
        *reader = NULL;
        struct kc_reader *r = calloc(1, sizeof *r);
        if (r == NULL) {
                kc_inputs_free(inputs);
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        }
        r->inputs = *inputs;
        pthread_mutex_init(&r->lock, NULL);
        pthread_cond_init(&r->changed, NULL);
        r->job = options->job;
        r->file_options = file_options_of(options);
        r->marks = calloc(r->inputs.n + 1, sizeof *r->marks);
        r->percent_other = calloc(r->inputs.n + 1, sizeof *r->percent_other);
        if (r->marks == NULL || r->percent_other == NULL) {
                status = kc_fail(err, KC_ENOMEM, "out of memory for reading");
                goto out;
        }
        KC_TRY(kc_stored_init(&r->stored, r->inputs.names, r->marks, r->inputs.n, r->job, err));
        KC_TRY(inspect_all(r, options, err));
        KC_TRY(make_workers(r, options, err));
        *reader = r;
        r = NULL;
out:
        kc_reader_close(r);
        return status;
}

enum kc_status kc_reader_open(struct kc_reader **reader, const char *const *paths, size_t npaths,
                              const struct kc_reader_options *options, struct kc_error *err)
{
        struct kc_inputs inputs = { 0 };
        *reader = NULL;
        enum kc_status status = kc_inputs_resolve(&inputs, paths, npaths, err);
        if (status == KC_OK)
                return kc_reader_open_inputs(reader, &inputs, options, err);
        kc_inputs_free(&inputs);
        return status;
}

enum kc_status kc_reader_reopen(struct kc_reader **reader, const struct kc_reader_options *options,
                                struct kc_error *err)
{
        struct kc_inputs inputs = (*reader)->inputs;
        (*reader)->inputs = (struct kc_inputs){ 0 };
        kc_reader_close(*reader);
        *reader = NULL;
        return kc_reader_open_inputs(reader, &inputs, options, err);
}

bool kc_reader_stored(struct kc_reader *reader, uint64_t part_nbytes,
                      struct kc_stored_source *source)
{
        const bool fit = kc_stored_source(&reader->stored, part_nbytes, source);
        source->min_quality = reader->file_options.min_quality;
        return fit;
}

void kc_reader_totals(struct kc_reader *reader, struct kc_reader_totals *totals)
{
        const struct kc_stored_totals *stored = &reader->stored.totals;
        *totals = (struct kc_reader_totals){ .nfiles = reader->inputs.n,
                                             .nreads = stored->nreads,
                                             .nbases = stored->nbases,
                                             .nskipped = stored->nskipped,
                                             .nlow_quality = stored->nlow_quality,
                                             .input_nbytes = stored->input_nbytes,
                                             .text_nbytes = stored->text_nbytes,
                                             .any_qualities = atomic_load(&reader->any_qualities),
                                             .any_flags = atomic_load(&reader->any_flags),
                                             .stored = *stored };
        if (stored->text_nbytes > 0) /* an engine has read the files */
                totals->any_qualities |= kc_stored_has_qualities(&reader->stored);
        for (int i = 0; i < reader->nworkers; i++) {
                const struct worker *w = &reader->workers[i];
                totals->nreads += atomic_load_explicit(&w->nreads, memory_order_relaxed);
                totals->nbases += atomic_load_explicit(&w->nbases, memory_order_relaxed);
                totals->nskipped += atomic_load_explicit(&w->nskipped, memory_order_relaxed);
                totals->nlow_quality +=
                        atomic_load_explicit(&w->nlow_quality, memory_order_relaxed);
                totals->nleft_out += atomic_load_explicit(&w->nleft_out, memory_order_relaxed);
                totals->input_nbytes +=
                        atomic_load_explicit(&w->input_nbytes, memory_order_relaxed);
                totals->text_nbytes += atomic_load_explicit(&w->text_nbytes, memory_order_relaxed);
                totals->inflated_nbytes +=
                        atomic_load_explicit(&w->inflated_nbytes, memory_order_relaxed);
        }
}

/* Inputs can be read again if their sizes are known and none is standard input, whose position
 * htslib advances when it reads. */
bool kc_reader_is_rereadable(const struct kc_reader *reader)
{
        for (size_t i = 0; i < reader->inputs.n; i++)
                if (strcmp(reader->inputs.names[i], "-") == 0)
                        return false;
        return atomic_load(&reader->job->total) > 0;
}

size_t kc_reader_names(const struct kc_reader *reader, const char *const **names)
{
        *names = (const char *const *)reader->inputs.names;
        return reader->inputs.n;
}

void kc_reader_marks(const struct kc_reader *reader, uint8_t *marks)
{
        for (size_t i = 0; i < reader->inputs.n; i++)
                marks[i] = (uint8_t)atomic_load(&reader->marks[i]);
}

unsigned kc_reader_percent_other(const struct kc_reader *reader, size_t i)
{
        return reader->percent_other[i];
}

uint64_t kc_reader_fingerprint(const struct kc_reader *reader)
{
        return reader->fingerprint;
}

uint64_t kc_reader_expected_nbases(const struct kc_reader *reader)
{
        return reader->expected_nbases;
}

void kc_reader_close(struct kc_reader *reader)
{
        if (reader == NULL)
                return;
        for (int i = 0; i < reader->nworkers; i++)
                kc_chunk_free(&reader->workers[i].chunk);
        for (int i = 0; i < reader->nactive; i++)
                free_active(reader->active[i]);
        free(reader->workers);
        free(reader->active);
        free(reader->pieces);
        free(reader->marks);
        free(reader->percent_other);
        kc_stored_free(&reader->stored);
        kc_inputs_free(&reader->inputs);
        pthread_mutex_destroy(&reader->lock);
        pthread_cond_destroy(&reader->changed);
        free(reader);
}
