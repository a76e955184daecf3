/* The Arrow stream of include/kcount.h, taken by a consumer and compared with plain lists. */
#include "library_support.h"

#include <errno.h>

static void check_schema(struct ArrowArrayStream *stream, const struct pair_set *s)
{
        struct ArrowSchema schema;
        char metadata[64];
        const char *format = "%c%c%c%c%c%c%c%ck%c%c%c%c%s%c%c%c%ccanonical%c%c%c%c%s";
        char k[12];
        snprintf(k, sizeof k, "%d", s->k);
        const int n = snprintf(metadata, sizeof metadata, format, 2, 0, 0, 0, 1, 0, 0, 0,
                               (int)strlen(k), 0, 0, 0, k, 9, 0, 0, 0, s->stranded ? 5 : 4, 0, 0, 0,
                               s->stranded ? "false" : "true");
        assert_int_equal(stream->get_schema(stream, &schema), 0);
        assert_string_equal(schema.format, "+s");
        assert_memory_equal(schema.metadata, metadata, n);
        assert_int_equal(schema.n_children, 2);
        assert_true(schema.flags == 0 && schema.dictionary == NULL);
        assert_string_equal(schema.children[0]->format, "u");
        assert_string_equal(schema.children[0]->name, "kmer");
        assert_string_equal(schema.children[1]->format, "I");
        assert_string_equal(schema.children[1]->name, "count");
        for (int i = 0; i < 2; i++)
                assert_true(schema.children[i]->flags == 0 && schema.children[i]->n_children == 0);
        schema.release(&schema);
        assert_null(schema.release);
}

/* A batch of the n pairs from `at` on. */
static void check_batch(const struct ArrowArray *batch, const struct pair_set *s, size_t at,
                        size_t n)
{
        const struct ArrowArray *kmers = batch->children[0], *counts = batch->children[1];
        const int32_t *ends = kmers->buffers[1];
        const char *letters = kmers->buffers[2];
        char expected[KC_MAX_K];
        assert_true(batch->n_children == 2 && batch->n_buffers == 1 && batch->buffers[0] == NULL);
        assert_true(kmers->n_buffers == 3 && kmers->buffers[0] == NULL);
        assert_true(counts->n_buffers == 2 && counts->buffers[0] == NULL);
        const struct ArrowArray *all[] = { batch, kmers, counts };
        for (size_t i = 0; i < 3; i++) {
                assert_int_equal(all[i]->length, n);
                assert_true(all[i]->null_count == 0 && all[i]->offset == 0);
                assert_null(all[i]->dictionary);
        }
        for (size_t i = 0; i < n; i++) {
                kc_kmer_format(s->kmers + (at + i) * s->nw, s->k, expected);
                assert_int_equal(ends[i], (int)i * s->k);
                assert_memory_equal(letters + ends[i], expected, (size_t)s->k);
        }
        assert_int_equal(ends[n], (int)n * s->k);
        assert_memory_equal(counts->buffers[1], s->counts + at, n * sizeof *s->counts);
}

/* Take a column out of a batch, as the specification allows, and release both. */
static void release_apart(struct ArrowArray *batch, int column, const struct pair_set *s, size_t at)
{
        struct ArrowArray taken = *batch->children[column];
        batch->children[column]->release = NULL;
        batch->release(batch);
        assert_null(batch->release);
        if (column == 1)
                assert_memory_equal(taken.buffers[1], s->counts + at, 4 * (size_t)taken.length);
        else
                assert_int_equal(((const int32_t *)taken.buffers[1])[taken.length],
                                 (int)taken.length * s->k);
        taken.release(&taken);
}

static void check_stream(struct kcount_counts *counts, const struct pair_set *s,
                         const uint64_t *from, const uint64_t *to, size_t nrows)
{
        uint64_t first[KC_MAX_WORDS], last[KC_MAX_WORDS];
        size_t at = from != NULL ? lower_bound(s, from, false) : 0;
        const size_t end = to != NULL ? lower_bound(s, to, true) : s->n;
        const size_t most = nrows > 0 ? nrows : 1 << 15;
        struct ArrowArrayStream stream;
        if (from != NULL)
                turn(from, s->nw, 1, first);
        if (to != NULL)
                turn(to, s->nw, 1, last);
        assert_done(kcount_arrow_stream, counts, from != NULL ? first : NULL,
                    to != NULL ? last : NULL, nrows, &stream);
        check_schema(&stream, s);
        for (int i = 0;; i++) {
                struct ArrowArray batch;
                assert_int_equal(stream.get_next(&stream, &batch), 0);
                if (batch.release == NULL)
                        break;
                const size_t n = end - at < most ? end - at : most;
                assert_true(n > 0);
                check_batch(&batch, s, at, n);
                if (i % 3 < 2)
                        release_apart(&batch, i % 3, s, at);
                else
                        batch.release(&batch);
                at += n;
        }
        assert_true(at >= end);
        assert_null(stream.get_last_error(&stream));
        check_schema(&stream, s);
        stream.release(&stream);
        assert_null(stream.release);
}

static void test_streams(void **state)
{
        (void)state;
        static const int some_ks[] = { 4, 21, 32, 33, 255 };
        static const size_t sizes[] = { 0, 1, 1500, 40000 };
        for (size_t i = 0; i < sizeof some_ks / sizeof *some_ks; i++)
                for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
                        struct pair_set s = make_set(some_ks[i], i % 2, sizes[j], i);
                        uint64_t a[KC_MAX_WORDS], b[KC_MAX_WORDS], rng = i;
                        write_set(&s, "s.kc", 2, 700, i);
                        struct kcount_counts *counts = open_counts("s.kc");
                        check_stream(counts, &s, NULL, NULL, 0);
                        check_stream(counts, &s, NULL, NULL, SIZE_MAX);
                        check_stream(counts, &s, NULL, NULL, 1000);
                        for (size_t nrows = 1; nrows < 3000; nrows *= 7) {
                                random_kmer(&s, &rng, a);
                                random_kmer(&s, &rng, b);
                                if (lower_bound(&s, a, false) > lower_bound(&s, b, true))
                                        continue;
                                check_stream(counts, &s, a, b, nrows * 50);
                                check_stream(counts, &s, a, a, nrows);
                        }
                        kcount_close(counts);
                        free_set(&s);
                }
        unlink("s.kc");
}

/* Damage ends a stream, and what it gave before remains. */
static void test_damage(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, false, 40000, 1);
        struct ArrowArrayStream stream;
        struct ArrowArray before, after = { .length = 77 };
        write_set(&s, "s.kc", 2, 9000, 3);
        size_t nbytes;
        uint8_t *data = read_file("s.kc", &nbytes);
        data[nbytes / 2] ^= 1;
        write_file("s.kc", data, nbytes);
        struct kcount_counts *counts = open_counts("s.kc");
        assert_done(kcount_arrow_stream, counts, NULL, NULL, 1000, &stream);
        assert_int_equal(stream.get_next(&stream, &before), 0);
        int code = 0;
        while (code == 0) {
                struct ArrowArray batch;
                code = stream.get_next(&stream, &batch);
                if (code == 0) {
                        assert_non_null(batch.release);
                        batch.release(&batch);
                }
        }
        assert_int_equal(code, EIO);
        assert_non_null(strstr(stream.get_last_error(&stream), "s.kc"));
        assert_int_equal(stream.get_next(&stream, &after), EIO);
        assert_int_equal(after.length, 77);
        stream.release(&stream);
        kcount_close(counts);
        check_batch(&before, &s, 0, 1000);
        before.release(&before);
        unlink("s.kc");
        free(data);
        free_set(&s);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_streams),
                cmocka_unit_test(test_damage),
        };
        return cmocka_run_group_tests(tests, enter_memory, leave_folder);
}
