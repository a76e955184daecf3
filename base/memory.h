/*
 * Large blocks of memory, which go back to the system as soon as they are freed. malloc() keeps
 * freed memory for later use, so a growing table would still occupy the memory of its former,
 * smaller versions, and the process would exceed a bound that the blocks in use respect.
 */
#ifndef KC_BASE_MEMORY_H
#define KC_BASE_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A zeroed block. A block of 2 MiB or more begins at a huge page boundary and asks for huge pages.
 * A page takes no memory before it is touched. NULL when out of memory; nbytes may be 0. Free with
 * kc_huge_free.
 */
void *kc_huge_alloc(size_t nbytes);

/* Free a block of kc_huge_alloc(nbytes); nbytes must be the same. NULL is fine. */
void kc_huge_free(void *block, size_t nbytes);

#ifdef __cplusplus
}
#endif
#endif
