/*
 * The names of the inputs, with @LIST files resolved.
 *
 * A list names one file a line. Blanks at both ends of a line are dropped; blank lines and lines
 * that begin with # are skipped, and so is a UTF-8 byte order mark. A list cannot name a list.
 */
#ifndef KC_IO_INPUT_INPUTS_H
#define KC_IO_INPUT_INPUTS_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Where an input is named. */
struct kc_input_place {
        const char *list; /* owned by the caller; NULL: it is an argument itself */
        uint64_t line;
};

struct kc_inputs {
        char **names;
        struct kc_input_place *places;
        size_t n, cap;
};

/* Add the inputs that these paths name. KC_EINPUT, KC_EIO, KC_ENOMEM. Free inputs in any case. */
enum kc_status kc_inputs_resolve(struct kc_inputs *inputs, const char *const *paths, size_t npaths,
                                 struct kc_error *err);

/* Add the same inputs. KC_ENOMEM. */
enum kc_status kc_inputs_copy(struct kc_inputs *inputs, const struct kc_inputs *from,
                              struct kc_error *err);
void kc_inputs_free(struct kc_inputs *inputs);

/* Pass on the failure of input i, adding the list that names it, if one does. Returns its
 * status. */
enum kc_status kc_inputs_blame(const struct kc_inputs *inputs, size_t i,
                               const struct kc_error *failure, struct kc_error *err);

#endif
