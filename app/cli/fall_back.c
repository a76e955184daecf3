#include "app/cli/fall_back.h"

#include "app/cli/message.h"
#include "app/library/device.h"

bool fall_back_to_cpu(const struct kc_error *reason, const char *doing, bool quiet)
{
        if (!kc_device_is_unusable(reason))
                return false;
        if (!quiet && reason->status != KC_ENODEVICE)
                message_print("kcount: %s: %s on the CPU\n", reason->message, doing);
        return true;
}
