#include "app/rank_guests.h"

#include <stdlib.h>

enum kc_status rank_guests_invite(struct ranks *ranks, struct kc_store_writer *writer,
                                  const char *path, int k, struct kc_store_guest **guest,
                                  struct kc_error *err)
{
        struct kc_store_invitation own = { 0 };
        struct kc_store_invitation *all = calloc((size_t)ranks_count(ranks), sizeof *all);
        enum kc_status status = KC_OK;
        *guest = NULL;
        if (all == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        if (ranks_is_first(ranks))
                KC_TRY(kc_store_invite(writer, &own, err));
        KC_TRY(ranks->exchange.gather(ranks->exchange.ctx, &own, sizeof own, all, err));
        if (!ranks_is_first(ranks))
                KC_TRY(kc_store_join(guest, &all[0], path, k, err));
out:
        free(all);
        return status;
}
