/*
 * What the benchmarks of several devices share: members; timing by the wall clock, because an event
 * belongs to one device only; and the line of JSON that reports a measurement.
 */
#ifndef KC_BENCH_MULTI_CUH
#define KC_BENCH_MULTI_CUH

#include "bench/tables/tables.cuh"
#include "gpu/links/links.cuh"

#include <vector>

enum { KC_BENCH_MULTI_SIZES = 16 };

/* One run of the program. */
struct multi_bench {
        struct bench base; /* base.device_name; base.repeat timed runs */
        int shift;         /* sizes are divided by 2^shift */
        int devices[KC_GPU_MAX_DEVICES], ndevices;
        int sizes[KC_BENCH_MULTI_SIZES], nsizes; /* 2^this keys; none: each part's own */
        uint64_t most_pinned_nbytes;             /* of host memory for keys and answers */
        bool failed; /* a result was wrong; the program ends with status 1 */
};

/* How the time of a run divides, in the order of the stages. */
struct multi_stages {
        const char *const *names;
        double *seconds; /* the runs add to these */
        int n;
};

/* A measurement; fields that are 0 or NULL are not reported. */
struct multi_row {
        const char *part;      /* of the program */
        const char *what;      /* "exchange", "insert" */
        const char *way;       /* how data gets to other members */
        const char *keys;      /* the distribution */
        const char *combining; /* whether equal keys are combined */
        const char *unit;      /* of n */
        uint64_t n;            /* of all members */
        int in_flight;         /* batches of keys on the host */
        uint64_t *nsent;       /* keys handed to owners; the runs add to this */
        struct multi_stages stages;
};

/* The sizes of a part: those that the options give, or its own. */
std::vector<int> multi_sizes(const struct multi_bench *b, std::vector<int> own);

/* 2^log2, scaled down as the options say, but at least 2^12. */
uint64_t multi_scaled(const struct multi_bench *b, int log2);

typedef enum kc_status (*multi_step)(void *ctx, struct kc_error *err);

/* Open members on the first n devices. */
enum kc_status multi_open(const struct multi_bench *b, struct kc_links *links, int n, bool staged,
                          struct kc_error *err);

/* Time run(ctx) with all devices idle before and after it, once to warm up and then b->base.repeat
 * times, and print the row. prepare (may be NULL) is called before each run, untimed. */
enum kc_status multi_time(struct multi_bench *b, const struct kc_links *links,
                          const struct multi_row *row, multi_step prepare, multi_step run,
                          void *ctx, struct kc_error *err);

/* Check a result: if it is wrong, report it on stderr and set b->failed. */
void multi_expect(struct multi_bench *b, const char *what, uint64_t got, uint64_t want);

/* After a measurement of n keys (or what unit says) that may need more memory than there is: if it
 * returned KC_ENOMEM, say on stderr that it is skipped, and return KC_OK. Otherwise return its
 * status and failure. */
enum kc_status multi_skip_if_large(enum kc_status status, const char *part, uint64_t n,
                                   const char *unit, const struct kc_error *failure,
                                   struct kc_error *err);

/* Copies from every member to every other, directly and through the host, of several sizes. */
enum kc_status multi_links(struct multi_bench *b, struct kc_error *err);

/* Figure 9: strong and weak scaling of the map from one member to all. */
enum kc_status multi_scaling(struct multi_bench *b, struct kc_error *err);

/* Figure 10, upper half: all members, three distributions of keys, 2^28 to 2^32 of them where there
 * is memory. With the skewed ones also without combining equal keys. */
enum kc_status multi_capacity(struct multi_bench *b, struct kc_error *err);

/* Figure 11: keys on the host, with 1, 2 and 4 batches in flight, on one member to all of them; the
 * stages are those of the figure. */
enum kc_status multi_host(struct multi_bench *b, struct kc_error *err);

/* Figure 10, lower half: like multi_capacity, with keys on the host and 2 batches in flight. */
enum kc_status multi_host_capacity(struct multi_bench *b, struct kc_error *err);

#endif
