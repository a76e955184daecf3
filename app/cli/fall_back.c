#include "app/cli/fall_back.h"

#include "app/cli/message.h"

bool fall_back_to_cpu(const struct kc_error *reason, const char *doing, bool quiet)
{
        const bool absent = reason->status == KC_ENODEVICE;
        if (reason->status != KC_ENOMEM && reason->status != KC_EDEVICE && !absent)
                return false;
        if (!quiet && !absent)
                message_print("kcount: %s: %s on the CPU\n", reason->message, doing);
        return true;
}
