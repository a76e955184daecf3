#include "io/parse/select.h"

static uint32_t count_low_quality(const uint8_t *letters, uint32_t n)
{
        uint32_t nlow = 0;
        for (uint32_t i = 0; i < n; i++)
                nlow += letters[i] == KC_CHUNK_LOW_QUALITY;
        return nlow;
}

void kc_chunk_skip(struct kc_chunk *chunk, struct kc_record *record, uint64_t first, uint32_t nskip)
{
        if (first >= nskip)
                return;
        const uint64_t wanted = nskip - first;
        const uint32_t n = wanted < record->nbases ? (uint32_t)wanted : record->nbases;
        const uint32_t nold = record->nbases - record->ncontext;
        chunk->nlow_quality -= count_low_quality(chunk->buffer + record->seq, n);
        record->seq += n;
        record->nbases -= n;
        if (record->qual != KC_NO_QUALITY)
                record->qual += n;
        if (!record->turned)
                record->ncontext -= n < record->ncontext ? (uint16_t)n : record->ncontext;
        else if (record->nbases < record->ncontext)
                record->ncontext = (uint16_t)record->nbases;
        chunk->nleft_out += nold - (record->nbases - record->ncontext);
}

void kc_chunk_skip_all(struct kc_chunk *chunk, size_t from, uint32_t nskip)
{
        if (nskip == 0)
                return;
        for (size_t i = from; i < chunk->nrecords; i++)
                kc_chunk_skip(chunk, &chunk->records[i], 0, nskip);
}
