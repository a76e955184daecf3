/*
 * One output that several ranks write: rank 0 creates it, and the others are its guests.
 */
#ifndef APP_RANK_GUESTS_H
#define APP_RANK_GUESTS_H

#include "app/ranks.h"
#include "io/store.h"

/*
 * Every rank calls this. *guest = NULL, with KC_OK, on rank 0 and on ranks that cannot open rank
 * 0's file.
 *   writer   rank 0's; the others do not use it
 *   path, k  of the output
 *   guest    out: freed with kc_store_leave
 */
enum kc_status rank_guests_invite(struct ranks *ranks, struct kc_store_writer *writer,
                                  const char *path, int k, struct kc_store_guest **guest,
                                  struct kc_error *err);

#endif
