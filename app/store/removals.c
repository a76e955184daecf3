#include "app/store/removals.h"

#include "kmer/kmer.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_NBASES = 32 };

void removals_init(struct removals *r)
{
        pthread_mutex_init(&r->lock, NULL);
        r->next_argument = r->next_record = 0;
        r->batch = (struct kc_record_batch){ 0 };
        r->compressed = NULL;
        r->compressed_cap = 0;
        r->text = NULL;
        r->nsequences = r->nbases = r->nskipped = r->nshort = 0;
}

void removals_destroy(struct removals *r)
{
        kc_record_batch_free(&r->batch);
        free(r->compressed);
        pthread_mutex_destroy(&r->lock);
}

static void begin_argument(struct removals *r)
{
        r->text = r->arguments[r->next_argument++];
        r->length = strlen(r->text);
        r->nsequences++;
        r->nbases += r->length;
}

static enum kc_status begin_record(struct removals *r, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (r->next_record == r->batch.n) {
                KC_TRY(kc_records_next(r->file, &r->batch, err));
                r->next_record = 0;
        }
        if (r->batch.n == 0)
                return KC_OK;
        struct kc_seq_record record = r->batch.records[r->next_record++];
        r->text = r->batch.bytes + record.bases;
        if (r->hpc) {
                KC_TRY(sequences_reserve(&r->compressed, &r->compressed_cap, record.nbases, err));
                kc_record_compress(&record, r->batch.bytes, r->k - 1, r->compressed);
                r->text = r->compressed;
        }
        r->length = record.nbases;
        r->nsequences += (record.flags & KC_RECORD_BEGINS) != 0;
        r->nbases += record.nbases - record.noverlap;
        r->nshort += sequences_is_short(&record, r->k);
out:
        return status;
}

/* Begin the next sequence; r->text stays NULL at the end. */
static enum kc_status begin_sequence(struct removals *r, struct kc_error *err)
{
        r->text = NULL;
        r->at = 0;
        if (r->next_argument < r->narguments)
                begin_argument(r);
        else if (r->file != NULL)
                return begin_record(r, err);
        return KC_OK;
}

/* Pack bases up to the first letter that is not a base, at most max. Returns their number. */
static size_t pack(const char *text, size_t max, uint64_t *words)
{
        size_t n = 0;
        for (int code; n < max && (code = kc_base_code((unsigned char)text[n])) >= 0; n++) {
                if (n % WORD_NBASES == 0)
                        words[n / WORD_NBASES] = 0;
                words[n / WORD_NBASES] |= (uint64_t)code << 2 * (n % WORD_NBASES);
        }
        return n;
}

/* Append the stretch of bases that begins at r->at; false if the batch has no room for all of
 * it. */
static bool append_segment(struct removals *r, struct kc_batch *batch)
{
        const size_t k = (size_t)r->k, nleft = r->length - r->at;
        const size_t room = (size_t)(batch->words_cap - batch->nwords) * WORD_NBASES;
        const size_t n =
                pack(r->text + r->at, nleft < room ? nleft : room, batch->words + batch->nwords);
        const bool is_cut =
                n == room && n < nleft && kc_base_code((unsigned char)r->text[r->at + n]) >= 0;
        if (n >= k) {
                batch->segments[batch->nsegments++] =
                        (struct kc_segment){ .word = batch->nwords, .nbases = (uint32_t)n };
                batch->nwords += (uint32_t)((n + WORD_NBASES - 1) / WORD_NBASES);
        }
        if (!is_cut)
                r->at += n;
        else if (n >= k)
                r->at += n - (k - 1); /* pieces share k - 1 bases */
        return !is_cut;
}

static enum kc_status fill_batch(struct removals *r, struct kc_batch *batch, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        while (batch->nsegments < batch->segments_cap) {
                if (r->text == NULL || r->at == r->length) {
                        KC_TRY(begin_sequence(r, err));
                        if (r->text == NULL)
                                break;
                } else if (kc_base_code((unsigned char)r->text[r->at]) < 0) {
                        r->nskipped++;
                        r->at++;
                } else if (!append_segment(r, batch)) {
                        break;
                }
        }
out:
        return status;
}

static enum kc_status next(void *ctx, int worker, struct kc_batch *batch, struct kc_error *err)
{
        struct removals *r = ctx;
        (void)worker;
        batch->nwords = batch->nsegments = 0;
        pthread_mutex_lock(&r->lock);
        enum kc_status status = fill_batch(r, batch, err);
        pthread_mutex_unlock(&r->lock);
        return status;
}

struct kc_batch_source removals_source(struct removals *r)
{
        return (struct kc_batch_source){ .ctx = r, .next = next };
}

/* ---- the sink ---- */

enum { ONES_CAP = 1 << 16 };

static enum kc_status put(void *ctx, const struct kc_run_pairs *pairs, struct kc_error *err)
{
        struct tombstones *t = ctx;
        struct kc_run_pairs ones = { .part = pairs->part,
                                     .kmers = pairs->kmers,
                                     .counts = t->ones };
        enum kc_status status;
        size_t nleft = pairs->n;
        do {
                ones.n = nleft < ONES_CAP ? nleft : ONES_CAP;
                ones.last = pairs->last && ones.n == nleft;
                KC_TRY(t->inner.put(t->inner.ctx, &ones, err));
                ones.kmers += ones.n * t->nwords;
                nleft -= ones.n;
        } while (nleft > 0);
out:
        return status;
}

static void cancel(void *ctx)
{
        struct tombstones *t = ctx;
        t->inner.cancel(t->inner.ctx);
}

enum kc_status tombstones_init(struct tombstones *t, struct kc_run_sink inner, int k,
                               struct kc_error *err)
{
        t->inner = inner;
        t->nwords = (size_t)kc_kmer_nwords(k);
        t->ones = malloc(ONES_CAP * sizeof *t->ones);
        if (t->ones == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        for (size_t i = 0; i < ONES_CAP; i++)
                t->ones[i] = 1;
        return KC_OK;
}

struct kc_run_sink tombstones_sink(struct tombstones *t)
{
        return (struct kc_run_sink){
                .ctx = t, .filter = { 1, UINT32_MAX }, .put = put, .cancel = cancel
        };
}
