/*
 * CUDA's runtime for devices whose memory is the host's: errors, memory, copies and launches.
 */
#include "blocks.h"
#include "devices.h"
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
#include <set>
#include <vector>

using emulator::give_back;
using emulator::MAX_DEVICES;
using emulator::note;
using emulator::take;

static const size_t USUAL_NBYTES = (size_t)3 << 30;

/* ---- errors ---- */

static thread_local cudaError_t last_error;

cudaError_t emulator::note(cudaError_t code)
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
                { cudaErrorNoKernelImageForDevice,
                  "no kernel image is available for execution on the device" },
                { cudaErrorIllegalAddress, "an illegal memory access was encountered" },
                { cudaErrorPeerAccessUnsupported,
                  "peer access is not supported between these two devices" },
                { cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled" },
                { cudaErrorInvalidResourceHandle, "invalid resource handle" },
        };
        auto found = words.find(code);
        return found == words.end() ? "unknown error" : found->second;
}

/* ---- memory ---- */

/* Memory of the host, or of a device. */
struct range {
        size_t nbytes;
        int device;
        std::shared_ptr<std::set<int>> users; /* devices with access to the pool; NULL: no pool */
};

/* By address. */
typedef std::map<uintptr_t, struct range> range_map;

static struct {
        range_map allocations;
        /* Per device; taken: by other processes; total: 0 means as usual. */
        size_t used_nbytes[MAX_DEVICES], taken_nbytes[MAX_DEVICES], total_nbytes[MAX_DEVICES];
        std::mutex lock;
} memory_of_devices;

size_t emulator::total_of(int device)
{
        size_t nbytes = memory_of_devices.total_nbytes[device];
        return nbytes != 0 ? nbytes : USUAL_NBYTES;
}

static size_t free_of_device(int device)
{
        return emulator::total_of(device) - memory_of_devices.used_nbytes[device] -
               memory_of_devices.taken_nbytes[device];
}

/* The range that has all the bytes, or NULL. */
static const struct range *find_range(const range_map &ranges, const void *memory, size_t nbytes)
{
        uintptr_t begin = (uintptr_t)memory;
        auto found = ranges.upper_bound(begin);
        if (found == ranges.begin())
                return NULL;
        --found;
        size_t at = begin - found->first;
        return at < found->second.nbytes && at + nbytes <= found->second.nbytes ? &found->second
                                                                                : NULL;
}

static bool may_access(int device, const struct range &range)
{
        return device == range.device ||
               (range.users != NULL ? range.users->count(device) != 0
                                    : emulator::is_peer_enabled(device, range.device));
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
        memset(memory_of_devices.taken_nbytes, 0, sizeof memory_of_devices.taken_nbytes);
}

void kc_emulator_total(size_t nbytes)
{
        for (int i = 0; i < MAX_DEVICES; i++)
                kc_emulator_total_of(i, nbytes);
}

void kc_emulator_total_of(int device, size_t nbytes)
{
        memory_of_devices.total_nbytes[device] = nbytes;
}

int kc_emulator_was_scarce(void)
{
        return scarcity.met;
}

size_t kc_emulator_device_nbytes(void)
{
        size_t sum = 0;
        for (size_t nbytes : memory_of_devices.used_nbytes)
                sum += nbytes;
        return sum;
}

/* Call at an allocation or a copy: whether this kind of scarcity affects it. */
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
        int device;
        bool has_allocated;
        std::shared_ptr<std::set<int>> users;
};

cudaError_t cudaMemGetInfo(size_t *free_nbytes, size_t *total_nbytes)
{
        const int device = emulator::current_device();
        std::lock_guard<std::mutex> held(memory_of_devices.lock);
        *free_nbytes = free_of_device(device);
        *total_nbytes = emulator::total_of(device);
        return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const cudaMemPoolProps *properties)
{
        const int device = properties->location.id;
        *pool = NULL;
        if (device < 0 || device >= emulator::count_devices())
                return note(cudaErrorInvalidDevice);
        *pool = new kc_emulated_pool{ device, false, std::make_shared<std::set<int>>() };
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

/* A real device accepts this even if the pool has memory, but then a copy engine of a peer that is
 * using the pool can fault. So the emulator refuses it. */
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc *accesses, size_t n)
{
        std::lock_guard<std::mutex> held(memory_of_devices.lock);
        for (size_t i = 0; i < n; i++) {
                const int device = accesses[i].location.id;
                if (device < 0 || device >= emulator::count_devices() ||
                    !emulator::can_access(device, pool->device))
                        return note(cudaErrorInvalidDevice);
                if (pool->has_allocated)
                        return note(cudaErrorIllegalAddress);
                if (accesses[i].flags == cudaMemAccessFlagsProtReadWrite)
                        pool->users->insert(device);
                else
                        pool->users->erase(device);
        }
        return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t)
{
        return cudaSuccess;
}

/* Like the driver, wait for memory that is still to be freed. */
static bool make_room(int device, size_t nbytes)
{
        for (int finished = 0; finished < 2; finished++) {
                std::unique_lock<std::mutex> held(memory_of_devices.lock);
                if (nbytes <= free_of_device(device))
                        return true;
                held.unlock();
                emulator::finish_all();
        }
        return false;
}

/* The memory belongs to the caller from this point on in the stream's order: until then, work of
 * the stream may still use it for something else. So it is poisoned in stream order. */
static cudaError_t allocate(void **memory, const struct range &range, cudaStream_t stream)
{
        const size_t nbytes = range.nbytes;
        size_t *taken_nbytes = &memory_of_devices.taken_nbytes[range.device];
        bool is_poisoned;
        *memory = NULL;
        if (nbytes == 0)
                return cudaSuccess;
        if (is_scarce(KC_SCARCITY_TAKEN) && *taken_nbytes == 0) {
                emulator::finish_all(); /* what has been released is free, whatever the timing */
                *taken_nbytes = free_of_device(range.device);
        }
        if (is_scarce(KC_SCARCITY_DEVICE) || !make_room(range.device, nbytes) ||
            (*memory = take(nbytes, &is_poisoned)) == NULL)
                return note(cudaErrorMemoryAllocation);
        std::unique_lock<std::mutex> held(memory_of_devices.lock);
        memory_of_devices.allocations[(uintptr_t)*memory] = range;
        memory_of_devices.used_nbytes[range.device] += nbytes;
        held.unlock();
        void *taken = *memory;
        if (!is_poisoned)
                emulator::enqueue(stream, [=] { memset(taken, emulator::POISON, nbytes); });
        return cudaSuccess;
}

cudaError_t cudaMallocFromPoolAsync(void **memory, size_t nbytes, cudaMemPool_t pool,
                                    cudaStream_t stream)
{
        pool->has_allocated = true;
        return allocate(memory, { nbytes, pool->device, pool->users }, stream);
}

cudaError_t emulator::allocate(void **memory, size_t nbytes)
{
        cudaError_t code = ::allocate(memory, { nbytes, current_device(), NULL }, NULL);
        finish(NULL);
        return code;
}

static void free_on_device(void *memory)
{
        std::lock_guard<std::mutex> held(memory_of_devices.lock);
        auto found = memory_of_devices.allocations.find((uintptr_t)memory);
        if (found == memory_of_devices.allocations.end())
                emulator::fail("what is to be freed is not, or no longer, of the device");
        size_t nbytes = found->second.nbytes;
        memory_of_devices.used_nbytes[found->second.device] -= nbytes;
        memory_of_devices.allocations.erase(found);
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
        range_map ranges;
        std::mutex lock;
} pinned;

static void add_pinned(const void *memory, size_t nbytes)
{
        std::lock_guard<std::mutex> held(pinned.lock);
        pinned.ranges[(uintptr_t)memory] = { nbytes, -1, NULL };
}

/* False if it is not pinned. */
static bool remove_pinned(const void *memory, size_t *nbytes)
{
        std::lock_guard<std::mutex> held(pinned.lock);
        auto found = pinned.ranges.find((uintptr_t)memory);
        if (found == pinned.ranges.end())
                return false;
        *nbytes = found->second.nbytes;
        pinned.ranges.erase(found);
        return true;
}

long kc_emulator_npinned(void)
{
        std::lock_guard<std::mutex> held(pinned.lock);
        return (long)pinned.ranges.size();
}

cudaError_t cudaMallocHost(void **memory, size_t nbytes)
{
        bool is_poisoned;
        *memory = is_scarce(KC_SCARCITY_PINNED) ? NULL : take(nbytes, &is_poisoned);
        if (*memory == NULL)
                return note(cudaErrorMemoryAllocation);
        if (!is_poisoned)
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
        size_t nbytes;
        emulator::finish_all();
        if (memory == NULL)
                return cudaSuccess;
        if (!remove_pinned(memory, &nbytes))
                return note(cudaErrorInvalidValue);
        give_back(memory, nbytes);
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
        size_t nbytes;
        return note(remove_pinned(memory, &nbytes) ? cudaSuccess : cudaErrorInvalidValue);
}

static bool is_pinned(const void *memory, size_t nbytes)
{
        std::lock_guard<std::mutex> held(pinned.lock);
        return find_range(pinned.ranges, memory, nbytes) != NULL;
}

enum place_of_memory { ON_HOST, ACCESSIBLE, INACCESSIBLE };

/* Where memory is, as a device sees it. */
static enum place_of_memory place_of(int device, const void *memory, size_t nbytes)
{
        std::lock_guard<std::mutex> held(memory_of_devices.lock);
        const struct range *range = find_range(memory_of_devices.allocations, memory, nbytes);
        return range == NULL ? ON_HOST : may_access(device, *range) ? ACCESSIBLE : INACCESSIBLE;
}

/* Memory that is not pinned is read before this returns, and written as well. Both the stream's
 * device and the thread's current one need access, as two H200 have shown. */
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t nbytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
        if (nbytes == 0)
                return cudaSuccess;
        for (int device : { emulator::device_of(stream), emulator::current_device() })
                if (place_of(device, to, nbytes) !=
                            (kind != cudaMemcpyDeviceToHost ? ACCESSIBLE : ON_HOST) ||
                    place_of(device, from, nbytes) !=
                            (kind != cudaMemcpyHostToDevice ? ACCESSIBLE : ON_HOST))
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

static bool is_memory_of(int device, const void *memory, size_t nbytes)
{
        std::lock_guard<std::mutex> held(memory_of_devices.lock);
        const struct range *range = find_range(memory_of_devices.allocations, memory, nbytes);
        return range != NULL && range->device == device;
}

/* Memory of pools must be accessible, as it must be with CUDA. */
cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t nbytes, cudaStream_t stream)
{
        const int device = emulator::device_of(stream);
        if (nbytes == 0)
                return cudaSuccess;
        if (is_scarce(KC_SCARCITY_LINKS) || !is_memory_of(to_device, to, nbytes) ||
            !is_memory_of(from_device, from, nbytes) ||
            place_of(device, to, nbytes) != ACCESSIBLE ||
            place_of(device, from, nbytes) != ACCESSIBLE)
                return note(cudaErrorInvalidValue);
        emulator::enqueue(stream, [=] { memmove(to, from, nbytes); });
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
        if (place_of(emulator::device_of(stream), memory, nbytes) != ACCESSIBLE)
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
        bool is_poisoned; /* run_grid does that for each block */
        void *shared = take(config.shared_nbytes, &is_poisoned);
        if (shared == NULL)
                emulator::fail("no memory for a block's shared memory");
        run_grid(config, (unsigned char *)shared, thread);
        give_back(shared, config.shared_nbytes);
        std::lock_guard<std::mutex> held(memory_of_devices.lock);
        for (const auto &allocation : memory_of_devices.allocations)
                emulator::check_surroundings((const void *)allocation.first,
                                             allocation.second.nbytes);
}

void emulator::check_words(const struct config &config, const void *argument, size_t nbytes)
{
        const int device = device_of(config.stream);
        for (size_t i = 0; count_devices() > 1 && i + sizeof(void *) <= nbytes;
             i += sizeof(void *)) {
                void *address;
                memcpy(&address, (const char *)argument + i, sizeof address);
                if (place_of(device, address, 1) == INACCESSIBLE)
                        fail("kernel %s of device %d is given an address of another device, %p, "
                             "that it cannot access, in byte %zu of %zu of an argument",
                             config.kernel, device, address, i, nbytes);
        }
}

void emulator::launch_threads(const struct config &config, std::function<void()> thread)
{
        if (!is_valid(config))
                note(cudaErrorInvalidConfiguration);
        else if (device_of(config.stream) != current_device())
                note(cudaErrorInvalidResourceHandle);
        else
                enqueue(config.stream, [=] { run(config, thread); });
}
