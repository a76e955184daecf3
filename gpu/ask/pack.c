#include "gpu/ask/pack.h"

#include "io/parse/pack.h"
#include "kmer/kmer.h"

#include <string.h>

enum { UNIT = 64 }; /* kernels read so many letters at a time */

uint32_t kc_ask_pack(uint64_t words[KC_ASK_PIECE_NWORDS], const char *letters, uint32_t n)
{
        const struct kc_kernels *kernels = kc_kernels_best();
        const uint32_t whole = n / UNIT * UNIT, rest = n - whole;
        uint8_t last[UNIT] = { 0 };
        const uint32_t npacked = (uint32_t)kernels->pack((const uint8_t *)letters, whole, words);
        if (npacked < whole || rest == 0)
                return npacked;
        memcpy(last, letters + whole, rest);
        return whole + (uint32_t)kernels->pack(last, rest, words + whole / 32);
}

uint32_t kc_ask_count_others(const char *letters, uint32_t n)
{
        uint32_t i = 0;
        while (i < n && kc_base_code((unsigned char)letters[i]) < 0)
                i++;
        return i;
}

/* The 32 bases from this one on; those after the last base of the words are undefined. */
static uint64_t bases_from(const uint64_t *words, uint32_t base)
{
        const uint64_t *word = words + base / 32;
        const unsigned shift = 2 * (base % 32);
        return shift == 0 ? word[0] : word[0] >> shift | word[1] << (64 - shift);
}

/* Where bases go next: into a word that is written once it is full. */
struct packing {
        uint64_t *word;
        uint64_t bits;
        unsigned nbits;
};

/* nbits: 2 to 64; the bits after them are 0. */
static void put(struct packing *p, uint64_t bits, unsigned nbits)
{
        p->bits |= bits << p->nbits;
        if (p->nbits + nbits >= 64) {
                *p->word++ = p->bits;
                p->bits = p->nbits > 0 ? bits >> (64 - p->nbits) : 0;
        }
        p->nbits = (p->nbits + nbits) % 64;
}

void kc_ask_copy_bases(uint64_t *words, uint64_t at, const uint64_t *packed, uint32_t first,
                       uint32_t n)
{
        struct packing p = { .word = words + at / 32, .nbits = 2 * (at % 32) };
        if (p.nbits > 0)
                p.bits = *p.word;
        for (; n >= 32; n -= 32, first += 32)
                put(&p, bases_from(packed, first), 64);
        if (n > 0)
                put(&p, bases_from(packed, first) & ((UINT64_C(1) << 2 * n) - 1), 2 * n);
        if (p.nbits > 0)
                *p.word = p.bits;
}
