/*
 * .kc files without a name.
 */
#ifndef APP_LIBRARY_NAMELESS_H
#define APP_LIBRARY_NAMELESS_H

/* A path in this folder (NULL: the current one) to create a .kc file with that gets no name.
 * The caller frees it. NULL if out of memory. */
char *kc_nameless_path(const char *folder);

#endif
