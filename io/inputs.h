/*
 * The names of the inputs, @LIST files resolved.
 */
#ifndef KC_INPUTS_H
#define KC_INPUTS_H

#include "kmer/status.h"

#include <stddef.h>

struct kc_inputs {
        char **names;
        size_t n, cap;
};

/* Add the inputs that these paths name. KC_EINPUT, KC_EIO, KC_ENOMEM. Free them in any case. */
enum kc_status kc_inputs_resolve(struct kc_inputs *inputs, const char *const *paths, size_t npaths,
                                 struct kc_error *err);
void kc_inputs_free(struct kc_inputs *inputs);

#endif
