#include "gpu/device/trace.cuh"

#include "base/clock.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

struct kc_gpu_interval {
        const char *stage;
        uint64_t number;
        cudaEvent_t events[2]; /* NULL: measured by the host's clock */
        double ms[2];
        bool complete;
};

static double milliseconds(const struct kc_gpu_trace *trace)
{
        return 1e3 * (kc_clock_seconds() - trace->start);
}

void kc_gpu_trace_open(struct kc_gpu_trace *trace, const char *path)
{
        *trace = {};
        trace->path = path;
        trace->start = kc_clock_seconds();
        pthread_mutex_init(&trace->lock, NULL);
}

static void destroy(cudaEvent_t event)
{
        if (event != NULL)
                (void)cudaEventDestroy(event);
}

void kc_gpu_trace_close(struct kc_gpu_trace *trace)
{
        for (int i = 0; i < trace->n; i++)
                for (cudaEvent_t event : trace->intervals[i].events)
                        destroy(event);
        destroy(trace->origin);
        free(trace->intervals);
        pthread_mutex_destroy(&trace->lock);
        *trace = {};
}

enum kc_status kc_gpu_trace_attach(struct kc_gpu_trace *trace, struct kc_gpu *gpu,
                                   struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (trace->path == NULL)
                return KC_OK;
        KC_TRY(KC_CUDA(cudaEventCreate(&trace->origin)));
        KC_TRY(KC_CUDA(cudaEventRecord(trace->origin, gpu->stream)));
        KC_TRY(KC_CUDA(cudaEventSynchronize(trace->origin)));
        trace->origin_ms = milliseconds(trace);
out:
        return status;
}

/* Append an interval; returns its number, or -1 if out of memory. The lock is held. */
static int add(struct kc_gpu_trace *trace)
{
        if (trace->n == trace->cap) {
                int cap = trace->cap ? 2 * trace->cap : 256;
                void *more = realloc(trace->intervals, (size_t)cap * sizeof *trace->intervals);
                if (more == NULL)
                        return -1;
                trace->intervals = (struct kc_gpu_interval *)more;
                trace->cap = cap;
        }
        trace->intervals[trace->n] = {};
        return trace->n++;
}

static cudaEvent_t record(cudaStream_t stream)
{
        cudaEvent_t event = NULL;
        if (cudaEventCreate(&event) != cudaSuccess ||
            cudaEventRecord(event, stream) != cudaSuccess) {
                (void)cudaGetLastError();
                destroy(event);
                return NULL;
        }
        return event;
}

int kc_gpu_trace_begin(struct kc_gpu_trace *trace, const char *stage, uint64_t number,
                       cudaStream_t stream)
{
        if (trace->path == NULL)
                return -1;
        pthread_mutex_lock(&trace->lock);
        int i = add(trace);
        if (i >= 0) {
                trace->intervals[i].stage = stage;
                trace->intervals[i].number = number;
                trace->intervals[i].ms[0] = milliseconds(trace);
                if (stream != NULL)
                        trace->intervals[i].events[0] = record(stream);
        }
        pthread_mutex_unlock(&trace->lock);
        return i;
}

void kc_gpu_trace_end(struct kc_gpu_trace *trace, int interval, cudaStream_t stream)
{
        if (interval < 0)
                return;
        pthread_mutex_lock(&trace->lock);
        struct kc_gpu_interval *i = &trace->intervals[interval];
        i->ms[1] = milliseconds(trace);
        if (stream != NULL)
                i->events[1] = record(stream);
        i->complete = (i->events[0] == NULL) == (i->events[1] == NULL);
        pthread_mutex_unlock(&trace->lock);
}

static bool resolve(const struct kc_gpu_trace *trace, struct kc_gpu_interval *i)
{
        for (int end = 0; end < 2 && i->complete && i->events[0] != NULL; end++) {
                float ms;
                if (cudaEventElapsedTime(&ms, trace->origin, i->events[end]) != cudaSuccess) {
                        (void)cudaGetLastError();
                        return false;
                }
                i->ms[end] = trace->origin_ms + ms;
        }
        return i->complete;
}

enum kc_status kc_gpu_trace_write(struct kc_gpu_trace *trace, struct kc_error *err)
{
        if (trace->path == NULL)
                return KC_OK;
        FILE *file = fopen(trace->path, "we");
        if (file == NULL)
                return kc_fail(err, KC_EIO, "cannot write %s: %s", trace->path, strerror(errno));
        fprintf(file, "stage\tnumber\tstart_ms\tend_ms\n");
        for (int i = 0; i < trace->n; i++) {
                struct kc_gpu_interval *interval = &trace->intervals[i];
                if (resolve(trace, interval))
                        fprintf(file, "%s\t%llu\t%.3f\t%.3f\n", interval->stage,
                                (unsigned long long)interval->number, interval->ms[0],
                                interval->ms[1]);
        }
        if (fclose(file) != 0)
                return kc_fail(err, KC_EIO, "cannot write %s: %s", trace->path, strerror(errno));
        return KC_OK;
}
