/*
 * Fields and bases of BAM records, wherever they begin in memory. The rules are those of the host's
 * reader (io/parse/bam_record.h, which shows the layout of a record).
 *
 * `bytes` is aligned to 16 bytes, and `at` is a position after it. Only aligned words that contain
 * a byte of the requested data are read.
 *
 * Source: the SAM/BAM format specification, section 4.2.
 */
#ifndef KC_GPU_TEXT_BAM_CUH
#define KC_GPU_TEXT_BAM_CUH

#include "gpu/device/key.cuh"

enum {
        TEXT_BAM_LENGTH_NBYTES = 4,
        TEXT_BAM_FIXED_NBYTES = 36,
        TEXT_BAM_NO_QUALITY = 0xff, /* as the first quality: the read has none */
        TEXT_BAM_WORD = 16,         /* bases in 64 bits */
};

enum text_bam_flag : uint32_t {
        TEXT_BAM_UNMAPPED = 0x4,
        TEXT_BAM_REVERSE = 0x10,
        TEXT_BAM_NOT_PRIMARY = 0x900, /* secondary or supplementary */
};

struct text_bam_record {
        uint64_t nbytes; /* with block_size; 0: impossible */
        uint32_t ref, next_ref;
        uint32_t nname, nops, flag, nbases;
};

KC_HD uint32_t text_bam_u32(const uint8_t *bytes, uint32_t at)
{
        const uint32_t *words = (const uint32_t *)bytes + at / 4;
        const uint64_t high = at % 4 != 0 ? words[1] : 0;
        return (uint32_t)((high << 32 | words[0]) >> 8 * (at % 4));
}

/* The length of a record, from its block_size; 0 if that is impossible. */
KC_HD uint64_t text_bam_nbytes(uint32_t block_size)
{
        const uint32_t least = TEXT_BAM_FIXED_NBYTES - TEXT_BAM_LENGTH_NBYTES;
        return block_size < least || block_size > INT32_MAX
                       ? 0
                       : (uint64_t)block_size + TEXT_BAM_LENGTH_NBYTES;
}

/* The fields of a record of which at least TEXT_BAM_FIXED_NBYTES are in memory. */
KC_HD struct text_bam_record text_bam_fields(const uint8_t *bytes, uint32_t at)
{
        const uint32_t flags = text_bam_u32(bytes, at + 16);
        struct text_bam_record r;
        r.nbytes = text_bam_nbytes(text_bam_u32(bytes, at));
        r.ref = text_bam_u32(bytes, at + 4);
        r.next_ref = text_bam_u32(bytes, at + 24);
        r.nname = bytes[at + 12];
        r.nops = flags & 0xffff;
        r.flag = flags >> 16;
        r.nbases = text_bam_u32(bytes, at + 20);
        return r;
}

/* Where the record's CIGAR, bases and qualities begin. */
KC_HD uint32_t text_bam_cigar(const struct text_bam_record &r)
{
        return TEXT_BAM_FIXED_NBYTES + r.nname;
}

KC_HD uint32_t text_bam_bases(const struct text_bam_record &r)
{
        return text_bam_cigar(r) + 4 * r.nops;
}

KC_HD uint32_t text_bam_qualities(const struct text_bam_record &r)
{
        return text_bam_bases(r) + (r.nbases + 1) / 2;
}

KC_HD bool text_bam_is_ref(uint32_t ref, uint32_t nrefs)
{
        return ref < nrefs || ref == UINT32_MAX;
}

/* Whether the fields, apart from the CIGAR, are sound; nrefs: references that the header names. */
KC_HD bool text_bam_is_sound(const struct text_bam_record &r, uint32_t nrefs)
{
        return text_bam_is_ref(r.ref, nrefs) && text_bam_is_ref(r.next_ref, nrefs) && r.nname > 0 &&
               r.nbases <= INT32_MAX && (uint64_t)text_bam_qualities(r) + r.nbases <= r.nbytes;
}

/* Whether the name is one or more printable letters and a NUL, and ends before `end`. Arrays of
 * small numbers, as in tags, can look like the other fields, but not like this. */
KC_HD bool text_bam_has_usual_name(const uint8_t *bytes, uint32_t at, uint32_t end,
                                   const struct text_bam_record &r)
{
        const uint32_t begin = at + TEXT_BAM_FIXED_NBYTES, last = at + text_bam_cigar(r) - 1;
        if (r.nname < 2 || last >= end || bytes[last] != 0)
                return false;
        for (uint32_t i = begin; i < last; i++)
                if (bytes[i] <= ' ' || bytes[i] > '~')
                        return false;
        return true;
}

/* Whether a record probably begins here, judging by its fields and by those of the next record; the
 * text ends at `end`. The reference number rules out most positions. */
KC_HD bool text_bam_is_plausible(const uint8_t *bytes, uint32_t at, uint32_t end, uint32_t nrefs)
{
        if (end - at < TEXT_BAM_FIXED_NBYTES ||
            !text_bam_is_ref(text_bam_u32(bytes, at + 4), nrefs))
                return false;
        const struct text_bam_record r = text_bam_fields(bytes, at);
        const uint64_t next = at + r.nbytes;
        if (!text_bam_is_sound(r, nrefs) || !text_bam_has_usual_name(bytes, at, end, r))
                return false;
        return next + TEXT_BAM_FIXED_NBYTES > end ||
               text_bam_is_sound(text_bam_fields(bytes, (uint32_t)next), nrefs);
}

/* How many bases of the read an operation of a CIGAR describes. */
KC_HD uint32_t text_bam_op_nbases(uint32_t op)
{
        const uint32_t takes = 0x193; /* bit i: operation i of MIDNSHP=X takes bases of the read */
        return takes >> (op & 15) & 1 ? op >> 4 : 0;
}

/* ---- bases: 16 in 64 bits, the first one lowest; each has one bit for A, C, G and T ---- */

/* 64 bits of bytes, with their bases in order. */
KC_HD uint64_t text_bam_in_order(uint64_t x)
{
        const uint64_t low = UINT64_C(0x0f0f0f0f0f0f0f0f);
        return (x & low) << 4 | (x >> 4 & low);
}

/* n bases (1 to 16), beginning with base number `from`, then zeros. Bases are counted from `bytes`,
 * two in a byte. */
KC_HD uint64_t text_bam_load(const uint8_t *bytes, uint64_t from, uint32_t n)
{
        const uint64_t *words = (const uint64_t *)bytes + from / TEXT_BAM_WORD;
        const uint32_t at = (uint32_t)(from % TEXT_BAM_WORD);
        uint64_t x = text_bam_in_order(words[0]) >> 4 * at;
        if (at + n > TEXT_BAM_WORD)
                x |= text_bam_in_order(words[1]) << (64 - 4 * at);
        return x & UINT64_MAX >> (64 - 4 * n);
}

/* The reverse complement of n bases; the bits within each base are reversed, too. */
KC_HD uint64_t text_bam_turn(uint64_t x, uint32_t n)
{
        const uint64_t odd = UINT64_C(0x5555555555555555), pairs = kc_key_reverse_bases(x);
        return ((pairs & odd) << 1 | (pairs >> 1 & odd)) >> (64 - 4 * n);
}

/* Codes of 2 bits, as in kmer/batch.h; arbitrary where a base is not A, C, G or T. */
KC_HD uint32_t text_bam_codes(uint64_t x)
{
        const uint64_t ones = UINT64_C(0x1111111111111111);
        x = ((x >> 1 | x >> 3) & ones) | ((x >> 2 | x >> 3) & ones) << 1;
        x = (x | x >> 2) & UINT64_C(0x0f0f0f0f0f0f0f0f);
        x = (x | x >> 4) & UINT64_C(0x00ff00ff00ff00ff);
        x = (x | x >> 8) & UINT64_C(0x0000ffff0000ffff);
        return (uint32_t)(x | x >> 16);
}

/* Bit i: base i is A, C, G or T. */
KC_HD uint32_t text_bam_valid(uint64_t x)
{
        const uint64_t ones = UINT64_C(0x1111111111111111);
        x = (x & ones) + (x >> 1 & ones) + (x >> 2 & ones) + (x >> 3 & ones);
        x = x & ~(x >> 1) & ones; /* where the sum is 1 */
        x = (x | x >> 3) & UINT64_C(0x0303030303030303);
        x = (x | x >> 6) & UINT64_C(0x000f000f000f000f);
        x = (x | x >> 12) & UINT64_C(0x000000ff000000ff);
        return (uint32_t)(x | x >> 24) & 0xffff;
}

/* ---- qualities ---- */

/* Bit i: byte i of n, 1 to 8, is at least min. */
KC_HD uint32_t text_bam_at_least(const uint8_t *bytes, uint32_t at, uint32_t n, uint8_t min)
{
        const uint64_t tops = UINT64_C(0x8080808080808080), ones = tops >> 7;
        const uint64_t *words = (const uint64_t *)bytes + at / 8;
        uint64_t x = words[0] >> 8 * (at % 8), flags;
        if (at % 8 + n > 8)
                x |= words[1] << (64 - 8 * (at % 8));
        flags = (x | tops) - (min & 0x7f) * ones;
        flags = (min < 0x80 ? flags | x : flags & x) & tops;
        flags = (flags >> 7) * UINT64_C(0x0102040810204080) >> 56;
        return (uint32_t)flags & ((1u << n) - 1);
}

#endif
