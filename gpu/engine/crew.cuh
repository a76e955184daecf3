/*
 * The threads that count (engine.cu) or join files (combine.cu) on a device.
 *
 * One thread, the driver, makes all calls to the device except the workers' copies. The workers
 * read what goes to the device, and later write the parts of the run that come back. If several
 * devices count, each further one has a thread, a follower. The task says what is read and what the
 * devices do; all tasks share the rest: opening the device, writing, failing, the timeline and the
 * report.
 */
#ifndef KC_GPU_ENGINE_CREW_CUH
#define KC_GPU_ENGINE_CREW_CUH

#include "base/parallel.h"
#include "gpu/device/gate.h"
#include "gpu/device/trace.cuh"
#include "gpu/gpu.h"
#include "gpu/output/emit.cuh"

struct kc_gpu_crew_task {
        void *ctx; /* for the calls */
        /* The driver's: allocate memory on the open device, then do the work. */
        enum kc_status (*take_memory)(void *ctx, struct kc_error *err);
        enum kc_status (*drive)(void *ctx, struct kc_error *err);
        /* The workers': read everything that is this reader's share, of nreaders. */
        enum kc_status (*read)(void *ctx, int reader, struct kc_error *err);
        /* The followers', each of which drives a further device: all of its work. */
        enum kc_status (*follow)(void *ctx, int follower, struct kc_error *err);
};

/* What crews that work one after another share. */
struct kc_gpu_session {
        struct kc_gate gate;
        struct kc_gpu_trace trace;
        struct kc_gpu gpu; /* open from the first crew's take_memory on */
        bool is_open;
};

/* Zero-initialise, set params, sink, job and all fields from nworkers on, and call
 * kc_gpu_crew_init. */
template <class Key> struct kc_gpu_crew {
        const struct kc_gpu_params *params;
        const struct kc_run_sink *sink;
        struct kc_job *job;
        struct kc_gpu_session *session;
        struct kc_gate *gate; /* of the session, like the next two */
        struct kc_gpu_trace *trace;
        struct kc_gpu *gpu;
        struct kc_gpu_emitter<Key> *emitter;
        bool began;             /* the device is ready: sink and job are in use */
        int nworkers, nreaders; /* workers; the first nreaders of these read before they write */
        int nfollowers;
        struct kc_gpu_crew_task task;
};

static inline void kc_gpu_session_begin(struct kc_gpu_session *session,
                                        const struct kc_gpu_params *params, struct kc_job *job)
{
        *session = {};
        kc_gate_init(&session->gate, job);
        kc_gpu_trace_open(&session->trace, params->trace);
}

/* Call it when all device memory has been freed. */
static inline void kc_gpu_session_end(struct kc_gpu_session *session)
{
        kc_gpu_trace_close(&session->trace);
        kc_gpu_close(&session->gpu);
        kc_gate_destroy(&session->gate);
}

template <class Key>
static inline void kc_gpu_crew_init(struct kc_gpu_crew<Key> *crew, struct kc_gpu_session *session)
{
        crew->session = session;
        crew->gate = &session->gate;
        crew->trace = &session->trace;
        crew->gpu = &session->gpu;
}

/* Open one of the devices of params for the calling thread; all of them can use its memory. */
static inline enum kc_status kc_gpu_open_for(const struct kc_gpu_params *params, struct kc_gpu *gpu,
                                             int device, struct kc_error *err)
{
        struct kc_gpu_set users = {};
        kc_gpu_set_add(&users, params->device);
        for (int i = 0; i < params->nothers; i++)
                kc_gpu_set_add(&users, params->others[i]);
        const enum kc_status status = kc_gpu_wake(device, err);
        return status == KC_OK ? kc_gpu_open(gpu, device, params->memory_nbytes, users, err)
                               : status;
}

template <class Key>
static inline enum kc_status kc_gpu_crew_open_device(struct kc_gpu_crew<Key> *crew,
                                                     struct kc_error *err)
{
        enum kc_status status;
        int trace = kc_gpu_trace_begin(crew->trace, "open device", 0, NULL);
        KC_TRY(kc_gpu_open_for(crew->params, crew->gpu, crew->params->device, err));
        KC_TRY(kc_gpu_trace_attach(crew->trace, crew->gpu, err));
        kc_gpu_trace_end(crew->trace, trace, NULL);
        crew->session->is_open = true;
out:
        return status;
}

/* Thread 0 is the driver; then come the workers, and last the followers. */
template <class Key>
static enum kc_status kc_gpu_crew_work(void *ctx, int thread, struct kc_error *err)
{
        struct kc_gpu_crew<Key> *crew = (struct kc_gpu_crew<Key> *)ctx;
        const struct kc_gpu_crew_task *task = &crew->task;
        enum kc_status status;
        int trace;
        if (thread > crew->nworkers)
                return task->follow(task->ctx, thread - crew->nworkers - 1, err);
        if (thread > 0) {
                if (thread <= crew->nreaders)
                        KC_TRY(task->read(task->ctx, thread - 1, err));
                return kc_gpu_emitter_write(crew->emitter, err);
        }
        if (crew->session->is_open)
                KC_TRY(KC_CUDA(
                        cudaSetDevice(crew->gpu->device))); /* the current device is per thread */
        else
                KC_TRY(kc_gpu_crew_open_device(crew, err));
        trace = kc_gpu_trace_begin(crew->trace, "take memory", 0, NULL);
        KC_TRY(task->take_memory(task->ctx, err));
        kc_gpu_trace_end(crew->trace, trace, NULL);
        __atomic_store_n(&crew->began, true, __ATOMIC_RELEASE);
        KC_TRY(task->drive(task->ctx, err));
out:
        return status;
}

template <class Key> static void kc_gpu_crew_fail(void *ctx)
{
        struct kc_gpu_crew<Key> *crew = (struct kc_gpu_crew<Key> *)ctx;
        kc_gate_stop(crew->gate);
        if (__atomic_load_n(&crew->began, __ATOMIC_ACQUIRE))
                crew->sink->cancel(crew->sink->ctx);
}

/* Start the threads, and wait for all of them; k: of the sink's run. Returns the first error. */
template <class Key>
static inline enum kc_status kc_gpu_crew_run(struct kc_gpu_crew<Key> *crew, int k,
                                             struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_gpu_emitter_new(&crew->emitter, k, crew->sink, crew->job, crew->gate, crew->trace,
                                  err));
        KC_TRY(kc_parallel(1 + crew->nworkers + crew->nfollowers, kc_gpu_crew_work<Key>,
                           kc_gpu_crew_fail<Key>, crew, err));
out:
        return status;
}

/* Call it even after a failure. Waits for the device, because memory must not be freed while a copy
 * into it is in progress; frees the emitter. Free the task's own memory next and, after the last
 * crew, call kc_gpu_session_end. */
template <class Key>
static inline void kc_gpu_crew_stop(struct kc_gpu_crew<Key> *crew, struct kc_gpu_report *report)
{
        cudaStream_t streams[] = { crew->gpu->upload, crew->gpu->stream, crew->gpu->download };
        report->began = crew->began;
        report->peak_nbytes = crew->gpu->peak_nbytes;
        for (cudaStream_t stream : streams)
                if (stream != NULL)
                        (void)cudaStreamSynchronize(stream);
        kc_gpu_emitter_free(crew->emitter);
}

#endif
