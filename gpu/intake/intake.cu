/*
 * The device's side: from portions to rounds of text, and from rounds to reads.
 */
#include "gpu/intake/intake_internal.cuh"

#include <cstdlib>
#include <cstring>

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

/* The longest text that certainly has at most nbases bases. */
static size_t most_text(const struct kc_stored_source *source, uint64_t nbases)
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
        const size_t most = most_text(source, KC_CHUNK_NBASES);
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
        intake->bell = setup->number == 0 ? KC_GATE_DRIVER : KC_GATE_FOLLOWERS;
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
        kc_gate_enter(all->gate);
        const bool open = !all->over;
        if (open)
                all->reading[intake->setup.number] = intake;
        kc_gate_wake(all->gate, KC_GATE_WORKERS);
        kc_gate_leave(all->gate);
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
        kc_gate_enter(intake->gate);
        intake->attached = true;
        kc_gate_wake(intake->gate, KC_GATE_WORKERS);
        kc_gate_leave(intake->gate);
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

/* ---- rounds of text ---- */

static const struct kc_stored_file *file_of(const struct kc_gpu_intake *intake,
                                            const struct kc_stored_part *part)
{
        return &intake->source->files[part->file];
}

static bool is_fastq(const struct kc_stored_file *file)
{
        return !file->bam && !file->fasta;
}

/* The last n bytes of the portion are the beginning of a block: put them in front of the next
 * portion. */
static enum kc_status move_tail(struct kc_gpu_intake *intake, const struct intake_portion *from,
                                size_t n, struct intake_portion *to, struct kc_error *err)
{
        uint8_t *host = to->host + MARGIN_NBYTES - n;
        if (n == 0)
                return KC_OK;
        memcpy(host, from->host + MARGIN_NBYTES + from->nbytes - n, n);
        return KC_CUDA(cudaMemcpyAsync(to->device + MARGIN_NBYTES - n, host, n,
                                       cudaMemcpyHostToDevice, intake->inflating));
}

/* Take the next portion, if there is one, and have the inflating stream wait for its copies. */
static enum kc_status begin_portion(struct kc_gpu_intake *intake, bool *foreign,
                                    struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_intake_next_portion(intake, &intake->portion, err));
        if (intake->portion == NULL)
                return KC_OK;
        *foreign |= intake->portion->is_short;
        intake->at = MARGIN_NBYTES - intake->ntail;
        KC_TRY(KC_CUDA(cudaEventRecord(intake->copied, intake->gpu->upload)));
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(intake->inflating, intake->copied, 0)));
out:
        return status;
}

static enum kc_status inflate(struct kc_gpu_intake *intake, struct intake_round *round,
                              const struct kc_bgzf_table *table, struct kc_error *err)
{
        enum kc_status status;
        struct kc_inflate in = {};
        in.bytes = intake->portion->device;
        in.nbytes = MARGIN_NBYTES + intake->portion->nbytes;
        in.blocks = round->blocks;
        in.nblocks = table->n;
        in.text = round->text;
        in.text_nbytes = table->text_nbytes;
        in.status = round->status;
        KC_TRY(KC_CUDA(cudaMemcpyAsync(round->blocks, round->host_blocks,
                                       table->n * sizeof *round->blocks, cudaMemcpyHostToDevice,
                                       intake->inflating)));
        KC_TRY(kc_gpu_inflate({ intake->gpu, intake->inflating }, &in, round->refused, err));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(round->host_refused, round->refused,
                                       sizeof *round->host_refused, cudaMemcpyDeviceToHost,
                                       intake->inflating)));
out:
        return status;
}

/* At the end of a part: whether all its blocks are there, and nothing is left. The last block of a
 * file must be the empty one that marks the end, except in FASTQ, which must then end with a whole
 * record; that of any other part must have the text that belongs to the part, and what it has
 * beyond that is dropped. */
static bool end_blocks(const struct kc_gpu_intake *intake, struct intake_round *round,
                       size_t nblocks, enum kc_bgzf_stop stop)
{
        const struct kc_stored_part *part = intake->portion->part;
        const uint64_t last = intake->last_block_text_nbytes;
        round->no_end_block = part->ends_file && last != 0;
        if (stop != KC_BGZF_END || (round->no_end_block && !is_fastq(file_of(intake, part))))
                return false;
        if (part->kept == UINT32_MAX)
                return true;
        if (nblocks == 0 || part->kept > last)
                return false;
        round->nbytes -= last - part->kept;
        return true;
}

/* Find the next blocks of the portion, and inflate them. *ends: the portion has no more; a block
 * that continues in the next portion does not count. */
static enum kc_status begin_bgzf(struct kc_gpu_intake *intake, struct intake_round *round,
                                 bool *ends, bool *foreign, struct kc_error *err)
{
        const struct intake_portion *portion = intake->portion;
        struct kc_bgzf_table table = {};
        table.blocks = round->host_blocks;
        table.cap = MAX_BLOCKS;
        table.cap_text_nbytes = intake->setup.text_nbytes - intake->carry_nbytes;
        const size_t end = MARGIN_NBYTES + portion->nbytes;
        const enum kc_bgzf_stop stop = kc_bgzf_find(&table, portion->host, end, &intake->at);
        if (table.n > 0)
                intake->last_block_text_nbytes = table.blocks[table.n - 1].text_nbytes;
        round->nbytes = table.text_nbytes;
        *ends = stop != KC_BGZF_FULL;
        *foreign |= stop == KC_BGZF_FOREIGN || stop == KC_BGZF_TOO_LONG;
        *foreign |= stop == KC_BGZF_FULL && table.n == 0; /* a block that no round can hold */
        *foreign |= stop == KC_BGZF_PARTIAL && end - intake->at > MARGIN_NBYTES;
        if (*ends && portion->ends_part)
                *foreign |= !end_blocks(intake, round, table.n, stop);
        return *foreign ? KC_OK : inflate(intake, round, &table, err);
}

/* The rest of the portion is text already. */
static enum kc_status begin_plain(struct kc_gpu_intake *intake, struct intake_round *round,
                                  bool *ends, struct kc_error *err)
{
        const struct intake_portion *portion = intake->portion;
        const size_t left = MARGIN_NBYTES + portion->nbytes - intake->at;
        const size_t most = intake->setup.text_nbytes - intake->carry_nbytes;
        const uint8_t *from = portion->device + intake->at;
        round->nbytes = left < most ? left : most;
        *round->host_refused = 0;
        intake->at += round->nbytes;
        *ends = round->nbytes == left;
        return KC_CUDA(cudaMemcpyAsync(round->text, from, round->nbytes, cudaMemcpyDeviceToDevice,
                                       intake->inflating));
}

/* The portion's last round has begun: go on with the next portion. */
static enum kc_status end_portion(struct kc_gpu_intake *intake, struct intake_round *round,
                                  bool *foreign, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct intake_portion *portion = intake->portion;
        round->portion = portion;
        round->ends_part = portion->ends_part;
        intake->portion = NULL;
        intake->ntail = 0;
        if (!portion->ends_part) {
                intake->ntail = MARGIN_NBYTES + portion->nbytes - intake->at;
                KC_TRY(begin_portion(intake, foreign, err));
                if (intake->portion != NULL) /* otherwise another intake gave up */
                        KC_TRY(move_tail(intake, portion, intake->ntail, intake->portion, err));
        }
out:
        return status;
}

/* Begin a round, if there is text left: its text is complete after the event `inflated`. */
static enum kc_status begin_round(struct kc_gpu_intake *intake, bool *foreign, struct kc_error *err)
{
        enum kc_status status;
        struct intake_round *round = &intake->rounds[intake->nrounds % NROUNDS];
        bool ends = false;
        if (intake->portion == NULL)
                KC_TRY(begin_portion(intake, foreign, err));
        if (intake->portion == NULL || *foreign)
                return KC_OK;
        round->part = intake->portion->part;
        round->portion = NULL;
        round->ends_part = false;
        round->no_end_block = false;
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(intake->inflating, round->parsed, 0)));
        if (file_of(intake, round->part)->bgzf)
                KC_TRY(begin_bgzf(intake, round, &ends, foreign, err));
        else
                KC_TRY(begin_plain(intake, round, &ends, err));
        KC_TRY(KC_CUDA(cudaEventRecord(round->inflated, intake->inflating)));
        if (ends && !*foreign)
                KC_TRY(end_portion(intake, round, foreign, err));
        intake->nrounds++;
out:
        return status;
}

/* ---- reads ---- */

static void add_totals(struct kc_gpu_intake *intake, const struct kc_gpu_text_result *result)
{
        intake->totals.nreads += result->nreads;
        intake->totals.nbases += result->nbases;
        intake->part_nbases += result->nbases;
        intake->totals.nskipped += result->nskipped;
        intake->totals.nlow_quality += result->nlow_quality;
}

static void mark_file(struct kc_gpu_intake *intake, const struct intake_round *round)
{
        const struct kc_stored_source *source = intake->source;
        const unsigned bases = intake->part_nbases > 0 ? KC_INPUT_HAS_BASES : 0;
        const unsigned end = round->no_end_block ? KC_INPUT_NO_END_BLOCK : 0;
        source->mark(source->ctx, round->part->file, bases | end);
        intake->part_nbases = 0;
}

/* All text of the round's part has been parsed. */
static void end_part(struct kc_gpu_intake *intake, const struct intake_round *round)
{
        const struct kc_stored_source *source = intake->source;
        const struct kc_stored_part *part = round->part;
        const bool is_whole = part->offset == 0 && part->ends_file;
        mark_file(intake, round);
        intake->noverlap = 0;
        intake->skipped = 0;
        if (part->offset > 0) { /* the beginning of the block belongs to another part */
                intake->totals.text_nbytes -= part->skip;
                intake->totals.inflated_nbytes -= part->skip;
        }
        if (part->ends_file)
                intake->totals.input_nbytes += file_of(intake, part)->nbytes;
        if (is_whole)
                source->close(source->ctx, part->file);
}

/* All of the round's text that can be parsed has been parsed: keep the rest for the next round, or
 * end the part. */
static enum kc_status end_round(struct kc_gpu_intake *intake, struct intake_round *round,
                                const uint8_t *rest, size_t nrest, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_gpu *gpu = intake->gpu;
        struct intake_round *next = &intake->rounds[(intake->nparsed + 1) % NROUNDS];
        intake->totals.text_nbytes += round->nbytes;
        intake->totals.inflated_nbytes += file_of(intake, round->part)->bgzf ? round->nbytes : 0;
        if (nrest > 0)
                KC_TRY(KC_CUDA(cudaMemcpyAsync(next->text - nrest, rest, nrest,
                                               cudaMemcpyDeviceToDevice, gpu->stream)));
        KC_TRY(KC_CUDA(cudaEventRecord(round->parsed, gpu->stream)));
        intake->carry = nrest;
        intake->done = 0;
        intake->nparsed++;
        if (round->ends_part)
                end_part(intake, round);
        if (round->portion != NULL)
                kc_intake_give_back(intake, round->portion);
out:
        return status;
}

/* Skip the rest of what comes before the part's first record: the header of BAM, which the source
 * has checked, or text of the previous part. */
static void skip_others(struct kc_gpu_intake *intake, const struct intake_round *round)
{
        const uint64_t more = round->part->skip - intake->skipped;
        const size_t left = intake->carry + round->nbytes - intake->done;
        const size_t n = more < left ? (size_t)more : left;
        intake->skipped += n;
        intake->done += n;
}

static enum kc_gpu_text_format format_of(const struct kc_stored_file *file)
{
        if (file->bam)
                return KC_GPU_TEXT_BAM;
        return file->fasta ? KC_GPU_TEXT_FASTA : KC_GPU_TEXT_FASTQ;
}

/* The most text of the next piece. Its reads should fit in the room left in `out`, because records
 * can refer to only a few chunks; if hardly any room is left, they begin the next chunk. */
static size_t piece_share(const struct kc_gpu_intake *intake)
{
        const struct kc_gpu_text_out *out = &intake->out;
        const size_t usual = 64 * MIB, least = intake->setup.text_nbytes / 32;
        const size_t by_bases = most_text(intake->source, out->max_nbases - out->nbases);
        const size_t by_words = kc_gpu_text_fitting(out->words_cap - out->nwords);
        const size_t fits = by_bases < by_words ? by_bases : by_words;
        return fits < least || fits > usual ? usual : fits;
}

/* The next piece of the round's text. */
static struct kc_gpu_text_input next_piece(const struct kc_gpu_intake *intake,
                                           const struct intake_round *round)
{
        struct kc_gpu_text_input input = {};
        const size_t left = intake->carry + round->nbytes - intake->done;
        const size_t most = intake->takes_all ? left : piece_share(intake);
        const struct kc_stored_file *file = file_of(intake, round->part);
        input.format = format_of(file);
        input.nrefs = file->nrefs;
        input.bytes = round->text - intake->carry + intake->done;
        input.nbytes = left < most ? left : most;
        input.last = round->ends_part && input.nbytes == left;
        input.noverlap = intake->noverlap;
        return input;
}

/* Go on after a piece: to the rest of the round, or if no more of that can be parsed, to its end. */
static enum kc_status end_piece(struct kc_gpu_intake *intake, struct intake_round *round,
                                const struct kc_gpu_text_input *piece, uint64_t consumed,
                                bool *foreign, struct kc_error *err)
{
        intake->done += consumed;
        const size_t left = intake->carry + round->nbytes - intake->done;
        const bool whole = piece->nbytes == left + consumed;
        const bool fits = left <= (piece->last ? 0 : intake->carry_nbytes);
        intake->takes_all = consumed == 0 && !whole;
        if (!whole || (!fits && consumed > 0))
                return KC_OK; /* the rest comes with the next call */
        *foreign |= !fits;
        return fits ? end_round(intake, round, piece->bytes + consumed, left, err) : KC_OK;
}

/* Parse the next piece of the round. *full: nothing was done, because `out` has too little room
 * left. */
static enum kc_status parse(struct kc_gpu_intake *intake, bool *full, bool *foreign,
                            struct kc_error *err)
{
        enum kc_status status;
        struct intake_round *round = &intake->rounds[intake->nparsed % NROUNDS];
        skip_others(intake, round);
        const struct kc_gpu_text_input piece = next_piece(intake, round);
        struct kc_gpu_text_result result = {};
        KC_TRY(kc_gpu_text_parse(intake->text, &piece, &intake->out, &result, err));
        *full = result.full;
        *foreign |= result.foreign;
        if (result.foreign)
                intake->done += result.consumed;
        if (*full || *foreign)
                return KC_OK;
        add_totals(intake, &result);
        intake->noverlap = result.noverlap;
        KC_TRY(end_piece(intake, round, &piece, result.consumed, foreign, err));
out:
        return status;
}

/* Begin rounds while there is room for them. */
static enum kc_status begin_rounds(struct kc_gpu_intake *intake, bool *foreign,
                                   struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint64_t before = UINT64_MAX;
        while (!*foreign && intake->nrounds != before &&
               intake->nrounds < intake->nparsed + NROUNDS) {
                before = intake->nrounds;
                KC_TRY(begin_round(intake, foreign, err));
        }
out:
        return status;
}

/* Wait for the text of the round that is parsed next; *foreign: not all of its blocks are sound. */
static enum kc_status wait_for_text(struct kc_gpu_intake *intake, bool *foreign,
                                    struct kc_error *err)
{
        enum kc_status status;
        const struct intake_round *round = &intake->rounds[intake->nparsed % NROUNDS];
        KC_TRY(KC_CUDA(cudaEventSynchronize(round->inflated)));
        *foreign |= *round->host_refused != 0;
out:
        return status;
}

static void empty(struct kc_gpu_text_out *out)
{
        out->nwords = out->nspans = 0;
        out->nbases = out->nkmers = out->nmarks = 0;
}

/* Whether any intake gave up, this one included. */
static bool some_gave_up(struct kc_gpu_intake *intake, bool foreign)
{
        if (foreign)
                kc_gpu_intakes_give_up(intake->all);
        kc_gate_enter(intake->gate);
        foreign = intake->all->foreign;
        kc_gate_leave(intake->gate);
        return foreign;
}

enum kc_status kc_gpu_intake_take(struct kc_gpu_intake *intake, struct kc_gpu_reads *reads,
                                  bool *foreign, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_gpu_text_out *out = &intake->out;
        bool full = false;
        *foreign = false;
        empty(out);
        while (!*foreign && !(full && out->nspans > 0)) {
                KC_TRY(kc_gate_check(intake->gate, err));
                KC_TRY(begin_rounds(intake, foreign, err));
                if (*foreign || intake->nrounds == intake->nparsed)
                        break;
                KC_TRY(wait_for_text(intake, foreign, err));
                if (full) /* of text without reads */
                        empty(out);
                if (!*foreign)
                        KC_TRY(parse(intake, &full, foreign, err));
                *foreign |= full && out->nwords == 0; /* not even one piece fits */
        }
        *foreign = some_gave_up(intake, *foreign);
        *reads = *foreign ? kc_gpu_reads{} : kc_gpu_text_reads(out);
out:
        return status;
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
        enum kc_status status = KC_OK;
        kc_gate_enter(intake->gate);
        intake->over = true;
        kc_gate_wake(intake->gate, KC_GATE_WORKERS);
        while (status == KC_OK && intake->nreading > 0)
                status = kc_gate_wait(intake->gate, intake->bell, err);
        kc_gate_leave(intake->gate);
        if (status != KC_OK)
                return status;
        detach(intake);
        kc_intake_unmap(intake);
        kc_gate_enter(intake->gate);
        add_to_all(intake);
        intake->all->reading[intake->setup.number] = NULL;
        kc_gate_wake(intake->gate, KC_GATE_DRIVER);
        kc_gate_leave(intake->gate);
        return KC_OK;
}

void kc_gpu_intakes_give_up(struct kc_gpu_intakes *all)
{
        kc_gate_enter(all->gate);
        all->foreign = all->over = true;
        kc_gate_wake(all->gate, KC_GATE_WORKERS);
        kc_gate_wake(all->gate, KC_GATE_DRIVER);
        kc_gate_wake(all->gate, KC_GATE_FOLLOWERS);
        kc_gate_leave(all->gate);
}

static bool are_reading(const struct kc_gpu_intakes *all)
{
        for (int i = 0; i < all->n; i++)
                if (all->reading[i] != NULL)
                        return true;
        return false;
}

enum kc_status kc_gpu_intakes_wait(struct kc_gpu_intakes *all, bool *foreign, struct kc_error *err)
{
        kc_gate_enter(all->gate);
        enum kc_status status = kc_gate_check(all->gate, err);
        while (status == KC_OK && are_reading(all))
                status = kc_gate_wait(all->gate, KC_GATE_DRIVER, err);
        all->over = true;
        *foreign = all->foreign;
        kc_gate_wake(all->gate, KC_GATE_WORKERS);
        kc_gate_leave(all->gate);
        return status;
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
