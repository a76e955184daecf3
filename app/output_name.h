/*
 * The default name of a count's output, and checks of the name that the user gives.
 */
#ifndef APP_OUTPUT_NAME_H
#define APP_OUTPUT_NAME_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * The first input's name without folder and without its sequence and compression endings, plus
 * ".kc"; stdin.kc for "-". The caller frees it; NULL when out of memory.
 */
char *output_name(const char *input);

/* The length of path without a final ".kc", in either case, unless nothing else is left. */
size_t output_stem_length(const char *path);

/* The name for one of several k: ".k21" comes before a final ".kc", which is added if it is missing.
 * The caller frees it; NULL when out of memory. */
char *output_name_for(const char *path, int k);

/* KC_EUSAGE if path is "-", because a .kc file cannot be written to standard output. option: the
 * one that names the output. */
enum kc_status output_check_stdout(const char *path, const char *option, struct kc_error *err);

/* KC_EEXIST or KC_EIO if path cannot become a .kc file: it exists and !force, or it is not a
 * regular file. */
enum kc_status output_check(const char *path, bool force, struct kc_error *err);

/* KC_EUSAGE if path is the same file as one of the inputs, even under another name. The input "-"
 * is standard input. */
enum kc_status output_check_inputs(const char *path, const char *const *inputs, size_t ninputs,
                                   struct kc_error *err);

#endif
