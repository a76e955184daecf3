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
#endif
/* Before and after each block are bytes that nobody may touch. */
enum { GUARD_NBYTES = 1024, GUARD = 0xb7, ALIGNMENT = 256 };

namespace emulator
{

/* Large blocks are kept when they are given back: to map each anew and to fault its pages in again
 * takes longer than most tests. Most pages of the largest blocks are never touched. The contents of
 * these blocks are dropped, which takes less time than filling them again. */
enum : size_t { LARGE_NBYTES = 128 << 10, DROPPED_NBYTES = 4 << 20 };

#ifdef __SANITIZE_ADDRESS__
/* Like the sanitizer, delay the next use of a block, so that accesses after it is given back are
 * found. */
enum : size_t { KEPT_NBYTES = 256 << 20, WAITING_NBYTES = 64 << 20 };

static void forbid(void *memory, size_t nbytes)
{
        __asan_poison_memory_region(memory, nbytes);
}

static void allow(void *memory, size_t nbytes)
{
        __asan_unpoison_memory_region(memory, nbytes);
}

static bool is_guard(const unsigned char *)
{
        return true; /* the sanitizer reports every access to a guard */
}
#else
enum : size_t { KEPT_NBYTES = 1 << 30, WAITING_NBYTES = 0 };

static void forbid(void *, size_t)
{
}

static void allow(void *, size_t)
{
}

static bool is_guard(const unsigned char *bytes)
{
        return bytes[0] == GUARD && memcmp(bytes, bytes + 1, GUARD_NBYTES - 1) == 0;
}
#endif

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

static int poison_file(void)
{
        static const int file = make_poison();
        return file;
}

static void *map_large(size_t nbytes)
{
        const int poison = poison_file();
        void *memory = map(NULL, nbytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
        if (memory == MAP_FAILED)
                return NULL;
        for (size_t at = 0; poison >= 0 && at < nbytes; at += FILE_NBYTES) {
                size_t part = std::min<size_t>(nbytes - at, FILE_NBYTES);
                if (map((char *)memory + at, part, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
                        poison) == MAP_FAILED) {
                        munmap(memory, nbytes);
                        return NULL;
                }
        }
        return memory;
}

/* At most a quarter more, so that blocks of similar sizes replace each other. */
static size_t round_large(size_t nbytes)
{
        size_t unit = LARGE_NBYTES / 4;
        while (unit < nbytes / 8)
                unit *= 2;
        return (nbytes + unit - 1) / unit * unit;
}

struct kept_blocks {
        std::deque<std::pair<void *, size_t>> blocks;
        size_t nbytes;
        std::mutex lock;
};

/* Never destroyed: blocks may be given back until the program has ended. */
static struct kept_blocks &kept = *new kept_blocks();

static void *take_kept(size_t nbytes)
{
        std::lock_guard<std::mutex> held(kept.lock);
        size_t later_nbytes = kept.nbytes; /* of the block found and those given back after it */
        for (auto found = kept.blocks.begin();
             found != kept.blocks.end() && later_nbytes >= WAITING_NBYTES; ++found) {
                if (found->second == nbytes) {
                        void *memory = found->first;
                        kept.blocks.erase(found);
                        kept.nbytes -= nbytes;
                        return memory;
                }
                later_nbytes -= found->second;
        }
        return NULL;
}

static void keep(void *memory, size_t nbytes)
{
        forbid(memory, nbytes);
        if (nbytes >= DROPPED_NBYTES && syscall(SYS_madvise, memory, nbytes, MADV_DONTNEED) != 0)
                fail("the contents of a block cannot be dropped");
        std::lock_guard<std::mutex> held(kept.lock);
        kept.blocks.emplace_back(memory, nbytes);
        for (kept.nbytes += nbytes; kept.nbytes > KEPT_NBYTES; kept.blocks.pop_front()) {
                const auto [oldest, size] = kept.blocks.front();
                kept.nbytes -= size;
                allow(oldest, size);
                munmap(oldest, size);
        }
}

static void *take_large(size_t nbytes, bool *is_poisoned)
{
        void *memory = take_kept(nbytes);
        *is_poisoned = poison_file() >= 0 && (memory == NULL || nbytes >= DROPPED_NBYTES);
        return memory != NULL ? memory : map_large(nbytes);
}

void *take(size_t nbytes, bool *is_poisoned)
{
        size_t whole = nbytes + 2 * GUARD_NBYTES;
        void *memory = NULL;
        *is_poisoned = false;
        if (whole >= LARGE_NBYTES)
                memory = take_large(whole = round_large(whole), is_poisoned);
        else if (posix_memalign(&memory, ALIGNMENT, whole) != 0)
                return NULL;
        if (memory == NULL)
                return NULL;
        char *block = (char *)memory + GUARD_NBYTES;
        allow(memory, whole);
        memset(memory, GUARD, GUARD_NBYTES);
        memset(block + nbytes, GUARD, GUARD_NBYTES);
        forbid(memory, whole);
        allow(block, nbytes);
        return block;
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
        if (nbytes >= LARGE_NBYTES) {
                keep(memory, round_large(nbytes));
                return;
        }
        allow(memory, nbytes);
        free(memory);
}

} // namespace emulator
