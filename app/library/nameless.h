/*
 * Files without a name.
 */
#ifndef APP_LIBRARY_NAMELESS_H
#define APP_LIBRARY_NAMELESS_H

/* What messages call a .kc file without a name that takes its space in this folder (NULL: the
 * current one). The caller frees it; NULL when out of memory. */
char *kc_nameless_path(const char *folder);

#endif
