/*
 * Bytes in memory as a file that the reader can open.
 */
#ifndef KC_MEMORY_INPUT_H
#define KC_MEMORY_INPUT_H

#include "io/inflate/source.h"
#include "tests/fuzz/require.h"

#include <sys/mman.h>
#include <unistd.h>

/* Returns the descriptor of a file that holds these bytes. */
static inline int memory_file(const uint8_t *data, size_t size)
{
        int fd = memfd_create("fuzz", MFD_CLOEXEC);
        REQUIRE(fd >= 0);
        REQUIRE(write(fd, data, size) == (ssize_t)size);
        return fd;
}

static inline struct kc_input memory_input(int fd)
{
        char path[64];
        struct kc_input in;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        REQUIRE(kc_input_open(&in, path, NULL) == KC_OK);
        in.name = "fuzz";
        return in;
}

#endif
