/*
 * Large blocks: zeroed, at a huge page, and asking for huge pages. To be freed with free().
 */
#ifndef KC_MEMORY_H
#define KC_MEMORY_H

#include <stddef.h>

/* NULL where there is no memory. nbytes may be 0. */
void *kc_huge_alloc(size_t nbytes);

#endif
