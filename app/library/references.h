/*
 * The reference sequences that CRAM files name.
 */
#ifndef APP_LIBRARY_REFERENCES_H
#define APP_LIBRARY_REFERENCES_H

#include "base/status.h"

#include <stddef.h>

/* KC_EUSAGE if an output is a file that a CRAM input names as its reference, which htslib may read.
 * If anything is wrong with an input, the reader will report it. */
enum kc_status kc_references_check(const char *const *outputs, size_t noutputs,
                                   const char *const *inputs, size_t ninputs, struct kc_error *err);

#endif
