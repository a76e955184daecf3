/*
 * Numbers and k-mers as the bytes of a file.
 */
#ifndef KC_FORMATS_PACK_H
#define KC_FORMATS_PACK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline char *kc_pack_u16(char *to, uint16_t number)
{
        return (char *)memcpy(to, &number, sizeof number) + sizeof number;
}

static inline char *kc_pack_u32(char *to, uint32_t number)
{
        return (char *)memcpy(to, &number, sizeof number) + sizeof number;
}

static inline char *kc_pack_u64(char *to, uint64_t number)
{
        return (char *)memcpy(to, &number, sizeof number) + sizeof number;
}

/* Most significant byte first. */
static inline char *kc_pack_big_u32(char *to, uint32_t number)
{
        return kc_pack_u32(to, __builtin_bswap32(number));
}

static inline char *kc_pack_big_u64(char *to, uint64_t number)
{
        return kc_pack_u64(to, __builtin_bswap64(number));
}

/* The low nbytes bytes of a k-mer, most significant first. Up to 7 bytes after their end are
 * overwritten. */
static inline char *kc_pack_big_kmer(char *to, const uint64_t *kmer, size_t nbytes)
{
        size_t word = nbytes / 8, rest = nbytes % 8;
        if (rest > 0) {
                kc_pack_big_u64(to, kmer[word] << (64 - 8 * rest));
                to += rest;
        }
        while (word > 0)
                to = kc_pack_big_u64(to, kmer[--word]);
        return to;
}

#endif
