/*
 * A worker holds a lock while it copies as many letters as its chunk has room for, and packs them
 * after it has released the lock. So the giver's letters are needed only until its next call, and
 * the kernels may read beyond the end of a sequence. Several workers may copy a long sequence, in
 * pieces that share k - 1 letters.
 */
#include "io/sequences.h"

#include "io/parse/segment.h"
#include "kmer/kmer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_NBYTES = 256 << 10, NGIVEN = 256 };

struct sequence_worker {
        struct kc_chunk chunk;
        struct kc_segmenter segmenter;
};

struct kc_sequences {
        struct kc_sequence_giver giver;
        struct kc_job *job;
        int k, nworkers;
        pthread_mutex_t lock; /* guards what follows, except for workers */
        struct kc_sequence given[NGIVEN];
        size_t ngiven, next;
        size_t at; /* letters of given[next] that have been copied */
        bool ended;
        struct kc_error failure;
        uint64_t nsequences;
        struct sequence_worker *workers; /* [nworkers] */
};

/* Ask for more sequences. The caller holds the lock. */
static enum kc_status take_more(struct kc_sequences *s, struct kc_error *err)
{
        s->next = s->ngiven = s->at = 0;
        const enum kc_status status =
                s->giver.give(s->giver.ctx, s->given, NGIVEN, &s->ngiven, &s->failure);
        if (status != KC_OK) {
                s->failure.status = status;
                return kc_fail_as(err, &s->failure);
        }
        s->ended = s->ngiven == 0;
        s->nsequences += s->ngiven;
        return KC_OK;
}

/* How many letters directly before `at` can be in one k-mer with the letter there. */
static size_t context_of(const struct kc_sequence *from, size_t at, int k)
{
        size_t n = 0;
        while (n < at && n + 1 < (size_t)k &&
               kc_base_code((unsigned char)from->letters[at - n - 1]) >= 0)
                n++;
        return n;
}

/* Copy the next letters of the sequence, and before them the letters that they share k-mers with,
 * which an earlier piece has already counted. */
static enum kc_status copy_piece(struct kc_sequences *s, struct kc_chunk *chunk,
                                 struct kc_error *err)
{
        const struct kc_sequence *from = &s->given[s->next];
        const size_t context = context_of(from, s->at, s->k);
        const size_t room = chunk->front + chunk->capacity - chunk->end - context;
        const size_t left = from->n - s->at, n = left < room ? left : room;
        const struct kc_record record = { .seq = (uint32_t)chunk->end,
                                          .nbases = (uint32_t)(context + n),
                                          .qual = KC_NO_QUALITY,
                                          .ncontext = (uint16_t)context };
        if (n > 0) {
                memcpy(chunk->buffer + chunk->end, from->letters + s->at - context, context + n);
                chunk->end += context + n;
                s->at += n;
        }
        if (s->at == from->n) {
                s->next++;
                s->at = 0;
        }
        kc_job_advance(s->job, n);
        return n > 0 ? kc_chunk_add_record(chunk, record, err) : KC_OK;
}

/* Fill the chunk. The next chunk, of this worker or another, gets the letters that do not fit. */
static enum kc_status copy_letters(struct kc_sequences *s, struct kc_chunk *chunk,
                                   struct kc_error *err)
{
        const size_t end = chunk->front + chunk->capacity;
        enum kc_status status = KC_OK;
        kc_chunk_clear(chunk);
        while (chunk->end + (size_t)s->k <= end && !s->ended) {
                if (kc_job_is_canceled(s->job))
                        return kc_fail(err, KC_ECANCELED, "interrupted");
                if (s->failure.status != KC_OK)
                        return kc_fail_as(err, &s->failure);
                if (s->next == s->ngiven)
                        KC_TRY(take_more(s, err));
                else
                        KC_TRY(copy_piece(s, chunk, err));
        }
out:
        return status;
}

static enum kc_status next_batch(void *ctx, int worker, struct kc_batch *batch,
                                 struct kc_error *err)
{
        struct kc_sequences *s = ctx;
        struct sequence_worker *w = &s->workers[worker];
        batch->nwords = batch->nsegments = 0;
        while (kc_segmenter_pack(&w->segmenter, &w->chunk, batch)) {
                pthread_mutex_lock(&s->lock);
                const enum kc_status status = copy_letters(s, &w->chunk, err);
                const bool ended = s->ended;
                pthread_mutex_unlock(&s->lock);
                if (status != KC_OK)
                        return status;
                if (ended && w->chunk.nrecords == 0) {
                        kc_chunk_free(&w->chunk); /* the memory is needed elsewhere from now on */
                        break;
                }
        }
        return KC_OK;
}

static void free_workers(struct kc_sequences *s)
{
        for (int i = 0; i < s->nworkers; i++)
                kc_chunk_free(&s->workers[i].chunk);
        free(s->workers);
}

enum kc_status kc_sequences_open(struct kc_sequences **sequences, int k, int nworkers,
                                 const struct kc_sequence_giver *giver, struct kc_job *job,
                                 struct kc_error *err)
{
        struct kc_sequences *s = calloc(1, sizeof *s);
        enum kc_status status = KC_OK;
        *sequences = NULL;
        if (s == NULL || (s->workers = calloc((size_t)nworkers, sizeof *s->workers)) == NULL) {
                free(s);
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        }
        s->giver = *giver;
        s->job = job;
        s->k = k;
        s->nworkers = nworkers;
        pthread_mutex_init(&s->lock, NULL);
        for (int i = 0; i < nworkers && status == KC_OK; i++) {
                status = kc_chunk_init(&s->workers[i].chunk, CHUNK_NBYTES, err);
                kc_segmenter_init(&s->workers[i].segmenter, kc_kernels_best(), k, k, 0, false);
        }
        if (status == KC_OK)
                *sequences = s;
        else
                kc_sequences_close(s);
        return status;
}

struct kc_batch_source kc_sequences_source(struct kc_sequences *s)
{
        return (struct kc_batch_source){ .ctx = s, .next = next_batch };
}

struct kc_sequence_totals kc_sequences_totals(const struct kc_sequences *s)
{
        struct kc_sequence_totals totals = { .nsequences = s->nsequences };
        for (int i = 0; i < s->nworkers; i++) {
                totals.nletters += s->workers[i].segmenter.nbases;
                totals.nskipped += s->workers[i].segmenter.nskipped;
        }
        return totals;
}

void kc_sequences_close(struct kc_sequences *s)
{
        if (s == NULL)
                return;
        free_workers(s);
        pthread_mutex_destroy(&s->lock);
        free(s);
}
