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

enum kc_status kc_ranks_join(struct kc_transport **transport, struct kc_error *err)
{
        (void)err;
        *transport = NULL;
        return KC_OK;
}

void kc_ranks_leave(struct kc_transport *transport, bool broken)
{
        (void)transport;
        (void)broken;
}
