/*
 * The names of the reads of a file, with a value for each, in memory that is bounded. The whole
 * names are kept, not hashes of them, so that two names are never taken for one.
 */
#ifndef APP_FILTER_NAMES_H
#define APP_FILTER_NAMES_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { NAMES_MOST_NBYTES = 255 }; /* of a name; BAM has no longer ones */

/* Zero-initialise it, set value_nbytes and most_nbytes, and free it with names_free. */
struct names {
        size_t value_nbytes; /* of a value, at most 64 */
        uint64_t most_nbytes;

        uint64_t n, nbytes; /* names; memory that they take */
        uint64_t *slots;    /* [nslots], a power of 2: places in chunks, or 0 */
        size_t nslots;
        char **chunks;        /* [nchunks] */
        size_t nchunks, used; /* bytes of the last chunk */
};

/*
 * Find or add a name. *value: its value, which is zeroed if the name is new, and never moves; NULL
 * if a new name does not fit in the memory. KC_ENOMEM if there is less memory than allowed.
 */
enum kc_status names_add(struct names *names, const char *name, size_t nbytes, void **value,
                         struct kc_error *err);

/* NULL if the name is not there. */
void *names_find(const struct names *names, const char *name, size_t nbytes);

/* Forget all names. */
void names_free(struct names *names);

#endif
