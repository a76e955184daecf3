/*
 * A library to preload: it aborts the program as soon as the memory allocated and not yet freed
 * exceeds a limit.
 *
 *      KC_MEMORY_LIMIT  bytes; 0 or not set: no limit
 *      KC_MEMORY_LOG    a file to which the peak of allocated bytes is appended
 *
 * This counts what malloc() and the like return to the program and its libraries, and anonymous
 * memory that the program maps itself, whether touched or not. Stacks do not count.
 */
#undef _FILE_OFFSET_BITS /* defines functions under the names that the program calls */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

extern void *__libc_malloc(size_t nbytes);
extern void *__libc_calloc(size_t n, size_t nbytes);
extern void *__libc_realloc(void *block, size_t nbytes);
extern void *__libc_memalign(size_t alignment, size_t nbytes);
extern void __libc_free(void *block);

static atomic_size_t live, most;
static size_t limit;

__attribute__((constructor)) static void read_limit(void)
{
        const char *text = getenv("KC_MEMORY_LIMIT");
        limit = text == NULL ? 0 : strtoull(text, NULL, 10);
}

__attribute__((destructor)) static void log_most(void)
{
        const char *path = getenv("KC_MEMORY_LOG");
        int fd = path == NULL ? -1 : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
        char line[64];
        int n = snprintf(line, sizeof line, "%zu\n", atomic_load(&most));
        if (fd >= 0 && write(fd, line, (size_t)n) < 0)
                abort();
}

static _Noreturn void give_up(size_t now)
{
        char line[128];
        int n = snprintf(line, sizeof line, "memory_limit: %zu bytes are allocated, %zu allowed\n",
                         now, limit);
        syscall(SYS_write, STDERR_FILENO, line, (size_t)n);
        abort();
}

static void add(size_t nbytes)
{
        size_t now = atomic_fetch_add(&live, nbytes) + nbytes, known = atomic_load(&most);
        while (known < now && !atomic_compare_exchange_weak(&most, &known, now))
                ;
        if (limit > 0 && now > limit)
                give_up(now);
}

static void subtract(size_t nbytes)
{
        atomic_fetch_sub(&live, nbytes);
}

/* ---- malloc and the like ---- */

static void *noted(void *block)
{
        add(malloc_usable_size(block));
        return block;
}

void *malloc(size_t nbytes)
{
        return noted(__libc_malloc(nbytes));
}

void *calloc(size_t n, size_t nbytes)
{
        return noted(__libc_calloc(n, nbytes));
}

void *aligned_alloc(size_t alignment, size_t nbytes)
{
        return noted(__libc_memalign(alignment, nbytes));
}

void *memalign(size_t alignment, size_t nbytes)
{
        return noted(__libc_memalign(alignment, nbytes));
}

int posix_memalign(void **block, size_t alignment, size_t nbytes)
{
        *block = noted(__libc_memalign(alignment, nbytes));
        return *block == NULL ? ENOMEM : 0;
}

void *realloc(void *block, size_t nbytes)
{
        size_t before = malloc_usable_size(block);
        void *grown = __libc_realloc(block, nbytes);
        if (grown != NULL || nbytes == 0)
                subtract(before);
        return noted(grown);
}

void free(void *block)
{
        subtract(malloc_usable_size(block));
        __libc_free(block);
}

/* ---- mappings ---- */

enum { MAX_MAPPINGS = 1 << 16 };

static struct {
        pthread_mutex_t lock;
        size_t n;
        struct {
                uintptr_t begin, end;
        } all[MAX_MAPPINGS];
} mappings = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void put_mapping(uintptr_t begin, uintptr_t end)
{
        if (begin == end)
                return;
        if (mappings.n == MAX_MAPPINGS)
                abort();
        mappings.all[mappings.n].begin = begin;
        mappings.all[mappings.n++].end = end;
}

/* Forget [begin, end), which may be part of one mapping; returns how much of it was recorded. */
static size_t cut_mapping(uintptr_t begin, uintptr_t end)
{
        for (size_t i = 0; i < mappings.n; i++) {
                uintptr_t first = mappings.all[i].begin, last = mappings.all[i].end;
                if (begin < first || end > last)
                        continue;
                mappings.all[i] = mappings.all[--mappings.n];
                put_mapping(first, begin);
                put_mapping(end, last);
                return end - begin;
        }
        return 0;
}

static size_t whole_pages(size_t nbytes)
{
        size_t page = (size_t)sysconf(_SC_PAGESIZE);
        return (nbytes + page - 1) / page * page;
}

void *mmap64(void *address, size_t nbytes, int protection, int flags, int fd, off64_t offset)
{
        void *mapped = (void *)syscall(SYS_mmap, address, nbytes, protection, flags, fd, offset);
        if (mapped == MAP_FAILED || !(flags & MAP_ANONYMOUS))
                return mapped;
        uintptr_t begin = (uintptr_t)mapped;
        pthread_mutex_lock(&mappings.lock);
        put_mapping(begin, begin + whole_pages(nbytes));
        pthread_mutex_unlock(&mappings.lock);
        add(whole_pages(nbytes));
        return mapped;
}

void *mmap(void *address, size_t nbytes, int protection, int flags, int fd, off_t offset)
{
        return mmap64(address, nbytes, protection, flags, fd, offset);
}

int munmap(void *address, size_t nbytes)
{
        uintptr_t begin = (uintptr_t)address;
        pthread_mutex_lock(&mappings.lock);
        subtract(cut_mapping(begin, begin + whole_pages(nbytes)));
        pthread_mutex_unlock(&mappings.lock);
        return (int)syscall(SYS_munmap, address, nbytes);
}
