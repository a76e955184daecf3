/*
 * Whether an output is one of the inputs, or two outputs are one file.
 */
#ifndef APP_LIBRARY_SAME_FILE_H
#define APP_LIBRARY_SAME_FILE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/*
 * KC_EUSAGE if an output is the same file as an input or as another output, even under another
 * name. Files that are not there yet are the same if they have the same name in the same folder.
 *   outputs  all files that will be written
 *   inputs   files that will be read; "-" is standard input
 */
enum kc_status kc_output_check_files(const char *const *outputs, size_t noutputs,
                                     const char *const *inputs, size_t ninputs,
                                     struct kc_error *err);

/* The same, where the inputs are operands, of which @LIST stands for the file LIST. */
enum kc_status kc_output_check_operands(const char *const *outputs, size_t noutputs,
                                        const char *const *operands, size_t noperands,
                                        struct kc_error *err);

/* As stat(); "-" is standard input. False if that fails. */
bool kc_input_stat(const char *path, struct stat *found);

#endif
