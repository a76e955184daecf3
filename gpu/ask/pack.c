#include "gpu/ask/pack.h"

#include "io/parse/pack.h"
#include "kmer/kmer.h"

#include <string.h>

/* The kernels that pack letters write whole words at the beginning of a word, and read UNIT letters
 * at a time. So letters are packed in pieces, and then put where they belong. */
enum {
        UNIT = 64,
        PIECE = 16 * UNIT,
        PIECE_NWORDS = PIECE / 32 + 3, /* a kernel may write one too many, and one is read */
};

/* Pack the bases before the first other letter, at most n <= PIECE. Returns how many there are. */
static uint32_t pack_piece(uint64_t words[PIECE_NWORDS], const char *letters, uint32_t n)
{
        const struct kc_kernels *kernels = kc_kernels_best();
        const uint32_t whole = n / UNIT * UNIT, rest = n - whole;
        uint8_t last[UNIT];
        const uint32_t npacked = (uint32_t)kernels->pack((const uint8_t *)letters, whole, words);
        if (npacked < whole || rest == 0)
                return npacked;
        memcpy(last, letters + whole, rest);
        memset(last + rest, 'N', UNIT - rest);
        return whole + (uint32_t)kernels->pack(last, rest, words + whole / 32);
}

uint32_t kc_ask_count_bases(const char *letters, uint32_t n)
{
        uint64_t words[PIECE_NWORDS];
        for (uint32_t at = 0; at < n; at += PIECE) {
                const uint32_t left = n - at < PIECE ? n - at : PIECE;
                const uint32_t npacked = pack_piece(words, letters + at, left);
                if (npacked < left)
                        return at + npacked;
        }
        return n;
}

uint32_t kc_ask_count_others(const char *letters, uint32_t n)
{
        uint32_t i = 0;
        while (i < n && kc_base_code((unsigned char)letters[i]) < 0)
                i++;
        return i;
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

void kc_ask_pack(uint64_t *words, uint64_t at, const char *letters, uint32_t n)
{
        struct packing p = { .word = words + at / 32, .nbits = 2 * (at % 32) };
        uint64_t piece[PIECE_NWORDS];
        if (p.nbits > 0)
                p.bits = *p.word;
        for (uint32_t done = 0; done < n; done += PIECE) {
                const uint32_t left = n - done < PIECE ? n - done : PIECE;
                pack_piece(piece, letters + done, left);
                for (uint32_t i = 0; i < left; i += 32)
                        put(&p, piece[i / 32], left - i < 32 ? 2 * (left - i) : 64);
        }
        if (p.nbits > 0)
                *p.word = p.bits;
}
