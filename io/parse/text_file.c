#include "io/text_file.h"

#include "io/inflate/source.h"
#include "io/input/damage.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_NBYTES = 64 << 10 };

struct kc_text_file {
        struct kc_source *source;
        struct kc_chunk chunk;
        bool begun;
};

/* On failure, `in` is closed, unless the source has it and will close it. */
static enum kc_status open_source(struct kc_text_file *file, struct kc_input *in,
                                  struct kc_error *err)
{
        struct kc_detected found;
        enum kc_status status;
        KC_TRY(kc_chunk_init(&file->chunk, CHUNK_NBYTES, err));
        KC_TRY(kc_detect(in, KC_ACCEPT_LINES | KC_ACCEPT_EMPTY, &found, err));
        if (found.container != KC_CONTAINER_ALIGNMENTS && !found.bam)
                return kc_source_open(&file->source, in, found.container, CHUNK_NBYTES, 1, err);
        status = kc_fail_filter(err, KC_REMEDY_FILTER, in->name, "samtools fasta FILE",
                                "%s is SAM, BAM or CRAM, which is not read here", in->name);
out:
        kc_input_close(in);
        return status;
}

enum kc_status kc_text_file_open_input(struct kc_text_file **file, struct kc_input *in,
                                       struct kc_error *err)
{
        struct kc_text_file *f = calloc(1, sizeof *f);
        struct kc_input own = *in;
        in->fd = -1;
        in->stream = NULL;
        *file = NULL;
        if (f == NULL) {
                kc_input_close(&own);
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        }
        enum kc_status status = open_source(f, &own, err);
        if (status == KC_OK)
                *file = f;
        else
                kc_text_file_close(f);
        return status;
}

enum kc_status kc_text_file_open(struct kc_text_file **file, const char *path, struct kc_error *err)
{
        struct kc_input in;
        enum kc_status status = kc_input_open(&in, path, err);
        if (status == KC_OK)
                return kc_text_file_open_input(file, &in, err);
        kc_input_close(&in);
        *file = NULL;
        return status;
}

/* In the first chunk with text. A mark split between BGZF blocks is left, and refused later. */
static void skip_bom(struct kc_chunk *chunk)
{
        if (chunk->end - chunk->text >= KC_BOM_NBYTES &&
            memcmp(chunk->buffer + chunk->text, KC_BOM, KC_BOM_NBYTES) == 0)
                chunk->text += KC_BOM_NBYTES;
}

enum kc_status kc_text_file_read(struct kc_text_file *file, const char **text, size_t *n,
                                 struct kc_error *err)
{
        struct kc_chunk *chunk = &file->chunk;
        *n = 0;
        while (*n == 0) {
                kc_chunk_clear(chunk);
                if (!kc_source_fill(file->source, chunk))
                        break;
                if (chunk->open_end.found) /* lines do not show whether one is missing */
                        kc_damage_no_end_block(file->source->input.name, chunk->open_end.offset,
                                               !chunk->last, "gzip -dc FILE", &chunk->error);
                if (chunk->error.status != KC_OK)
                        return kc_fail_as(err, &chunk->error);
                if (!file->begun)
                        skip_bom(chunk);
                file->begun |= chunk->end > chunk->front;
                *n = chunk->end - chunk->text;
        }
        *text = (const char *)chunk->buffer + chunk->text;
        return KC_OK;
}

void kc_text_file_close(struct kc_text_file *file)
{
        if (file == NULL)
                return;
        kc_source_close(file->source);
        kc_chunk_free(&file->chunk);
        free(file);
}
