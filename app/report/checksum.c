#include "app/report/checksum.h"

#include "base/file_io.h"
#include "base/parallel.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER_NBYTES = 1 << 20, DIGEST_NBYTES = 32 };

static enum kc_status digest_failed(struct kc_error *err)
{
        return kc_fail(err, KC_ENOMEM,
                       "libcrypto cannot compute SHA-256: out of memory, or it is "
                       "not allowed to");
}

/* Read fd to its end. */
static enum kc_status digest_file(EVP_MD_CTX *digest, int fd, const char *path, void *buffer,
                                  const struct kc_job *job, struct kc_error *err)
{
        uint64_t offset = 0;
        size_t n;
        do {
                if (kc_job_is_canceled(job))
                        return kc_fail(err, KC_ECANCELED, "canceled");
                n = kc_file_read(fd, buffer, BUFFER_NBYTES, offset);
                if (n < BUFFER_NBYTES && errno != 0)
                        return kc_fail(err, KC_EIO, "cannot read %s: %s", path, strerror(errno));
                if (EVP_DigestUpdate(digest, buffer, n) != 1)
                        return digest_failed(err);
                offset += n;
        } while (n == BUFFER_NBYTES);
        return KC_OK;
}

static void put_hex(const unsigned char *bytes, char hex[CHECKSUM_NBYTES])
{
        for (size_t i = 0; i < DIGEST_NBYTES; i++)
                snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
}

static enum kc_status find(struct checksum *file, const struct kc_job *job, struct kc_error *err)
{
        unsigned char bytes[EVP_MAX_MD_SIZE];
        void *buffer = malloc(BUFFER_NBYTES);
        EVP_MD_CTX *digest = EVP_MD_CTX_new();
        const int fd = open(file->path, O_RDONLY | O_CLOEXEC);
        enum kc_status status;
        if (fd < 0)
                KC_TRY(kc_fail(err, KC_EIO, "cannot open %s: %s", file->path, strerror(errno)));
        if (buffer == NULL || digest == NULL || EVP_DigestInit_ex(digest, EVP_sha256(), NULL) != 1)
                KC_TRY(digest_failed(err));
        KC_TRY(digest_file(digest, fd, file->path, buffer, job, err));
        if (EVP_DigestFinal_ex(digest, bytes, NULL) != 1)
                KC_TRY(digest_failed(err));
        put_hex(bytes, file->hex);
out:
        if (fd >= 0)
                close(fd);
        EVP_MD_CTX_free(digest);
        free(buffer);
        return status;
}

struct checksumming {
        struct checksum *files;
        const struct kc_job *job;
};

static enum kc_status find_one(void *ctx, int worker, struct kc_error *err)
{
        const struct checksumming *c = ctx;
        return find(&c->files[worker], c->job, err);
}

bool checksums_exist(void)
{
        return true;
}

enum kc_status checksums_find(struct checksum *files, size_t n, const struct kc_job *job,
                              struct kc_error *err)
{
        struct checksumming all = { files, job };
        return n == 0 ? KC_OK : kc_parallel((int)n, find_one, NULL, &all, err);
}
