/*
 * Packed reads in device memory, in two forms: as they are uploaded (kc_gpu_reads), and as they are
 * kept until they are counted (kc_gpu_chunks).
 */
#ifndef KC_GPU_DEVICE_READS_CUH
#define KC_GPU_DEVICE_READS_CUH

#include "gpu/device/key.cuh"

#include <cstddef>
#include <cstdint>

/*
 * A stretch of nkmers + k - 1 bases inside one segment of a batch; the first is base `base` of word
 * `word`. Segments are cut into spans of up to KC_SPAN_NKMERS k-mers, one for each thread, so
 * that long and short reads load the device equally. Consecutive spans of a segment share k-1
 * bases.
 */
struct kc_span {
        uint32_t word;
        uint8_t base : 5; /* 0 .. 31 */
        uint8_t ends : 1; /* 1: the last span of its segment */
        uint8_t nkmers;   /* 1 .. KC_SPAN_NKMERS */
        /* If several k are counted: k-mers that lie within the segment's first nbefore bases (set
         * only in its first span) or its last nafter bases (set only in its last span) are in
         * another segment as well, and belong to that one. Otherwise 0. */
        uint8_t nbefore, nafter;
};

enum { KC_SPAN_NKMERS = 128 };

/* How many spans a segment with this many k-mers is cut into. */
KC_HD uint32_t kc_span_count(uint32_t nkmers)
{
        return (nkmers + KC_SPAN_NKMERS - 1) / KC_SPAN_NKMERS;
}

/*
 * Span number i of a segment that begins at base `first`, counted from word first_word. Spans are
 * cut evenly: 300 k-mers make three spans of 100; if there is a remainder, the first spans get one
 * more each.
 */
KC_HD struct kc_span kc_span_cut(uint32_t nkmers, uint32_t i, uint32_t first, uint32_t first_word)
{
        const uint32_t nspans = kc_span_count(nkmers);
        const uint32_t shorter = nkmers / nspans, longer = nkmers % nspans;
        const uint32_t at = first + i * shorter + (i < longer ? i : longer);
        struct kc_span span = {};
        span.word = first_word + at / 32;
        span.base = at & 31;
        span.ends = i + 1 == nspans;
        span.nkmers = (uint8_t)(shorter + (i < longer));
        return span;
}

/* How many bases of a span are in no later span of its segment. */
KC_HD uint32_t kc_span_own_nbases(uint32_t nkmers, bool ends, int k)
{
        return nkmers + (ends ? (uint32_t)k - 1 : 0);
}

/* n bases, 1 to 32, of packed words, from base number `from` on: the first one lowest, zeros after
 * the last. Does not read words that have none of them. */
KC_HD uint64_t kc_packed_bases(const uint64_t *words, uint64_t from, uint32_t n)
{
        const uint64_t *word = words + from / 32;
        const uint32_t at = (uint32_t)(from % 32);
        uint64_t bases = word[0] >> 2 * at;
        if (at + n > 32)
                bases |= word[1] << (64 - 2 * at);
        return bases & UINT64_MAX >> (64 - 2 * n);
}

struct kc_gpu_reads {
        const uint64_t *words;       /* device, packed as in kmer/batch.h; nothing after the last
                                        base is read */
        const struct kc_span *spans; /* device */
        size_t nwords, nspans;
        uint64_t nbases; /* in all spans, shared ones counted once; at most KC_CHUNK_NBASES */
        uint64_t nkmers; /* in all spans */
        size_t nmarks;   /* at least the number of nbefore and nafter that are not 0 */
};

/*
 * A chunk: the bases of all spans without gaps, then the spans in groups of 32, one for each warp,
 *
 *      | bases, 32 in a word | marks | first base of group 0, its 32 spans | of group 1 ... | ...
 *
 * so that a read of 150 bases takes 38.6 bytes. Spans are cut for the smallest k. A larger k has
 * fewer k-mers at the end of each segment, and the same ones elsewhere.
 */
enum {
        KC_CHUNK_BITS = 27,
        KC_CHUNK_NBASES = 1 << KC_CHUNK_BITS, /* at most */
        KC_CHUNK_NWORDS = KC_CHUNK_NBASES / 32,
        KC_GROUP_NSPANS = 32,
};

struct kc_span_group {
        uint32_t first;                 /* number of the first span's first base */
        uint8_t spans[KC_GROUP_NSPANS]; /* | ends: 1 | nkmers - 1: 7 |; each span begins where the
                                           own bases of the span before end */
};

KC_HD uint8_t kc_group_span(uint32_t nkmers, bool ends)
{
        return (uint8_t)((nkmers - 1) | (ends ? KC_SPAN_NKMERS : 0));
}

KC_HD uint32_t kc_group_span_nkmers(uint8_t span)
{
        return span % KC_SPAN_NKMERS + 1u;
}

KC_HD bool kc_group_span_ends(uint8_t span)
{
        return span >= KC_SPAN_NKMERS;
}

/* A few of a chunk's bases. K-mers that lie within them are not counted. */
struct kc_mark {
        uint32_t first, n;
};

struct kc_gpu_chunk {
        const uint64_t *words;
        const struct kc_span_group *groups;
        uint32_t nspans;
        uint32_t first_group;        /* number of groups in the chunks before */
        const struct kc_mark *marks; /* [nmarks], in ascending order */
        uint32_t nmarks;
};

/*
 * Chunks on the device. Base b of chunk c has the position c << KC_CHUNK_BITS | b. A chunk without
 * spans only serves to give its words positions; if it has more than KC_CHUNK_NBASES bases, the
 * rest are in the next chunk, directly after it in memory.
 */
struct kc_gpu_chunks {
        const struct kc_gpu_chunk *table; /* [n] device */
        uint32_t n, ngroups;
};

#endif
