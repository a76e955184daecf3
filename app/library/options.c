/* Options that callers of the library give. */
#include "app/library/library.h"
#include "app/library/memory.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_THREADS = 1024 };

enum kc_status kc_library_take_options(void *options, size_t nbytes, const int *nthreads,
                                       const void *given, const char *initializer,
                                       struct kc_error *err)
{
        size_t size;
        if (given == NULL)
                return KC_OK;
        memcpy(&size, given, sizeof size);
        if (size <= sizeof size)
                return kc_fail(err, KC_EUSAGE,
                               "the options do not begin with their size: initialize them with %s",
                               initializer);
        memcpy(options, given, size < nbytes ? size : nbytes);
        if (*nthreads < 0 || *nthreads > MAX_THREADS)
                return kc_fail(err, KC_EUSAGE, "nthreads is %d; it must be 0 to %d", *nthreads,
                               MAX_THREADS);
        return KC_OK;
}

enum kc_status kc_library_check_bounds(uint32_t min_count, uint32_t max_count,
                                       uint64_t memory_nbytes, struct kc_error *err)
{
        if (min_count < 1 || min_count > max_count)
                return kc_fail(err, KC_EUSAGE,
                               "min_count is %" PRIu32 ", max_count is %" PRIu32
                               "; it must be 1 <= min_count <= max_count",
                               min_count, max_count);
        if (memory_nbytes > 0 && memory_nbytes < MEMORY_LEAST_MIB * MEMORY_MIB)
                return kc_fail(err, KC_EUSAGE, "memory_nbytes is %" PRIu64 "; the least is %d MiB",
                               memory_nbytes, MEMORY_LEAST_MIB);
        return KC_OK;
}
