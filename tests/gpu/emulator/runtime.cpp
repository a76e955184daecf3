/*
 * CUDA's runtime for one device whose memory is the host's.
 */
#include "scarcity.h"
#include "streams.h"

#include <cuda_runtime.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

enum { NMULTIPROCESSORS = 2, L2_NBYTES = 1 << 20, ALIGNMENT = 256 };

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
enum { GUARD_NBYTES = 0 }; /* the sanitizer has its own, which are exact */
#else
enum { GUARD_NBYTES = 1024 }; /* before and after each allocation */
#endif
enum { GUARD = 0xb7 };

static const size_t USUAL_NBYTES = (size_t)3 << 30;
static size_t total_of_device = USUAL_NBYTES;

/* ---- errors ---- */

static thread_local cudaError_t last_error;

static cudaError_t note(cudaError_t code)
{
        if (code != cudaSuccess)
                last_error = code;
        return code;
}

cudaError_t cudaGetLastError(void)
{
        cudaError_t code = last_error;
        last_error = cudaSuccess;
        return code;
}

const char *cudaGetErrorString(cudaError_t code)
{
        static const std::map<cudaError_t, const char *> words = {
                { cudaSuccess, "no error" },
                { cudaErrorInvalidValue, "invalid argument" },
                { cudaErrorMemoryAllocation, "out of memory" },
                { cudaErrorInvalidConfiguration, "invalid configuration argument" },
                { cudaErrorNoDevice, "no CUDA-capable device is detected" },
                { cudaErrorDevicesUnavailable, "the device is busy or unavailable" },
                { cudaErrorInvalidDevice, "invalid device ordinal" },
                { cudaErrorInvalidResourceHandle, "invalid resource handle" },
        };
        auto found = words.find(code);
        return found == words.end() ? "unknown error" : found->second;
}

/* ---- the devices: one that works, and some that are unavailable ---- */

/* KC_EMULATOR_DEVICES=0 in the environment: a machine without devices. */
static int ndevices =
        getenv("KC_EMULATOR_DEVICES") != NULL ? atoi(getenv("KC_EMULATOR_DEVICES")) : 1;

void kc_emulator_devices(int n)
{
        ndevices = n;
}

static cudaError_t check_device(int device)
{
        return note(device == 0         ? cudaSuccess
                    : device < ndevices ? cudaErrorDevicesUnavailable
                                        : cudaErrorInvalidDevice);
}

cudaError_t cudaDriverGetVersion(int *version)
{
        *version = CUDART_VERSION;
        return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *n)
{
        *n = ndevices;
        return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
        *device = 0;
        return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
        return check_device(device);
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned)
{
        return check_device(device);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device)
{
        *properties = {};
        snprintf(properties->name, sizeof properties->name, "emulated");
        properties->major = 9;
        properties->multiProcessorCount = NMULTIPROCESSORS;
        properties->totalGlobalMem = total_of_device;
        return note(device < ndevices ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
        *value = attribute == cudaDevAttrMultiProcessorCount ? (int)NMULTIPROCESSORS
                 : attribute == cudaDevAttrL2CacheSize       ? (int)L2_NBYTES
                 : attribute == cudaDevAttrCooperativeLaunch ? 0
                                                             : (int)emulator::MAX_SHARED_NBYTES;
        return check_device(device);
}

/* ---- memory ---- */

/* The allocations of device memory, by address. */
static struct {
        std::map<uintptr_t, size_t> nbytes;
        size_t used_nbytes, taken_nbytes; /* by this process; by others */
        std::mutex lock;
} memory_of_device;

static size_t free_of_device(void)
{
        return total_of_device - memory_of_device.used_nbytes - memory_of_device.taken_nbytes;
}

/* ---- scarcity ---- */

static struct {
        enum kc_scarcity kind;
        long left; /* allocations that still succeed as usual */
        bool met;
        std::mutex lock;
} scarcity;

void kc_emulator_scarcity(enum kc_scarcity kind, long n)
{
        scarcity.kind = kind;
        scarcity.left = n;
        scarcity.met = false;
        memory_of_device.taken_nbytes = 0;
}

void kc_emulator_total(size_t nbytes)
{
        total_of_device = nbytes != 0 ? nbytes : USUAL_NBYTES;
}

int kc_emulator_was_scarce(void)
{
        return scarcity.met;
}

size_t kc_emulator_device_nbytes(void)
{
        return memory_of_device.used_nbytes;
}

/* Call at an allocation: whether this kind of scarcity affects it. */
static bool is_scarce(enum kc_scarcity kind)
{
        std::lock_guard<std::mutex> held(scarcity.lock);
        if (scarcity.kind != kind || scarcity.left-- > 0)
                return false;
        scarcity.met = true;
        return true;
}

/* ---- pools and copies ---- */

struct kc_emulated_pool {
};

cudaError_t cudaMemGetInfo(size_t *free_nbytes, size_t *total_nbytes)
{
        std::lock_guard<std::mutex> held(memory_of_device.lock);
        *free_nbytes = free_of_device();
        *total_nbytes = total_of_device;
        return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const cudaMemPoolProps *)
{
        *pool = new kc_emulated_pool();
        return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
        delete pool;
        return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *)
{
        return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t)
{
        return cudaSuccess;
}

/* Keep what is freed: the next allocation else faults every one of its pages in again, because it is
 * poisoned, and that takes longer than most tests. (A sanitizer's malloc ignores this.) */
__attribute__((constructor)) static void keep_freed_memory(void)
{
        mallopt(M_MMAP_MAX, 0);
        mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

static void *take(size_t nbytes)
{
        void *memory;
        if (posix_memalign(&memory, ALIGNMENT, nbytes + 2 * GUARD_NBYTES) != 0)
                return NULL;
        memset(memory, GUARD, GUARD_NBYTES);
        memset((char *)memory + GUARD_NBYTES + nbytes, GUARD, GUARD_NBYTES);
        return (char *)memory + GUARD_NBYTES;
}

static void check_guards(const void *memory, size_t nbytes)
{
        const unsigned char *begin = (const unsigned char *)memory;
        for (int i = 0; i < GUARD_NBYTES; i++) {
                if (begin[-1 - i] != GUARD)
                        emulator::fail("byte %d before an allocation of %zu was written", i + 1,
                                       nbytes);
                if (begin[nbytes + (size_t)i] != GUARD)
                        emulator::fail("byte %d behind an allocation of %zu was written", i,
                                       nbytes);
        }
}

static void give_back(void *memory, size_t nbytes)
{
        check_guards(memory, nbytes);
        free((char *)memory - GUARD_NBYTES);
}

/* Like the driver, wait for memory that is still to be freed. */
static bool make_room(size_t nbytes)
{
        for (int finished = 0; finished < 2; finished++) {
                std::unique_lock<std::mutex> held(memory_of_device.lock);
                if (nbytes <= free_of_device())
                        return true;
                held.unlock();
                emulator::finish_all();
        }
        return false;
}

/* The memory belongs to the caller from this point on in the stream's order: until then, work of
 * the stream may still use it for something else. So it is poisoned in stream order. */
cudaError_t cudaMallocFromPoolAsync(void **memory, size_t nbytes, cudaMemPool_t,
                                    cudaStream_t stream)
{
        *memory = NULL;
        if (nbytes == 0)
                return cudaSuccess;
        if (is_scarce(KC_SCARCITY_TAKEN) && memory_of_device.taken_nbytes == 0)
                memory_of_device.taken_nbytes = free_of_device();
        if (is_scarce(KC_SCARCITY_DEVICE) || !make_room(nbytes) || (*memory = take(nbytes)) == NULL)
                return note(cudaErrorMemoryAllocation);
        std::unique_lock<std::mutex> held(memory_of_device.lock);
        memory_of_device.nbytes[(uintptr_t)*memory] = nbytes;
        memory_of_device.used_nbytes += nbytes;
        held.unlock();
        void *taken = *memory;
        emulator::enqueue(stream, [=] { memset(taken, emulator::POISON, nbytes); });
        return cudaSuccess;
}

cudaError_t emulator::allocate(void **memory, size_t nbytes)
{
        cudaError_t code = cudaMallocFromPoolAsync(memory, nbytes, NULL, NULL);
        finish(NULL);
        return code;
}

static void free_on_device(void *memory)
{
        std::lock_guard<std::mutex> held(memory_of_device.lock);
        auto found = memory_of_device.nbytes.find((uintptr_t)memory);
        if (found == memory_of_device.nbytes.end())
                emulator::fail("what is to be freed is not, or no longer, of the device");
        size_t nbytes = found->second;
        memory_of_device.used_nbytes -= nbytes;
        memory_of_device.nbytes.erase(found);
        give_back(memory, nbytes);
}

/* Waits for the device, as CUDA's does. */
cudaError_t cudaFree(void *memory)
{
        emulator::finish_all();
        if (memory != NULL)
                free_on_device(memory);
        return cudaSuccess;
}

cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream)
{
        if (memory != NULL)
                emulator::enqueue(stream, [memory] { free_on_device(memory); });
        return cudaSuccess;
}

/* The ranges of pinned host memory, by address. */
static struct {
        std::map<uintptr_t, size_t> nbytes;
        std::mutex lock;
} pinned;

static void add_pinned(const void *memory, size_t nbytes)
{
        std::lock_guard<std::mutex> held(pinned.lock);
        pinned.nbytes[(uintptr_t)memory] = nbytes;
}

static bool remove_pinned(const void *memory)
{
        std::lock_guard<std::mutex> held(pinned.lock);
        return pinned.nbytes.erase((uintptr_t)memory) != 0;
}

long kc_emulator_npinned(void)
{
        std::lock_guard<std::mutex> held(pinned.lock);
        return (long)pinned.nbytes.size();
}

cudaError_t cudaMallocHost(void **memory, size_t nbytes)
{
        *memory = is_scarce(KC_SCARCITY_PINNED) ? NULL : malloc(nbytes);
        if (*memory == NULL)
                return note(cudaErrorMemoryAllocation);
        memset(*memory, emulator::POISON, nbytes);
        add_pinned(*memory, nbytes);
        return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **memory, size_t nbytes, unsigned)
{
        return cudaMallocHost(memory, nbytes);
}

/* Waits for the device, as CUDA's does. */
cudaError_t cudaFreeHost(void *memory)
{
        emulator::finish_all();
        if (memory != NULL && !remove_pinned(memory))
                return note(cudaErrorInvalidValue);
        free(memory);
        return cudaSuccess;
}

cudaError_t cudaHostRegister(void *memory, size_t nbytes, unsigned)
{
        if (is_scarce(KC_SCARCITY_PINNED))
                return note(cudaErrorMemoryAllocation);
        add_pinned(memory, nbytes);
        return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *memory)
{
        return note(remove_pinned(memory) ? cudaSuccess : cudaErrorInvalidValue);
}

/* Whether all the bytes are in one of the ranges. */
static bool is_in(const std::map<uintptr_t, size_t> &ranges, const void *memory, size_t nbytes)
{
        uintptr_t begin = (uintptr_t)memory;
        auto found = ranges.upper_bound(begin);
        if (found == ranges.begin())
                return false;
        --found;
        size_t at = begin - found->first;
        return at < found->second && at + nbytes <= found->second;
}

static bool is_device(const void *memory, size_t nbytes)
{
        std::lock_guard<std::mutex> held(memory_of_device.lock);
        return is_in(memory_of_device.nbytes, memory, nbytes);
}

static bool is_pinned(const void *memory, size_t nbytes)
{
        std::lock_guard<std::mutex> held(pinned.lock);
        return is_in(pinned.nbytes, memory, nbytes);
}

/* Memory that is not pinned is read before this returns, and written as well. */
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t nbytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
        if (nbytes == 0)
                return cudaSuccess;
        if (is_device(to, nbytes) != (kind != cudaMemcpyDeviceToHost) ||
            is_device(from, nbytes) != (kind != cudaMemcpyHostToDevice))
                return note(cudaErrorInvalidValue);
        if (kind == cudaMemcpyHostToDevice && !is_pinned(from, nbytes)) {
                const char *bytes = (const char *)from;
                std::vector<char> copy(bytes, bytes + nbytes);
                emulator::enqueue(stream, [=] { memcpy(to, copy.data(), nbytes); });
        } else {
                emulator::enqueue(stream, [=] { memmove(to, from, nbytes); });
        }
        if (kind == cudaMemcpyDeviceToHost && !is_pinned(to, nbytes))
                emulator::finish(stream);
        return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t nbytes, cudaMemcpyKind kind)
{
        cudaError_t code = cudaMemcpyAsync(to, from, nbytes, kind, NULL);
        emulator::finish(NULL);
        return code;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t nbytes, cudaStream_t stream)
{
        if (nbytes == 0)
                return cudaSuccess;
        if (!is_device(memory, nbytes))
                return note(cudaErrorInvalidValue);
        emulator::enqueue(stream, [=] { memset(memory, value, nbytes); });
        return cudaSuccess;
}

cudaError_t cudaMemset(void *memory, int value, size_t nbytes)
{
        return cudaMemsetAsync(memory, value, nbytes, NULL);
}

/* ---- kernels ---- */

static bool is_valid(const struct emulator::config &c)
{
        return c.grid.x > 0 && c.grid.y > 0 && c.grid.y < 65536 && c.grid.z == 1 && c.block.x > 0 &&
               c.block.x <= emulator::MAX_THREADS && c.block.y == 1 && c.block.z == 1 &&
               c.shared_nbytes <= emulator::MAX_SHARED_NBYTES;
}

static void run(const struct emulator::config &config, const std::function<void()> &thread)
{
        void *shared = take(config.shared_nbytes);
        if (shared == NULL)
                emulator::fail("no memory for a block's shared memory");
        run_grid(config, (unsigned char *)shared, thread);
        give_back(shared, config.shared_nbytes);
        std::lock_guard<std::mutex> held(memory_of_device.lock);
        for (const auto &allocation : memory_of_device.nbytes)
                check_guards((const void *)allocation.first, allocation.second);
}

void emulator::launch_threads(const struct config &config, std::function<void()> thread)
{
        if (is_valid(config))
                enqueue(config.stream, [=] { run(config, thread); });
        else
                note(cudaErrorInvalidConfiguration);
}
