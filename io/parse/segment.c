#include "io/parse/segment.h"

#include "kmer/hpc.h"
#include "kmer/kmer.h"

/* A sequence that does not fit is cut only if this much room is left: batches are filled, and reads
 * of usual length stay in one piece. */
enum { MIN_PIECE = 32 * KC_BATCH_MIN_WORDS };

void kc_segmenter_init(struct kc_segmenter *s, const struct kc_kernels *kernels, int min_k,
                       int max_k, int min_quality, bool hpc)
{
        *s = (struct kc_segmenter){
                .kernels = kernels, .min_k = (uint32_t)min_k, .max_k = (uint32_t)max_k, .hpc = hpc
        };
        if (min_quality > 0)
                s->min_quality = kc_quality_letter(min_quality);
}

/* Skip letters that are not bases; those masked for their quality are counted already. */
static uint32_t skip_invalid(struct kc_segmenter *s, const uint8_t *seq, uint32_t at, uint32_t n)
{
        for (; at < n && kc_base_code(seq[at]) < 0; at++)
                s->nskipped += seq[at] != KC_CHUNK_LOW_QUALITY;
        return at;
}

/* What is left is too short for a k-mer: only its invalid letters matter. */
static void skip_rest(struct kc_segmenter *s, const uint8_t *seq, uint32_t at, uint32_t n)
{
        for (; at < n; at++)
                at = skip_invalid(s, seq, at, n);
}

static void begin_record(struct kc_segmenter *s, uint8_t *buffer, struct kc_record *record)
{
        s->begun = true;
        s->at = 0;
        s->seen = record->turned ? 0 : record->ncontext;
        s->nbases += record->nbases - record->ncontext;
        if (s->min_quality > 0 && record->qual != KC_NO_QUALITY)
                s->nlow_quality +=
                        s->kernels->mask_quality(buffer + record->seq, buffer + record->qual,
                                                 record->nbases, s->min_quality);
        if (s->hpc) /* the context is compressed already: all of it stays */
                record->nbases = (uint32_t)kc_hpc_compress(buffer + record->seq, record->nbases);
}

/* Add what was packed, from s->at on, unless it is all in another segment. fresh_end: bases from
 * there on are in the one that comes next in the read. */
static void add_segment(const struct kc_segmenter *s, uint32_t nbases, uint32_t fresh_end,
                        struct kc_batch *batch)
{
        const uint32_t end = s->at + nbases;
        const uint32_t nbefore = s->seen > s->at ? s->seen - s->at : 0;
        const uint32_t nafter = end > fresh_end ? end - fresh_end : 0;
        if (nbases < s->min_k || nbefore >= nbases || nafter >= nbases)
                return;
        batch->segments[batch->nsegments++] = (struct kc_segment){ .word = batch->nwords,
                                                                   .nbases = nbases,
                                                                   .nbefore = (uint8_t)nbefore,
                                                                   .nafter = (uint8_t)nafter };
        batch->nwords += (nbases + 31) / 32;
}

/* Returns false if the batch is full before the record is done. */
static bool pack_record(struct kc_segmenter *s, const uint8_t *seq, const struct kc_record *record,
                        struct kc_batch *batch)
{
        const uint32_t n = record->nbases;
        const uint32_t fresh_end = record->turned ? n - record->ncontext : n;
        while (n - s->at >= s->min_k) {
                uint32_t left = n - s->at;
                uint64_t room = UINT64_C(32) * (batch->words_cap - batch->nwords);
                bool cut = left > room;
                if (batch->nsegments == batch->segments_cap || (cut && room < MIN_PIECE))
                        return false;
                uint32_t want = cut ? (uint32_t)room : left;
                uint32_t got =
                        (uint32_t)s->kernels->pack(seq + s->at, want, batch->words + batch->nwords);
                add_segment(s, got, fresh_end, batch);
                s->at += got;
                if (cut && got == want) {
                        s->seen = s->at;
                        s->at -= s->max_k - 1; /* the next piece begins with these bases again */
                } else {
                        s->at = skip_invalid(s, seq, s->at, n);
                }
        }
        skip_rest(s, seq, s->at, n);
        return true;
}

bool kc_segmenter_pack(struct kc_segmenter *s, struct kc_chunk *chunk, struct kc_batch *batch)
{
        s->nbases += chunk->nblanks;
        s->nskipped += chunk->nblanks;
        s->nlow_quality += chunk->nlow_quality;
        chunk->nblanks = chunk->nlow_quality = 0;
        for (; chunk->next < chunk->nrecords; chunk->next++) {
                struct kc_record *record = &chunk->records[chunk->next];
                if (!s->begun)
                        begin_record(s, chunk->buffer, record);
                if (!pack_record(s, chunk->buffer + record->seq, record, batch))
                        return false;
                s->begun = false;
        }
        return true;
}
