#include "io/store/reserve.h"

#include "base/file_io.h"
#include "base/parallel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)

enum {
        MIN_NBYTES = 1 << 20, /* smallest piece that is worth a mapping */
        FEW_WRITERS = 3,      /* up to this many writers, write() is fastest */
        NWINDOWS = 1 << 14,   /* beyond them, from a terabyte on, write() is used */
};

static const uint64_t window_nbytes = 64 * MIB; /* of the file, mapped at a time */
static const uint64_t step_nbytes = 64 * MIB;   /* reserved at a time */
static const uint64_t ahead_nbytes = 128 * MIB;

/* Threads that may copy at once; 0: never map. With more, ext4 gets slower, not faster; other file
 * systems were not measured. */
static unsigned max_writers(int fd)
{
        struct statfs fs;
        if (fstatfs(fd, &fs) != 0)
                return 0;
        switch ((unsigned long)fs.f_type) {
        case TMPFS_MAGIC:
                return 64;
        case EXT4_SUPER_MAGIC:
                return 4;
        default:
                return 0;
        }
}

static bool get_file_nbytes(int fd, uint64_t *nbytes)
{
        struct stat st;
        if (fstat(fd, &st) != 0)
                return false;
        *nbytes = (uint64_t)st.st_size;
        return true;
}

void kc_reserve_init(struct kc_reserve *r, int fd)
{
        uint64_t nbytes = 0;
        bool known = get_file_nbytes(fd, &nbytes);
        unsigned nwriters = max_writers(fd);
        r->windows = nwriters > 0 ? calloc(NWINDOWS, sizeof *r->windows) : NULL;
        r->fd = fd;
        atomic_init(&r->reserved, 0);
        atomic_init(&r->end, nbytes);
        atomic_init(&r->refused, r->windows == NULL || !known);
        atomic_init(&r->tried, false);
        pthread_mutex_init(&r->growing, NULL);
        sem_init(&r->writers, 0, nwriters);
        atomic_init(&r->target, 0);
        atomic_init(&r->stop, false);
        atomic_init(&r->busy, false);
        atomic_init(&r->nwriting, 0);
        r->has_thread = false;
        r->initialized = true;
}

static void end_thread(struct kc_reserve *r)
{
        if (!r->has_thread)
                return;
        atomic_store(&r->stop, true);
        pthread_join(r->thread, NULL);
        r->has_thread = false;
}

void kc_reserve_destroy(struct kc_reserve *r)
{
        if (!r->initialized)
                return;
        end_thread(r);
        for (int i = 0; r->windows != NULL && i < NWINDOWS; i++)
                if (r->windows[i] != NULL)
                        munmap(r->windows[i], window_nbytes);
        free(r->windows);
        pthread_mutex_destroy(&r->growing);
        sem_destroy(&r->writers);
        r->initialized = false;
}

/* Check the limit on file sizes: exceeding it is not an error but ends the program (SIGXFSZ). */
static bool may_grow(uint64_t nbytes)
{
        struct rlimit limit;
        return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
               nbytes <= limit.rlim_cur;
}

/* One step; lock held. */
static void grow(struct kc_reserve *r)
{
        const uint64_t from = atomic_load(&r->reserved), to = from + step_nbytes;
        int code;
        if (!may_grow(to)) {
                atomic_store(&r->refused, true);
                return;
        }
        atomic_store(&r->tried, true);
        do
                code = fallocate(r->fd, 0, (off_t)from, (off_t)step_nbytes);
        while (code != 0 && errno == EINTR);
        if (code == 0)
                atomic_store(&r->reserved, to);
        else
                atomic_store(&r->refused, true);
}

static bool wants_more(struct kc_reserve *r, uint64_t end)
{
        return !atomic_load(&r->refused) && atomic_load(&r->reserved) < end;
}

/* Reserve the space up to end, and some more ahead. While another thread is at it, this one goes on
 * if there is enough already. */
static bool ensure(struct kc_reserve *r, uint64_t end)
{
        if (atomic_load(&r->reserved) >= end + ahead_nbytes)
                return true;
        if (atomic_load(&r->refused))
                return atomic_load(&r->reserved) >= end;
        if (pthread_mutex_trylock(&r->growing) != 0) {
                if (atomic_load(&r->reserved) >= end)
                        return true;
                pthread_mutex_lock(&r->growing);
        }
        while (wants_more(r, end + ahead_nbytes))
                grow(r);
        pthread_mutex_unlock(&r->growing);
        return atomic_load(&r->reserved) >= end;
}

/* The lock is released after each step, for threads that need only a little. */
static void *work_ahead(void *ctx)
{
        struct kc_reserve *r = ctx;
        while (!atomic_load(&r->stop) && wants_more(r, atomic_load(&r->target))) {
                pthread_mutex_lock(&r->growing);
                if (wants_more(r, atomic_load(&r->target)))
                        grow(r);
                pthread_mutex_unlock(&r->growing);
        }
        atomic_store(&r->busy, false);
        return NULL;
}

/* How much of nbytes may be reserved: at most half of the free space, which includes what earlier
 * calls reserved. */
static uint64_t reservable(struct kc_reserve *r, uint64_t nbytes)
{
        const uint64_t end = atomic_load(&r->end), reserved = atomic_load(&r->reserved);
        const uint64_t unused = reserved > end ? reserved - end : 0;
        struct statvfs fs;
        uint64_t most;
        if (fstatvfs(r->fd, &fs) != 0)
                return 0;
        if (fs.f_blocks == 0)
                return nbytes; /* tmpfs without a limit */
        most = end + ((uint64_t)fs.f_bavail * fs.f_frsize + unused) / 2;
        return nbytes < most ? nbytes : most;
}

void kc_reserve_ahead(struct kc_reserve *r, uint64_t nbytes)
{
        nbytes = reservable(r, nbytes);
        atomic_store(&r->target, nbytes); /* even if it is lower: the thread then stops earlier */
        if (nbytes < step_nbytes || !wants_more(r, nbytes) || atomic_load(&r->busy))
                return; /* if that thread ends without seeing the new target, the next call starts
                           another */
        end_thread(r);
        atomic_store(&r->stop, false);
        atomic_store(&r->busy, true);
        r->has_thread = kc_thread_create(&r->thread, work_ahead, r) == 0;
        if (!r->has_thread)
                atomic_store(&r->busy, false); /* space is then reserved when it is needed */
}

static void note_end(struct kc_reserve *r, uint64_t end)
{
        uint64_t known = atomic_load(&r->end);
        while (known < end && !atomic_compare_exchange_weak(&r->end, &known, end))
                ;
}

/* NULL: it cannot be mapped. If two threads map it at once, one mapping is dropped. */
static char *get_window(struct kc_reserve *r, uint64_t number)
{
        char *window = atomic_load(&r->windows[number]), *mapped;
        if (window != NULL)
                return window;
        mapped = mmap(NULL, window_nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd,
                      (off_t)(number * window_nbytes));
        if (mapped == MAP_FAILED)
                return NULL;
        if (atomic_compare_exchange_strong(&r->windows[number], &window, mapped))
                return mapped;
        munmap(mapped, window_nbytes);
        return window;
}

/* What was stored stays in the file when the process gives up its pages. Many threads do that here,
 * because at the end it would take a single thread long. */
static void store(char *window, uint64_t at, const char *data, size_t nbytes)
{
        const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), first = at / page * page;
        memcpy(window + at, data, nbytes);
        (void)madvise(window + first, at + nbytes - first, MADV_DONTNEED);
}

static bool copy(struct kc_reserve *r, const char *data, size_t nbytes, uint64_t offset)
{
        if ((offset + nbytes - 1) / window_nbytes >= NWINDOWS)
                return false;
        while (nbytes > 0) {
                uint64_t at = offset % window_nbytes, left = window_nbytes - at;
                size_t n = nbytes < left ? nbytes : (size_t)left;
                char *window = get_window(r, offset / window_nbytes);
                if (window == NULL)
                        return false;
                store(window, at, data, n);
                data += n;
                offset += n;
                nbytes -= n;
        }
        return true;
}

bool kc_reserve_begin(struct kc_reserve *r, const void *data, size_t nbytes, uint64_t offset)
{
        int nothers = atomic_fetch_add(&r->nwriting, 1);
        note_end(r, offset + nbytes);
        if (nothers < FEW_WRITERS || nbytes < MIN_NBYTES || !ensure(r, offset + nbytes))
                return false;
        while (sem_wait(&r->writers) != 0)
                ; /* interrupted by a signal */
        bool copied = copy(r, data, nbytes, offset);
        sem_post(&r->writers);
        return copied;
}

void kc_reserve_end(struct kc_reserve *r)
{
        atomic_fetch_sub(&r->nwriting, 1);
}

/* The file's actual length counts: if ext4 runs out of room, it keeps part of a reservation. */
bool kc_reserve_trim(struct kc_reserve *r)
{
        uint64_t nbytes;
        end_thread(r);
        if (!r->initialized || !atomic_load(&r->tried))
                return true;
        if (!get_file_nbytes(r->fd, &nbytes))
                return false;
        if (nbytes <= atomic_load(&r->end))
                return true;
        return kc_file_resize(r->fd, atomic_load(&r->end));
}
