/*
 * The names of filter's outputs.
 */
#ifndef APP_FILTER_PATHS_H
#define APP_FILTER_PATHS_H

#include "app/cli/options.h"
#include "app/filter/outputs.h"

/* Names that were made; zero-initialise it. */
struct paths_made {
        char *names[2][2];
};

/*
 * Set the paths of the reads that are kept, or of the rest, and of the mates of either if there are
 * two inputs: as given, or made from a single NAME, as NAME_1 and NAME_2 with its own endings or
 * those of the inputs.
 *   option  as the user knows it, for messages
 *   which   OUTPUTS_KEPT or OUTPUTS_REST
 * KC_EUSAGE if there is one name too many, or one that no other can be made from; KC_ENOMEM.
 */
enum kc_status paths_of_reads(const struct option_names *given, const char *option,
                              const char *const *inputs, int ninputs, enum outputs_number which,
                              struct outputs_settings *settings, struct paths_made *made,
                              struct kc_error *err);

void paths_free(struct paths_made *made);

#endif
