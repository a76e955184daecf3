/*
 * Folders that the user named in place of files.
 */
#ifndef APP_CLI_FOLDER_H
#define APP_CLI_FOLDER_H

#include <stdbool.h>

bool folder_is(const char *path);

/* Whether it is a database of meryl. */
bool folder_is_meryl(const char *path);

/* A pattern that matches the most files of reads in the folder, such as "*.fq.gz". */
const char *folder_pattern(const char *path);

#endif
