/*
 * Timing a stage with CUDA events, and reporting it as one line of JSON.
 */
#ifndef KC_BENCH_STAGE_CUH
#define KC_BENCH_STAGE_CUH

#include "bench/gpu/workload.cuh"
#include "gpu/device/context.cuh"

enum { STAGE_MAX_REPEAT = 64 };

/* One run of the program: what all stages share. */
struct bench {
        struct kc_gpu gpu;
        char device_name[256];
        struct workload reads;
        int repeat; /* timed runs of a stage, after one to warm up */
        bool check;
        bool may_jit; /* run even if the driver compiles the kernels at the start */
        bool jit;     /* the driver does: the lines say so, and must not be kept */
        cudaEvent_t begin, end;
        double copy_rate; /* bytes per ms that a copy within the device reads and writes; 0: not
                             known yet */
};

struct stage {
        const char *name;
        const char *unit;  /* of n */
        const char *table; /* "" if irrelevant */
        int k;             /* 0 if irrelevant */
        uint64_t n;
        uint64_t nbytes; /* inputs read once, results written once: the least that must move; 0: not
                            reported */
        bool over_bus;   /* nbytes cross the bus: do not report a share of the memory bandwidth */
        int nruns;
        float ms[STAGE_MAX_REPEAT];
};

static inline struct stage stage_of(const char *name, const char *unit, int k, uint64_t n)
{
        struct stage stage = {};
        stage.name = name;
        stage.unit = unit;
        stage.table = "";
        stage.k = k;
        stage.n = n;
        return stage;
}

/*
 * Record the device's name. End the program with status 77 if there is no such device; with status
 * 3 if the build has no machine code for it, unless bench->may_jit.
 */
void bench_need_device(struct bench *bench, const char *program, int device);

/* Open the device. Call bench_close even on failure; a zeroed bench is fine. */
enum kc_status bench_open(struct bench *bench, int device, struct kc_gpu_set users,
                          struct kc_error *err);
void bench_close(struct bench *bench);

typedef enum kc_status (*stage_step)(struct bench *bench, void *ctx, struct kc_error *err);

/*
 * Time run(bench, ctx) from an event before its first work on bench->gpu.stream to one after its
 * last. prepare (may be NULL) is called before each run, untimed.
 */
enum kc_status stage_time(struct bench *bench, struct stage *stage, stage_step prepare,
                          stage_step run, void *ctx, struct kc_error *err);

/* The median of the runs. */
double stage_median_ms(const struct stage *stage);

/* One line on stdout. */
void stage_print(const struct bench *bench, const struct stage *stage);

#endif
