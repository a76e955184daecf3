/*
 * For the tests of records: all records of a file, as any number of threads get them, put together
 * from their pieces.
 */
#ifndef KC_TESTS_IO_RECORDS_RECORDS_SUPPORT_H
#define KC_TESTS_IO_RECORDS_RECORDS_SUPPORT_H

#include "io/records.h"
#include "tests/io/parse/alignment_support.h"

#include <pthread.h>

/* A whole record. */
struct got {
        struct buffer name, bases, qualities, plus;
        bool has_qualities, repeated;
        size_t npieces;
};

struct stream {
        struct kc_records *records;
        struct kc_records_options options;
        pthread_mutex_t lock;
        struct copy { /* a batch as it was given */
                struct kc_seq_record *records;
                size_t n;
                struct buffer bytes;
        } * copies; /* by number */
        size_t ncopies, copies_cap;
        size_t most_records; /* of a batch */

        enum kc_status status;
        char message[1200];
        struct got *got; /* [n] */
        size_t n;
        struct buffer text; /* of all records */
};

/* Copy what the record refers to, so that ASan sees whether it is there. */
static inline void copy_batch(struct copy *copy, const struct kc_record_batch *batch)
{
        size_t end = 0;
        copy->n = batch->n;
        copy->records = malloc(batch->n * sizeof *copy->records);
        memcpy(copy->records, batch->records, batch->n * sizeof *copy->records);
        for (size_t i = 0; i < batch->n; i++) {
                const struct kc_seq_record *r = &batch->records[i];
                const bool has = r->qualities != KC_RECORD_NO_QUALITIES;
                const size_t ends[] = { (size_t)r->text + r->text_nbytes,
                                        (size_t)r->name + r->name_nbytes,
                                        (size_t)r->bases + r->nbases,
                                        has ? (size_t)r->qualities + r->nbases : 0,
                                        (size_t)r->plus + r->plus_nbytes };
                for (int j = 0; j < 5; j++)
                        end = ends[j] > end ? ends[j] : end;
        }
        copy->bytes = (struct buffer){ 0 };
        put(&copy->bytes, batch->bytes, end);
}

static inline enum kc_status stream_worker(void *ctx, int worker, struct kc_error *err)
{
        struct stream *s = ctx;
        struct kc_record_batch batch = { 0 };
        enum kc_status status;
        (void)worker;
        while ((status = kc_records_next(s->records, &batch, err)) == KC_OK && batch.n > 0) {
                pthread_mutex_lock(&s->lock);
                while (batch.number >= s->copies_cap) {
                        const size_t cap = 2 * s->copies_cap + 64;
                        s->copies = realloc(s->copies, cap * sizeof *s->copies);
                        memset(s->copies + s->copies_cap, 0,
                               (cap - s->copies_cap) * sizeof *s->copies);
                        s->copies_cap = cap;
                }
                assert_int_equal(s->copies[batch.number].n, 0);
                copy_batch(&s->copies[batch.number], &batch);
                s->ncopies = batch.number >= s->ncopies ? batch.number + 1 : s->ncopies;
                s->most_records = batch.n > s->most_records ? batch.n : s->most_records;
                pthread_mutex_unlock(&s->lock);
        }
        kc_record_batch_free(&batch);
        return status;
}

/* Check the bases that the piece shares with those before. */
static inline void check_overlap(const struct stream *s, const struct got *got, const char *bases,
                                 size_t noverlap)
{
        size_t want = 0;
        while (want < (size_t)s->options.overlap && want < got->bases.n &&
               upper_base(got->bases.data[got->bases.n - 1 - want]))
                want++;
        assert_int_equal(noverlap, want);
        assert_memory_equal(bases, got->bases.data + got->bases.n - want, want);
}

static inline void take_record(struct stream *s, const char *bytes, const struct kc_seq_record *r)
{
        const bool begins = r->flags & KC_RECORD_BEGINS;
        if (begins) {
                s->got = realloc(s->got, (s->n + 1) * sizeof *s->got);
                s->got[s->n++] = (struct got){ 0 };
        }
        assert_true(s->n > 0);
        struct got *got = &s->got[s->n - 1];
        assert_int_equal(r->number, s->n - 1);
        assert_int_equal(r->offset, got->bases.n);
        if (begins) {
                assert_int_equal(r->noverlap, 0);
                put(&got->name, bytes + r->name, r->name_nbytes);
        } else {
                if (r->nbases > 0)
                        check_overlap(s, got, bytes + r->bases, r->noverlap);
                assert_int_equal(r->name_nbytes, got->name.n);
                assert_memory_equal(bytes + r->name, got->name.data, got->name.n);
        }
        if (!begins || !(r->flags & KC_RECORD_ENDS))
                assert_int_equal(r->qualities, KC_RECORD_NO_QUALITIES);
        put(&got->bases, bytes + r->bases + r->noverlap, r->nbases - r->noverlap);
        got->has_qualities = r->qualities != KC_RECORD_NO_QUALITIES;
        if (got->has_qualities)
                put(&got->qualities, bytes + r->qualities, r->nbases);
        put(&got->plus, bytes + r->plus, r->plus_nbytes);
        got->repeated = r->flags & KC_RECORD_REPEATED;
        got->npieces++;
        put(&s->text, bytes + r->text, r->text_nbytes);
}

/* Put the batches together, in the order of their numbers. */
static inline void take_copies(struct stream *s)
{
        bool whole = true;
        for (size_t i = 0; i < s->ncopies; i++) {
                assert_true(s->copies[i].n > 0);
                for (size_t j = 0; j < s->copies[i].n; j++) {
                        const struct kc_seq_record *r = &s->copies[i].records[j];
                        assert_true(whole == (bool)(r->flags & KC_RECORD_BEGINS));
                        whole = r->flags & KC_RECORD_ENDS;
                        take_record(s, s->copies[i].bytes.data, r);
                }
                free(s->copies[i].records);
                drop(&s->copies[i].bytes);
        }
        assert_true(whole || s->status != KC_OK);
        free(s->copies);
        s->copies = NULL;
}

static inline struct stream read_records(const char *path, const struct kc_records_options *options)
{
        struct stream s = { .options = *options };
        struct kc_error err = { 0 };
        pthread_mutex_init(&s.lock, NULL);
        s.status = kc_records_open(&s.records, path, options, &err);
        if (s.status == KC_OK)
                s.status = kc_parallel(options->nthreads, stream_worker, NULL, &s, &err);
        assert_int_equal(s.status, err.status);
        snprintf(s.message, sizeof s.message, "%s", err.message);
        take_copies(&s);
        kc_records_close(s.records);
        pthread_mutex_destroy(&s.lock);
        return s;
}

static inline struct stream read_record_bytes(const struct buffer *bytes,
                                              const struct kc_records_options *options)
{
        const char *path = scratch_path("records");
        write_file(path, bytes->data ? bytes->data : "", bytes->n);
        struct stream s = read_records(path, options);
        unlink(path);
        return s;
}

static inline struct stream read_record_text(const char *text,
                                             const struct kc_records_options *options)
{
        struct buffer b = { .data = (char *)text, .n = strlen(text) };
        return read_record_bytes(&b, options);
}

static inline void drop_stream(struct stream *s)
{
        for (size_t i = 0; i < s->n; i++) {
                drop(&s->got[i].name);
                drop(&s->got[i].bases);
                drop(&s->got[i].qualities);
                drop(&s->got[i].plus);
        }
        free(s->got);
        drop(&s->text);
}

static inline void assert_buffer(const struct buffer *got, const char *want)
{
        assert_string_equal(got->data != NULL ? got->data : "", want);
}

/* The names of reads that format_reads writes. */
static inline void assert_reads(const struct stream *s, const struct reads *reads,
                                const struct layout *l)
{
        char name[64];
        if (s->status != KC_OK)
                print_error("%s\n", s->message);
        assert_int_equal(s->status, KC_OK);
        assert_int_equal(s->n, reads->n);
        for (size_t r = 0; r < reads->n; r++) {
                const struct got *got = &s->got[r];
                snprintf(name, sizeof name, "read%zu/1 of a test", r);
                assert_buffer(&got->name, name);
                assert_buffer(&got->bases, reads->seq[r]);
                if (got->npieces > 1 || (!got->has_qualities && s->options.record_max > 0 &&
                                         2 * got->bases.n > s->options.record_max - 100))
                        continue; /* the qualities are in the text only */
                assert_int_equal(got->has_qualities, !l->fasta);
                assert_buffer(&got->qualities, l->fasta ? "" : reads->qual[r]);
                assert_buffer(&got->plus, l->plus_name ? name : "");
        }
}

/* The message says what, and the error is one of the input. */
static inline void assert_bad(const struct stream *s, const char *what)
{
        if (s->status != KC_EINPUT || strstr(s->message, what) == NULL)
                print_error("status %d, message \"%s\", expected \"%s\"\n", s->status, s->message,
                            what);
        assert_int_equal(s->status, KC_EINPUT);
        assert_non_null(strstr(s->message, what));
}

#endif
