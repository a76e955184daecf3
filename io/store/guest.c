#include "io/store/guest.h"

#include "base/file_io.h"
#include "io/store/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

struct kc_store_guest {
        struct kc_run_guest interface;
        struct kc_joint_sink joint; /* with the interface */
        int fd;
        bool flush;
        char *path;
        int kmer_nwords;
        atomic_uint_fast64_t nwritten; /* bytes */
};

/* ---- the pages that a guest writes ---- */

/* Of the bytes at begin .. end, the guest writes those of whole pages. */
struct inner {
        uint64_t begin, end;
};

static struct inner whole_pages(uint64_t begin, uint64_t end, uint64_t page_nbytes)
{
        struct inner inner = { (begin + page_nbytes - 1) / page_nbytes * page_nbytes,
                               end / page_nbytes * page_nbytes };
        if (inner.begin > inner.end) /* no page is filled */
                inner.begin = inner.end = end;
        return inner;
}

enum kc_status kc_guest_write_edges(struct kc_output *output, const struct kc_run_blocks *b,
                                    const struct kc_run_sealed *sealed, uint64_t offset,
                                    struct kc_error *err)
{
        const uint64_t nbytes = b->nwords * sizeof *b->words, end = offset + nbytes;
        const uint64_t page_nbytes = sealed->page_nbytes;
        const uint64_t nedge = nbytes < page_nbytes ? nbytes : page_nbytes;
        const struct inner inner = whole_pages(offset, end, page_nbytes);
        const size_t nhead = inner.begin - offset, ntail = end - inner.end;
        enum kc_status status;
        KC_TRY(kc_output_pwrite(output, sealed->head, nhead, offset, err));
        KC_TRY(kc_output_pwrite(output, sealed->tail + (nedge - ntail), ntail, inner.end, err));
out:
        return status;
}

/* ---- the writer's side ---- */

static bool draw_token(uint8_t *token, size_t nbytes)
{
        ssize_t n;
        do
                n = getrandom(token, nbytes, 0);
        while (n < 0 && errno == EINTR);
        return n == (ssize_t)nbytes;
}

/* A file with a name may be on a network file system, where others read only what is flushed. */
enum kc_status kc_store_invite(struct kc_store_writer *w, struct kc_store_invitation *invitation,
                               struct kc_error *err)
{
        const struct kc_new_file *file = &w->output.file;
        struct stat st;
        enum kc_status status;
        *invitation = (struct kc_store_invitation){
                .flush = file->must_last || file->options.replace, .pid = getpid(), .fd = file->fd
        };
        if (fstat(file->fd, &st) != 0 || !draw_token(invitation->token, sizeof invitation->token))
                return KC_OK;
        invitation->device = st.st_dev;
        invitation->inode = st.st_ino;
        if (file->temporary != NULL && strlen(file->temporary) < sizeof invitation->name)
                strcpy(invitation->name, file->temporary);
        KC_TRY(kc_output_pwrite(&w->output, invitation->token, sizeof invitation->token, 0, err));
        if (file->temporary != NULL && !kc_file_flush(file->fd))
                return kc_fail(err, KC_EIO, "cannot write %s: %s", file->path, kc_strerror(errno));
        invitation->valid = true;
out:
        return status;
}

/* ---- the guest's side ---- */

static bool has_token(int fd, const struct kc_store_invitation *invitation)
{
        uint8_t token[sizeof invitation->token];
        return pread(fd, token, sizeof token, 0) == (ssize_t)sizeof token &&
               memcmp(token, invitation->token, sizeof token) == 0;
}

/* Look before opening: on another machine, the PID means another process. */
static int open_of_process(const struct kc_store_invitation *invitation)
{
        char link[64];
        struct stat st;
        snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)invitation->pid, (int)invitation->fd);
        if (stat(link, &st) != 0 || !S_ISREG(st.st_mode) || st.st_dev != invitation->device ||
            st.st_ino != invitation->inode)
                return -1;
        return open(link, O_RDWR | O_CLOEXEC);
}

static int open_by_name(const struct kc_store_invitation *invitation)
{
        if (*invitation->name == '\0')
                return -1;
        return open(invitation->name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
}

/* -1 if this is not the file that is meant. */
static int keep_if_meant(int fd, const struct kc_store_invitation *invitation)
{
        if (fd >= 0 && has_token(fd, invitation))
                return fd;
        if (fd >= 0)
                close(fd);
        return -1;
}

static int open_invited(const struct kc_store_invitation *invitation)
{
        int fd = -1;
        if (!invitation->valid)
                return -1;
        fd = keep_if_meant(open_of_process(invitation), invitation);
        return fd >= 0 ? fd : keep_if_meant(open_by_name(invitation), invitation);
}

static enum kc_status seal(void *ctx, const struct kc_run_blocks *b, uint64_t *checksums,
                           struct kc_error *err)
{
        const struct kc_store_guest *g = ctx;
        const uint64_t *at = b->words;
        const enum kc_status status = kc_blocks_seal(g->path, b, g->kmer_nwords, err);
        for (size_t i = 0; i < b->nblocks && status == KC_OK; i++) {
                at += b->block_nwords[i];
                checksums[i] = *at++;
        }
        return status;
}

static enum kc_status write_inner(void *ctx, const uint64_t *words, size_t nwords, uint64_t offset,
                                  struct kc_error *err)
{
        struct kc_store_guest *g = ctx;
        const struct inner inner =
                whole_pages(offset, offset + nwords * sizeof *words, g->interface.page_nbytes);
        const size_t nbytes = inner.end - inner.begin;
        atomic_fetch_add(&g->nwritten, nbytes);
        return kc_pwrite_all(g->fd, g->path, (const uint8_t *)words + (inner.begin - offset),
                             nbytes, inner.begin, err);
}

enum kc_status kc_store_join(struct kc_store_guest **guest,
                             const struct kc_store_invitation *invitation, const char *path, int k,
                             struct kc_error *err)
{
        const long page_nbytes = sysconf(_SC_PAGESIZE);
        *guest = NULL;
        if (page_nbytes < 1 || page_nbytes > KC_RUN_MAX_PAGE_NBYTES)
                return KC_OK;
        const int fd = open_invited(invitation);
        if (fd < 0)
                return KC_OK;
        struct kc_store_guest *g = calloc(1, sizeof *g);
        char *own_path = strdup(path);
        if (g == NULL || own_path == NULL) {
                close(fd);
                free(g);
                free(own_path);
                return kc_fail(err, KC_ENOMEM, "out of memory for writing %s", path);
        }
        *g = (struct kc_store_guest){ .interface = { .ctx = g,
                                                     .page_nbytes = (uint32_t)page_nbytes,
                                                     .seal = seal,
                                                     .write = write_inner },
                                      .joint = { .guest = &g->interface },
                                      .fd = fd,
                                      .flush = invitation->flush,
                                      .path = own_path,
                                      .kmer_nwords = kc_kmer_nwords(k) };
        *guest = g;
        return KC_OK;
}

const struct kc_joint_sink *kc_store_guest_joint(const struct kc_store_guest *g)
{
        return &g->joint;
}

/* Closing a file on a network file system sends what has not been sent, and reports failures. */
enum kc_status kc_store_guest_end(struct kc_store_guest *g, uint64_t *nbytes, struct kc_error *err)
{
        const int fd = g->fd;
        const bool flushed = !g->flush || kc_file_flush(fd);
        const int code = errno;
        g->fd = -1;
        *nbytes = atomic_load(&g->nwritten);
        if (close(fd) == 0 && flushed)
                return KC_OK;
        return kc_fail(err, KC_EIO, "cannot write %s: %s", g->path,
                       kc_strerror(flushed ? errno : code));
}

void kc_store_leave(struct kc_store_guest *g)
{
        if (g == NULL)
                return;
        if (g->fd >= 0)
                close(g->fd);
        free(g->path);
        free(g);
}
