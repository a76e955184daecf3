/*
 * Looking up the k-mers of reads in a table of those of the genome, with the maps of
 * gpu/ask/map.cuh.
 */
#include "bench/gpu/stages.cuh"
#include "gpu/ask/frequencies.cuh"
#include "gpu/ask/map.cuh"
#include "gpu/maps/warpdrive/map.cuh"

#include <algorithm>
#include <cstdio>

enum { THREADS = 256, MAX_COUNT = 64 };

static const uint64_t SLICE = 1 << 26, /* k-mers of the table that are put at a time */
        MOST_ASKED = 1 << 28;
static const double LOADS[] = { 0.5, 2 / 3.0, 0.8, 0.9, 0.95 };
static const uint32_t GROUPS[] = { 2, 4, 8, 16 };

namespace
{

struct asking {
        struct bench *bench;
        int k;
        kc_key64 *put, *asked;       /* [SLICE], [nasked] k-mers */
        uint32_t *weights, *counts;  /* likewise */
        struct kc_ask_repeats *rest; /* [nasked] */
        uint64_t nasked;
        struct kc_ask_map<kc_key64> table;
        struct kc_ask_frequencies frequencies;
        struct kc_ask_tally tally;
        unsigned long long *nwrong; /* [2] device: counts that are wrong, k-mers that are absent */
        kc_wd_map<kc_wd_words> *map;
};

} // namespace

/* ---- k-mers and counts ---- */

KC_HD uint32_t count_of(kc_key64 kmer)
{
        return 1 + (uint32_t)(random_mix(kmer) % MAX_COUNT);
}

/* k-mers of the genome from position `first` on, and their counts. */
static __global__ void genome_kernel(struct workload w, int k, uint64_t first, uint64_t n,
                                     kc_key64 *kmers, uint32_t *counts)
{
        const uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
        kc_key64 packed = 0;
        if (i >= n)
                return;
        for (int j = 0; j < k; j++)
                packed |= (kc_key64)workload_genome(&w, first + i + (uint64_t)j) << 2 * j;
        kmers[i] = kc_key_from_packed(packed, k, false);
        counts[i] = count_of(kmers[i]);
}

/* Every second k-mer becomes another one, which the table does not have. */
static __global__ void foreign_kernel(kc_key64 *kmers, uint64_t n, int k)
{
        const uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
        if (i < n && i % 2 != 0)
                kmers[i] = random_mix(kmers[i]) & kc_key_mask<kc_key64>(k);
}

static __global__ void check_kernel(const kc_key64 *kmers, const uint32_t *counts, uint64_t n,
                                    unsigned long long *nwrong, unsigned long long *nabsent)
{
        const uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
        if (i < n && counts[i] == 0)
                atomicAdd(nabsent, 1ULL);
        else if (i < n && counts[i] != count_of(kmers[i]))
                atomicAdd(nwrong, 1ULL);
}

/* Pass the genome's k-mers and their counts, a slice at a time, to put(kmers, counts, n). */
template <class Put>
static enum kc_status put_all(struct asking *a, const Put &put, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const struct workload *w = &a->bench->reads;
        const uint64_t all = w->genome_nbases - (uint64_t)a->k + 1;
        for (uint64_t first = 0; first < all; first += SLICE) {
                const uint64_t n = std::min(SLICE, all - first);
                genome_kernel<<<kc_ceil_div(n, THREADS), THREADS, 0, a->bench->gpu.stream>>>(
                        *w, a->k, first, n, a->put, a->weights);
                KC_TRY(KC_LAUNCHED());
                KC_TRY(put(a->put, a->weights, n));
        }
        KC_TRY(KC_CUDA(cudaStreamSynchronize(a->bench->gpu.stream)));
out:
        return status;
}

static enum kc_status make_asked(struct asking *a, const struct kc_gpu_reads *reads, bool foreign,
                                 struct kc_error *err)
{
        struct kc_gpu *gpu = &a->bench->gpu;
        const enum kc_status status = workload_kmers<kc_key64>(gpu, &a->bench->reads, reads, a->k,
                                                               a->nasked, a->asked, err);
        if (status != KC_OK || !foreign)
                return status;
        foreign_kernel<<<kc_ceil_div(a->nasked, THREADS), THREADS, 0, gpu->stream>>>(
                a->asked, a->nasked, a->k);
        return KC_LAUNCHED();
}

/* ---- stages ---- */

static enum kc_status look_up(struct bench *bench, void *ctx, struct kc_error *err)
{
        struct asking *a = (struct asking *)ctx;
        if (a->map != NULL)
                return kc_wd_find(a->map, a->asked, a->counts, a->nasked, err);
        return kc_ask_map_find(&a->table, bench->gpu.stream, (const kc_key64 *)a->asked, a->counts,
                               a->nasked, err);
}

static enum kc_status add_counts(struct bench *, void *ctx, struct kc_error *err)
{
        struct asking *a = (struct asking *)ctx;
        return kc_ask_frequencies_add(&a->frequencies, a->counts, a->nasked, a->rest, &a->tally,
                                      err);
}

static enum kc_status time_asked(struct asking *a, const char *name, const char *table,
                                 stage_step step, struct kc_error *err)
{
        struct stage stage = stage_of(name, "k-mers", a->k, a->nasked);
        stage.table = table;
        const enum kc_status status = stage_time(a->bench, &stage, NULL, step, a, err);
        if (status == KC_OK)
                stage_print(a->bench, &stage);
        return status;
}

/* Check that all counts found are right, and that not too many k-mers are absent. */
static enum kc_status check_counts(struct asking *a, const char *table, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = &a->bench->gpu;
        unsigned long long found[2];
        KC_TRY(KC_CUDA(cudaMemsetAsync(a->nwrong, 0, sizeof found, gpu->stream)));
        check_kernel<<<kc_ceil_div(a->nasked, THREADS), THREADS, 0, gpu->stream>>>(
                a->asked, a->counts, a->nasked, a->nwrong, a->nwrong + 1);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(kc_gpu_read(gpu, found, a->nwrong, 2, err));
        if (found[0] != 0 || found[1] > a->nasked * 2 / 3)
                status = kc_fail(err, KC_EDEVICE, "%s: %llu wrong counts, %llu k-mers absent",
                                 table, found[0], found[1]);
out:
        return status;
}

/* Look up in the open table first the k-mers of the reads, then these with half of them foreign. */
static enum kc_status ask_both(struct asking *a, const struct kc_gpu_reads *reads, const char *name,
                               const char *table, struct kc_error *err)
{
        enum kc_status status;
        char half[96];
        snprintf(half, sizeof half, "%s, half foreign", name);
        for (bool foreign : { false, true }) {
                KC_TRY(make_asked(a, reads, foreign, err));
                KC_TRY(time_asked(a, foreign ? half : name, table, look_up, err));
                if (a->bench->check)
                        KC_TRY(check_counts(a, table, err));
        }
out:
        return status;
}

static enum kc_status ask_map(struct asking *a, const struct kc_gpu_reads *reads,
                              enum kc_gpu_map map, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_ask_map_options options = { map, a->k, a->bench->reads.genome_nbases,
                                                    SLICE };
        KC_TRY(kc_ask_map_open(&a->table, &a->bench->gpu, &options, err));
        KC_TRY(put_all(
                a,
                [&](kc_key64 *kmers, uint32_t *counts, uint64_t n) {
                        return kc_ask_map_put(&a->table, kmers, counts, n, err);
                },
                err));
        KC_TRY(ask_both(a, reads, "look up", kc_gpu_map_name(map), err));
out:
        kc_ask_map_close(&a->table);
        return status;
}

/* WarpDrive with this load and slots in a window. */
static enum kc_status ask_loaded(struct asking *a, const struct kc_gpu_reads *reads, double load,
                                 uint32_t group, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = &a->bench->gpu;
        struct kc_wd_options options = {};
        char name[64];
        options.capacity = (uint64_t)((double)a->bench->reads.genome_nbases / load);
        options.group = group;
        options.key_bits = 2 * a->k;
        KC_TRY(kc_wd_new(&a->map, gpu, &options, gpu->stream, err));
        KC_TRY(put_all(
                a,
                [&](kc_key64 *kmers, uint32_t *counts, uint64_t n) {
                        return kc_wd_put(a->map, kmers, counts, n, KC_WD_ADD, NULL, err);
                },
                err));
        snprintf(name, sizeof name, "look up, load %.2f, group %u", load, group);
        KC_TRY(ask_both(a, reads, name, kc_gpu_map_name(KC_GPU_MAP_WARPDRIVE), err));
out:
        kc_wd_free(a->map);
        a->map = NULL;
        return status;
}

/* A map that cannot hold so many k-mers, or does not fit on the device, has no lines. */
static enum kc_status unless_impossible(enum kc_status status, struct kc_error *err)
{
        if (status != KC_EUSAGE && status != KC_ENOMEM)
                return status;
        *err = {};
        return KC_OK;
}

static enum kc_status ask_all(struct asking *a, const struct kc_gpu_reads *reads,
                              struct kc_error *err)
{
        enum kc_status status;
        for (int map = 0; map < KC_GPU_NMAPS; map++)
                KC_TRY(unless_impossible(ask_map(a, reads, (enum kc_gpu_map)map, err), err));
        KC_TRY(time_asked(a, "add counts", "", add_counts, err));
        for (double load : LOADS)
                for (uint32_t group : GROUPS)
                        KC_TRY(unless_impossible(ask_loaded(a, reads, load, group, err), err));
out:
        return status;
}

/* ---- all ---- */

static enum kc_status take_memory(struct asking *a, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = &a->bench->gpu;
        KC_TRY(kc_gpu_new(gpu, &a->put, SLICE, err));
        KC_TRY(kc_gpu_new(gpu, &a->weights, SLICE, err));
        KC_TRY(kc_gpu_new(gpu, &a->asked, a->nasked, err));
        KC_TRY(kc_gpu_new(gpu, &a->counts, a->nasked, err));
        KC_TRY(kc_gpu_new(gpu, &a->rest, a->nasked, err));
        KC_TRY(kc_gpu_new(gpu, &a->nwrong, 2, err));
        KC_TRY(kc_ask_frequencies_open(&a->frequencies, gpu, KC_ASK_USUAL_SLOTS, err));
out:
        return status;
}

static void free_memory(struct asking *a)
{
        struct kc_gpu *gpu = &a->bench->gpu;
        kc_ask_frequencies_close(&a->frequencies);
        kc_gpu_delete(gpu, a->nwrong, 2);
        kc_gpu_delete(gpu, a->rest, a->nasked);
        kc_gpu_delete(gpu, a->counts, a->nasked);
        kc_gpu_delete(gpu, a->asked, a->nasked);
        kc_gpu_delete(gpu, a->weights, SLICE);
        kc_gpu_delete(gpu, a->put, SLICE);
}

static enum kc_status forget(void *, uint32_t, uint64_t, struct kc_error *)
{
        return KC_OK;
}

enum kc_status bench_asking(struct bench *bench, int k, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_reads reads = {};
        struct asking a = {};
        a.bench = bench;
        a.k = k;
        a.tally.put = forget;
        KC_TRY(workload_new(&bench->gpu, &bench->reads, k, &reads, err));
        a.nasked = std::min((uint64_t)reads.nkmers, MOST_ASKED);
        KC_TRY(take_memory(&a, err));
        KC_TRY(ask_all(&a, &reads, err));
out:
        free_memory(&a);
        workload_free(&bench->gpu, &reads);
        return status;
}
