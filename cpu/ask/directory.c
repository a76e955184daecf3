#include "cpu/ask/directory.h"

#include "base/simd.h"

#include <stdlib.h>
#include <string.h>

enum {
        STEP = KC_ASK_DIRECTORY_SPARE, /* k-mers of a slot compared together */
        MOST_BEYOND = 4,               /* one k-mer in so many may lie beyond the first STEP */
        TILE = 256,                    /* k-mers whose slots are found together */
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

/* Which slots n <= TILE k-mers belong to. */
static inline void find_slots(const struct kc_ask_directory *directory, const uint64_t *kmers,
                              size_t n, uint32_t *slots)
{
        const uint64_t from = directory->from;
        const int shift = directory->shift;
        for (size_t i = 0; i < n; i++)
                slots[i] = (uint32_t)((kmers[i] - from) >> shift);
}

/* Fill the directory, from the last k-mer to the first, so that each slot keeps its first one.
 * Returns how many k-mers lie beyond the first STEP of their slot. */
KC_SIMD_CLONES
static size_t fill_slots(struct kc_ask_directory *directory, size_t nslots, size_t n)
{
        uint32_t slots[TILE + STEP], *begins = directory->begins;
        size_t nbeyond = 0;
        for (size_t slot = 0; slot < nslots; slot++)
                begins[slot] = (uint32_t)n;
        memset(slots, 0xff, STEP * sizeof *slots); /* no slot */
        for (size_t end = n, m; end > 0; end -= m) {
                m = end < TILE ? end : TILE;
                memmove(slots + m, slots, STEP * sizeof *slots);
                find_slots(directory, directory->kmers + end - m, m, slots);
                uint32_t nequal = 0;
                for (size_t i = 0; i < m; i++)
                        nequal += slots[i] == slots[i + STEP];
                nbeyond += nequal;
                for (size_t i = m; i-- > 0;)
                        begins[slots[i]] = (uint32_t)(end - m + i);
        }
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
        *suits = fill_slots(directory, nslots, n) <= n / MOST_BEYOND;
        return KC_OK;
}

void kc_ask_directory_prefetch(const struct kc_ask_directory *directory, uint64_t kmer)
{
        __builtin_prefetch(directory->begins + slot_of(directory, kmer));
}

void kc_ask_directory_prefetch_kmers(const struct kc_ask_directory *directory, uint64_t kmer)
{
        const uint32_t at = directory->begins[slot_of(directory, kmer)];
        __builtin_prefetch(directory->kmers + at);
        __builtin_prefetch(directory->counts + at);
}

/* The place of a k-mer, or of the first one above it. */
static inline uint32_t find_place(const struct kc_ask_directory *directory, uint32_t at,
                                  uint64_t kmer)
{
        for (;; at += STEP) {
                const uint64_t *kmers = directory->kmers + at;
                uint32_t nbelow = 0;
                for (int i = 0; i < STEP; i++)
                        nbelow += kmers[i] < kmer;
                if (__builtin_expect(nbelow < STEP, 1))
                        return at + nbelow;
        }
}

/* Each step handles a whole tile, so that the loads of many k-mers, which miss the fastest cache,
 * are on their way at the same time. No branch depends on what is found. */
KC_SIMD_CLONES
void kc_ask_directory_find(const struct kc_ask_directory *directory, const uint64_t *kmers,
                           size_t n, uint32_t *counts)
{
        uint32_t at[TILE];
        for (size_t m; n > 0; n -= m, kmers += m, counts += m) {
                m = n < TILE ? n : TILE;
                find_slots(directory, kmers, m, at);
                for (size_t i = 0; i < m; i++)
                        at[i] = directory->begins[at[i]];
                for (size_t i = 0; i < m; i++)
                        at[i] = find_place(directory, at[i], kmers[i]);
                for (size_t i = 0; i < m; i++)
                        counts[i] = directory->counts[at[i]] &
                                    -(uint32_t)(directory->kmers[at[i]] == kmers[i]);
        }
}
