/*
 * --only: the k-mers of a file, which are the only ones that are counted.
 */
#ifndef APP_COUNT_ONLY_H
#define APP_COUNT_ONLY_H

#include "app/count/count_internal.h"

/* Refuse a file of k-mers that is also an output, or standard input twice. KC_EUSAGE. */
enum kc_status only_check(const struct count *count, struct kc_error *err);

/* KC_EUSAGE if k-mers are added to a .kc file that was not counted with the same sets. */
enum kc_status only_check_added(const struct count *count, struct kc_error *err);

#endif
