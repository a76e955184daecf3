/*
 * The device's thread: from portions to rounds of text, and from rounds to reads.
 */
#include "gpu/intake/intake_internal.cuh"

#include <cstring>

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
        const size_t usual = 64 << 20, least = intake->setup.text_nbytes / 32;
        const size_t by_bases = kc_intake_most_text(intake->source, out->max_nbases - out->nbases);
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

/* Go on after a piece: to the rest of the round, or if no more of that can be parsed, to its
 * end. */
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
