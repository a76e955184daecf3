#include "cpu/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20 };

void *kc_huge_alloc(size_t nbytes)
{
        if (nbytes < HUGE_PAGE)
                return calloc(1, nbytes ? nbytes : 1);
        size_t rounded = (nbytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
        void *block = aligned_alloc(HUGE_PAGE, rounded);
        if (block == NULL)
                return NULL;
        (void)madvise(block, rounded, MADV_HUGEPAGE);
        return memset(block, 0, nbytes);
}
