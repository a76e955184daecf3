/*
 * .kc files without a name.
 */
#ifndef APP_LIBRARY_NAMELESS_H
#define APP_LIBRARY_NAMELESS_H

/* The path that messages use for a .kc file without a name in this folder (NULL: the current one).
 * The caller frees it. NULL if out of memory. */
char *kc_nameless_path(const char *folder);

#endif
