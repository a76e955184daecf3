/*
 * The WarpDrive map over several members as it is measured: keys of 64 bits and values of 32, at a
 * load of 0.95. The paper has keys and values of 32 bits on P100s; its text says 4 to 7e9
 * insertions and 6 to 9e9 retrievals per second on four of them, and from the host 2.5 to 2.7e9 and
 * 2e9.
 */
#ifndef KC_BENCH_MULTI_MAP_CUH
#define KC_BENCH_MULTI_MAP_CUH

#include "bench/multi/multi.cuh"
#include "gpu/maps/warpdrive/cascade.cuh"

typedef kc_wd_apart64 multi_layout;
typedef multi_layout::key multi_key;

struct multi_map {
        struct kc_links links;
        kc_wd_several<multi_layout> *several;
};

/* The keys of a measurement, of all members together. */
struct multi_keys {
        uint64_t n;
        enum tables_kind kind;
        const char *distribution;
};

/* Names of the stages; only keys on the host have the last two. */
extern const char *const MULTI_STAGES[KC_WD_NSTAGES];
enum { MULTI_NDEVICE_STAGES = KC_WD_UPLOAD };

/* Names of the transpositions. */
extern const char *const MULTI_WAYS[3];

/* The distributions of figure 10; n is still to be set. */
extern const struct multi_keys MULTI_DISTRIBUTIONS[3];

/*
 * Open the first nmembers devices, and make an empty map for n keys.
 *   group  slots of a window; 1 for work in bulk
 * Call multi_map_close even if this fails; a zeroed map is fine.
 */
enum kc_status multi_map_open(const struct multi_bench *b, struct multi_map *map, int nmembers,
                              enum kc_wd_transposition transposition, uint64_t n, uint32_t group,
                              struct kc_error *err);
void multi_map_close(struct multi_map *map);

enum kc_status multi_map_clear(struct multi_map *map, struct kc_error *err);

/* `first` to first + n of the keys: drawn from as many keys as there are in all, with the paper's
 * s = 1 + 1e-6 for Zipf. */
struct tables_draw multi_draw(const struct multi_keys *keys, uint64_t first);

#endif
