/*
 * .kc files without a name.
 */
#ifndef APP_LIBRARY_NAMELESS_H
#define APP_LIBRARY_NAMELESS_H

/* A path in this folder (NULL: the current one), for creating a .kc file that gets no name. The
 * caller frees it. NULL if out of memory. */
char *kc_nameless_path(const char *folder);

#endif
