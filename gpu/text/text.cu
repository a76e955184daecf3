#include "gpu/text/bam.cuh"
#include "gpu/text/text_internal.cuh"

#include <cstdlib>

enum {
        ALIGNMENT = 16, /* of loads */
        LEAST = 1024,   /* lines and segments; more than the letters that texts share */
        /* Words that are read after the end of a plane: the neighbor of its last word, and one more
         * for bits that begin in that one. */
        PLANE_PADDING = 2,
};

namespace
{

/* How many elements of everything a text may need. */
struct text_sizes {
        size_t words, tiles, lines, runs, records, parts;
};

} // namespace

static struct text_sizes sizes_of(size_t nbytes)
{
        struct text_sizes sizes;
        sizes.tiles = (nbytes + ALIGNMENT) / TEXT_TILE_NBYTES + 1;
        sizes.words = sizes.tiles * 32;
        sizes.lines = (nbytes / TEXT_LINE_NBYTES + LEAST) / 4 * 4;
        sizes.runs = nbytes / TEXT_RUN_NBYTES + LEAST;
        sizes.records = nbytes / TEXT_BAM_FIXED_NBYTES + 1;
        sizes.parts = kc_gpu_text_bam_nparts(nbytes + ALIGNMENT);
        return sizes;
}

size_t kc_gpu_text_most_spans(const struct kc_gpu_text_setup *setup)
{
        return sizes_of(setup->max_nbytes).runs + setup->max_nbytes / KC_SPAN_NKMERS;
}

namespace
{

/* Pass the address and the size of every array in a view to a function of (T **, size_t n). */
template <class Function>
static void each_array(struct text_view *t, const struct text_sizes &n,
                       const struct kc_gpu_text_setup &setup, Function function)
{
        const size_t plane = n.words + PLANE_PADDING;
        function(&t->bases, plane);
        function(&t->lines, plane);
        function(&t->extra, setup.fasta || setup.min_quality > 0 ? plane : 0);
        function(&t->usable, plane);
        function(&t->gapped, setup.fasta ? n.words : 0);
        function(&t->tile_lines, n.tiles + 1);
        function(&t->tile_bases, setup.fasta ? n.tiles + 1 : 0);
        function(&t->tile_runs, n.tiles + 1);
        function(&t->line_starts, n.lines + 1);
        function(&t->kinds, setup.fasta ? n.lines + 1 : 0);
        function(&t->parts, setup.bam ? n.parts : 0);
        function(&t->record_places, setup.bam ? n.records + 1 : 0);
        function(&t->run_begins, n.runs);
        function(&t->run_ends, n.runs);
        function(&t->run_spans, n.runs + 1);
        function(&t->facts, (size_t)1);
        function(&t->found, (size_t)1);
}

} // namespace

size_t kc_gpu_text_nbytes(const struct kc_gpu_text_setup *setup)
{
        struct text_view view = {};
        size_t nbytes = 0;
        each_array(&view, sizes_of(setup->max_nbytes), *setup, [&nbytes](auto **array, size_t n) {
                nbytes += kc_round_up(n * sizeof **array, 256);
        });
        return nbytes;
}

static enum kc_status find_scratch_size(struct kc_gpu_text *text, const struct text_sizes &n,
                                        struct kc_error *err)
{
        enum kc_status status;
        const cudaStream_t stream = text->gpu->stream;
        size_t lines = 0, records = 0, runs = 0, spans = 0;
        KC_TRY(kc_gpu_text_sum(NULL, &lines, (uint32_t *)NULL, n.tiles + 1, stream, err));
        KC_TRY(kc_gpu_text_sum(NULL, &records, (uint32_t *)NULL, n.records + 1, stream, err));
        KC_TRY(kc_gpu_text_sum(NULL, &runs, (uint64_t *)NULL, n.tiles + 1, stream, err));
        KC_TRY(kc_gpu_text_sum_spans(NULL, &spans, &text->view, 1, stream, err));
        for (const size_t nbytes : { lines, records, runs, spans })
                if (nbytes > text->scratch_nbytes)
                        text->scratch_nbytes = nbytes;
out:
        return status;
}

enum kc_status kc_gpu_text_new(struct kc_gpu_text **out, struct kc_gpu *gpu,
                               const struct kc_gpu_text_setup *setup, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const struct text_sizes sizes = sizes_of(setup->max_nbytes);
        struct kc_gpu_text *text = (struct kc_gpu_text *)calloc(1, sizeof *text);
        *out = NULL;
        if (text == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        text->gpu = gpu;
        text->setup = *setup;
        text->view.lines_cap = (uint32_t)sizes.lines;
        text->view.runs_cap = (uint32_t)sizes.runs;
        each_array(&text->view, sizes, *setup, [&](auto **array, size_t n) {
                if (status == KC_OK)
                        status = kc_gpu_new(gpu, array, n, err);
        });
        KC_TRY(status);
        KC_TRY(find_scratch_size(text, sizes, err));
        KC_TRY(kc_gpu_alloc(gpu, &text->scratch, text->scratch_nbytes, err));
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&text->found, sizeof *text->found)));
        *out = text;
        text = NULL;
out:
        kc_gpu_text_free(text);
        return status;
}

void kc_gpu_text_free(struct kc_gpu_text *text)
{
        if (text == NULL)
                return;
        struct kc_gpu *gpu = text->gpu;
        each_array(&text->view, sizes_of(text->setup.max_nbytes), text->setup,
                   [gpu](auto **array, size_t n) { kc_gpu_delete(gpu, *array, n); });
        kc_gpu_release(gpu, text->scratch, text->scratch_nbytes);
        (void)cudaFreeHost(text->found);
        free(text);
}

/* ---- a text ---- */

void kc_gpu_text_show(struct kc_gpu_text *text, const struct kc_gpu_text_input *input,
                      size_t nbytes, uint64_t *codes)
{
        struct text_view *t = &text->view;
        const struct kc_gpu_text_setup *setup = &text->setup;
        const size_t least_run = (size_t)setup->min_k + 1;
        const size_t nletters = input->format == KC_GPU_TEXT_FASTQ ? nbytes / 2 : nbytes;
        const struct text_sizes sizes = sizes_of(setup->max_nbytes);
        const size_t most_runs = nletters / least_run + 2;
        t->begin = (uint32_t)((uintptr_t)input->bytes % ALIGNMENT);
        t->bytes = input->bytes - t->begin;
        t->end = t->begin + (uint32_t)nbytes;
        t->noverlap = input->noverlap;
        t->nrefs = input->nrefs;
        t->marks = setup->marks;
        t->nwords = t->end / 32 + 1;
        t->ntiles = kc_ceil_div(t->nwords, 32);
        t->nparts = (uint32_t)kc_gpu_text_bam_nparts(t->end);
        t->records_cap = (uint32_t)(nbytes / TEXT_BAM_FIXED_NBYTES);
        t->last = input->last && nbytes == input->nbytes;
        t->min_quality = setup->min_quality > 0 ? kc_text_quality_letter(setup->min_quality) : 0;
        t->runs_cap = (uint32_t)(most_runs < sizes.runs ? most_runs : sizes.runs);
        t->codes = codes;
}

/* The usable plane of a text of lines. */
static enum kc_status find_in_lines(struct kc_gpu_text *text, enum kc_gpu_text_format format,
                                    struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_gpu_text_classify(text, format, err));
        KC_TRY(kc_gpu_text_find_lines(text, format, err));
        if (format == KC_GPU_TEXT_FASTQ)
                KC_TRY(kc_gpu_text_fastq(text, err));
        else
                KC_TRY(kc_gpu_text_fasta(text, err));
out:
        return status;
}

static enum kc_status find_reads(struct kc_gpu_text *text, const struct kc_gpu_text_input *input,
                                 struct kc_error *err)
{
        enum kc_status status;
        if (input->format == KC_GPU_TEXT_BAM)
                KC_TRY(kc_gpu_text_bam(text, err));
        else
                KC_TRY(find_in_lines(text, input->format, err));
        KC_TRY(kc_gpu_text_find_runs(text, err));
out:
        return status;
}

/* Cut spans, add them to *out, and wait until that is done. */
static enum kc_status add_spans(struct kc_gpu_text *text, int k, struct kc_gpu_text_out *out,
                                uint32_t first_word, bool *full, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = text->gpu;
        const struct text_found *found = text->found;
        uint64_t nbases;
        KC_TRY(kc_gpu_text_cut_spans(text, k, first_word, out->spans + out->nspans,
                                     out->spans_cap - out->nspans, err));
        KC_TRY(kc_gpu_read(gpu, text->found, text->view.found, 1, err));
        nbases = found->nkmers + found->nends * (uint64_t)(k - 1);
        *full = found->nspans > out->spans_cap - out->nspans ||
                nbases > out->max_nbases - out->nbases;
        if (*full)
                goto out;
        out->nspans += found->nspans;
        out->nkmers += found->nkmers;
        out->nbases += nbases;
out:
        return status;
}

enum kc_status kc_gpu_text_parse(struct kc_gpu_text *text, const struct kc_gpu_text_input *input,
                                 struct kc_gpu_text_out *out, struct kc_gpu_text_result *result,
                                 struct kc_error *err)
{
        enum kc_status status = KC_OK;
        size_t nbytes = input->nbytes;
        for (;; nbytes /= 2) {
                *result = {};
                kc_gpu_text_show(text, input, nbytes, out->words + out->nwords);
                result->full = out->words_cap - out->nwords < text->view.nwords;
                if (result->full)
                        goto out;
                KC_TRY(find_reads(text, input, err));
                KC_TRY(add_spans(text, text->setup.min_k, out, (uint32_t)out->nwords, &result->full,
                                 err));
                if (text->found->nruns <= text->view.runs_cap)
                        break; /* usually at once */
        }
        if (result->full)
                goto out;
        *result = text->found->result;
        text->first_word = (uint32_t)out->nwords;
        out->nwords += text->found->nwords;
        out->nmarks += text->view.marks && input->noverlap > 0;
        if (nbytes < input->nbytes && result->consumed == 0)
                result->foreign = true; /* more text would not help */
out:
        return status;
}

enum kc_status kc_gpu_text_cut(struct kc_gpu_text *text, int k, struct kc_gpu_text_out *out,
                               bool *full, struct kc_error *err)
{
        return add_spans(text, k, out, text->first_word, full, err);
}
