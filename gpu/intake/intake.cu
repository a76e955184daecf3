/*
 * An intake from its beginning to its end: how much memory it takes, and what all intakes report.
 */
#include "gpu/intake/intake_internal.cuh"

#include <cstdlib>

#define MIB ((size_t)1 << 20)

/* ---- sizes ---- */

static bool has_fasta(const struct kc_stored_source *source)
{
        bool fasta = false;
        for (size_t i = 0; i < source->nfiles; i++)
                fasta |= source->files[i].fasta;
        return fasta;
}

static bool has_bam(const struct kc_stored_source *source)
{
        bool bam = false;
        for (size_t i = 0; i < source->nfiles; i++)
                bam |= source->files[i].bam;
        return bam;
}

/* The most bases that text can have. A base takes two letters in FASTQ, and in BAM half a byte and
 * its quality. */
static uint64_t most_bases(const struct kc_stored_source *source, size_t text_nbytes)
{
        if (has_fasta(source))
                return text_nbytes;
        return has_bam(source) ? text_nbytes / 3 * 2 + 2 : text_nbytes / 2;
}

size_t kc_intake_most_text(const struct kc_stored_source *source, uint64_t nbases)
{
        if (has_fasta(source))
                return nbases;
        return has_bam(source) ? nbases / 2 * 3 : 2 * nbases;
}

/* How much of text_nbytes is set aside for what the previous round left over. */
static size_t carry_share(size_t text_nbytes)
{
        const size_t most = 16 * MIB, share = text_nbytes / 4;
        return share < most ? share : most;
}

/* On the device, portions, two rounds of text and what parsing takes come to about five times
 * text_nbytes. On the host, portions take a fifth of it each, rounded up. */
size_t kc_gpu_intake_plan(const struct kc_stored_source *source, size_t limit_nbytes,
                          size_t host_nbytes, size_t small_nbytes)
{
        enum { SHARE = 32, LEAST_MIB = 16, SMALLEST_KIB = 512 };
        const size_t device_share = limit_nbytes / SHARE;
        const size_t host_share = host_nbytes / NPORTIONS * 5;
        const size_t most = kc_intake_most_text(source, KC_CHUNK_NBASES);
        size_t nbytes = device_share < host_share ? device_share : host_share;
        if (device_share < LEAST_MIB * MIB || host_nbytes < LEAST_MIB * MIB)
                return 0;
        if (small_nbytes != 0 && small_nbytes < nbytes)
                nbytes = small_nbytes < SMALLEST_KIB << 10 ? (size_t)SMALLEST_KIB << 10
                                                           : small_nbytes;
        return kc_round_up((nbytes < most ? nbytes : most) - 256, 256);
}

/* A BGZF portion makes about one round. */
static size_t portion_share(size_t text_nbytes)
{
        const size_t most = 64 * MIB, share = kc_round_up(text_nbytes / 5, 4 << 10);
        return share < most ? share : most;
}

static struct kc_gpu_text_setup text_setup(const struct kc_gpu_intake_setup *setup)
{
        struct kc_gpu_text_setup text = {};
        text.max_nbytes = setup->text_nbytes;
        text.min_k = setup->k;
        text.max_k = setup->max_k;
        text.marks = setup->max_k > setup->k;
        text.min_quality = setup->all->source->min_quality;
        text.fasta = has_fasta(setup->all->source);
        text.bam = has_bam(setup->all->source);
        return text;
}

/* The reads of this many rounds, or of as many as have KC_CHUNK_NBASES bases, are put together,
 * because records (gpu/superkmers) can refer to few chunks only. */
enum { GATHERED_ROUNDS = 2 };

uint64_t kc_gpu_intake_most_bases(const struct kc_gpu_intake_setup *setup)
{
        const uint64_t nbases =
                most_bases(setup->all->source, GATHERED_ROUNDS * setup->text_nbytes);
        return nbases < KC_CHUNK_NBASES ? nbases : (uint64_t)KC_CHUNK_NBASES;
}

size_t kc_gpu_intake_most_spans(const struct kc_gpu_intake_setup *setup)
{
        const struct kc_gpu_text_setup text = text_setup(setup);
        return GATHERED_ROUNDS * kc_gpu_text_most_spans(&text);
}

/* ---- life ---- */

enum kc_status kc_gpu_intake_new(struct kc_gpu_intake **out,
                                 const struct kc_gpu_intake_setup *setup, struct kc_error *err)
{
        struct kc_gpu_intake *intake = (struct kc_gpu_intake *)calloc(1, sizeof *intake);
        *out = intake;
        if (intake == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        intake->setup = *setup;
        intake->all = setup->all;
        intake->source = setup->all->source;
        intake->gate = setup->all->gate;
        intake->bell = kc_gate_device(setup->number);
        intake->portion_nbytes = portion_share(setup->text_nbytes);
        intake->slice_nbytes = intake->portion_nbytes < MAX_SLICE_NBYTES ? intake->portion_nbytes
                                                                         : (size_t)MAX_SLICE_NBYTES;
        const enum kc_status status = kc_intake_map(intake, err);
        if (status != KC_OK) {
                kc_gpu_intake_free(intake);
                *out = NULL;
        }
        return status;
}

bool kc_gpu_intake_join(struct kc_gpu_intake *intake)
{
        struct kc_gpu_intakes *all = intake->all;
        bool open = false;
        kc_gate_tell(all->gate, KC_GATE_WORKERS, [&] {
                open = !all->over;
                if (open)
                        all->reading[intake->setup.number] = intake;
        });
        return open;
}

static size_t portion_memory(const struct kc_gpu_intake *intake)
{
        return MARGIN_NBYTES + intake->portion_nbytes + KC_INFLATE_PADDING;
}

/* The text of a round: the carry, its own, and readable bytes at the end. */
static size_t text_memory(const struct kc_gpu_intake *intake)
{
        return intake->setup.text_nbytes + 256;
}

static uint8_t *text_begin(const struct intake_round *round, const struct kc_gpu_intake *intake)
{
        return round->text != NULL ? round->text - intake->carry_nbytes : NULL;
}

static enum kc_status make_round(struct kc_gpu_intake *intake, struct intake_round *round,
                                 struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = intake->gpu;
        uint8_t *text;
        KC_TRY(kc_gpu_new(gpu, &text, text_memory(intake), err));
        round->text = text + intake->carry_nbytes;
        KC_TRY(kc_gpu_new(gpu, &round->blocks, MAX_BLOCKS, err));
        KC_TRY(kc_gpu_new(gpu, &round->status, MAX_BLOCKS, err));
        KC_TRY(kc_gpu_new(gpu, &round->refused, 1, err));
        KC_TRY(KC_CUDA(cudaHostAlloc((void **)&round->host_blocks,
                                     MAX_BLOCKS * sizeof *round->host_blocks,
                                     cudaHostAllocDefault)));
        KC_TRY(KC_CUDA(cudaHostAlloc((void **)&round->host_refused, sizeof *round->host_refused,
                                     cudaHostAllocDefault)));
        KC_TRY(kc_gpu_event_new(&round->inflated, err));
        KC_TRY(kc_gpu_event_new(&round->parsed, err));
out:
        return status;
}

static void free_round(struct kc_gpu_intake *intake, struct intake_round *round)
{
        struct kc_gpu *gpu = intake->gpu;
        kc_gpu_delete(gpu, text_begin(round, intake), text_memory(intake));
        kc_gpu_delete(gpu, round->blocks, MAX_BLOCKS);
        kc_gpu_delete(gpu, round->status, MAX_BLOCKS);
        kc_gpu_delete(gpu, round->refused, 1);
        (void)cudaFreeHost(round->host_blocks);
        (void)cudaFreeHost(round->host_refused);
        if (round->inflated != NULL)
                (void)cudaEventDestroy(round->inflated);
        if (round->parsed != NULL)
                (void)cudaEventDestroy(round->parsed);
        *round = {};
}

static enum kc_status make_out(struct kc_gpu_intake *intake, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_text_out *out = &intake->out;
        out->words_cap = GATHERED_ROUNDS * kc_gpu_text_most_words(intake->setup.text_nbytes);
        out->spans_cap = kc_gpu_intake_most_spans(&intake->setup);
        out->max_nbases = kc_gpu_intake_most_bases(&intake->setup);
        KC_TRY(kc_gpu_new(intake->gpu, &out->words, out->words_cap, err));
        KC_TRY(kc_gpu_new(intake->gpu, &out->spans, out->spans_cap, err));
out:
        return status;
}

/* If the system does not allow pinning, CUDA still copies, but more slowly. */
static void pin(struct kc_gpu_intake *intake)
{
        const size_t nbytes = NPORTIONS * (size_t)(intake->portions[1].host - intake->memory);
        intake->pinned =
                cudaHostRegister(intake->memory, nbytes, cudaHostRegisterDefault) == cudaSuccess;
        (void)cudaGetLastError();
}

enum kc_status kc_gpu_intake_attach(struct kc_gpu_intake *intake, struct kc_gpu *gpu,
                                    size_t text_nbytes, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_text_setup text;
        if (text_nbytes < intake->setup.text_nbytes)
                intake->setup.text_nbytes = text_nbytes;
        intake->carry_nbytes = carry_share(intake->setup.text_nbytes) / 256 * 256;
        text = text_setup(&intake->setup);
        intake->gpu = gpu;
        pin(intake);
        KC_TRY(KC_CUDA(cudaStreamCreateWithFlags(&intake->inflating, cudaStreamNonBlocking)));
        KC_TRY(kc_gpu_event_new(&intake->copied, err));
        for (struct intake_portion &portion : intake->portions)
                KC_TRY(kc_gpu_new(gpu, &portion.device, portion_memory(intake), err));
        for (struct intake_round &round : intake->rounds)
                KC_TRY(make_round(intake, &round, err));
        KC_TRY(make_out(intake, err));
        KC_TRY(kc_gpu_text_new(&intake->text, gpu, &text, err));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream))); /* other streams use the memory */
        kc_gate_tell(intake->gate, KC_GATE_WORKERS, [&] { intake->attached = true; });
out:
        return status;
}

static void detach(struct kc_gpu_intake *intake)
{
        struct kc_gpu *gpu = intake->gpu;
        if (gpu == NULL)
                return;
        (void)cudaStreamSynchronize(gpu->upload);
        if (intake->inflating != NULL) {
                (void)cudaStreamSynchronize(intake->inflating);
                (void)cudaStreamDestroy(intake->inflating);
        }
        (void)cudaStreamSynchronize(gpu->stream);
        if (intake->copied != NULL)
                (void)cudaEventDestroy(intake->copied);
        kc_gpu_text_free(intake->text);
        kc_gpu_delete(gpu, intake->out.words, intake->out.words_cap);
        kc_gpu_delete(gpu, intake->out.spans, intake->out.spans_cap);
        for (struct intake_round &round : intake->rounds)
                free_round(intake, &round);
        for (struct intake_portion &portion : intake->portions)
                kc_gpu_delete(gpu, portion.device, portion_memory(intake));
        intake->gpu = NULL;
}

void kc_gpu_intake_free(struct kc_gpu_intake *intake)
{
        if (intake == NULL)
                return;
        detach(intake);
        kc_intake_unmap(intake);
        free(intake);
}

/* ---- the end ---- */

uint64_t kc_gpu_intake_text_nbytes(const struct kc_gpu_intake *intake)
{
        return intake->totals.text_nbytes;
}

/* Add what the intake has read to the totals of all. The caller is inside the gate. */
static void add_to_all(const struct kc_gpu_intake *intake)
{
        const struct kc_stored_totals *own = &intake->totals;
        struct kc_stored_totals *all = &intake->all->totals;
        all->nreads += own->nreads;
        all->nbases += own->nbases;
        all->nskipped += own->nskipped;
        all->nlow_quality += own->nlow_quality;
        all->input_nbytes += own->input_nbytes;
        all->text_nbytes += own->text_nbytes;
        all->inflated_nbytes += own->inflated_nbytes;
        all->wasted_nbytes += own->text_nbytes - intake->carry + intake->done;
}

enum kc_status kc_gpu_intake_end(struct kc_gpu_intake *intake, struct kc_error *err)
{
        enum kc_status status;
        kc_gate_tell(intake->gate, KC_GATE_WORKERS, [&] { intake->over = true; });
        KC_TRY(kc_gate_await(
                intake->gate, intake->bell, [&] { return intake->nreading == 0; }, err));
        detach(intake);
        kc_intake_unmap(intake);
        kc_gate_tell(intake->gate, KC_GATE_DRIVER, [&] {
                add_to_all(intake);
                intake->all->reading[intake->setup.number] = NULL;
        });
out:
        return status;
}

void kc_gpu_intakes_give_up(struct kc_gpu_intakes *all)
{
        kc_gate_enter(all->gate);
        all->foreign = all->over = true;
        kc_gate_wake_all(all->gate);
        kc_gate_leave(all->gate);
}

/* If no intake is reading any more, no other may begin. */
static bool end_reading(struct kc_gpu_intakes *all)
{
        for (int i = 0; i < all->n; i++)
                if (all->reading[i] != NULL)
                        return false;
        all->over = true;
        kc_gate_wake(all->gate, KC_GATE_WORKERS);
        return true;
}

enum kc_status kc_gpu_intakes_wait(struct kc_gpu_intakes *all, bool *foreign, struct kc_error *err)
{
        const auto ended = [&] {
                *foreign = all->foreign;
                return end_reading(all);
        };
        return kc_gate_await(all->gate, KC_GATE_DRIVER, ended, err);
}

void kc_gpu_intakes_end(struct kc_gpu_intakes *all)
{
        const struct kc_stored_source *source = all->source;
        struct kc_stored_totals totals = all->totals;
        totals.wasted_nbytes = 0;
        if (all->foreign) {
                totals = {};
                totals.gave_up = true;
                totals.wasted_nbytes = all->totals.wasted_nbytes;
        }
        for (size_t i = 0; i < source->nfiles; i++)
                source->close(source->ctx, i);
        source->report(source->ctx, &totals);
}
