/*
 * SHA-256 of the files that a report is about, so that its readers can tell whether they have the
 * same ones. It comes from OpenSSL's libcrypto, which uses the processor's instructions for it.
 */
#ifndef APP_REPORT_CHECKSUM_H
#define APP_REPORT_CHECKSUM_H

#include "base/job.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { CHECKSUM_NBYTES = 64 + 1 };

/* Whether this program was built with libcrypto. */
bool checksums_exist(void);

struct checksum {
        const char *path;
        char hex[CHECKSUM_NBYTES]; /* out: as sha256sum prints it; "": unknown, because this program
                                      was built without libcrypto */
};

/* Find those of n files, with a thread for each. job: may be NULL; only canceled. KC_EIO,
 * KC_ENOMEM, KC_ECANCELED. */
enum kc_status checksums_find(struct checksum *files, size_t n, const struct kc_job *job,
                              struct kc_error *err);

#endif
