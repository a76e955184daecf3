#include "io/replay.h"

#include "base/temp_file.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
        RECORD_WORDS =
                16 << 10, /* most of a batch that is kept: it stays in the second-level cache */
        RECORD_SEGMENTS = 8 << 10,
        CACHE_LINE = 64,
};

/* A batch in the file: its segments, then its words. */
struct record {
        uint64_t offset;
        uint32_t nsegments, nwords;
};

struct replay_worker {
        _Alignas(CACHE_LINE) struct kc_batch batch; /* the record being given */
        uint32_t segment, kmer;                     /* the next to give */
        bool ended;
};

struct kc_replay {
        struct kc_replay_setup setup;
        int fd;
        int k;
        bool complete; /* the source has ended: batches come from the file */
        struct replay_worker *workers;

        pthread_mutex_t lock; /* for all below */
        struct record *records;
        size_t nrecords, records_cap, next;
        uint64_t nbytes; /* of the file */
};

/* ---- the file ---- */

static size_t segments_nbytes(const struct record *record)
{
        return record->nsegments * sizeof(struct kc_segment);
}

static size_t words_nbytes(const struct record *record)
{
        return record->nwords * sizeof(uint64_t);
}

static enum kc_status add_record(struct kc_replay *r, struct record *record, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        pthread_mutex_lock(&r->lock);
        if (r->nrecords == r->records_cap) {
                const size_t cap = r->records_cap ? 2 * r->records_cap : 256;
                struct record *grown = realloc(r->records, cap * sizeof *grown);
                if (grown == NULL)
                        KC_TRY(kc_fail(err, KC_ENOMEM, "out of memory for reading"));
                r->records = grown;
                r->records_cap = cap;
        }
        record->offset = r->nbytes;
        r->nbytes += segments_nbytes(record) + words_nbytes(record);
        r->records[r->nrecords++] = *record;
out:
        pthread_mutex_unlock(&r->lock);
        return status;
}

static enum kc_status keep(struct kc_replay *r, const struct kc_batch *batch, struct kc_error *err)
{
        enum kc_status status;
        struct record record = { .nsegments = batch->nsegments, .nwords = batch->nwords };
        const char *folder = r->setup.tmp_dir;
        KC_TRY(add_record(r, &record, err));
        KC_TRY(kc_temp_file_write(folder, r->fd, batch->segments, segments_nbytes(&record),
                                  record.offset, err));
        KC_TRY(kc_temp_file_write(folder, r->fd, batch->words, words_nbytes(&record),
                                  record.offset + segments_nbytes(&record), err));
out:
        return status;
}

static bool take_record(struct kc_replay *r, struct record *record)
{
        pthread_mutex_lock(&r->lock);
        const bool any = r->next < r->nrecords;
        if (any)
                *record = r->records[r->next++];
        pthread_mutex_unlock(&r->lock);
        return any;
}

/* The next record, or none, into batch. */
static enum kc_status load(struct kc_replay *r, struct kc_batch *batch, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct record record;
        const char *folder = r->setup.tmp_dir;
        batch->nsegments = batch->nwords = 0;
        if (kc_job_is_canceled(r->setup.job))
                return kc_fail(err, KC_ECANCELED, "stopped");
        if (!take_record(r, &record))
                return KC_OK;
        KC_TRY(kc_temp_file_read(folder, r->fd, batch->segments, segments_nbytes(&record),
                                 record.offset, err));
        KC_TRY(kc_temp_file_read(folder, r->fd, batch->words, words_nbytes(&record),
                                 record.offset + segments_nbytes(&record), err));
        batch->nsegments = record.nsegments;
        batch->nwords = record.nwords;
        kc_job_advance(r->setup.job, segments_nbytes(&record) + words_nbytes(&record));
out:
        return status;
}

/* ---- batches ---- */

static enum kc_status refill(struct kc_replay *r, struct replay_worker *w, int number,
                             struct kc_error *err)
{
        enum kc_status status;
        const struct kc_batch_source *source = r->setup.source;
        if (r->complete) {
                KC_TRY(load(r, &w->batch, err));
        } else {
                KC_TRY(source->next(source->ctx, number, &w->batch, err));
                if (w->batch.nsegments > 0)
                        KC_TRY(keep(r, &w->batch, err));
        }
        w->segment = w->kmer = 0;
        w->ended = w->batch.nsegments == 0;
out:
        return status;
}

/* Append nbases bases of packed words, from base `first` on, as a segment. */
static void append(struct kc_batch *batch, const uint64_t *words, uint32_t first, uint32_t nbases)
{
        const uint32_t nwords = (nbases + 31) / 32;
        const int shift = 2 * (int)(first % 32);
        uint64_t *out = batch->words + batch->nwords;
        words += first / 32;
        for (uint32_t i = 0; i < nwords; i++)
                out[i] = words[i] >> shift | words[i + 1] << 1 << (63 - shift);
        if (nbases % 32 != 0)
                out[nwords - 1] &= UINT64_MAX >> (64 - 2 * (nbases % 32));
        batch->segments[batch->nsegments++] =
                (struct kc_segment){ .word = batch->nwords, .nbases = nbases };
        batch->nwords += nwords;
}

/* Give what fits of the segment at which the worker stands; true if that is all of it. A segment is
 * cut only if it is longer than a batch. */
static bool give_segment(struct replay_worker *w, uint32_t k, struct kc_batch *batch)
{
        const struct kc_segment *segment = &w->batch.segments[w->segment];
        const struct kc_segment_kmers kmers = kc_segment_kmers(segment, (int)k);
        while (w->kmer < kmers.n) {
                const uint64_t room = UINT64_C(32) * (batch->words_cap - batch->nwords);
                uint32_t n = kmers.n - w->kmer;
                if (batch->nsegments == batch->segments_cap ||
                    (n + k - 1 > room && batch->nsegments > 0))
                        return false;
                if (n + k - 1 > room)
                        n = (uint32_t)room - k + 1;
                append(batch, w->batch.words + segment->word, kmers.first + w->kmer, n + k - 1);
                w->kmer += n;
        }
        return true;
}

static enum kc_status next(void *ctx, int number, struct kc_batch *batch, struct kc_error *err)
{
        struct kc_replay *r = ctx;
        struct replay_worker *w = &r->workers[number];
        enum kc_status status = KC_OK;
        batch->nwords = batch->nsegments = 0;
        while (!w->ended) {
                for (; w->segment < w->batch.nsegments; w->segment++, w->kmer = 0)
                        if (!give_segment(w, (uint32_t)r->k, batch))
                                goto out;
                KC_TRY(refill(r, w, number, err));
        }
out:
        return status;
}

struct kc_batch_source kc_replay_source(struct kc_replay *r, int k)
{
        r->complete = r->k > 0;
        r->k = k;
        r->next = 0;
        for (int i = 0; i < r->setup.nworkers; i++) {
                struct replay_worker *w = &r->workers[i];
                w->batch.nsegments = w->segment = 0;
                w->ended = false;
        }
        if (r->complete)
                kc_job_expect(r->setup.job, r->nbytes);
        return (struct kc_batch_source){ .ctx = r, .next = next };
}

uint64_t kc_replay_nbytes(struct kc_replay *r)
{
        pthread_mutex_lock(&r->lock);
        const uint64_t nbytes = r->nbytes;
        pthread_mutex_unlock(&r->lock);
        return nbytes;
}

/* ---- opening and closing ---- */

static enum kc_status make_worker(struct replay_worker *w, struct kc_error *err)
{
        w->batch.words_cap = RECORD_WORDS;
        w->batch.segments_cap = RECORD_SEGMENTS;
        w->batch.words = calloc(RECORD_WORDS + KC_BATCH_PADDING, sizeof *w->batch.words);
        w->batch.segments = malloc(RECORD_SEGMENTS * sizeof *w->batch.segments);
        if (w->batch.words == NULL || w->batch.segments == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        return KC_OK;
}

enum kc_status kc_replay_new(struct kc_replay **replay, const struct kc_replay_setup *setup,
                             struct kc_error *err)
{
        enum kc_status status;
        struct kc_replay *r = calloc(1, sizeof *r);
        *replay = NULL;
        if (r == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        r->setup = *setup;
        r->fd = -1;
        pthread_mutex_init(&r->lock, NULL);
        const size_t nbytes = (size_t)setup->nworkers * sizeof *r->workers;
        r->workers = aligned_alloc(CACHE_LINE, nbytes);
        if (r->workers == NULL)
                KC_TRY(kc_fail(err, KC_ENOMEM, "out of memory for reading"));
        memset(r->workers, 0, nbytes);
        for (int i = 0; i < setup->nworkers; i++)
                KC_TRY(make_worker(&r->workers[i], err));
        KC_TRY(kc_temp_file_open(setup->tmp_dir, &r->fd, err));
        *replay = r;
        r = NULL;
out:
        kc_replay_free(r);
        return status;
}

void kc_replay_free(struct kc_replay *r)
{
        if (r == NULL)
                return;
        for (int i = 0; r->workers != NULL && i < r->setup.nworkers; i++) {
                free(r->workers[i].batch.words);
                free(r->workers[i].batch.segments);
        }
        free(r->workers);
        free(r->records);
        if (r->fd >= 0)
                close(r->fd);
        pthread_mutex_destroy(&r->lock);
        free(r);
}
