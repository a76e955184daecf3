/*
 * The full SlabAlloc: slabs of 128 bytes for all warps of a device, taken and given back in
 * kernels.
 *
 *   super block   = memory blocks, then their bitmaps   one piece of device memory, 2 GiB at most
 *   memory block  = 1024 slabs                          a bitmap of 32 words, 32 slabs each
 *   address       = super block | memory block | slab   8 | 14 | 10 bits; 0 is no address
 *
 * A warp takes slabs from its resident memory block: lane i holds word i of the bitmap in a
 * register, and a slab costs one atomic on that word in memory. If the block is full, the warp
 * moves to another one, found by hashing its number and the number of its moves so far. After too
 * many changes it gives up, and the host adds super blocks between two kernels.
 *
 * All bytes of free slabs are zero, and a slab must be zeroed before it is given back. A structure
 * in which zero means empty can thus link a slab without writing or fencing first.
 *
 * Two memory layouts:
 * - regular: a piece for each super block. A kernel finds them by a table, which each thread block
 *   copies to its shared memory;
 * - light: one piece for all, found by its start. To grow, it is copied to a larger one.
 *
 * gpu/tables/slab_alloc.cuh is the allocator of the counting slab hash: the same bitmaps and
 * addresses on a small scale, for one thread block, in its shared memory, cleared for every bin. It
 * defines slabs for both.
 *
 * Source: Ashkiani et al., A Dynamic Hash Table for the GPU (2018), section V. There, slabs are
 * taken by compare-and-swap, always the lowest first. Here an atomic OR takes them, starting at a
 * lane that depends on the warp: no attempt fails because of another slab's bit, and warps in the
 * same block interfere less. Lanes that need slabs at the same time are served together.
 */
#ifndef KC_GPU_MAPS_SLAB_POOL_CUH
#define KC_GPU_MAPS_SLAB_POOL_CUH

#include "gpu/device/context.cuh"
#include "gpu/tables/slab_alloc.cuh"

enum : uint32_t {
        KC_SLAB_POOL_MAX_SUPERS = 256,
        KC_SLAB_POOL_MAX_BLOCKS = 1 << 14, /* of a super block */
};

struct kc_slab_pool_params {
        uint32_t nblocks;     /* memory blocks of a super block; 0: 256, which is 32 MiB */
        uint32_t nsupers;     /* initial super blocks; 0: 1 */
        uint32_t max_supers;  /* limit of growth; 0: KC_SLAB_POOL_MAX_SUPERS */
        uint32_t max_changes; /* of memory block per slab, while the pool may grow; 0: 32 */
        bool light;
};

struct kc_slab_pool {
        struct kc_gpu_stream on;
        struct kc_slab_pool_params params; /* with the zeros filled in */
        uint32_t nsupers;
        uint32_t nlaunches; /* to be increased before a launch that takes slabs: then warps start
                               elsewhere in each */
        char *supers[KC_SLAB_POOL_MAX_SUPERS]; /* light: only the first, for all of them */
        char **table;                          /* device [KC_SLAB_POOL_MAX_SUPERS]: the same */
        uint32_t *news; /* pinned: not 0 after a kernel that has something to report */
};

/*
 * Make a pool. KC_EUSAGE for params out of range; KC_ENOMEM, KC_EDEVICE. Free it even if that
 * fails; freeing a zeroed pool does nothing.
 */
enum kc_status kc_slab_pool_init(struct kc_slab_pool *pool, struct kc_gpu_stream on,
                                 const struct kc_slab_pool_params *params, struct kc_error *err);
void kc_slab_pool_free(struct kc_slab_pool *pool);

/* Free and zero all slabs, in order of on.stream. The super blocks stay. */
enum kc_status kc_slab_pool_clear(struct kc_slab_pool *pool, struct kc_error *err);

/*
 * Double the super blocks, or add as many as max_supers and memory allow; addresses stay valid.
 * KC_ENOMEM if max_supers is reached or the device has no memory for even one; the pool is then
 * unchanged.
 */
enum kc_status kc_slab_pool_grow(struct kc_slab_pool *pool, struct kc_error *err);

/* Slabs in use, without that of address 0. Waits for on.stream. */
enum kc_status kc_slab_pool_nused(const struct kc_slab_pool *pool, uint64_t *nused,
                                  struct kc_error *err);

/*
 * Take n slabs, one per thread; the pool grows if it must.
 *   addresses   out [n] device
 *   at_a_time   lanes of a warp served at once: 1 (as in the paper, where a warp inserts one by
 *               one) to 32
 * Waits for on.stream. KC_ENOMEM: the addresses of missing slabs are 0.
 */
enum kc_status kc_slab_pool_take(struct kc_slab_pool *pool, uint32_t *addresses, size_t n,
                                 int at_a_time, struct kc_error *err);

/* Give back slabs, which must be zeroed; addresses [n] device; zero addresses are skipped. In order
 * of on.stream. */
enum kc_status kc_slab_pool_give(struct kc_slab_pool *pool, const uint32_t *addresses, size_t n,
                                 struct kc_error *err);

/* ---- arithmetic */

KC_HD size_t kc_slab_super_nbytes(uint32_t nblocks)
{
        return (size_t)nblocks * (KC_SLAB_BLOCK_NSLABS + 1) * KC_SLAB_NBYTES;
}

/* Bytes from the start of a super block to the bitmap of one of its memory blocks. */
KC_HD size_t kc_slab_bitmap_offset(uint32_t nblocks, uint32_t block)
{
        return ((size_t)nblocks * KC_SLAB_BLOCK_NSLABS + block) * KC_SLAB_NBYTES;
}

KC_HD uint32_t kc_slab_pool_address(uint32_t super, uint32_t block, uint32_t unit)
{
        return super << 24 | kc_slab_address(block, unit);
}

/* The address without its super block: the slab's number in it. */
KC_HD uint32_t kc_slab_unit_of(uint32_t address)
{
        return address & 0xffffff;
}

/*
 * The memory block (of the ntotal of all super blocks) in which a warp is resident after nchanges
 * changes; super block and memory block depend on both numbers. Steps are primes greater than any
 * ntotal, so ntotal successive changes visit all of them.
 */
KC_HD uint32_t kc_slab_pool_resident(uint32_t warp, uint32_t launch, uint32_t nchanges,
                                     uint32_t ntotal)
{
        uint64_t hash = kc_key_hash((kc_key64)launch << 32 | (warp + 1));
        uint64_t step = hash >> 20 & 1 ? 1334357797 : 1871242831;
        return (uint32_t)(((hash >> 32) + nchanges * step) % ntotal);
}

/* The position of the set bit with n set bits below it, which must exist. */
KC_HD uint32_t kc_slab_nth_bit(uint32_t bits, uint32_t n)
{
        for (; n > 0; n--)
                bits &= bits - 1;
#ifdef __CUDA_ARCH__
        return (uint32_t)__ffs((int)bits) - 1;
#else
        return (uint32_t)__builtin_ctz(bits);
#endif
}

/* ---- in kernels */

struct kc_slab_pool_view {
        char *light;        /* the one piece, or NULL */
        char *const *table; /* device */
        uint32_t nsupers, nblocks;
        uint32_t launch;
        uint32_t max_changes;
};

/* For the launch number pool->nlaunches. */
struct kc_slab_pool_view kc_slab_pool_view_of(const struct kc_slab_pool *pool);

struct kc_slab_pool_shared {
        char *supers[KC_SLAB_POOL_MAX_SUPERS];
};

/* A thread's handle. */
struct kc_slab_pool_warp {
        struct kc_slab_pool_view view;
        struct kc_slab_pool_shared *shared;
        uint32_t nchanges;
        uint32_t *bitmap; /* the lane's word of the resident memory block's bitmap */
        uint32_t first;   /* the address that the word's lowest bit stands for */
        uint32_t word;    /* its contents, as last seen */

        /* By the whole block. */
        __device__ void begin(const struct kc_slab_pool_view &view,
                              struct kc_slab_pool_shared *shared)
        {
                this->view = view;
                this->shared = shared;
                nchanges = 0;
                bitmap = NULL; /* resident nowhere */
                first = 0;
                word = UINT32_MAX;
                if (view.light == NULL)
                        for (uint32_t i = threadIdx.x; i < view.nsupers; i += blockDim.x)
                                shared->supers[i] = view.table[i];
                __syncthreads();
        }

        __device__ char *slab(uint32_t address) const
        {
                return super(address >> 24) + (size_t)kc_slab_unit_of(address) * KC_SLAB_NBYTES;
        }

        /*
         * Returns the address of a zeroed slab to every lane that wants one, 0 if none was found.
         * Called by converged warps. Each round takes a slab, or finds that a bit believed free is
         * set, or changes the resident block; so the loops end.
         */
        __device__ uint32_t allocate(bool wanted)
        {
                uint32_t address = 0, waiting = __ballot_sync(KC_SLAB_ALL_LANES, wanted);
                if (waiting != 0 && (waiting & (waiting - 1)) == 0) {
                        address = allocate_one();
                        return wanted ? address : 0;
                }
                for (uint32_t changes = 0; waiting != 0;) {
                        uint32_t free_lanes = __ballot_sync(KC_SLAB_ALL_LANES, word != UINT32_MAX);
                        if (free_lanes == 0) {
                                if (changes++ == view.max_changes)
                                        break;
                                change_resident();
                                continue;
                        }
                        address |= serve(free_lanes, waiting);
                        waiting = __ballot_sync(KC_SLAB_ALL_LANES, wanted && address == 0);
                }
                return address;
        }

        /* The same for one slab, whose address all lanes get. */
        __device__ uint32_t allocate_one()
        {
                for (uint32_t changes = 0;;) {
                        uint32_t free_lanes = __ballot_sync(KC_SLAB_ALL_LANES, word != UINT32_MAX);
                        if (free_lanes != 0) {
                                uint32_t server = (uint32_t)__ffs((int)free_lanes) - 1;
                                uint32_t address = take(threadIdx.x % 32 == server);
                                address = __shfl_sync(KC_SLAB_ALL_LANES, address, (int)server);
                                if (address != 0)
                                        return address;
                        } else if (changes++ < view.max_changes) {
                                change_resident();
                        } else {
                                return 0;
                        }
                }
        }

        /* Give back a zeroed slab that nothing refers to any more. Called by any thread. */
        __device__ void deallocate(uint32_t address) const
        {
                atomicAnd(word_of(address), ~(1u << address % 32));
        }

      private:
        __device__ char *super(uint32_t number) const
        {
                return view.light != NULL ? view.light + number * kc_slab_super_nbytes(view.nblocks)
                                          : shared->supers[number];
        }

        /* The bitmap word with the slab's bit. */
        __device__ uint32_t *word_of(uint32_t address) const
        {
                uint32_t block = kc_slab_unit_of(address) / KC_SLAB_BLOCK_NSLABS;
                char *bitmap = super(address >> 24) + kc_slab_bitmap_offset(view.nblocks, block);
                return (uint32_t *)bitmap + address % KC_SLAB_BLOCK_NSLABS / 32;
        }

        static __device__ uint32_t warp_number()
        {
                return (blockIdx.x * blockDim.x + threadIdx.x) / 32;
        }

        /* Each warp starts with a different word of the bitmap, as slabs are taken from the lowest
         * lane that has any. */
        __device__ void change_resident()
        {
                uint32_t number = kc_slab_pool_resident(warp_number(), view.launch, nchanges++,
                                                        view.nsupers * view.nblocks);
                uint32_t own = (threadIdx.x + warp_number() * 11) % 32;
                first = kc_slab_pool_address(number / view.nblocks, number % view.nblocks,
                                             own * 32);
                bitmap = word_of(first);
                word = *(volatile uint32_t *)bitmap;
        }

        /* Serve as many waiting lanes as there are lanes with free slabs, one slab each; 0 if it
         * turned out to be taken. */
        __device__ uint32_t serve(uint32_t free_lanes, uint32_t waiting)
        {
                uint32_t lane = threadIdx.x % 32, below = (1u << lane) - 1;
                uint32_t rank = __popc(free_lanes & below), place = __popc(waiting & below);
                bool serves = word != UINT32_MAX && rank < (uint32_t)__popc(waiting);
                uint32_t address = take(serves);
                bool served = (waiting >> lane & 1) && place < (uint32_t)__popc(free_lanes);
                uint32_t server = served ? kc_slab_nth_bit(free_lanes, place) : 0;
                address = __shfl_sync(KC_SLAB_ALL_LANES, address, (int)server);
                return served ? address : 0;
        }

        /* Take the first slab that this lane believes free; 0 if another warp has it. The result is
         * only valid in lanes with `serves`: the others run along to avoid a branch. */
        __device__ uint32_t take(bool serves)
        {
                uint32_t number = kc_slab_first_free(word), bit = serves ? 1u << number : 0;
                uint32_t old = serves ? atomicOr(bitmap, bit) : 0;
                word |= old | bit;
                return (old & bit) != 0 ? 0 : first + number;
        }
};

#endif
