#include "base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

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

enum kc_status kc_fail_as(struct kc_error *err, const struct kc_error *failure)
{
        if (err != NULL && err->status == KC_OK)
                *err = *failure;
        return failure->status;
}

const char *kc_strerror(int code)
{
        struct rlimit limit;
        if (code == EFBIG && getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
            limit.rlim_cur != RLIM_INFINITY)
                return "the limit on the size of files is reached (see ulimit -f)";
        return strerror(code);
}
