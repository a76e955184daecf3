/*
 * The store's reader: open a file, and report what its footer says.
 */
#include "io/rescue.h"
#include "io/store/find.h"
#include "io/store/parts.h"
#include "io/store/tally.h"
#include "kmer/remedy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOT_OPEN = -1 };

/* fd: of the file, or NOT_OPEN */
static enum kc_status open_file(struct kc_store *store, const char *path, int fd,
                                struct kc_error *err)
{
        struct stat st;
        store->fd = fd;
        store->path = strdup(path);
        if (store->path == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for opening %s", path);
        /* O_NONBLOCK: opening a pipe must not block before we can see what it is */
        if (fd == NOT_OPEN)
                store->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (store->fd < 0 || fstat(store->fd, &st) != 0)
                return kc_fail(err, KC_EIO, "cannot open %s: %s", path, strerror(errno));
        if (!S_ISREG(st.st_mode))
                return kc_fail_remedy(err, KC_ECORRUPT, KC_REMEDY_COUNT,
                                      "%s is not a regular file, but a .kc file must be one", path);
        store->nbytes = (uint64_t)st.st_size;
        store->device = st.st_dev;
        store->inode = st.st_ino;
        return KC_OK;
}

static enum kc_status read_header(const struct kc_store *store, struct kc_store_header *header,
                                  struct kc_error *err)
{
        size_t nbytes = store->nbytes < sizeof *header ? (size_t)store->nbytes : sizeof *header;
        memset(header, 0, sizeof *header);
        return kc_store_pread(store, header, nbytes, 0, err);
}

static void set_keys(struct kc_store *store, const struct kc_store_header *header)
{
        store->k = (int)header->k;
        store->nwords = kc_kmer_nwords(store->k);
        store->stranded = (header->flags & KC_STORE_STRANDED) != 0;
        store->hpc = (header->flags & KC_STORE_HPC) != 0;
        store->only_checksum = header->only_checksum;
        store->version = header->version;
}

/* Header and footer, as they are now. */
static enum kc_status read_ends(struct kc_store *store, struct kc_store_header *header,
                                struct kc_error *err)
{
        enum kc_status status;
        struct stat st;
        KC_TRY(read_header(store, header, err));
        /* Get the length after the header: whatever the header refers to was written before it. */
        if (fstat(store->fd, &st) != 0)
                return kc_fail(err, KC_EIO, "cannot read %s: %s", store->path, strerror(errno));
        store->nbytes = (uint64_t)st.st_size;
        KC_TRY(kc_header_check(header, store->path, err));
        set_keys(store, header);
        KC_TRY(kc_store_find_footer(store, header, err));
out:
        return status;
}

static bool has_changed(const struct kc_store *store, const struct kc_store_header *seen)
{
        struct kc_store_header header;
        return read_header(store, &header, NULL) == KC_OK &&
               memcmp(&header, seen, sizeof header) != 0;
}

/*
 * An append may be changing a reference and what follows the footer while they are read: apparent
 * damage counts only if the header is still the same afterwards.
 */
static enum kc_status read_ends_at_rest(struct kc_store *store, struct kc_error *err)
{
        enum { NATTEMPTS = 3 };
        for (int attempt = 1;; attempt++) {
                struct kc_store_header header;
                struct kc_error own = { 0 };
                enum kc_status status = read_ends(store, &header, &own);
                if (status == KC_OK && store->footing == KC_FOOTING_SOUND)
                        return KC_OK;
                if (attempt == NATTEMPTS || !has_changed(store, &header))
                        return status == KC_OK ? KC_OK : kc_fail_as(err, &own);
                kc_store_drop_footer(store);
        }
}

static enum kc_status collect_names(struct kc_store *store, struct kc_error *err)
{
        size_t n = 0;
        for (uint32_t r = 0; r < store->nruns; r++)
                n += store->runs[r].record.nnames; /* more than enough: runs of tombstones have
                                                      names, too */
        store->names = malloc((n + 1) * sizeof *store->names);
        if (store->names == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for opening %s", store->path);
        for (uint32_t r = 0; r < store->nruns; r++) {
                const char *name = store->runs[r].names;
                if (store->runs[r].kind == KC_RUN_TOMBSTONES)
                        continue;
                for (uint64_t i = 0; i < store->runs[r].record.nnames; i++) {
                        store->names[store->nnames++] = name;
                        name += strlen(name) + 1;
                }
        }
        return KC_OK;
}

/* Header and footer of a file that may be damaged. */
static enum kc_status read_any_ends(struct kc_store *store, struct kc_error *err)
{
        enum kc_status status;
        struct kc_store_header header;
        KC_TRY(read_header(store, &header, err));
        if (!kc_header_rebuild(&header))
                KC_TRY(kc_header_check(&header, store->path, err));
        set_keys(store, &header);
        KC_TRY(kc_store_find_any_footer(store, &header, err));
out:
        return status;
}

static enum kc_status open_store(struct kc_store **store, const char *path, int fd,
                                 enum kc_status (*read)(struct kc_store *, struct kc_error *),
                                 struct kc_error *err)
{
        struct kc_store *s = calloc(1, sizeof *s);
        enum kc_status status;
        if (s == NULL) {
                if (fd != NOT_OPEN)
                        close(fd);
                return kc_fail(err, KC_ENOMEM, "out of memory for opening %s", path);
        }
        KC_TRY(open_file(s, path, fd, err));
        KC_TRY(read(s, err));
        KC_TRY(collect_names(s, err));
        *store = s;
        s = NULL;
out:
        kc_store_close(s);
        return status;
}

bool kc_store_recognizes(const char *path)
{
        struct kc_store store = { .fd = -1 };
        struct kc_store_header header;
        struct stat st;
        /* do not even open a named pipe: its writer would go on, and find no reader */
        if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
                return false;
        const bool found = open_file(&store, path, NOT_OPEN, NULL) == KC_OK &&
                           read_header(&store, &header, NULL) == KC_OK &&
                           kc_header_is_ours(&header);
        if (store.fd >= 0)
                close(store.fd);
        free(store.path);
        return found;
}

enum kc_status kc_store_open(struct kc_store **store, const char *path, struct kc_error *err)
{
        return open_store(store, path, NOT_OPEN, read_ends_at_rest, err);
}

enum kc_status kc_store_open_file(struct kc_store **store, const char *path, int fd,
                                  struct kc_error *err)
{
        return open_store(store, path, fd, read_ends_at_rest, err);
}

enum kc_status kc_store_open_rescue(struct kc_store **store, const char *path, struct kc_error *err)
{
        return open_store(store, path, NOT_OPEN, read_any_ends, err);
}

void kc_store_close(struct kc_store *store)
{
        if (store == NULL)
                return;
        if (store->fd >= 0)
                close(store->fd);
        kc_store_drop_footer(store);
        free(store->path);
        free(store->names);
        free(store);
}

void kc_store_detach(struct kc_store *store)
{
        close(store->fd);
        store->fd = -1;
}

void kc_store_get_info(const struct kc_store *store, struct kc_store_info *info)
{
        kc_runs_info(store->runs, store->nruns, info);
        info->k = store->k;
        info->version = store->version;
        info->stranded = store->stranded;
        info->hpc = store->hpc;
        info->only_checksum = store->only_checksum;
        info->file_nbytes = store->nbytes;
        info->names = store->names;
        info->nnames = store->nnames;
}

bool kc_store_is_tidy(const struct kc_store *store)
{
        return store->footing == KC_FOOTING_SOUND && kc_store_is_at_end(store);
}

const struct kc_error *kc_store_warning(const struct kc_store *store)
{
        return store->warning.status == KC_OK ? NULL : &store->warning;
}

enum kc_status kc_store_check_writable(const struct kc_store *store, struct kc_error *err)
{
        if (store->footing != KC_FOOTING_DOUBTFUL)
                return KC_OK;
        return kc_fail_reworded(err, &store->warning, "%s was not changed, because %s", store->path,
                                store->warning.message);
}

/* Each thread of a merge counts into a tally of its own. */
static enum kc_status take(void *ctx, int worker, uint64_t part, bool last, const uint64_t *kmers,
                           const uint32_t *counts, size_t n, struct kc_error *err)
{
        struct kc_tally *tallies = ctx;
        (void)part;
        (void)last;
        (void)kmers;
        return kc_tally_add(&tallies[worker], counts, n, err);
}

/* Make the histogram of the merged runs. */
static enum kc_status merged_histogram(struct kc_store *store, int nthreads, struct kc_job *job,
                                       struct kc_histogram_row **rows, size_t *nrows,
                                       struct kc_error *err)
{
        enum kc_status status;
        const struct kc_set set = kc_set_of_one(&store);
        struct kc_join_totals totals;
        struct kc_tally *tallies = calloc((size_t)nthreads, sizeof *tallies);
        if (tallies == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for the histogram of counts");
        const struct kc_parts_taker taker = { .ctx = tallies, .take = take };
        KC_TRY(kc_parts_merge(&set, nthreads, job, &taker, &totals, err));
        for (int t = 1; t < nthreads; t++)
                KC_TRY(kc_tally_merge(&tallies[0], &tallies[t], err));
        KC_TRY(kc_tally_rows(&tallies[0], rows, nrows, err));
out:
        for (int t = 0; t < nthreads; t++)
                kc_tally_free(&tallies[t]);
        free(tallies);
        return status;
}

enum kc_status kc_store_histogram(struct kc_store *store, int nthreads, struct kc_job *job,
                                  struct kc_histogram_row **rows, size_t *nrows,
                                  struct kc_error *err)
{
        if (store->nruns > 1 || store->runs[0].kind != KC_RUN_COUNTS)
                return merged_histogram(store, nthreads, job, rows, nrows, err);
        size_t n = (size_t)store->runs[0].record.nhistogram;
        *rows = malloc((n + 1) * sizeof **rows);
        if (*rows == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for the histogram of counts");
        memcpy(*rows, store->runs[0].rows, n * sizeof **rows);
        *nrows = n;
        return KC_OK;
}
