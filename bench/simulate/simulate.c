/*
 * See simulate.h. Threads format blocks of reads in parallel, compress them with --bgzf, and write
 * them in order. Where a block begins depends on the reads alone, so compressed bytes, too, are the
 * same for any number of threads.
 */
#include "bench/simulate/simulate.h"

#include "base/parallel.h"
#include "bench/bgzf.h"
#include "bench/simulate/reads.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
        OUTPUT_NBYTES = 1 << 20, /* of text formatted at a time, approximately */
        PIPE_NBYTES = 1 << 20,   /* wanted for an output that is a pipe */
        LEVEL = 1,               /* of compression: the fastest */
};

struct simulation {
        const struct settings *set;
        struct reads reads;
        int fd;
        uint64_t reads_per_block, written_nbytes;
        atomic_uint_fast64_t nbases;
        pthread_mutex_t lock; /* guards the three fields below */
        pthread_cond_t turn;
        uint64_t next_block, written_blocks;
        bool failed;
};

/* What a thread works with. */
struct desk {
        char *scratch;
        char *text;                               /* a block of reads */
        uint8_t *packed;                          /* the text as BGZF; NULL without --bgzf */
        struct libdeflate_compressor *compressor; /* likewise */
};

static enum kc_status write_all(struct simulation *sim, const void *bytes, size_t n,
                                struct kc_error *err)
{
        while (n > 0) {
                ssize_t got = write(sim->fd, bytes, n);
                if (got < 0 && errno != EINTR)
                        return kc_fail(err, KC_EIO, "%s: %s", sim->set->output, strerror(errno));
                if (got > 0) {
                        bytes = (const char *)bytes + got;
                        n -= (size_t)got;
                        sim->written_nbytes += (uint64_t)got;
                }
        }
        return KC_OK;
}

static uint64_t take_block(struct simulation *sim)
{
        pthread_mutex_lock(&sim->lock);
        uint64_t block = sim->next_block++;
        pthread_mutex_unlock(&sim->lock);
        return block;
}

static enum kc_status write_in_turn(struct simulation *sim, uint64_t block, const void *bytes,
                                    size_t n, struct kc_error *err)
{
        pthread_mutex_lock(&sim->lock);
        while (sim->written_blocks != block && !sim->failed)
                pthread_cond_wait(&sim->turn, &sim->lock);
        bool failed = sim->failed;
        pthread_mutex_unlock(&sim->lock);
        if (failed)
                return kc_fail(err, KC_ECANCELED, "another thread failed");

        enum kc_status status = write_all(sim, bytes, n, err);
        pthread_mutex_lock(&sim->lock);
        sim->written_blocks++;
        pthread_cond_broadcast(&sim->turn);
        pthread_mutex_unlock(&sim->lock);
        return status;
}

static void wake_writers(void *ctx)
{
        struct simulation *sim = ctx;
        pthread_mutex_lock(&sim->lock);
        sim->failed = true;
        pthread_cond_broadcast(&sim->turn);
        pthread_mutex_unlock(&sim->lock);
}

static enum kc_status desk_open(const struct simulation *sim, struct desk *desk,
                                struct kc_error *err)
{
        size_t record_nbytes = reads_record_nbytes(sim->set, sim->set->longest);
        size_t text_nbytes = sim->reads_per_block * record_nbytes + 1;
        desk->scratch = malloc(reads_scratch_nbytes(sim->set));
        desk->text = malloc(text_nbytes);
        bool enough = desk->scratch != NULL && desk->text != NULL;
        if (sim->set->bgzf) {
                desk->packed = malloc(bgzf_room_nbytes(text_nbytes));
                desk->compressor = libdeflate_alloc_compressor(LEVEL);
                enough = enough && desk->packed != NULL && desk->compressor != NULL;
        }
        return enough ? KC_OK : kc_fail(err, KC_ENOMEM, "out of memory for text");
}

static void desk_close(struct desk *desk)
{
        if (desk->compressor != NULL)
                libdeflate_free_compressor(desk->compressor);
        free(desk->packed);
        free(desk->text);
        free(desk->scratch);
}

/* Make a block of reads. The first byte of a block's reads, which is the same for all reads, goes
 * with the block before: if BGZF is cut between blocks, the cut is then within a record, and is
 * noticed. Returns the bytes of the text, or 0 after the last read. */
static size_t put_block(struct simulation *sim, uint64_t block, struct desk *desk,
                        const char **text)
{
        const uint64_t first = block * sim->reads_per_block, end = first + sim->reads_per_block;
        const uint64_t last = end < sim->set->nreads ? end : sim->set->nreads;
        char *to = desk->text;
        uint64_t nbases = 0;
        *text = desk->text + (block > 0);
        for (uint64_t i = first; i < last; i++)
                to = reads_put(&sim->reads, i, desk->scratch, to, &nbases);
        atomic_fetch_add(&sim->nbases, nbases);
        if (first >= last)
                return 0;
        if (last < sim->set->nreads)
                *to++ = *desk->text;
        return (size_t)(to - *text);
}

static enum kc_status read_worker(void *ctx, int worker, struct kc_error *err)
{
        struct simulation *sim = ctx;
        struct desk desk = { 0 };
        enum kc_status status;
        (void)worker;
        KC_TRY(desk_open(sim, &desk, err));
        for (;;) {
                uint64_t block = take_block(sim);
                const char *text;
                size_t n = put_block(sim, block, &desk, &text);
                const void *bytes = text;
                if (n == 0)
                        break;
                if (sim->set->bgzf) {
                        n = bgzf_deflate(desk.compressor, text, n, desk.packed);
                        bytes = desk.packed;
                        if (n == 0)
                                KC_TRY(kc_fail(err, KC_EIO, "a block of BGZF does not fit"));
                }
                KC_TRY(write_in_turn(sim, block, bytes, n, err));
        }
out:
        desk_close(&desk);
        return status;
}

static enum kc_status open_output(struct simulation *sim, struct kc_error *err)
{
        sim->fd = STDOUT_FILENO;
        if (strcmp(sim->set->output, "-") == 0) {
                /* The reader has enough to do while the next thread wakes. For files, it fails. */
                (void)fcntl(sim->fd, F_SETPIPE_SZ, PIPE_NBYTES);
                return KC_OK;
        }
        sim->fd = open(sim->set->output, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        if (sim->fd < 0)
                return kc_fail(err, KC_EIO, "%s: %s", sim->set->output, strerror(errno));
        return KC_OK;
}

static enum kc_status make_reads(struct simulation *sim, struct kc_error *err)
{
        enum kc_status status;
        sim->reads_per_block = 1 + OUTPUT_NBYTES / reads_record_nbytes(sim->set, sim->set->length);
        KC_TRY(open_output(sim, err));
        KC_TRY(reads_open(&sim->reads, sim->set, err));
        KC_TRY(kc_parallel(sim->set->nthreads, read_worker, wake_writers, sim, err));
        if (sim->set->bgzf)
                KC_TRY(write_all(sim, KC_BGZF_LAST, KC_BGZF_LAST_NBYTES, err));
        if (close(sim->fd) != 0)
                status = kc_fail(err, KC_EIO, "%s: %s", sim->set->output, strerror(errno));
out:
        reads_close(&sim->reads);
        return status;
}

enum kc_status simulate(const struct settings *set, struct simulated *simulated,
                        struct kc_error *err)
{
        struct simulation sim = {
                .set = set,
                .reads = { .set = set },
                .lock = PTHREAD_MUTEX_INITIALIZER,
                .turn = PTHREAD_COND_INITIALIZER,
        };
        enum kc_status status = make_reads(&sim, err);
        *simulated = (struct simulated){ sim.nbases, sim.written_nbytes };
        return status;
}
