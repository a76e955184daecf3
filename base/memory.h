/*
 * Large blocks of memory, which go back to the system as soon as they are freed. malloc() keeps
 * what is freed for later, so a table that grows would still occupy the memory of its former,
 * smaller selves, in excess of a bound that the sizes in use respect.
 */
#ifndef KC_BASE_MEMORY_H
#define KC_BASE_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A zeroed block. One of 2 MiB or more begins at a huge page and asks for huge pages. No page of it
 * takes memory before it is touched. NULL when out of memory; nbytes may be 0. Free with
 * kc_huge_free.
 */
void *kc_huge_alloc(size_t nbytes);

/* Give back a block of kc_huge_alloc(nbytes), with the same nbytes; NULL is fine. */
void kc_huge_free(void *block, size_t nbytes);

#ifdef __cplusplus
}
#endif
#endif
