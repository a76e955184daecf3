/*
 * The names of outputs: the default ones of a count, and those that advice gives.
 */
#ifndef APP_CLI_OUTPUT_NAME_H
#define APP_CLI_OUTPUT_NAME_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The first input's name without folder and without its sequence and compression endings, plus
 * ".kc"; stdin.kc for "-" and for names of open descriptors, such as /dev/fd/63. The caller frees
 * it; NULL when out of memory.
 */
char *output_name(const char *input);

/* A name for the .kc file of an imported file of counts: the name of that file, without its folder
 * and ending, plus ".kc". The caller frees it; NULL when out of memory. */
char *output_name_imported(const char *input);

/* The length of the path without the ending of a KMC database. */
size_t output_database_length(const char *path);

/* The endings of path that say what reads it holds and how they are compressed, such as .fq.gz; ""
 * if it has none, or is the name of an open descriptor. */
const char *output_endings(const char *path);

/* Whether path has one of these endings, which end with NULL, in either case, and something before
 * it. */
bool output_ends_with(const char *path, const char *const *endings);

/* The length of path without a final ".kc", in either case, unless nothing else is left. */
size_t output_stem_length(const char *path);

/* The name for one of several k: ".k21" comes before a final ".kc", which is added if it is
 * missing. The caller frees it; NULL when out of memory. */
char *output_name_for(const char *path, int k);

#endif
