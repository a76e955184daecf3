/*
 * A growing array of 64-bit words, with which the writer builds an index and a footer.
 */
#ifndef KC_IO_STORE_WORDS_H
#define KC_IO_STORE_WORDS_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Zero-initialise; free data. */
struct kc_words {
        uint64_t *data;
        size_t n, cap;
};

static inline enum kc_status kc_words_reserve(struct kc_words *words, size_t nmore,
                                              struct kc_error *err)
{
        if (words->n + nmore <= words->cap)
                return KC_OK;
        size_t cap = words->cap + words->cap / 2 > words->n + nmore ? words->cap + words->cap / 2
                                                                    : words->n + nmore;
        uint64_t *data = realloc(words->data, cap * sizeof *data);
        if (data == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for %zu bytes of index",
                               cap * sizeof *data);
        words->data = data;
        words->cap = cap;
        return KC_OK;
}

/* Append nbytes, padded with zero bytes to a whole word. KC_ENOMEM. */
static inline enum kc_status kc_words_append(struct kc_words *words, const void *bytes,
                                             size_t nbytes, struct kc_error *err)
{
        size_t nwords = (nbytes + 7) / 8;
        if (nwords == 0)
                return KC_OK;
        enum kc_status status = kc_words_reserve(words, nwords, err);
        if (status != KC_OK)
                return status;
        words->data[words->n + nwords - 1] = 0;
        memcpy(words->data + words->n, bytes, nbytes);
        words->n += nwords;
        return KC_OK;
}

#endif
