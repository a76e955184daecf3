/*
 * Arrow's C stream interface (arrow.apache.org/docs/format/CStreamInterface.html). A batch is a
 * struct of two columns. The consumer may take a column out of it and release the rest, so each
 * object owns what it refers to.
 */
#include "app/library/library.h"
#include "kmer/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_NROWS = 1 << 15, NCOLUMNS = 2, METADATA_NBYTES = 64 };

struct arrow_stream {
        struct kcount_cursor *cursor;
        int k;
        bool stranded;
        size_t nrows;
        struct kc_error err; /* of the call that failed */
};

/* ---- the schema ---- */

struct arrow_schema {
        struct ArrowSchema columns[NCOLUMNS], *children[NCOLUMNS];
        char metadata[METADATA_NBYTES];
};

/* Text in metadata: its length, then its letters. */
static char *put_text(const char *text, char *to)
{
        const int32_t n = (int32_t)strlen(text);
        memcpy(to, &n, sizeof n);
        return (char *)memcpy(to + sizeof n, text, (size_t)n) + n;
}

static void put_metadata(const struct arrow_stream *s, char *to)
{
        const int32_t n = 2;
        char k[12];
        snprintf(k, sizeof k, "%d", s->k);
        memcpy(to, &n, sizeof n);
        to = put_text(k, put_text("k", to + sizeof n));
        put_text(s->stranded ? "false" : "true", put_text("canonical", to));
}

static void release_column_schema(struct ArrowSchema *schema)
{
        schema->release = NULL; /* all of it is constant */
}

static void release_schema(struct ArrowSchema *schema)
{
        for (int64_t i = 0; i < schema->n_children; i++)
                if (schema->children[i]->release != NULL)
                        schema->children[i]->release(schema->children[i]);
        free(schema->private_data);
        schema->release = NULL;
}

static enum kc_status make_schema(const struct arrow_stream *s, struct ArrowSchema *out,
                                  struct kc_error *err)
{
        struct arrow_schema *own = malloc(sizeof *own);
        if (own == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for an Arrow schema");
        own->columns[0] = (struct ArrowSchema){ .format = "u",
                                                .name = "kmer",
                                                .release = release_column_schema };
        own->columns[1] = (struct ArrowSchema){ .format = "I",
                                                .name = "count",
                                                .release = release_column_schema };
        for (int i = 0; i < NCOLUMNS; i++)
                own->children[i] = &own->columns[i];
        put_metadata(s, own->metadata);
        *out = (struct ArrowSchema){ .format = "+s",
                                     .name = "",
                                     .metadata = own->metadata,
                                     .n_children = NCOLUMNS,
                                     .children = own->children,
                                     .release = release_schema,
                                     .private_data = own };
        return KC_OK;
}

/* ---- batches ---- */

/* A column, in one piece of memory with its values. */
struct arrow_column {
        const void *buffers[3]; /* the first would mark missing values, but there are none */
        char data[];
};

struct arrow_batch {
        const void *buffers[1]; /* likewise */
        struct ArrowArray columns[NCOLUMNS], *children[NCOLUMNS];
};

static void release_array(struct ArrowArray *array)
{
        for (int64_t i = 0; i < array->n_children; i++)
                if (array->children[i]->release != NULL)
                        array->children[i]->release(array->children[i]);
        free(array->private_data);
        array->release = NULL;
}

/* letters: where they begin in the data, if the column has any. */
static bool make_column(struct ArrowArray *array, int nbuffers, size_t nbytes, size_t letters)
{
        struct arrow_column *column = malloc(sizeof *column + nbytes);
        if (column == NULL)
                return false;
        column->buffers[0] = NULL;
        column->buffers[1] = column->data;
        column->buffers[2] = column->data + letters;
        *array = (struct ArrowArray){ .n_buffers = nbuffers,
                                      .buffers = column->buffers,
                                      .release = release_array,
                                      .private_data = column };
        return true;
}

static size_t offsets_nbytes(const struct arrow_stream *s)
{
        return (s->nrows + 1) * sizeof(int32_t);
}

/* With room for all rows. On failure, *array is released. */
static enum kc_status make_batch(const struct arrow_stream *s, struct ArrowArray *array,
                                 struct kc_error *err)
{
        const size_t letters_nbytes = s->nrows * (size_t)s->k + KC_KMER_TEXT_SCRATCH_NBYTES;
        struct arrow_batch *batch = calloc(1, sizeof *batch);
        if (batch == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for an Arrow batch");
        for (int i = 0; i < NCOLUMNS; i++)
                batch->children[i] = &batch->columns[i];
        *array = (struct ArrowArray){ .n_buffers = 1,
                                      .n_children = NCOLUMNS,
                                      .buffers = batch->buffers,
                                      .children = batch->children,
                                      .release = release_array,
                                      .private_data = batch };
        if (make_column(&batch->columns[0], 3, offsets_nbytes(s) + letters_nbytes,
                        offsets_nbytes(s)) &&
            make_column(&batch->columns[1], 2, s->nrows * sizeof(uint32_t), 0))
                return KC_OK;
        release_array(array);
        return kc_fail(err, KC_ENOMEM, "out of memory for a batch of %zu rows", s->nrows);
}

/* Fill a batch, or as much of it as there are k-mers for. */
static enum kc_status fill(struct arrow_stream *s, struct ArrowArray *array, struct kc_error *err)
{
        struct arrow_batch *batch = array->private_data;
        struct arrow_column *first = batch->columns[0].private_data;
        struct arrow_column *second = batch->columns[1].private_data;
        char *letters = first->data + offsets_nbytes(s);
        size_t n = 0;
        while (n < s->nrows) {
                const uint64_t *kmers;
                const uint32_t *counts;
                size_t m;
                const enum kc_status status =
                        kc_library_cursor_some(s->cursor, s->nrows - n, &kmers, &counts, &m, err);
                if (status != KC_OK)
                        return status;
                if (m == 0)
                        break;
                letters = kc_kmer_text_letters(kmers, s->k, m, letters);
                memcpy(second->data + n * sizeof *counts, counts, m * sizeof *counts);
                n += m;
        }
        for (size_t i = 0; i <= n; i++)
                ((int32_t *)first->data)[i] = (int32_t)(i * (size_t)s->k);
        array->length = batch->columns[0].length = batch->columns[1].length = (int64_t)n;
        return KC_OK;
}

/* ---- the stream ---- */

static int code_of(enum kc_status status)
{
        return status == KC_OK ? 0 : status == KC_ENOMEM ? ENOMEM : EIO;
}

/* After a failure, the stream gives nothing more. */
static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
        struct arrow_stream *s = stream->private_data;
        struct ArrowArray array = { 0 };
        enum kc_status status;
        KC_TRY(s->err.status);
        KC_TRY(make_batch(s, &array, &s->err));
        KC_TRY(fill(s, &array, &s->err));
        if (array.length == 0)
                release_array(&array); /* this is how a stream ends */
        *out = array;
        return 0;
out:
        if (array.release != NULL)
                release_array(&array);
        return code_of(status);
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
        struct arrow_stream *s = stream->private_data;
        return code_of(make_schema(s, out, &s->err));
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
        struct arrow_stream *s = stream->private_data;
        return s->err.status != KC_OK ? s->err.message : NULL;
}

static void release_stream(struct ArrowArrayStream *stream)
{
        struct arrow_stream *s = stream->private_data;
        kcount_cursor_close(s->cursor);
        free(s);
        stream->release = NULL;
}

/* Few enough that the offsets of letters fit and no memory is wasted. */
static size_t limit_rows(const struct kcount_counts *counts, size_t nrows)
{
        size_t most = INT32_MAX / (size_t)counts->k;
        if (counts->info.ndistinct < most)
                most = counts->info.ndistinct > 0 ? (size_t)counts->info.ndistinct : 1;
        if (nrows == 0)
                nrows = USUAL_NROWS;
        return nrows < most ? nrows : most;
}

enum kcount_status kcount_arrow_stream(struct kcount_counts *counts, const uint64_t *from,
                                       const uint64_t *to, size_t nrows,
                                       struct ArrowArrayStream *stream, struct kcount_error **error)
{
        struct kc_error err = { 0 };
        struct arrow_stream *s = calloc(1, sizeof *s);
        if (s == NULL) {
                kc_fail(&err, KC_ENOMEM, "out of memory for an Arrow stream");
                return kc_library_failed(&err, error);
        }
        const enum kcount_status status = kcount_cursor_open(&s->cursor, counts, from, to, error);
        if (status != KCOUNT_OK) {
                free(s);
                return status;
        }
        s->k = counts->k;
        s->stranded = counts->info.stranded;
        s->nrows = limit_rows(counts, nrows);
        *stream = (struct ArrowArrayStream){ .get_schema = get_schema,
                                             .get_next = get_next,
                                             .get_last_error = get_last_error,
                                             .release = release_stream,
                                             .private_data = s };
        return KCOUNT_OK;
}
