/*
 * Large blocks of memory, which go back to the system as soon as they are freed. malloc() keeps
 * what is freed for later, so tables that grow would leave their former selves behind, beyond any
 * bound that the sum of their sizes respects.
 */
#ifndef KC_MEMORY_H
#define KC_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A zeroed block. One of 2 MiB or more begins at a huge page and asks for huge pages. No page of it
 * takes memory before it is touched. NULL if there is no memory; nbytes may be 0.
 */
void *kc_huge_alloc(size_t nbytes);

/* Give back a block of kc_huge_alloc(nbytes), with the same nbytes; NULL is fine. */
void kc_huge_free(void *block, size_t nbytes);

#ifdef __cplusplus
}
#endif
#endif
