/*
 * What htslib, which reads SAM and CRAM, does with reference sequences.
 */
#ifndef APP_COUNT_REFERENCES_H
#define APP_COUNT_REFERENCES_H

#include "base/status.h"

#include <stddef.h>

/*
 * Let htslib print its errors, which say more than the failure that it returns, and make it look
 * for reference sequences of CRAM files only on this machine, unless REF_PATH is set. Changes the
 * environment: call it before starting any thread that may read that.
 */
void references_set_up(void);

/* KC_EUSAGE if an output is a file that a CRAM input names as its reference, which htslib may read.
 * If anything is wrong with an input, the reader will report it. */
enum kc_status references_check(const char *const *outputs, size_t noutputs,
                                const char *const *inputs, size_t ninputs, struct kc_error *err);

#endif
