/*
 * A function that takes a text part by part, in order.
 */
#ifndef APP_FILTER_TAKE_H
#define APP_FILTER_TAKE_H

#include "base/status.h"

#include <stddef.h>

typedef enum kc_status filter_take(void *ctx, const char *text, size_t nbytes,
                                   struct kc_error *err);

#endif
