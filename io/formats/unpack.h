/*
 * Numbers from the bytes of a file: the counterpart of pack.h.
 */
#ifndef KC_FORMATS_UNPACK_H
#define KC_FORMATS_UNPACK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t kc_unpack_u32(const void *at)
{
        uint32_t number;
        memcpy(&number, at, sizeof number);
        return number;
}

static inline uint64_t kc_unpack_u64(const void *at)
{
        uint64_t number;
        memcpy(&number, at, sizeof number);
        return number;
}

/* Big endian. */
static inline uint64_t kc_unpack_big_u64(const void *at)
{
        return __builtin_bswap64(kc_unpack_u64(at));
}

/* Big endian, in nbytes bytes: 0 to 8. */
static inline uint64_t kc_unpack_big(const uint8_t *at, size_t nbytes)
{
        uint64_t number = 0;
        for (size_t i = 0; i < nbytes; i++)
                number = number << 8 | at[i];
        return number;
}

#endif
