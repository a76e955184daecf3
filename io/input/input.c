#include "io/input/input.h"

#include "base/file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <htslib/hfile.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *kc_input_name(const char *path)
{
        return strcmp(path, "-") == 0 ? "standard input" : path;
}

enum kc_status kc_input_open_failed(const char *path, int error, struct kc_error *err)
{
        if (error == ENOENT && strstr(path, "://") != NULL)
                return kc_fail_filter(err, KC_REMEDY_FILTER, path, "curl -fL FILE",
                                      "cannot open %s: kcount reads files, not URLs", path);
        return kc_fail(err, KC_EINPUT, "cannot open %s: %s", kc_input_name(path), strerror(error));
}

enum kc_status kc_input_is_folder(const char *path, enum kc_status status, struct kc_error *err)
{
        return kc_fail_file(err, status, KC_REMEDY_OTHER_INPUT, path, "%s is a folder, not a file",
                            kc_input_name(path));
}

static enum kc_status look_at(struct kc_input *in, struct kc_error *err)
{
        struct stat st;
        if (fstat(in->fd, &st) != 0)
                return kc_fail(err, KC_EIO, "%s: %s", in->name, strerror(errno));
        if (S_ISDIR(st.st_mode))
                return kc_input_is_folder(in->name, KC_EINPUT, err);
        in->regular = S_ISREG(st.st_mode);
        if (!in->regular) {
                in->stream = hdopen(in->fd, "r");
                if (in->stream == NULL)
                        return kc_fail(err, KC_EIO, "%s: %s", in->name, strerror(errno));
                in->fd = -1;
                return KC_OK;
        }
        off_t at = lseek(in->fd, 0, SEEK_CUR);
        in->base = at > 0 ? (uint64_t)at : 0;
        in->size = (uint64_t)st.st_size > in->base ? (uint64_t)st.st_size - in->base : 0;
        return KC_OK;
}

enum kc_status kc_input_open(struct kc_input *in, const char *path, struct kc_error *err)
{
        *in = (struct kc_input){ .name = kc_input_name(path) };
        if (strcmp(path, "-") == 0)
                in->fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
        else
                in->fd = open(path, O_RDONLY | O_CLOEXEC);
        if (in->fd < 0)
                return kc_input_open_failed(path, errno, err);
        return look_at(in, err);
}

static enum kc_status read_failed(const struct kc_input *in, uint64_t offset, struct kc_error *err)
{
        return kc_fail_at(err, KC_EIO, 0, kc_byte_of(in->name, offset),
                          "%s: cannot read at byte %llu: %s", in->name, (unsigned long long)offset,
                          strerror(errno));
}

enum kc_status kc_input_read_at(const struct kc_input *in, void *buffer, size_t n, uint64_t offset,
                                size_t *got, struct kc_error *err)
{
        *got = kc_file_read(in->fd, buffer, n, in->base + offset);
        if (*got == n || errno == 0)
                return KC_OK;
        return read_failed(in, offset + *got, err);
}

enum kc_status kc_input_is_longer(const struct kc_input *in, uint64_t nbytes, bool *longer,
                                  struct kc_error *err)
{
        uint8_t next;
        size_t got;
        enum kc_status status = kc_input_read_at(in, &next, 1, nbytes, &got, err);
        *longer = got > 0;
        return status;
}

enum kc_status kc_input_peek(struct kc_input *in, void *buffer, size_t n, size_t *got,
                             struct kc_error *err)
{
        if (in->regular)
                return kc_input_read_at(in, buffer, n, in->offset, got, err);
        ssize_t r = hpeek(in->stream, buffer, n < 4096 ? n : 4096);
        *got = r > 0 ? (size_t)r : 0;
        return r < 0 ? read_failed(in, in->offset, err) : KC_OK;
}

enum kc_status kc_input_read(struct kc_input *in, void *buffer, size_t n, size_t *got,
                             struct kc_error *err)
{
        if (in->regular) {
                enum kc_status status = kc_input_read_at(in, buffer, n, in->offset, got, err);
                in->offset += *got;
                return status;
        }
        ssize_t r = hread(in->stream, buffer, n);
        *got = r > 0 ? (size_t)r : 0;
        if (r < 0)
                return read_failed(in, in->offset, err);
        in->offset += *got;
        return KC_OK;
}

struct hFILE *kc_input_release(struct kc_input *in)
{
        hFILE *stream = in->stream;
        if (stream == NULL && in->fd >= 0) {
                stream = hdopen(in->fd, "r");
                if (stream != NULL)
                        in->fd = -1;
        }
        in->stream = NULL;
        return stream;
}

void kc_input_close(struct kc_input *in)
{
        if (in->stream != NULL)
                hclose_abruptly(in->stream);
        else if (in->fd >= 0)
                close(in->fd);
        in->stream = NULL;
        in->fd = -1;
}
