#include "gpu/ask/backlog.cuh"

enum kc_status kc_ask_backlog_open(struct kc_ask_backlog *b, struct kc_gpu *gpu,
                                   struct kc_gate *gate, enum kc_gate_bell bell,
                                   struct kc_error *err)
{
        enum kc_status status = KC_OK;
        *b = {};
        b->gpu = gpu;
        b->gate = gate;
        b->bell = bell;
        for (struct kc_ask_waiting_reads &waiting : b->waiting)
                KC_TRY(kc_gpu_event_new(&waiting.copied, err));
out:
        return status;
}

static void drop(struct kc_gpu *gpu, struct kc_ask_waiting_reads *waiting)
{
        kc_gpu_delete(gpu, waiting->words, waiting->reads.nwords);
        kc_gpu_delete(gpu, waiting->spans, waiting->reads.nspans);
        waiting->words = NULL;
        waiting->spans = NULL;
}

void kc_ask_backlog_close(struct kc_ask_backlog *b)
{
        for (struct kc_ask_waiting_reads &waiting : b->waiting) {
                drop(b->gpu, &waiting);
                kc_gpu_event_free(waiting.copied);
        }
        *b = {};
}

/* ---- the thread that puts ---- */

static enum kc_status copy(struct kc_gpu *gpu, struct kc_ask_waiting_reads *waiting,
                           const struct kc_gpu_reads *reads, struct kc_error *err)
{
        enum kc_status status;
        waiting->reads = *reads;
        KC_TRY(kc_gpu_new(gpu, &waiting->words, reads->nwords, err));
        KC_TRY(kc_gpu_new(gpu, &waiting->spans, reads->nspans, err));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(waiting->words, reads->words,
                                       reads->nwords * sizeof *reads->words,
                                       cudaMemcpyDeviceToDevice, gpu->stream)));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(waiting->spans, reads->spans,
                                       reads->nspans * sizeof *reads->spans,
                                       cudaMemcpyDeviceToDevice, gpu->stream)));
        KC_TRY(KC_CUDA(cudaEventRecord(waiting->copied, gpu->stream)));
        waiting->reads.words = waiting->words;
        waiting->reads.spans = waiting->spans;
out:
        if (status != KC_OK)
                drop(gpu, waiting);
        return status;
}

/* Wait until at least `least` of the reads that were put are done, and free all that are. */
static enum kc_status free_done(struct kc_ask_backlog *b, uint64_t least, struct kc_error *err)
{
        uint64_t ndone;
        const auto enough = [&] {
                ndone = b->ndone;
                return ndone >= least;
        };
        const enum kc_status status = kc_gate_await(b->gate, b->bell, enough, err);
        for (; status == KC_OK && b->nfreed < ndone; b->nfreed++)
                drop(b->gpu, &b->waiting[b->nfreed % KC_ASK_BACKLOG]);
        return status;
}

enum kc_status kc_ask_backlog_put(struct kc_ask_backlog *b, const struct kc_gpu_reads *reads,
                                  struct kc_error *err)
{
        enum kc_status status;
        struct kc_ask_waiting_reads *waiting = &b->waiting[b->nput % KC_ASK_BACKLOG];
        struct kc_error refusal = {};
        KC_TRY(free_done(b, b->nput < KC_ASK_BACKLOG ? 0 : b->nput - KC_ASK_BACKLOG + 1, err));
        status = copy(b->gpu, waiting, reads, &refusal);
        while (status == KC_ENOMEM && b->nfreed < b->nput) {
                KC_TRY(free_done(b, b->nfreed + 1, err));
                refusal = {};
                status = copy(b->gpu, waiting, reads, &refusal);
        }
        if (status != KC_OK)
                return kc_fail_as(err, &refusal);
        kc_gate_tell(b->gate, KC_GATE_ASKERS, [&] { b->nput++; });
out:
        return status;
}

void kc_ask_backlog_end(struct kc_ask_backlog *b)
{
        kc_gate_tell(b->gate, KC_GATE_ASKERS, [&] { b->ended = true; });
}

/* ---- the thread that takes ---- */

enum kc_status kc_ask_backlog_take(struct kc_ask_backlog *b, cudaStream_t stream,
                                   struct kc_gpu_reads *reads, struct kc_error *err)
{
        enum kc_status status;
        struct kc_ask_waiting_reads *next = NULL;
        const auto decided = [&] {
                if (b->ndone < b->nput)
                        next = &b->waiting[b->ndone % KC_ASK_BACKLOG];
                return next != NULL || b->ended;
        };
        *reads = {};
        KC_TRY(kc_gate_await(b->gate, KC_GATE_ASKERS, decided, err));
        if (next == NULL)
                return KC_OK;
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(stream, next->copied, 0)));
        *reads = next->reads;
out:
        return status;
}

void kc_ask_backlog_done(struct kc_ask_backlog *b)
{
        kc_gate_tell(b->gate, b->bell, [&] { b->ndone++; });
}
