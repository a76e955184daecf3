/*
 * Which footer of a .kc file is in force, even if the references to it are damaged.
 */
#ifndef KC_IO_STORE_FIND_H
#define KC_IO_STORE_FIND_H

#include "io/store/file.h"

/*
 * Find and read the footer of an open file with a good header: sets the store's footer, its runs,
 * its footing and the warning, all owned by the store. The policy is that of docs/dev/kc-file.md,
 * "Which footer is in force".
 * KC_ECORRUPT if every readable state may lack something that was committed;
 * KC_EIO; KC_ENOMEM.
 */
enum kc_status kc_store_find_footer(struct kc_store *store, const struct kc_store_header *header,
                                    struct kc_error *err);

/*
 * As above, but if the state in force cannot be read, or is doubtful, take the newest state that
 * can be found by any means. If that may not be the newest that was committed, the footing is
 * doubtful and the warning says what is missing. KC_ECORRUPT if no footer is sound; KC_EIO;
 * KC_ENOMEM.
 */
enum kc_status kc_store_find_any_footer(struct kc_store *store,
                                        const struct kc_store_header *header, struct kc_error *err);

/* Forget the footer and free what was read of it, before another search. */
void kc_store_drop_footer(struct kc_store *store);

#endif
