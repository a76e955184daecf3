#include "bench/inflate/stream.cuh"

#include "bench/gpu/parsing.cuh"
#include "gpu/inflate/inflate.cuh"

#include <algorithm>
#include <cstring>
#include <string>

enum { K = 31, NSLOTS = 3, PADDING = 16 };

namespace
{

/* A round on the device. */
struct slot {
        uint8_t *bytes, *text; /* as BGZF, as text */
        uint32_t *status;      /* of the blocks */
        unsigned long long *refused;
        cudaEvent_t ready, parsed;
};

struct stream {
        const struct sample *sample;
        struct kc_gpu *gpu;
        bool fasta, bgzf, parses;
        size_t ncopies, nrounds; /* of the sample in a round; in all */
        uint8_t *pinned;         /* a round, as BGZF or text */
        struct kc_bgzf_block *blocks;
        struct slot slots[NSLOTS];
        cudaStream_t inflating;
        cudaEvent_t begun, copied;
        struct parsing parsing;
};

} // namespace

static size_t text_nbytes(const struct stream *s)
{
        return s->ncopies * s->sample->text.size();
}

static size_t packed_nbytes(const struct stream *s)
{
        return s->ncopies * s->sample->packed.size();
}

static size_t nblocks(const struct stream *s)
{
        return s->ncopies * s->sample->blocks.size();
}

/* ---- memory ---- */

static enum kc_status make_slot(const struct stream *s, struct slot *slot, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_gpu_new(s->gpu, &slot->bytes, packed_nbytes(s) + PADDING, err));
        KC_TRY(kc_gpu_new(s->gpu, &slot->text, text_nbytes(s) + PADDING, err));
        KC_TRY(kc_gpu_new(s->gpu, &slot->status, nblocks(s), err));
        KC_TRY(kc_gpu_new(s->gpu, &slot->refused, 1, err));
        KC_TRY(kc_gpu_event_new(&slot->ready, err));
        KC_TRY(kc_gpu_event_new(&slot->parsed, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(slot->refused, 0, sizeof *slot->refused, s->gpu->stream)));
out:
        return status;
}

static void free_event(cudaEvent_t event)
{
        if (event != NULL)
                (void)cudaEventDestroy(event);
}

static void free_slot(const struct stream *s, struct slot *slot)
{
        kc_gpu_delete(s->gpu, slot->refused, 1);
        kc_gpu_delete(s->gpu, slot->status, nblocks(s));
        kc_gpu_delete(s->gpu, slot->text, text_nbytes(s) + PADDING);
        kc_gpu_delete(s->gpu, slot->bytes, packed_nbytes(s) + PADDING);
        free_event(slot->ready);
        free_event(slot->parsed);
}

static struct kc_gpu_text_setup text_setup(const struct stream *s)
{
        struct kc_gpu_text_setup setup = {};
        setup.max_nbytes = text_nbytes(s);
        setup.min_k = setup.max_k = K;
        setup.fasta = s->fasta;
        return setup;
}

static enum kc_status upload_blocks(struct stream *s, struct kc_error *err)
{
        const std::vector<struct kc_bgzf_block> blocks = sample_blocks(s->sample, s->ncopies);
        enum kc_status status;
        KC_TRY(kc_gpu_new(s->gpu, &s->blocks, blocks.size(), err));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(s->blocks, blocks.data(), blocks.size() * sizeof blocks[0],
                                       cudaMemcpyHostToDevice, s->gpu->stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(s->gpu->stream)));
out:
        return status;
}

static enum kc_status take_memory(struct stream *s, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_gpu_text_setup setup = text_setup(s);
        KC_TRY(KC_CUDA(cudaStreamCreateWithFlags(&s->inflating, cudaStreamNonBlocking)));
        KC_TRY(kc_gpu_event_new(&s->begun, err));
        KC_TRY(kc_gpu_event_new(&s->copied, err));
        for (struct slot &slot : s->slots)
                KC_TRY(make_slot(s, &slot, err));
        KC_TRY(KC_CUDA(
                cudaMallocHost((void **)&s->pinned, std::max(text_nbytes(s), packed_nbytes(s)))));
        KC_TRY(upload_blocks(s, err));
        KC_TRY(parsing_new(&s->parsing, s->gpu, &setup, err));
out:
        return status;
}

static void release(struct stream *s)
{
        (void)cudaDeviceSynchronize();
        parsing_free(&s->parsing, s->gpu);
        kc_gpu_delete(s->gpu, s->blocks, nblocks(s));
        (void)cudaFreeHost(s->pinned);
        for (struct slot &slot : s->slots)
                free_slot(s, &slot);
        free_event(s->begun);
        free_event(s->copied);
        if (s->inflating != NULL)
                (void)cudaStreamDestroy(s->inflating);
}

/* The copies of the sample in pinned memory. */
static void fill(struct stream *s, bool bgzf)
{
        const std::vector<uint8_t> &from = bgzf ? s->sample->packed : s->sample->text;
        s->bgzf = bgzf;
        for (size_t copy = 0; copy < s->ncopies; copy++)
                memcpy(s->pinned + copy * from.size(), from.data(), from.size());
}

/* ---- rounds ---- */

static enum kc_status inflate(const struct stream *s, const struct slot *slot, struct kc_error *err)
{
        const struct kc_inflate in = { slot->bytes, packed_nbytes(s), s->blocks,   nblocks(s),
                                       slot->text,  text_nbytes(s),   slot->status };
        return kc_gpu_inflate({ s->gpu, s->inflating }, &in, slot->refused, err);
}

/* Copy a round once its slot is free, and inflate it. */
static enum kc_status begin_round(const struct stream *s, size_t round, struct kc_error *err)
{
        enum kc_status status;
        const struct slot *slot = &s->slots[round % NSLOTS];
        uint8_t *to = s->bgzf ? slot->bytes : slot->text;
        const size_t n = s->bgzf ? packed_nbytes(s) : text_nbytes(s);
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(s->gpu->upload, slot->parsed, 0)));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(to, s->pinned, n, cudaMemcpyHostToDevice, s->gpu->upload)));
        KC_TRY(KC_CUDA(cudaEventRecord(s->copied, s->gpu->upload)));
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(s->inflating, s->copied, 0)));
        if (s->bgzf)
                KC_TRY(inflate(s, slot, err));
        KC_TRY(KC_CUDA(cudaEventRecord(slot->ready, s->inflating)));
out:
        return status;
}

/* Parse and pack a round's text, in several pieces if it has very many segments. */
static enum kc_status parse_round(struct stream *s, const uint8_t *text, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_gpu_text_result result = {};
        for (size_t at = 0; at < text_nbytes(s); at += result.consumed) {
                struct kc_gpu_text_input input = {};
                input.format = s->fasta ? KC_GPU_TEXT_FASTA : KC_GPU_TEXT_FASTQ;
                input.bytes = text + at;
                input.nbytes = text_nbytes(s) - at;
                input.last = true;
                input.noverlap = result.noverlap;
                KC_TRY(parsing_parse(&s->parsing, &input, &result, err));
                if (s->parsing.out.nspans > 0)
                        KC_TRY(parsing_pack(&s->parsing, s->gpu, K, err));
        }
out:
        return status;
}

static enum kc_status end_round(struct stream *s, size_t round, struct kc_error *err)
{
        enum kc_status status;
        const struct slot *slot = &s->slots[round % NSLOTS];
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(s->gpu->stream, slot->ready, 0)));
        if (s->parses)
                KC_TRY(parse_round(s, slot->text, err));
        KC_TRY(KC_CUDA(cudaEventRecord(slot->parsed, s->gpu->stream)));
out:
        return status;
}

static enum kc_status run_stream(struct bench *, void *ctx, struct kc_error *err)
{
        struct stream *s = (struct stream *)ctx;
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaEventRecord(s->begun, s->gpu->stream)));
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(s->gpu->upload, s->begun, 0)));
        for (size_t round = 0; round < s->nrounds + NSLOTS - 1; round++) {
                if (round < s->nrounds)
                        KC_TRY(begin_round(s, round, err));
                if (round >= NSLOTS - 1)
                        KC_TRY(end_round(s, round - (NSLOTS - 1), err));
        }
out:
        return status;
}

/* All rounds from the text that is in the first slot. */
static enum kc_status run_parse(struct bench *, void *ctx, struct kc_error *err)
{
        struct stream *s = (struct stream *)ctx;
        enum kc_status status = KC_OK;
        for (size_t round = 0; round < s->nrounds; round++)
                KC_TRY(parse_round(s, s->slots[0].text, err));
out:
        return status;
}

/* Overwrite all text, so that an earlier run's is not taken for this run's. */
static enum kc_status spoil_text(struct bench *, void *ctx, struct kc_error *err)
{
        const struct stream *s = (const struct stream *)ctx;
        enum kc_status status = KC_OK;
        for (const struct slot &slot : s->slots)
                KC_TRY(KC_CUDA(cudaMemsetAsync(slot.text, 0x5e, text_nbytes(s), s->gpu->stream)));
out:
        return status;
}

static enum kc_status check_text(const struct stream *s, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        std::vector<uint8_t> text(s->sample->text.size());
        for (size_t i = 0; i < NSLOTS && i < s->nrounds; i++) {
                const struct slot &slot = s->slots[i];
                unsigned long long refused;
                KC_TRY(kc_gpu_read(s->gpu, &refused, slot.refused, 1, err));
                KC_TRY(kc_gpu_read(s->gpu, text.data(), slot.text, text.size(), err));
                if (refused != 0 || text != s->sample->text)
                        return kc_fail(err, KC_EDEVICE, "wrong text after rounds of %s",
                                       s->bgzf ? "BGZF" : "text");
        }
out:
        return status;
}

/* ---- stages ---- */

/* over_bus: bytes of a round that cross the bus; 0: only parse, all rounds from the first slot. */
static enum kc_status time_stage(struct bench *bench, struct stream *s, const std::string &name,
                                 size_t over_bus, struct kc_error *err)
{
        enum kc_status status;
        struct stage stage = stage_of(name.c_str(), "B", K, s->nrounds * text_nbytes(s));
        stage.nbytes = s->nrounds * over_bus;
        stage.over_bus = true;
        KC_TRY(stage_time(bench, &stage, over_bus > 0 ? spoil_text : NULL,
                          over_bus > 0 ? run_stream : run_parse, s, err));
        KC_TRY(check_text(s, err));
        stage_print(bench, &stage);
out:
        return status;
}

static enum kc_status time_stages(struct bench *bench, struct stream *s, const std::string &name,
                                  struct kc_error *err)
{
        enum kc_status status;
        fill(s, false);
        KC_TRY(time_stage(bench, s, "bus: " + name, text_nbytes(s), err));
        s->parses = true;
        KC_TRY(time_stage(bench, s, "parse: " + name, 0, err));
        KC_TRY(time_stage(bench, s, "text: " + name, text_nbytes(s), err));
        fill(s, true);
        KC_TRY(time_stage(bench, s, "BGZF: " + name, packed_nbytes(s), err));
out:
        return status;
}

enum kc_status bench_streams(struct bench *bench, const struct sample *sample, const char *name,
                             size_t round_nbytes, size_t total_nbytes, struct kc_error *err)
{
        enum kc_status status;
        struct stream s = {};
        const size_t size = sample->text.size();
        if (sample->text[0] != '@' && sample->text[0] != '>')
                return KC_OK;
        s.sample = sample;
        s.gpu = &bench->gpu;
        s.fasta = sample->text[0] == '>';
        s.ncopies = std::max((size_t)1, round_nbytes / size);
        s.nrounds = std::max((size_t)1, total_nbytes / (s.ncopies * size));
        if (s.ncopies * size > KC_GPU_TEXT_MAX_NBYTES)
                return kc_fail(err, KC_EINPUT, "%s: more text than a round can have", name);
        KC_TRY(take_memory(&s, err));
        KC_TRY(time_stages(bench, &s, name, err));
out:
        release(&s);
        return status;
}
