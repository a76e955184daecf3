#include "gpu/engine/crew.cuh"

#include "base/parallel.h"

void kc_gpu_session_begin(struct kc_gpu_session *session, const struct kc_gpu_params *params,
                          struct kc_job *job)
{
        *session = {};
        kc_gate_init(&session->gate, job);
        kc_gpu_trace_open(&session->trace, params->trace);
}

void kc_gpu_session_end(struct kc_gpu_session *session)
{
        kc_gpu_trace_close(&session->trace);
        kc_gpu_close(&session->gpu);
        kc_gate_destroy(&session->gate);
}

void kc_gpu_crew_init(struct kc_gpu_crew *crew, struct kc_gpu_session *session)
{
        crew->session = session;
        crew->gate = &session->gate;
        crew->trace = &session->trace;
        crew->gpu = &session->gpu;
}

enum kc_status kc_gpu_open_for(const struct kc_gpu_params *params, struct kc_gpu *gpu, int device,
                               struct kc_error *err)
{
        struct kc_gpu_set users = {};
        kc_gpu_set_add(&users, params->device);
        for (int i = 0; i < params->nothers; i++)
                kc_gpu_set_add(&users, params->others[i]);
        const enum kc_status status = kc_gpu_wake(device, err);
        return status == KC_OK ? kc_gpu_open(gpu, device, params->memory_nbytes, users, err)
                               : status;
}

/* Whether all devices exist that the user named; asked before any is opened, and before anything is
 * read from a pipe. */
static enum kc_status find_devices(const struct kc_gpu_params *params, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_gpu_find(&params->device, 1, err));
        KC_TRY(kc_gpu_find(params->others, params->nothers + params->nleft_out, err));
out:
        return status;
}

static enum kc_status open_device(struct kc_gpu_crew *crew, struct kc_error *err)
{
        enum kc_status status;
        int trace = kc_gpu_trace_begin(crew->trace, "open device", 0, NULL);
        KC_TRY(find_devices(crew->params, err));
        KC_TRY(kc_gpu_open_for(crew->params, crew->gpu, crew->params->device, err));
        KC_TRY(kc_gpu_trace_attach(crew->trace, crew->gpu, err));
        kc_gpu_trace_end(crew->trace, trace, NULL);
        kc_gate_tell(crew->gate, KC_GATE_FOLLOWERS, [&] { crew->session->is_open = true; });
out:
        return status;
}

/* CUDA opens one device after the other, so a follower waits for the first one, which can begin
 * while further ones are opened. */
static enum kc_status follow(struct kc_gpu_crew *crew, int follower, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_gate_await(
                crew->gate, KC_GATE_FOLLOWERS, [&] { return crew->session->is_open; }, err));
        KC_TRY(crew->task.follow(crew->task.ctx, follower, err));
out:
        return status;
}

/* Thread 0 is the driver; then come the workers, and last the followers. */
static enum kc_status work(void *ctx, int thread, struct kc_error *err)
{
        struct kc_gpu_crew *crew = (struct kc_gpu_crew *)ctx;
        const struct kc_gpu_crew_task *task = &crew->task;
        enum kc_status status;
        int trace;
        if (thread > crew->nworkers)
                return follow(crew, thread - crew->nworkers - 1, err);
        if (thread > 0) {
                if (thread <= crew->nreaders)
                        KC_TRY(task->read(task->ctx, thread - 1, err));
                return task->write != NULL ? task->write(task->ctx, err) : KC_OK;
        }
        if (crew->session->is_open)
                KC_TRY(KC_CUDA(
                        cudaSetDevice(crew->gpu->device))); /* the current device is per thread */
        else
                KC_TRY(open_device(crew, err));
        trace = kc_gpu_trace_begin(crew->trace, "take memory", 0, NULL);
        KC_TRY(task->take_memory(task->ctx, err));
        kc_gpu_trace_end(crew->trace, trace, NULL);
        __atomic_store_n(&crew->began, true, __ATOMIC_RELEASE);
        KC_TRY(task->drive(task->ctx, err));
out:
        return status;
}

static void fail(void *ctx)
{
        struct kc_gpu_crew *crew = (struct kc_gpu_crew *)ctx;
        kc_gate_stop(crew->gate);
        if (crew->sink != NULL && __atomic_load_n(&crew->began, __ATOMIC_ACQUIRE))
                crew->sink->cancel(crew->sink->ctx);
}

enum kc_status kc_gpu_crew_run(struct kc_gpu_crew *crew, struct kc_error *err)
{
        return kc_parallel(1 + crew->nworkers + crew->nfollowers, work, fail, crew, err);
}

void kc_gpu_crew_stop(const struct kc_gpu_crew *crew, struct kc_gpu_report *report)
{
        cudaStream_t streams[] = { crew->gpu->upload, crew->gpu->stream, crew->gpu->download };
        report->began = crew->began;
        report->peak_nbytes = crew->gpu->peak_nbytes;
        for (cudaStream_t stream : streams)
                if (stream != NULL)
                        (void)cudaStreamSynchronize(stream);
}
