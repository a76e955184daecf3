/*
 * A timeline of the engine's work, to find where it waits: intervals on a stream, between two
 * events, and intervals by the host's clock, all in milliseconds since the trace was opened. A
 * disabled trace costs nothing. Any number of threads may use a trace at the same time.
 */
#ifndef KC_GPU_DEVICE_TRACE_CUH
#define KC_GPU_DEVICE_TRACE_CUH

#include "gpu/device/context.cuh"

#include <pthread.h>

struct kc_gpu_interval;

struct kc_gpu_trace {
        const char *path; /* NULL: disabled */
        pthread_mutex_t lock;
        struct kc_gpu_interval *intervals;
        int n, cap;
        double start; /* host's clock */
        cudaEvent_t origin;
        double origin_ms; /* when origin passed, by the host's clock */
};

/* path belongs to the caller and must outlive the trace; NULL disables the trace. A zeroed trace
 * may be closed. */
void kc_gpu_trace_open(struct kc_gpu_trace *trace, const char *path);
void kc_gpu_trace_close(struct kc_gpu_trace *trace);

/* Call once the device is open: this relates the device's clock to the host's. KC_EDEVICE,
 * KC_ENOMEM. */
enum kc_status kc_gpu_trace_attach(struct kc_gpu_trace *trace, struct kc_gpu *gpu,
                                   struct kc_error *err);

/*
 * Begin an interval: from the work enqueued next on stream to kc_gpu_trace_end, or, if stream is
 * NULL, by the host's clock.
 *   stage   a name; a string literal
 *   number  of the batch or part
 * Returns the argument for kc_gpu_trace_end. If CUDA or memory fails, the interval is left out.
 */
int kc_gpu_trace_begin(struct kc_gpu_trace *trace, const char *stage, uint64_t number,
                       cudaStream_t stream);
void kc_gpu_trace_end(struct kc_gpu_trace *trace, int interval, cudaStream_t stream);

/* Write all complete intervals: stage, number, start_ms, end_ms, separated by tabs. The streams
 * must be idle. KC_EIO if the file cannot be written. */
enum kc_status kc_gpu_trace_write(struct kc_gpu_trace *trace, struct kc_error *err);

#endif
