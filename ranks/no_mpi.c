/*
 * Without MPI, a process is alone.
 */
#include "ranks/ranks.h"

#include <stddef.h>

bool kc_ranks_in_build(void)
{
        return false;
}

bool kc_ranks_is_bound_by_default(void)
{
        return false;
}

int kc_ranks_nlaunched(void)
{
        return 1;
}

enum kc_status kc_ranks_join(struct kc_ranks **ranks, struct kc_error *err)
{
        (void)err;
        *ranks = NULL;
        return KC_OK;
}

const struct kc_transport *kc_ranks_transport(const struct kc_ranks *ranks)
{
        (void)ranks;
        return NULL;
}

void kc_ranks_leave(struct kc_ranks *ranks)
{
        (void)ranks;
}

void kc_ranks_abort(struct kc_ranks *ranks)
{
        (void)ranks;
}
