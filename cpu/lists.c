#include "cpu/lists.h"

#include "base/temp_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
        READ_NBYTES = 256 << 10,
        WRITE_PIECES = 256, /* chunks per write */
};

/* An address that looks like the end of a chunk, so that the first record takes a new one. */
static uint8_t *const NO_CHUNK = (uint8_t *)(uintptr_t)(KC_CHUNK_NBYTES - 1);

static enum kc_status init_worker(struct kc_lists_worker *w, uint32_t nlists, struct kc_error *err)
{
        w->fd = -1;
        w->pos = malloc(nlists * sizeof *w->pos);
        w->chunks = calloc(nlists, sizeof(struct kc_arena_chunk *));
        w->nbytes = calloc(nlists, sizeof *w->nbytes);
        if (w->pos == NULL || w->chunks == NULL || w->nbytes == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for %u lists", nlists);
        for (uint32_t i = 0; i < nlists; i++)
                w->pos[i] = NO_CHUNK;
        return KC_OK;
}

enum kc_status kc_lists_init(struct kc_lists *lists, uint32_t nlists, int nworkers,
                             struct kc_arena *arena, size_t quota, atomic_size_t *pool,
                             const char *tmp_dir, struct kc_error *err)
{
        *lists = (struct kc_lists){ .nlists = nlists,
                                    .nworkers = nworkers,
                                    .arena = arena,
                                    .quota = quota,
                                    .pool = pool,
                                    .tmp_dir = tmp_dir };
        lists->group_nlists = (nlists + KC_LISTS_MAX_GROUPS - 1) / KC_LISTS_MAX_GROUPS;
        for (uint32_t i = 0; i < nlists; i++)
                lists->nleft[i / lists->group_nlists]++;
        lists->workers = calloc((size_t)nworkers, sizeof *lists->workers);
        if (lists->workers == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for %d threads", nworkers);
        enum kc_status status = KC_OK;
        for (int i = 0; i < nworkers; i++)
                if (status == KC_OK)
                        status = init_worker(&lists->workers[i], nlists, err);
                else
                        lists->workers[i].fd = -1;
        if (status != KC_OK)
                kc_lists_free(lists);
        return status;
}

void kc_lists_free(struct kc_lists *lists)
{
        if (lists->workers == NULL)
                return;
        for (int i = 0; i < lists->nworkers; i++) {
                struct kc_lists_worker *w = &lists->workers[i];
                free(w->pos);
                free(w->chunks);
                free(w->nbytes);
                while (w->spills) {
                        struct kc_spill *next = w->spills->next;
                        free(w->spills);
                        w->spills = next;
                }
                if (w->fd >= 0)
                        close(w->fd);
        }
        free(lists->workers);
        lists->workers = NULL;
}

/* Record the size of the list's newest chunk; nothing more is appended to it. */
static void seal_list(struct kc_lists_worker *w, uint32_t list)
{
        struct kc_arena_chunk *chunk = w->chunks[list];
        if (w->pos[list] == NO_CHUNK)
                return;
        chunk->nbytes = (uint32_t)(w->pos[list] - chunk->data);
        w->nbytes[list] += chunk->nbytes;
        w->pos[list] = NO_CHUNK;
}

/* ---- other ranks' lists ---- */

void kc_lists_connect(struct kc_lists *lists, const struct kc_lists_outlet *outlet)
{
        lists->outlet = *outlet;
}

static bool is_foreign(const struct kc_lists *lists, uint32_t list)
{
        const struct kc_lists_outlet *outlet = &lists->outlet;
        return outlet->exchange != NULL &&
               kc_exchange_owner(outlet->exchange, list) != outlet->exchange->rank;
}

/* Send what the list has, and keep its chunk. A list of another rank never has more than one. */
static enum kc_status send_list(struct kc_lists *lists, struct kc_lists_worker *w, uint32_t list,
                                struct kc_error *err)
{
        const struct kc_lists_outlet *outlet = &lists->outlet;
        const struct kc_exchange *exchange = outlet->exchange;
        struct kc_arena_chunk *chunk = w->chunks[list];
        seal_list(w, list);
        if (chunk == NULL || chunk->nbytes == 0)
                return KC_OK;
        const size_t nbytes = chunk->nbytes;
        w->nbytes[list] = chunk->nbytes = 0;
        return exchange->send(exchange->ctx, kc_exchange_owner(exchange, list),
                              outlet->first + list, chunk->data, nbytes, err);
}

enum kc_status kc_lists_take(struct kc_lists *lists, int worker, uint32_t list, const uint8_t *data,
                             size_t nbytes, struct kc_error *err)
{
        uint8_t *record;
        enum kc_status status = kc_lists_reserve(lists, worker, list, nbytes, &record, err);
        if (status == KC_OK) {
                memcpy(record, data, nbytes);
                kc_lists_append(lists, worker, list, nbytes);
        }
        return status;
}

enum kc_status kc_lists_seal(struct kc_lists *lists, int worker, struct kc_error *err)
{
        struct kc_lists_worker *w = &lists->workers[worker];
        enum kc_status status = KC_OK;
        for (uint32_t i = 0; i < lists->nlists && status == KC_OK; i++)
                if (is_foreign(lists, i))
                        status = send_list(lists, w, i, err);
                else
                        seal_list(w, i);
        return status;
}

/* ---- spilling ---- */

static enum kc_status write_all(struct kc_lists *lists, struct kc_lists_worker *w,
                                struct iovec *iov, int niov, struct kc_error *err)
{
        while (niov > 0) {
                ssize_t n = pwritev(w->fd, iov, niov, (off_t)w->file_nbytes);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return kc_temp_file_write_failed(lists->tmp_dir, n < 0 ? errno : 0, err);
                w->file_nbytes += (uint64_t)n;
                while (niov > 0 && (size_t)n >= iov->iov_len) {
                        n -= (ssize_t)iov->iov_len;
                        iov++;
                        niov--;
                }
                if (niov > 0) {
                        iov->iov_base = (char *)iov->iov_base + n;
                        iov->iov_len -= (size_t)n;
                }
        }
        return KC_OK;
}

static enum kc_status spill_list(struct kc_lists *lists, struct kc_lists_worker *w, uint32_t list,
                                 struct kc_error *err)
{
        struct iovec iov[WRITE_PIECES];
        if (is_foreign(lists, list))
                return send_list(lists, w, list, err);
        seal_list(w, list);
        for (struct kc_arena_chunk *chunk = w->chunks[list]; chunk;) {
                int niov = 0;
                for (; chunk && niov < WRITE_PIECES; chunk = chunk->next)
                        iov[niov++] = (struct iovec){ &chunk->nbytes,
                                                      sizeof chunk->nbytes + chunk->nbytes };
                enum kc_status status = write_all(lists, w, iov, niov, err);
                if (status != KC_OK)
                        return status;
        }
        return KC_OK;
}

/* Write all lists of a worker, then the offsets where they begin. */
static enum kc_status spill_lists(struct kc_lists *lists, struct kc_lists_worker *w,
                                  struct kc_spill *spill, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        size_t nbytes = (lists->nlists + 1) * sizeof(uint64_t);
        uint64_t *offset = malloc(nbytes);
        if (offset == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        for (uint32_t i = 0; i < lists->nlists; i++) {
                offset[i] = w->file_nbytes;
                KC_TRY(spill_list(lists, w, i, err));
        }
        spill->offsets_at = offset[lists->nlists] = w->file_nbytes;
        KC_TRY(write_all(lists, w, &(struct iovec){ offset, nbytes }, 1, err));
out:
        free(offset);
        return status;
}

/* Write all chunks of a worker to its file and give them back to the arena. */
static enum kc_status spill(struct kc_lists *lists, int worker, struct kc_error *err)
{
        struct kc_lists_worker *w = &lists->workers[worker];
        if (w->fd < 0) {
                enum kc_status opened = kc_temp_file_open(lists->tmp_dir, &w->fd, err);
                if (opened != KC_OK)
                        return opened;
        }
        struct kc_spill *done = malloc(sizeof *done);
        if (done == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        done->next = w->spills;
        w->spills = done;
        enum kc_status status = spill_lists(lists, w, done, err);
        for (uint32_t i = 0; i < lists->nlists; i++) {
                kc_arena_give(lists->arena, worker, w->chunks[i]);
                w->chunks[i] = NULL;
        }
        if (w->nchunks > lists->quota)
                atomic_fetch_add(lists->pool, w->nchunks - lists->quota);
        w->nchunks = 0;
        return status;
}

static bool take_from_pool(atomic_size_t *pool)
{
        size_t left = atomic_load(pool);
        while (left > 0)
                if (atomic_compare_exchange_weak(pool, &left, left - 1))
                        return true;
        return false;
}

enum kc_status kc_lists_grow(struct kc_lists *lists, int worker, uint32_t list,
                             struct kc_error *err)
{
        struct kc_lists_worker *w = &lists->workers[worker];
        if (is_foreign(lists, list) && w->chunks[list] != NULL) {
                enum kc_status status = send_list(lists, w, list, err);
                w->pos[list] = w->chunks[list]->data;
                kc_arena_stock(lists->arena); /* about as much arrives */
                return status;
        }
        seal_list(w, list);
        if (w->nchunks >= lists->quota && !(lists->pool && take_from_pool(lists->pool))) {
                enum kc_status status = spill(lists, worker, err);
                if (status != KC_OK)
                        return status;
        }
        struct kc_arena_chunk *chunk = kc_arena_take(lists->arena, worker);
        if (chunk == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for the partitions of %d threads",
                               lists->nworkers);
        w->nchunks++;
        chunk->next = w->chunks[list];
        w->chunks[list] = chunk;
        w->pos[list] = chunk->data;
        return KC_OK;
}

uint64_t kc_lists_nbytes(const struct kc_lists *lists, uint32_t list)
{
        uint64_t sum = 0;
        for (int i = 0; i < lists->nworkers; i++)
                sum += lists->workers[i].nbytes[list];
        return sum;
}

uint64_t kc_lists_spilled_nbytes(const struct kc_lists *lists)
{
        uint64_t sum = 0;
        for (int i = 0; i < lists->nworkers; i++)
                sum += lists->workers[i].file_nbytes;
        return sum;
}

static bool read_offset(const struct kc_lists *lists, int fd, const struct kc_spill *spill,
                        uint32_t list, uint64_t *offset)
{
        struct kc_error ignored = { 0 };
        return kc_temp_file_read(lists->tmp_dir, fd, offset, sizeof *offset,
                                 spill->offsets_at + list * sizeof *offset, &ignored) == KC_OK;
}

/* Give back the disk space of a group of lists. If that fails, files only stay larger. */
static void punch_group(const struct kc_lists *lists, uint32_t group)
{
        const uint32_t first = group * lists->group_nlists, next = first + lists->group_nlists;
        const uint32_t end = next < lists->nlists ? next : lists->nlists;
        for (int i = 0; i < lists->nworkers; i++) {
                const int fd = lists->workers[i].fd;
                const struct kc_spill *spill = lists->workers[i].spills;
                for (; spill; spill = spill->next) {
                        uint64_t from, to;
                        if (read_offset(lists, fd, spill, first, &from) &&
                            read_offset(lists, fd, spill, end, &to))
                                kc_temp_file_punch(fd, from, to - from);
                }
        }
}

size_t kc_lists_drop(struct kc_lists *lists, int worker, uint32_t list)
{
        const uint32_t group = list / lists->group_nlists;
        size_t n = 0;
        for (int i = 0; i < lists->nworkers; i++) {
                n += kc_arena_give(lists->arena, worker, lists->workers[i].chunks[list]);
                lists->workers[i].chunks[list] = NULL;
        }
        if (atomic_fetch_sub(&lists->nleft[group], 1) == 1)
                punch_group(lists, group);
        return n;
}

void kc_list_reader_init(struct kc_list_reader *reader, const struct kc_lists *lists)
{
        *reader = (struct kc_list_reader){ .lists = lists };
}

void kc_list_reader_free(struct kc_list_reader *reader)
{
        free(reader->buffer);
        reader->buffer = NULL;
}

static void begin_worker(struct kc_list_reader *r, int worker)
{
        r->worker = worker;
        if (worker < r->lists->nworkers) {
                r->chunk = r->lists->workers[worker].chunks[r->list];
                r->spill = r->lists->workers[worker].spills;
        }
        r->file_pos = r->file_end = 0;
        r->buffer_pos = r->buffer_end = 0;
}

void kc_list_rewind(struct kc_list_reader *reader, uint32_t list)
{
        reader->list = list;
        begin_worker(reader, 0);
}

/* Make at least `want` bytes available at buffer_pos; a sound spill holds that many. */
static enum kc_status fill_buffer(struct kc_list_reader *r, size_t want, struct kc_error *err)
{
        if (r->buffer_end - r->buffer_pos >= want)
                return KC_OK;
        if (r->buffer == NULL && (r->buffer = malloc(READ_NBYTES + KC_LISTS_OVERREAD)) == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        memmove(r->buffer, r->buffer + r->buffer_pos, r->buffer_end - r->buffer_pos);
        r->buffer_end -= r->buffer_pos;
        r->buffer_pos = 0;
        const size_t room = READ_NBYTES - r->buffer_end;
        const size_t left = (size_t)(r->file_end - r->file_pos), n = left < room ? left : room;
        if (r->buffer_end + n < want)
                return kc_fail(err, KC_EIO, "a temporary file in %s is damaged", r->lists->tmp_dir);
        enum kc_status status =
                kc_temp_file_read(r->lists->tmp_dir, r->lists->workers[r->worker].fd,
                                  r->buffer + r->buffer_end, n, r->file_pos, err);
        if (status == KC_OK) {
                r->buffer_end += n;
                r->file_pos += n;
        }
        return status;
}

/* Continue with the list's part of the next spill. */
static enum kc_status begin_spill(struct kc_list_reader *r, struct kc_error *err)
{
        uint64_t ends[2];
        enum kc_status status =
                kc_temp_file_read(r->lists->tmp_dir, r->lists->workers[r->worker].fd, ends,
                                  sizeof ends, r->spill->offsets_at + r->list * sizeof *ends, err);
        if (status != KC_OK)
                return status;
        r->file_pos = ends[0];
        r->file_end = ends[1];
        r->buffer_pos = r->buffer_end = 0;
        r->spill = r->spill->next;
        return KC_OK;
}

static enum kc_status next_spilled(struct kc_list_reader *r, const uint8_t **data, size_t *nbytes,
                                   struct kc_error *err)
{
        uint32_t size;
        enum kc_status status = fill_buffer(r, sizeof size, err);
        if (status != KC_OK)
                return status;
        memcpy(&size, r->buffer + r->buffer_pos, sizeof size);
        r->buffer_pos += sizeof size;
        status = fill_buffer(r, size, err);
        if (status != KC_OK)
                return status;
        *data = r->buffer + r->buffer_pos;
        *nbytes = size;
        r->buffer_pos += size;
        return KC_OK;
}

enum kc_status kc_list_next(struct kc_list_reader *r, const uint8_t **data, size_t *nbytes,
                            struct kc_error *err)
{
        for (; r->worker < r->lists->nworkers; begin_worker(r, r->worker + 1)) {
                while (r->chunk) {
                        const struct kc_arena_chunk *chunk = r->chunk;
                        r->chunk = chunk->next;
                        for (size_t i = 0; r->chunk && i < KC_CHUNK_NBYTES; i += 256)
                                __builtin_prefetch((const char *)r->chunk + i);
                        if (chunk->nbytes == 0)
                                continue;
                        *data = chunk->data;
                        *nbytes = chunk->nbytes;
                        return KC_OK;
                }
                for (;;) {
                        if (r->buffer_pos < r->buffer_end || r->file_pos < r->file_end)
                                return next_spilled(r, data, nbytes, err);
                        if (r->spill == NULL)
                                break;
                        enum kc_status status = begin_spill(r, err);
                        if (status != KC_OK)
                                return status;
                }
        }
        *nbytes = 0;
        return KC_OK;
}
