/*
 * How library code reports failure: a status and a message, never a print or an exit.
 * Only app/ shows messages and turns them into exit codes.
 */
#ifndef KC_BASE_STATUS_H
#define KC_BASE_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

enum kc_status {
        KC_OK = 0,
        KC_EUSAGE,    /* the caller asked for something impossible: k out of range, ... */
        KC_EINPUT,    /* an input file is missing, damaged, truncated or of another kind */
        KC_ECORRUPT,  /* a .kc file is damaged or not a .kc file */
        KC_EUNTIDY,   /* a .kc file has lost nothing, but something in it should be repaired */
        KC_EEXIST,    /* the output exists and may not be replaced */
        KC_EIO,       /* the system refused to read, write, rename, ... */
        KC_ENOMEM,    /* out of memory, or a thread could not be started */
        KC_EDEVICE,   /* no device, no driver, or a device failed */
        KC_ECANCELED, /* kc_job.cancel was set */
};

/* The first failure. Zero-initialise it; use one per thread, or guard it yourself. */
struct kc_error {
        enum kc_status status;
        char message[1024];
};

/*
 * Record a failure and return its status, so that `return kc_fail(err, ...)` reads well.
 * The first failure is kept: a later one does not overwrite it. err may be NULL.
 * The message names the file, the record or offset, and what the user can do; no newline.
 */
enum kc_status kc_fail(struct kc_error *err, enum kc_status status, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* Record a failure that another kc_error holds, as kc_fail would, and return its status. */
enum kc_status kc_fail_as(struct kc_error *err, const struct kc_error *failure);

/* strerror(code), but for EFBIG it names the process's limit on file sizes, if there is one. */
const char *kc_strerror(int code);

#define KC_TRY(expr) \
        do { \
                if ((status = (expr)) != KC_OK) \
                        goto out; \
        } while (0)

#ifdef __cplusplus
}
#endif
#endif
