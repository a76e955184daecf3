#include "kmer/status.h"

#include <stdarg.h>
#include <stdio.h>

enum kc_status kc_fail(struct kc_error *err, enum kc_status status, const char *format, ...)
{
        if (err == NULL || err->status != KC_OK)
                return status;
        va_list args;
        va_start(args, format);
        err->status = status;
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
        return status;
}
