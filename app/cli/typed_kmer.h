/*
 * k-mers that the user typed.
 */
#ifndef APP_CLI_TYPED_KMER_H
#define APP_CLI_TYPED_KMER_H

#include "base/status.h"

#include <stdint.h>

/* Check text that the user typed: KC_EUSAGE if it is shorter than k or holds anything but bases. */
enum kc_status typed_kmer_check(const char *text, int k, struct kc_error *err);

/*
 * Parse the bounds of a range, both included. They may be shorter than k, or empty: from is filled
 * with A, to with T. KC_EUSAGE if one is longer, or holds anything but bases, or if from comes
 * after to.
 *   from_kmer, to_kmer  out, [kcount_nwords(k)]
 */
enum kc_status typed_kmer_range(const char *from, const char *to, int k, uint64_t *from_kmer,
                                uint64_t *to_kmer, struct kc_error *err);

#endif
