/*
 * Letters to packed bases, on the host.
 */
#ifndef KC_GPU_ASK_PACK_H
#define KC_GPU_ASK_PACK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
        KC_ASK_PIECE_NBASES = 1 << 14, /* the most that is packed at a time */
        /* The kernels that pack may write one word too many, and one after the last is read. */
        KC_ASK_PIECE_NWORDS = KC_ASK_PIECE_NBASES / 32 + 3,
};

/* Pack the bases before the first other letter, at most n, as in kmer/batch.h. Returns how many
 * there are. n is at most KC_ASK_PIECE_NBASES. */
uint32_t kc_ask_pack(uint64_t words[KC_ASK_PIECE_NWORDS], const char *letters, uint32_t n);

/* How many of the n letters, from the first one on, are not bases. */
uint32_t kc_ask_count_others(const char *letters, uint32_t n);

/* Copy n bases, from base `first` of what kc_ask_pack has made on, to bases `at`, at + 1, ... of
 * words, with zeros after the last one in its word. The bases before them stay. */
void kc_ask_copy_bases(uint64_t *words, uint64_t at, const uint64_t *packed, uint32_t first,
                       uint32_t n);

#ifdef __cplusplus
}
#endif
#endif
