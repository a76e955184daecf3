/*
 * The threads that count (count.cu) or join files (combine.cu, joint.cu) on a device.
 *
 * One thread, the driver, makes all calls to the device except the workers' copies. The workers
 * read what goes to the device, and later write the parts of the run that come back. If several
 * devices count, each further one has a thread, a follower. The task says what is read and what the
 * devices do; all tasks share the rest: opening the device, failing, the timeline and the report.
 */
#ifndef KC_GPU_ENGINE_CREW_CUH
#define KC_GPU_ENGINE_CREW_CUH

#include "gpu/device/gate.h"
#include "gpu/device/trace.cuh"
#include "gpu/gpu.h"
#include "kmer/run.h"

struct kc_gpu_crew_task {
        void *ctx; /* for the calls */
        /* The driver's: allocate memory on the open device, then do the work. */
        enum kc_status (*take_memory)(void *ctx, struct kc_error *err);
        enum kc_status (*drive)(void *ctx, struct kc_error *err);
        /* The workers': read this reader's share of the input, one of nreaders; then write parts of
         * the run until all are written; NULL: there is no run. */
        enum kc_status (*read)(void *ctx, int reader, struct kc_error *err);
        enum kc_status (*write)(void *ctx, struct kc_error *err);
        /* The followers', each of which drives a further device: all of its work. */
        enum kc_status (*follow)(void *ctx, int follower, struct kc_error *err);
};

/* What crews that work one after another share. */
struct kc_gpu_session {
        struct kc_gate gate;
        struct kc_gpu_trace trace;
        struct kc_gpu gpu; /* open from the first crew's take_memory on */
        bool is_open;      /* changed inside the gate */
};

/* Zero-initialise, set params, sink, job and all fields from nworkers on, and call
 * kc_gpu_crew_init. */
struct kc_gpu_crew {
        const struct kc_gpu_params *params;
        const struct kc_run_sink *sink; /* NULL: there is no run */
        struct kc_job *job;
        struct kc_gpu_session *session;
        struct kc_gate *gate; /* of the session, like the next two */
        struct kc_gpu_trace *trace;
        struct kc_gpu *gpu;
        bool began;             /* the device is ready: sink and job are in use */
        int nworkers, nreaders; /* workers; the first nreaders of these read before they write */
        int nfollowers;
        struct kc_gpu_crew_task task;
};

void kc_gpu_session_begin(struct kc_gpu_session *session, const struct kc_gpu_params *params,
                          struct kc_job *job);

/* Call it when all device memory has been freed. */
void kc_gpu_session_end(struct kc_gpu_session *session);

void kc_gpu_crew_init(struct kc_gpu_crew *crew, struct kc_gpu_session *session);

/* Open one of the devices of params for the calling thread; all of them can use its memory. */
enum kc_status kc_gpu_open_for(const struct kc_gpu_params *params, struct kc_gpu *gpu, int device,
                               struct kc_error *err);

/* Start the threads, and wait for all of them. Returns the first error. */
enum kc_status kc_gpu_crew_run(struct kc_gpu_crew *crew, struct kc_error *err);

/* Call it even after a failure. Waits for the device, because memory must not be freed while a copy
 * into it is in progress. Free the task's memory next and, after the last crew, call
 * kc_gpu_session_end. */
void kc_gpu_crew_stop(const struct kc_gpu_crew *crew, struct kc_gpu_report *report);

#endif
