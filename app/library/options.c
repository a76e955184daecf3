/* Options that callers of the library give. */
#include "app/library/library.h"
#include "app/library/memory.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_THREADS = 1024 };

enum kc_status kc_library_take_options(void *options, size_t nbytes, const void *given,
                                       size_t least, const char *initializer, struct kc_error *err)
{
        size_t size;
        if (given == NULL)
                return KC_OK;
        memcpy(&size, given, sizeof size);
        if (size < least)
                return kc_fail(err, KC_EUSAGE,
                               "the options do not begin with their size: initialize them with %s",
                               initializer);
        memcpy(options, given, size < nbytes ? size : nbytes);
        return KC_OK;
}

enum kc_status kc_library_check_limits(const struct kc_library_limits *limits, struct kc_error *err)
{
        const struct kc_library_limits *l = limits;
        if (l->min_count < 1 || l->min_count > l->max_count)
                return kc_fail(err, KC_EUSAGE,
                               "min_count is %" PRIu32 ", max_count is %" PRIu32
                               "; it must be 1 <= min_count <= max_count",
                               l->min_count, l->max_count);
        if (l->nthreads < 0 || l->nthreads > MAX_THREADS)
                return kc_fail(err, KC_EUSAGE, "nthreads is %d; it must be 0 to %d", l->nthreads,
                               MAX_THREADS);
        if (l->memory_nbytes > 0 && l->memory_nbytes < MEMORY_LEAST_MIB * MEMORY_MIB)
                return kc_fail(err, KC_EUSAGE, "memory_nbytes is %" PRIu64 "; the least is %d MiB",
                               l->memory_nbytes, MEMORY_LEAST_MIB);
        return KC_OK;
}
