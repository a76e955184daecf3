/*
 * A timeline of what the engine does, for finding where it waits: intervals on a stream, between
 * two events, and intervals of the host's clock, all in milliseconds since the trace was opened.
 * A trace that was not asked for costs nothing. Threads may use one side by side.
 */
#ifndef KC_GPU_DEVICE_TRACE_CUH
#define KC_GPU_DEVICE_TRACE_CUH

#include "gpu/device/context.cuh"

#include <pthread.h>

struct kc_gpu_interval;

struct kc_gpu_trace {
        const char *path; /* NULL: nothing is kept */
        pthread_mutex_t lock;
        struct kc_gpu_interval *intervals;
        int n, cap;
        double start; /* host's clock */
        cudaEvent_t origin;
        double origin_ms; /* when it passed */
};

/* path is the caller's, NULL if no trace is wanted. A zeroed trace may be closed. */
void kc_gpu_trace_open(struct kc_gpu_trace *trace, const char *path);
void kc_gpu_trace_close(struct kc_gpu_trace *trace);

/* Call once the device is open: the device's clock is tied to the host's. */
enum kc_status kc_gpu_trace_attach(struct kc_gpu_trace *trace, struct kc_gpu *gpu,
                                   struct kc_error *err);

/*
 * An interval from the work enqueued next on stream to kc_gpu_trace_end, or, with stream = NULL, by
 * the host's clock.
 *   stage   a name; a literal
 *   number  of the batch or part
 * Returns what kc_gpu_trace_end asks for. What CUDA refuses leaves the interval out.
 */
int kc_gpu_trace_begin(struct kc_gpu_trace *trace, const char *stage, uint64_t number,
                       cudaStream_t stream);
void kc_gpu_trace_end(struct kc_gpu_trace *trace, int interval, cudaStream_t stream);

/* Write all complete intervals: stage, number, start_ms, end_ms, parted by tabs. The streams' work
 * must be done. KC_EIO. */
enum kc_status kc_gpu_trace_write(struct kc_gpu_trace *trace, struct kc_error *err);

#endif
