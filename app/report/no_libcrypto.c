/*
 * Takes the place of checksum.c in a program without libcrypto.
 */
#include "app/report/checksum.h"

bool checksums_exist(void)
{
        return false;
}

enum kc_status checksums_find(struct checksum *files, size_t n, const struct kc_job *job,
                              struct kc_error *err)
{
        (void)job;
        (void)err;
        for (size_t i = 0; i < n; i++)
                files[i].hex[0] = '\0';
        return KC_OK;
}
