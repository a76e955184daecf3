#include "blocks.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
enum { GUARD_NBYTES = 0 }; /* the sanitizer has its own, which are exact */
#else
enum { GUARD_NBYTES = 1024 }; /* before and after each block */
#endif
enum { GUARD = 0xb7, ALIGNMENT = 256 };

namespace emulator
{

/* Large blocks are kept when they are given back: the sanitizer's malloc, and mmap, map each anew,
 * and to fault every page in again takes longer than most tests. */
enum : size_t { LARGE_NBYTES = 128 << 10 };

#ifdef __SANITIZE_ADDRESS__
/* Like the sanitizer, wait with the next use of a block, so that accesses after it is given back
 * are found. */
enum : size_t { KEPT_NBYTES = 256 << 20, WAITING_NBYTES = 64 << 20 };

static void *map_large(size_t nbytes, bool *is_poisoned)
{
        void *memory = NULL;
        *is_poisoned = false;
        return posix_memalign(&memory, ALIGNMENT, nbytes) == 0 ? memory : NULL;
}

static void unmap_large(void *memory, size_t)
{
        free(memory);
}

static size_t round_large(size_t nbytes)
{
        return nbytes; /* the sanitizer is to know the exact end */
}

static void forbid(void *memory, size_t nbytes)
{
        __asan_poison_memory_region(memory, nbytes);
}

static void allow(void *memory, size_t nbytes)
{
        __asan_unpoison_memory_region(memory, nbytes);
}
#else
enum : size_t { KEPT_NBYTES = 1 << 30, WAITING_NBYTES = 0 };

/* A new large block consists of private copies of a file of POISON, so that what nobody touches
 * costs nothing: most programs use little of the memory that they take. The calls are the system's:
 * a preloaded library that lets some fail for the program under test does not see them. */
enum : size_t { FILE_NBYTES = 1 << 20 };

static void *map(void *at, size_t nbytes, int flags, int file)
{
        return (void *)syscall(SYS_mmap, at, nbytes, PROT_READ | PROT_WRITE, flags, file, (off_t)0);
}

/* -1 if there can be none: a test may have limited how large files are. */
static int make_poison(void)
{
        int file = (int)syscall(SYS_memfd_create, "poison", MFD_CLOEXEC);
        if (file < 0)
                return -1;
        void *bytes = MAP_FAILED;
        if (syscall(SYS_ftruncate, file, (off_t)FILE_NBYTES) == 0)
                bytes = map(NULL, FILE_NBYTES, MAP_SHARED, file);
        if (bytes == MAP_FAILED) {
                close(file);
                return -1;
        }
        memset(bytes, POISON, FILE_NBYTES);
        munmap(bytes, FILE_NBYTES);
        return file;
}

static void *map_large(size_t nbytes, bool *is_poisoned)
{
        static const int poison = make_poison();
        void *memory = map(NULL, nbytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
        *is_poisoned = poison >= 0;
        if (memory == MAP_FAILED)
                return NULL;
        for (size_t at = 0; *is_poisoned && at < nbytes; at += FILE_NBYTES) {
                size_t part = std::min<size_t>(nbytes - at, FILE_NBYTES);
                if (map((char *)memory + at, part, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
                        poison) == MAP_FAILED) {
                        munmap(memory, nbytes);
                        return NULL;
                }
        }
        return memory;
}

static void unmap_large(void *memory, size_t nbytes)
{
        munmap(memory, nbytes);
}

/* At most a quarter more, so that blocks of similar sizes replace each other. */
static size_t round_large(size_t nbytes)
{
        size_t unit = LARGE_NBYTES / 4;
        while (unit < nbytes / 8)
                unit *= 2;
        return (nbytes + unit - 1) / unit * unit;
}

static void forbid(void *, size_t)
{
}

static void allow(void *, size_t)
{
}
#endif

struct kept_blocks {
        std::deque<std::pair<void *, size_t>> blocks;
        size_t nbytes;
        std::mutex lock;
};

/* Never destroyed: at exit, the sanitizer would report the blocks as leaks. */
static struct kept_blocks &kept = *new kept_blocks();

static void *take_kept(size_t nbytes)
{
        std::lock_guard<std::mutex> held(kept.lock);
        auto found = kept.blocks.begin();
        while (found != kept.blocks.end() && found->second != nbytes)
                ++found;
        if (found == kept.blocks.end() || kept.nbytes < WAITING_NBYTES)
                return NULL;
        void *memory = found->first;
        kept.blocks.erase(found);
        kept.nbytes -= nbytes;
        allow(memory, nbytes);
        return memory;
}

static void keep(void *memory, size_t nbytes)
{
        std::lock_guard<std::mutex> held(kept.lock);
        forbid(memory, nbytes);
        kept.blocks.emplace_back(memory, nbytes);
        for (kept.nbytes += nbytes; kept.nbytes > KEPT_NBYTES; kept.blocks.pop_front()) {
                kept.nbytes -= kept.blocks.front().second;
                unmap_large(kept.blocks.front().first, kept.blocks.front().second);
        }
}

static void *take_memory(size_t nbytes, bool *is_poisoned)
{
        void *memory = NULL;
        *is_poisoned = false;
        if (nbytes < LARGE_NBYTES)
                return posix_memalign(&memory, ALIGNMENT, nbytes) == 0 ? memory : NULL;
        nbytes = round_large(nbytes);
        memory = take_kept(nbytes);
        return memory != NULL ? memory : map_large(nbytes, is_poisoned);
}

void *take(size_t nbytes, bool *is_poisoned)
{
        char *memory = (char *)take_memory(nbytes + 2 * GUARD_NBYTES, is_poisoned);
        if (memory == NULL)
                return NULL;
        memset(memory, GUARD, GUARD_NBYTES);
        memset(memory + GUARD_NBYTES + nbytes, GUARD, GUARD_NBYTES);
        return memory + GUARD_NBYTES;
}

static bool is_guard(const unsigned char *bytes)
{
        return GUARD_NBYTES == 0 ||
               (bytes[0] == GUARD && memcmp(bytes, bytes + 1, GUARD_NBYTES - 1) == 0);
}

void check_surroundings(const void *block, size_t nbytes)
{
        const unsigned char *begin = (const unsigned char *)block;
        if (is_guard(begin - GUARD_NBYTES) && is_guard(begin + nbytes))
                return;
        for (int i = 0; i < GUARD_NBYTES; i++) {
                if (begin[-1 - i] != GUARD)
                        fail("byte %d before an allocation of %zu was written", i + 1, nbytes);
                if (begin[nbytes + (size_t)i] != GUARD)
                        fail("byte %d behind an allocation of %zu was written", i, nbytes);
        }
}

void give_back(void *block, size_t nbytes)
{
        void *memory = (char *)block - GUARD_NBYTES;
        check_surroundings(block, nbytes);
        nbytes += 2 * GUARD_NBYTES;
        if (nbytes < LARGE_NBYTES)
                free(memory);
        else
                keep(memory, round_large(nbytes));
}

} // namespace emulator
