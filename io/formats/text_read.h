/*
 * Text of k-mers and counts, for formats whose files contain it.
 */
#ifndef KC_IO_FORMATS_TEXT_READ_H
#define KC_IO_FORMATS_TEXT_READ_H

#include "io/formats/import_internal.h"

/*
 * Begin to read text at the offset of import->in, as kc_import_text reads a whole file.
 *   state  out: for kc_import_text_read and kc_import_text_close; set even on failure
 */
enum kc_status kc_import_text_begin(struct kc_import *import, void **state, struct kc_error *err);

/* For another format's read and close. */
enum kc_status kc_import_text_read(struct kc_import *import, void *state, int worker,
                                   struct kc_pair_batch *batch, struct kc_error *err);
void kc_import_text_close(void *state);

#endif
