/*
 * Which list a k-mer belongs to: the key space is cut where the table has about as many k-mers in
 * each part, at whole prefixes, so that a small array of prefixes tells the part.
 */
#ifndef KC_CPU_ASK_PLAN_H
#define KC_CPU_ASK_PLAN_H

#include "kmer/ask_table.h"
#include "kmer/kmer.h"

enum { KC_ASK_MAX_PARTS = 4096 };

struct kc_ask_plan {
        int k, nwords;
        int shift; /* of a k-mer, to get its prefix */
        uint32_t nprefixes, nparts;
        uint16_t *parts;  /* [nprefixes] ascending */
        uint32_t *begins; /* [nparts + 1] the first prefix of each part */
};

/* Cut the table into about nparts <= KC_ASK_MAX_PARTS. To be freed in any case. KC_ENOMEM, and what
 * split returns. */
enum kc_status kc_ask_plan_make(struct kc_ask_plan *plan, const struct kc_ask_table *table,
                                uint32_t nparts, struct kc_error *err);
void kc_ask_plan_free(struct kc_ask_plan *plan);

/* The first and the last k-mer that belong to a part; both [nwords]. */
void kc_ask_plan_range(const struct kc_ask_plan *plan, uint32_t part, uint64_t *from, uint64_t *to);

static inline uint32_t kc_ask_prefix(const uint64_t *kmer, int nwords, int shift)
{
        const int word = shift / 64, rest = shift % 64;
        uint64_t bits = kmer[word] >> rest;
        if (nwords > 1 && word + 1 < nwords)
                bits |= kmer[word + 1] << 1 << (63 - rest);
        return (uint32_t)bits;
}

#endif
