#include "base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* Returns whether this is the first failure, so that the caller may add to it. */
static bool record(struct kc_error *err, enum kc_status status, const char *format, va_list args)
{
        if (err == NULL || err->status != KC_OK)
                return false;
        err->status = status;
        vsnprintf(err->message, sizeof err->message, format, args);
        return true;
}

enum kc_status kc_fail(struct kc_error *err, enum kc_status status, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        record(err, status, format, args);
        va_end(args);
        return status;
}

enum kc_status kc_fail_remedy(struct kc_error *err, enum kc_status status, unsigned remedies,
                              const char *format, ...)
{
        va_list args;
        va_start(args, format);
        if (record(err, status, format, args))
                err->remedies = remedies;
        va_end(args);
        return status;
}

static void add_file(struct kc_error *err, unsigned remedies, const char *file)
{
        err->remedies = remedies;
        if (strlen(file) < sizeof err->file)
                strcpy(err->file, file);
}

enum kc_status kc_fail_file(struct kc_error *err, enum kc_status status, unsigned remedies,
                            const char *file, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        if (record(err, status, format, args))
                add_file(err, remedies, file);
        va_end(args);
        return status;
}

enum kc_status kc_fail_at(struct kc_error *err, enum kc_status status, unsigned remedies,
                          struct kc_error_place place, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        if (record(err, status, format, args)) {
                add_file(err, remedies, place.file);
                err->unit = place.unit;
                err->number = place.number;
        }
        va_end(args);
        return status;
}

enum kc_status kc_fail_filter(struct kc_error *err, unsigned remedies, const char *file,
                              const char *filter, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        if (record(err, KC_EINPUT, format, args)) {
                add_file(err, remedies, file);
                snprintf(err->filter, sizeof err->filter, "%s", filter);
        }
        va_end(args);
        return KC_EINPUT;
}

enum kc_status kc_fail_as(struct kc_error *err, const struct kc_error *failure)
{
        if (err != NULL && err->status == KC_OK)
                *err = *failure;
        return failure->status;
}

enum kc_status kc_fail_reworded(struct kc_error *err, const struct kc_error *failure,
                                const char *format, ...)
{
        struct kc_error reworded = *failure;
        va_list args;
        va_start(args, format);
        vsnprintf(reworded.message, sizeof reworded.message, format, args);
        va_end(args);
        return kc_fail_as(err, &reworded);
}

const char *kc_strerror(int code)
{
        struct rlimit limit;
        if (code == EFBIG && getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
            limit.rlim_cur != RLIM_INFINITY)
                return "the limit on the size of files is reached (see ulimit -f)";
        return strerror(code);
}
