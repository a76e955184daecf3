/*
 * Letters to packed bases, on the host.
 */
#ifndef KC_GPU_ASK_PACK_H
#define KC_GPU_ASK_PACK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many of the n letters, from the first one on, are bases; in either case. */
uint32_t kc_ask_count_bases(const char *letters, uint32_t n);

/* The same for letters that are not bases. */
uint32_t kc_ask_count_others(const char *letters, uint32_t n);

/* Pack n letters, all bases, as bases `at`, at + 1, ... of words: as in kmer/batch.h, with zeros
 * after the last one in its word. The bases before them stay. */
void kc_ask_pack(uint64_t *words, uint64_t at, const char *letters, uint32_t n);

#ifdef __cplusplus
}
#endif
#endif
