#include "app/filter/outputs.h"

#include "app/cli/file_check.h"
#include "app/cli/output_name.h"
#include "app/library/same_file.h"

#include <stdlib.h>
#include <string.h>

bool outputs_compression(const char *path, enum kc_compression *compression)
{
        static const char *const bgzf[] = { ".gz", ".bgz", ".bgzf", ".gzip", ".bam", NULL };
        static const char *const zstd[] = { ".zst", ".zstd", NULL };
        static const char *const others[] = { ".bz2", ".xz", ".lzma", ".lz4",  ".lz",
                                              ".lzo", ".Z",  ".zip",  ".cram", NULL };
        *compression = output_ends_with(path, bgzf)   ? KC_COMPRESSION_BGZF
                       : output_ends_with(path, zstd) ? KC_COMPRESSION_ZSTD
                                                      : KC_COMPRESSION_NONE;
        return !output_ends_with(path, others);
}

size_t outputs_paths(const struct outputs_settings *settings, const char **to)
{
        size_t n = 0;
        for (size_t i = 0; i < NOUTPUTS; i++)
                if (settings->paths[i] != NULL)
                        to[n++] = settings->paths[i];
        return n;
}

static enum outputs_kind kind_of(const char *path)
{
        static const char *const bam[] = { ".bam", NULL };
        static const char *const sam[] = { ".sam", ".sam.gz", ".sam.zst", NULL };
        if (output_ends_with(path, bam))
                return OUTPUTS_BAM;
        if (output_ends_with(path, sam))
                return OUTPUTS_SAM;
        return text_out_makes_file(path) ? OUTPUTS_TEXT : OUTPUTS_OF_INPUT;
}

static bool has_reads(size_t number)
{
        return number < OUTPUTS_NAMES;
}

enum kc_status outputs_choose_kind(struct outputs_settings *settings, struct kc_error *err)
{
        const char *first = NULL;
        settings->kind = OUTPUTS_OF_INPUT;
        for (size_t i = 0; i < NOUTPUTS; i++) {
                const char *path = settings->paths[i];
                if (path == NULL || !has_reads(i) || kind_of(path) == OUTPUTS_OF_INPUT)
                        continue;
                if (first != NULL && kind_of(path) != settings->kind)
                        return kc_fail(err, KC_EUSAGE,
                                       "%s and %s: the reads that are kept and the rest must have "
                                       "the same format",
                                       first, path);
                first = path;
                settings->kind = kind_of(path);
        }
        return KC_OK;
}

static enum kc_status check_one(size_t number, const char *path, bool force, struct kc_error *err)
{
        enum kc_compression compression;
        const enum outputs_kind kind = kind_of(path);
        if (!outputs_compression(path, &compression))
                return kc_fail(err, KC_EUSAGE,
                               "%s: filter writes plain text, .gz, .zst, .bam and .sam; other "
                               "formats can be made by a pipe from standard output (-o -)",
                               path);
        if (!has_reads(number) && (kind == OUTPUTS_SAM || kind == OUTPUTS_BAM))
                return kc_fail(err, KC_EUSAGE, "%s: this output has lines of text, not alignments",
                               path);
        return text_out_makes_file(path) ? output_check(path, true, force, err) : KC_OK;
}

enum kc_status outputs_check(const struct outputs_settings *settings, const char *const *inputs,
                             size_t ninputs, struct kc_error *err)
{
        const char *paths[NOUTPUTS];
        const size_t n = outputs_paths(settings, paths);
        enum kc_status status;
        KC_TRY(kc_output_check_files(paths, n, inputs, ninputs, err));
        for (size_t i = 0; i < NOUTPUTS; i++)
                if (settings->paths[i] != NULL)
                        KC_TRY(check_one(i, settings->paths[i], settings->force, err));
out:
        return status;
}

/* ctx of a compressor: a struct text_out. */
static enum kc_status write_file(void *ctx, const void *data, size_t nbytes, struct kc_error *err)
{
        struct text_out *file = ctx;
        text_out_write(file, data, nbytes);
        return text_out_status(file, err);
}

static enum kc_status open_file(struct output *output, const struct outputs_settings *settings,
                                struct kc_error *err)
{
        if (strcmp(output->path, "-") == 0) {
                output->file = settings->standard;
                return KC_OK;
        }
        output->own = malloc(sizeof *output->own);
        if (output->own == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        output->file = output->own;
        return text_out_open(output->own, output->path, settings->force, err);
}

/* How an output is compressed. */
static struct kc_compressor_options options_of(const struct outputs_settings *settings,
                                               size_t number)
{
        struct kc_compressor_options options = { .nthreads = settings->nthreads,
                                                 .memory_nbytes = settings->memory_nbytes,
                                                 .write = write_file };
        outputs_compression(settings->paths[number], &options.compression);
        if (has_reads(number) && settings->kind == OUTPUTS_BAM)
                options.compression = KC_COMPRESSION_BGZF;
        return options;
}

uint64_t outputs_nbytes(const struct outputs_settings *settings)
{
        uint64_t nbytes = 0;
        for (size_t i = 0; i < NOUTPUTS; i++)
                if (settings->paths[i] != NULL) {
                        const struct kc_compressor_options options = options_of(settings, i);
                        nbytes += kc_compressor_nbytes(&options);
                }
        return nbytes;
}

static enum kc_status open_one(struct output *output, size_t number,
                               const struct outputs_settings *settings, struct kc_error *err)
{
        struct kc_compressor_options options = options_of(settings, number);
        enum kc_status status;
        output->path = settings->paths[number];
        KC_TRY(open_file(output, settings, err));
        options.ctx = output->file;
        KC_TRY(kc_compressor_open(&output->compressor, &options, err));
out:
        return status;
}

enum kc_status outputs_open(struct outputs *outputs, const struct outputs_settings *settings,
                            struct kc_error *err)
{
        enum kc_status status = KC_OK;
        *outputs = (struct outputs){ .kind = settings->kind, .makes_files = true };
        for (size_t i = 0; i < NOUTPUTS; i++)
                if (settings->paths[i] != NULL) {
                        outputs->makes_files &= text_out_makes_file(settings->paths[i]);
                        KC_TRY(open_one(&outputs->all[i], i, settings, err));
                }
out:
        return status;
}

enum kc_status outputs_restart(struct outputs *outputs, const struct outputs_settings *settings,
                               struct kc_error *err)
{
        outputs_close(outputs);
        return outputs_open(outputs, settings, err);
}

bool outputs_has(const struct outputs *outputs, unsigned number)
{
        return outputs->all[number].path != NULL;
}

enum kc_status outputs_put(struct outputs *outputs, unsigned number, const char *text,
                           size_t nbytes, struct kc_error *err)
{
        struct output *output = &outputs->all[number];
        if (output->path == NULL)
                return KC_OK;
        return kc_compressor_put(output->compressor, text, nbytes, err);
}

enum kc_status outputs_help(struct outputs *outputs, int thread, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < NOUTPUTS; i++)
                if (outputs->all[i].path != NULL)
                        KC_TRY(kc_compressor_help(outputs->all[i].compressor, thread, err));
out:
        return status;
}

/* Standard output stays open. */
static enum kc_status finish_file(const struct output *output, struct kc_error *err)
{
        if (output->own != NULL)
                return text_out_finish(output->own, err);
        text_out_flush(output->file);
        return text_out_status(output->file, err);
}

enum kc_status outputs_finish(struct outputs *outputs, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < NOUTPUTS; i++)
                if (outputs->all[i].path != NULL) {
                        KC_TRY(kc_compressor_finish(outputs->all[i].compressor, err));
                        KC_TRY(finish_file(&outputs->all[i], err));
                }
out:
        return status;
}

enum kc_status outputs_commit(struct outputs *outputs, struct kc_error *err)
{
        struct kc_new_file *files[NOUTPUTS];
        size_t n = 0;
        for (size_t i = 0; i < NOUTPUTS; i++)
                if (outputs->all[i].own != NULL && outputs->all[i].own->is_new)
                        files[n++] = &outputs->all[i].own->file;
        return n > 0 ? kc_new_files_commit(files, n, err) : KC_OK;
}

bool outputs_pipe_closed(const struct outputs *outputs)
{
        for (size_t i = 0; i < NOUTPUTS; i++)
                if (outputs->all[i].file != NULL && text_out_pipe_closed(outputs->all[i].file))
                        return true;
        return false;
}

void outputs_close(struct outputs *outputs)
{
        for (size_t i = 0; i < NOUTPUTS; i++) {
                struct output *output = &outputs->all[i];
                kc_compressor_close(output->compressor);
                if (output->own != NULL)
                        text_out_abort(output->own);
                free(output->own);
                *output = (struct output){ 0 };
        }
}
