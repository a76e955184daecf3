#include "cpu/ask/directory.h"

#include <stdlib.h>

enum {
        STEP = KC_ASK_DIRECTORY_SPARE, /* k-mers of a slot compared together */
        MOST_BEYOND = 4,               /* one k-mer in so many may lie beyond the first STEP */
};

static int bit_length(uint64_t x)
{
        return x == 0 ? 0 : 64 - __builtin_clzll(x);
}

static inline uint64_t slot_of(const struct kc_ask_directory *directory, uint64_t kmer)
{
        return (kmer - directory->from) >> directory->shift;
}

static enum kc_status reserve(struct kc_ask_directory *directory, size_t nslots,
                              struct kc_error *err)
{
        if (nslots <= directory->cap)
                return KC_OK;
        free(directory->begins);
        directory->cap = 0;
        directory->begins = malloc(nslots * sizeof *directory->begins);
        if (directory->begins == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for a directory of %zu slots",
                               nslots);
        directory->cap = nslots;
        return KC_OK;
}

/* From the last k-mer to the first, so that each slot keeps its first one. */
static void fill(struct kc_ask_directory *directory, size_t nslots, size_t n)
{
        for (size_t slot = 0; slot < nslots; slot++)
                directory->begins[slot] = (uint32_t)n;
        for (size_t i = n; i-- > 0;)
                directory->begins[slot_of(directory, directory->kmers[i])] = (uint32_t)i;
}

static size_t count_beyond(const struct kc_ask_directory *directory, size_t n)
{
        size_t nbeyond = 0;
        for (size_t i = STEP; i < n; i++)
                nbeyond += slot_of(directory, directory->kmers[i]) ==
                           slot_of(directory, directory->kmers[i - STEP]);
        return nbeyond;
}

enum kc_status kc_ask_directory_make(struct kc_ask_directory *directory, uint64_t *kmers,
                                     uint32_t *counts, size_t n, uint64_t from, uint64_t to,
                                     bool *suits, struct kc_error *err)
{
        const int all_bits = bit_length(to - from), slot_bits = bit_length(n);
        directory->kmers = kmers;
        directory->counts = counts;
        directory->from = from;
        directory->shift = all_bits > slot_bits ? all_bits - slot_bits : 0;
        const size_t nslots = slot_of(directory, to) + 1;
        enum kc_status status = reserve(directory, nslots, err);
        if (status != KC_OK)
                return status;
        for (size_t i = n; i < n + STEP; i++) {
                kmers[i] = UINT64_MAX; /* below no k-mer */
                counts[i] = 0;
        }
        *suits = count_beyond(directory, n) <= n / MOST_BEYOND;
        if (*suits)
                fill(directory, nslots, n);
        return KC_OK;
}

static inline uint32_t find(const struct kc_ask_directory *directory, uint64_t kmer)
{
        size_t at = directory->begins[slot_of(directory, kmer)];
        for (;;) {
                const uint64_t *kmers = directory->kmers + at;
                size_t nbelow = 0;
                for (int i = 0; i < STEP; i++)
                        nbelow += kmers[i] < kmer;
                if (__builtin_expect(nbelow < STEP, 1)) /* without a branch on what is found */
                        return directory->counts[at + nbelow] & -(uint32_t)(kmers[nbelow] == kmer);
                at += STEP;
        }
}

void kc_ask_directory_find(const struct kc_ask_directory *directory, const uint64_t *kmers,
                           size_t n, uint32_t *counts)
{
        for (size_t i = 0; i < n; i++)
                counts[i] = find(directory, kmers[i]);
}
