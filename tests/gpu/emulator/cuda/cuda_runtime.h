/*
 * The part of CUDA's runtime that gpu/ and its tests use, for the emulator (../emulator.h):
 * devices whose memory is the host's.
 */
#ifndef KC_EMULATED_CUDA_RUNTIME_H
#define KC_EMULATED_CUDA_RUNTIME_H

#include "tests/gpu/emulator/emulator.h"

#include <algorithm>

#define CUDART_VERSION 13000

#define __host__
#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) alignas(n)

#define KC_ATOMIC_STEP() emulator::let_others_continue()

/* ---- the host's side: ../runtime.cpp, ../devices.cpp, ../streams.cpp ---- */

enum cudaError_t {
        cudaSuccess = 0,
        cudaErrorInvalidValue = 1,
        cudaErrorMemoryAllocation = 2,
        cudaErrorInvalidConfiguration = 9,
        cudaErrorInsufficientDriver = 35,
        cudaErrorDevicesUnavailable = 46,
        cudaErrorInvalidDeviceFunction = 98,
        cudaErrorNoDevice = 100,
        cudaErrorInvalidDevice = 101,
        cudaErrorInvalidKernelImage = 200,
        cudaErrorNoKernelImageForDevice = 209,
        cudaErrorPeerAccessUnsupported = 217,
        cudaErrorInvalidPtx = 218,
        cudaErrorJitCompilerNotFound = 221,
        cudaErrorUnsupportedPtxVersion = 222,
        cudaErrorJitCompilationDisabled = 223,
        cudaErrorInvalidResourceHandle = 400,
        cudaErrorNotReady = 600,
        cudaErrorIllegalAddress = 700,
        cudaErrorPeerAccessAlreadyEnabled = 704,
        cudaErrorNotSupported = 801,
};

enum cudaMemcpyKind {
        cudaMemcpyHostToDevice = 1,
        cudaMemcpyDeviceToHost,
        cudaMemcpyDeviceToDevice,
};

typedef struct kc_emulated_event *cudaEvent_t;
typedef struct kc_emulated_pool *cudaMemPool_t;

namespace emulator
{
/* The answer to every query about a kernel: cudaSuccess, unless kc_emulator_kernels has set
 * another. */
cudaError_t kernel_state(void);
} // namespace emulator

const char *cudaGetErrorString(cudaError_t code);
cudaError_t cudaGetLastError(void); /* and clear it */

struct cudaDeviceProp {
        char name[256];
        int major, minor, multiProcessorCount;
        size_t totalGlobalMem;
};
enum cudaDeviceAttr {
        cudaDevAttrMultiProcessorCount,
        cudaDevAttrL2CacheSize,
        cudaDevAttrMaxSharedMemoryPerBlockOptin,
        cudaDevAttrCooperativeLaunch,
};
enum { cudaDeviceScheduleBlockingSync = 4, cudaInitDeviceFlagsAreValid = 1 };

cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaGetDeviceCount(int *n);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device);
enum cudaDeviceP2PAttr { cudaDevP2PAttrNativeAtomicSupported = 3 };
cudaError_t cudaDeviceGetP2PAttribute(int *value, cudaDeviceP2PAttr, int device, int peer);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);

enum { cudaStreamNonBlocking = 1, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2 };

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = NULL);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end);

enum cudaMemAllocationType { cudaMemAllocationTypePinned = 1 };
enum cudaMemLocationType { cudaMemLocationTypeDevice = 1 };
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold = 4 };
enum cudaMemAccessFlags { cudaMemAccessFlagsProtNone, cudaMemAccessFlagsProtReadWrite = 3 };
struct cudaMemLocation {
        cudaMemLocationType type;
        int id;
};
struct cudaMemPoolProps {
        cudaMemAllocationType allocType;
        struct cudaMemLocation location;
};
struct cudaMemAccessDesc {
        struct cudaMemLocation location;
        cudaMemAccessFlags flags;
};
enum { cudaHostAllocDefault, cudaHostRegisterDefault = 0, cudaHostRegisterPortable = 1 };

cudaError_t cudaMemGetInfo(size_t *free_nbytes, size_t *total_nbytes);
cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const cudaMemPoolProps *properties);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void *value);
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc *accesses, size_t n);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t nbytes);
cudaError_t cudaMallocFromPoolAsync(void **memory, size_t nbytes, cudaMemPool_t pool,
                                    cudaStream_t stream);
cudaError_t cudaFree(void *memory);
cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream);
cudaError_t cudaMallocHost(void **memory, size_t nbytes);
cudaError_t cudaHostAlloc(void **memory, size_t nbytes, unsigned flags);
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaHostRegister(void *memory, size_t nbytes, unsigned flags);
cudaError_t cudaHostUnregister(void *memory);
cudaError_t cudaMemcpy(void *to, const void *from, size_t nbytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t nbytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t nbytes, cudaStream_t stream);
cudaError_t cudaMemset(void *memory, int value, size_t nbytes);
cudaError_t cudaMemsetAsync(void *memory, int value, size_t nbytes, cudaStream_t stream);

namespace emulator
{
cudaError_t allocate(void **memory, size_t nbytes);
}

template <class T> cudaError_t cudaMalloc(T **memory, size_t nbytes)
{
        return emulator::allocate((void **)memory, nbytes);
}

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };

template <class Kernel> cudaError_t cudaFuncSetAttribute(Kernel *, cudaFuncAttribute, int value)
{
        const cudaError_t code = emulator::kernel_state();
        if (code != cudaSuccess)
                return code;
        return value <= emulator::MAX_SHARED_NBYTES ? cudaSuccess : cudaErrorInvalidValue;
}

template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, Kernel *, int, size_t)
{
        *n = 1;
        return cudaSuccess;
}

/* Blocks run one after the other, so they cannot wait for each other. */
template <class Kernel>
cudaError_t cudaLaunchCooperativeKernel(Kernel *, dim3, dim3, void **, size_t, cudaStream_t)
{
        return cudaErrorNotSupported;
}

/* ---- in kernels ---- */

using std::max;
using std::min;

struct alignas(16) uint4 {
        unsigned x, y, z, w;
};

static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
        return { x, y, z, w };
}

static inline void __syncthreads(KC_CALLER)
{
        (void)emulator::meet_block(false, KC_PLACE);
}

static inline int __syncthreads_or(int predicate, KC_CALLER)
{
        return emulator::meet_block(predicate != 0, KC_PLACE);
}

static inline void __syncwarp(unsigned mask = ~0u, KC_CALLER)
{
        (void)emulator::meet_warp(mask, 0, KC_PLACE);
}

static inline unsigned __ballot_sync(unsigned mask, int predicate, KC_CALLER)
{
        return emulator::meet_warp(mask, predicate != 0, KC_PLACE).nonzero;
}

static inline int __any_sync(unsigned mask, int predicate, KC_CALLER)
{
        return __ballot_sync(mask, predicate, file, line) != 0;
}

/* The lanes that passed the same value. */
template <class T> unsigned __match_any_sync(unsigned mask, T value, KC_CALLER)
{
        emulator::exchange exchange = emulator::meet_warp(mask, (uint64_t)value, KC_PLACE);
        unsigned same = 0;
        for (unsigned left = exchange.lanes; left != 0; left &= left - 1)
                if (exchange.values[__builtin_ctz(left)] == (uint64_t)value)
                        same |= left & (0 - left);
        return same;
}

static inline unsigned __reduce_add_sync(unsigned mask, unsigned value, KC_CALLER)
{
        emulator::exchange exchange = emulator::meet_warp(mask, value, KC_PLACE);
        unsigned sum = 0;
        for (unsigned left = exchange.lanes; left != 0; left &= left - 1)
                sum += (unsigned)exchange.values[__builtin_ctz(left)];
        return sum;
}

static inline unsigned __reduce_or_sync(unsigned mask, unsigned value, KC_CALLER)
{
        emulator::exchange exchange = emulator::meet_warp(mask, value, KC_PLACE);
        unsigned all = 0;
        for (unsigned left = exchange.lanes; left != 0; left &= left - 1)
                all |= (unsigned)exchange.values[__builtin_ctz(left)];
        return all;
}

static inline unsigned __reduce_max_sync(unsigned mask, unsigned value, KC_CALLER)
{
        emulator::exchange exchange = emulator::meet_warp(mask, value, KC_PLACE);
        unsigned most = 0;
        for (unsigned left = exchange.lanes; left != 0; left &= left - 1)
                most = max(most, (unsigned)exchange.values[__builtin_ctz(left)]);
        return most;
}

namespace emulator
{

/* The value of lane `lane`, or the caller's own if a warp has no such lane. */
template <class T> T take_from(unsigned mask, T value, int lane, const place &place)
{
        struct exchange exchange = meet_warp(mask, (uint64_t)value, place);
        if (lane < 0 || lane >= WARP)
                return value;
        if (!(exchange.lanes >> lane & 1))
                fail("in %s, %s:%d: lane %d is not there", place.function, place.file, place.line,
                     lane);
        return (T)exchange.values[lane];
}

} // namespace emulator

template <class T> T __shfl_sync(unsigned mask, T value, int lane, KC_CALLER)
{
        return emulator::take_from(mask, value, lane % emulator::WARP, KC_PLACE);
}

template <class T> T __shfl_up_sync(unsigned mask, T value, unsigned delta, KC_CALLER)
{
        return emulator::take_from(mask, value, (int)(threadIdx.x % emulator::WARP - delta),
                                   KC_PLACE);
}

template <class T> T __shfl_xor_sync(unsigned mask, T value, int bits, KC_CALLER)
{
        return emulator::take_from(mask, value, (int)(threadIdx.x % emulator::WARP) ^ bits,
                                   KC_PLACE);
}

static inline void __threadfence_block(void)
{
}

static inline void __threadfence(void)
{
}

static inline int __popc(unsigned x)
{
        return __builtin_popcount(x);
}

static inline int __clz(int x)
{
        return x != 0 ? __builtin_clz((unsigned)x) : 32;
}

static inline int __popcll(unsigned long long x)
{
        return __builtin_popcountll(x);
}

static inline int __ffsll(long long x)
{
        return __builtin_ffsll(x);
}

static inline int __ffs(int x)
{
        return __builtin_ffs(x);
}

static inline unsigned __brev(unsigned x)
{
        unsigned reversed = 0;
        for (int i = 0; i < 32; i++, x >>= 1)
                reversed = reversed << 1 | (x & 1);
        return reversed;
}

static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
        return (unsigned)(((uint64_t)high << 32 | low) >> shift % 32);
}

/* Four bytes of high:low, each chosen by the lowest three bits of a hexadecimal digit. */
static inline unsigned __byte_perm(unsigned low, unsigned high, unsigned digits)
{
        const uint64_t bytes = (uint64_t)high << 32 | low;
        unsigned result = 0;
        for (unsigned i = 0; i < 4; i++)
                result |= (unsigned)(bytes >> 8 * (digits >> 4 * i & 7) & 0xff) << 8 * i;
        return result;
}

/* c plus the sum of the products of the bytes of a and b. */
static inline unsigned __dp4a(unsigned a, unsigned b, unsigned c)
{
        for (unsigned i = 0; i < 32; i += 8)
                c += (a >> i & 0xff) * (b >> i & 0xff);
        return c;
}

template <class T> T __ldcs(const T *from)
{
        return *from;
}

template <class T> T __ldcg(const T *from)
{
        return *from;
}

template <class T> void __stcg(T *to, T value)
{
        *to = value;
}

template <class T> void __stcs(T *to, T value)
{
        *to = value;
}

/* For the types that devices support. */
#define KC_ATOMIC(name, T, result) \
        static inline T name(T *at, T value) \
        { \
                emulator::pass(); \
                T was = *at; \
                *at = result; \
                return was; \
        }
#define KC_ATOMIC_SWAP(T) \
        static inline T atomicCAS(T *at, T expected, T value) \
        { \
                emulator::pass(); \
                T was = *at; \
                *at = was == expected ? value : was; \
                return was; \
        }
#define KC_ATOMICS(T) \
        KC_ATOMIC(atomicAdd, T, was + value) \
        KC_ATOMIC(atomicAdd_system, T, was + value) \
        KC_ATOMIC(atomicMax, T, max(was, value)) \
        KC_ATOMIC(atomicAnd, T, was &value) \
        KC_ATOMIC(atomicOr, T, was | value) \
        KC_ATOMIC(atomicExch, T, value) \
        KC_ATOMIC_SWAP(T)
KC_ATOMICS(unsigned)
KC_ATOMICS(unsigned long long)
KC_ATOMIC_SWAP(unsigned __int128)
#undef KC_ATOMICS
#undef KC_ATOMIC_SWAP
#undef KC_ATOMIC

#endif
