#include "gpu/ask/pack.h"

#include "kmer/kmer.h"

#include <stdbool.h>
#include <string.h>

static const bool is_base[256] = {
        ['A'] = true, ['C'] = true, ['G'] = true, ['T'] = true, ['U'] = true,
        ['a'] = true, ['c'] = true, ['g'] = true, ['t'] = true, ['u'] = true,
};

uint32_t kc_ask_count_bases(const char *letters, uint32_t n)
{
        uint32_t i = 0;
        while (i < n && is_base[(unsigned char)letters[i]])
                i++;
        return i;
}

uint32_t kc_ask_count_others(const char *letters, uint32_t n)
{
        uint32_t i = 0;
        while (i < n && !is_base[(unsigned char)letters[i]])
                i++;
        return i;
}

/* Eight letters as bases, the first one lowest. Bits 1 and 2 of a letter: A 0, C 1, G 3, T 2. */
static uint64_t pack_eight(const char *letters)
{
        uint64_t x;
        memcpy(&x, letters, sizeof x);
        x = x >> 1 & UINT64_C(0x0303030303030303);
        x ^= x >> 1 & UINT64_C(0x0101010101010101);
        x = (x | x >> 6) & UINT64_C(0x000f000f000f000f);
        x = (x | x >> 12) & UINT64_C(0x000000ff000000ff);
        return (x | x >> 24) & 0xffff;
}

/* Where bases go next: into a word that is written once it is full. */
struct packing {
        uint64_t *word;
        uint64_t bits;
        unsigned nbits;
};

static void put(struct packing *p, uint64_t bits, unsigned nbits)
{
        p->bits |= bits << p->nbits;
        if (p->nbits + nbits >= 64) {
                *p->word++ = p->bits;
                p->bits = p->nbits > 0 ? bits >> (64 - p->nbits) : 0;
        }
        p->nbits = (p->nbits + nbits) % 64;
}

void kc_ask_pack(uint64_t *words, uint64_t at, const char *letters, uint32_t n)
{
        struct packing p = { .word = words + at / 32, .nbits = 2 * (at % 32) };
        if (p.nbits > 0)
                p.bits = *p.word;
        for (; n >= 8; n -= 8, letters += 8)
                put(&p, pack_eight(letters), 16);
        for (; n > 0; n--, letters++)
                put(&p, (uint64_t)kc_base_code((unsigned char)*letters), 2);
        if (p.nbits > 0)
                *p.word = p.bits;
}
