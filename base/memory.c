#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
        HUGE_PAGE = 2 << 20,
        MIN_MAPPED = 128 << 10, /* smaller blocks come from malloc(), which reuses them */
};

static size_t round_up(size_t nbytes, size_t unit)
{
        return (nbytes + unit - 1) / unit * unit;
}

static size_t mapped_nbytes(size_t nbytes)
{
        return round_up(nbytes, (size_t)sysconf(_SC_PAGESIZE));
}

/* Map more than needed, then unmap what lies before the first huge page and after the block. */
static void *map_aligned(size_t nbytes)
{
        size_t room = nbytes + HUGE_PAGE;
        char *base = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (base == MAP_FAILED)
                return NULL;
        size_t before = round_up((uintptr_t)base, HUGE_PAGE) - (uintptr_t)base;
        if (before > 0)
                munmap(base, before);
        munmap(base + before + nbytes, HUGE_PAGE - before);
        /* A kernel without huge pages works as well, only more slowly. */
        (void)madvise(base + before, nbytes, MADV_HUGEPAGE);
        return base + before;
}

void *kc_huge_alloc(size_t nbytes)
{
        if (nbytes < MIN_MAPPED)
                return calloc(1, nbytes ? nbytes : 1);
        if (nbytes > SIZE_MAX / 2)
                return NULL;
        nbytes = mapped_nbytes(nbytes);
        if (nbytes >= HUGE_PAGE)
                return map_aligned(nbytes);
        void *block =
                mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return block == MAP_FAILED ? NULL : block;
}

void kc_huge_free(void *block, size_t nbytes)
{
        if (block == NULL)
                return;
        if (nbytes < MIN_MAPPED)
                free(block);
        else
                munmap(block, mapped_nbytes(nbytes));
}
