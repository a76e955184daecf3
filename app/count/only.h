/*
 * --only: the k-mers of a file, which are the only ones that are counted.
 */
#ifndef APP_COUNT_ONLY_H
#define APP_COUNT_ONLY_H

#include "app/count/count_internal.h"

/* Refuse a file of k-mers that is also an output, or standard input twice. KC_EUSAGE. */
enum kc_status only_check(const struct count *count, struct kc_error *err);

/*
 * Read the file that --only names into the sets of the outputs. Without --only, check that the .kc
 * file that is added to needs none. KC_EUSAGE if that file was counted otherwise;
 * KC_EINPUT, KC_EIO, KC_ENOMEM, KC_ECANCELED.
 */
enum kc_status only_read_sets(struct count *count, struct kc_error *err);

#endif
