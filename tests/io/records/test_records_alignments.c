/* Records of SAM, BAM and CRAM. */
#include "tests/io/records/records_support.h"

static const struct stored {
        int flag;
        const char *seq, *qual;        /* in the file */
        const char *bases, *qualities; /* as sequenced */
} records[] = {
        { 4, "ACGTACGTNNACG", "IIIIIIIIIIIII", "ACGTACGTNNACG", "IIIIIIIIIIIII" },
        { 0, "GGGGCCCCATA", "IIIII#IIIII", "GGGGCCCCATA", "IIIII#IIIII" },
        { 16, "GGGGCCCCATA", "#IIIIIIIIII", "TATGGGGCCCC", "IIIIIIIIII#" },
        { 0x100, "GGGGCCCCATA", "IIIIIIIIIII", "GGGGCCCCATA", "IIIIIIIIIII" },
        { 0x810, "GGGGCCCC", "IIII5III", "GGGGCCCC", "III5IIII" },
        { 4, "*", "*", "", NULL },
        { 77, "ACGRYTTTT", "*", "ACGRYTTTT", NULL },
};
enum { NRECORDS = sizeof records / sizeof records[0], COPIES = 300 };

static struct buffer sam_text(void)
{
        struct buffer b = { 0 };
        char line[256];
        puts_to(&b, "@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:100000\n");
        for (size_t i = 0; i < COPIES * NRECORDS; i++) {
                const struct stored *r = &records[i % NRECORDS];
                const bool mapped = (r->flag & 4) == 0;
                snprintf(line, sizeof line, "r%zu\t%d\t%s\t%d\t%d\t", i, r->flag,
                         mapped ? "chr1" : "*", mapped ? 100 : 0, mapped ? 60 : 0);
                puts_to(&b, line);
                snprintf(line, sizeof line, "%zuM", strlen(r->seq));
                puts_to(&b, mapped ? line : "*");
                snprintf(line, sizeof line, "\t*\t0\t0\t%s\t%s\tXX:i:%zu\n", r->seq, r->qual, i);
                puts_to(&b, line);
        }
        return b;
}

/* The alignments themselves are as in the file. */
static void check_alignments(const char *path, const struct kc_records_options *options)
{
        struct kc_records *stream;
        struct kc_record_batch batch = { 0 };
        size_t n = 0;
        assert_int_equal(kc_records_open(&stream, path, options, NULL), KC_OK);
        assert_int_equal(sam_hdr_nref(kc_records_header(stream)), 1);
        do {
                assert_int_equal(kc_records_next(stream, &batch, NULL), KC_OK);
                for (size_t i = 0; i < batch.n; i++, n++) {
                        const bam1_t *alignment = batch.alignments[i];
                        const uint8_t *tag = bam_aux_get(alignment, "XX");
                        assert_int_equal(alignment->core.flag, records[n % NRECORDS].flag);
                        assert_non_null(tag);
                        assert_int_equal(bam_aux2i(tag), n);
                }
        } while (batch.n > 0);
        assert_int_equal(n, COPIES * NRECORDS);
        kc_record_batch_free(&batch);
        kc_records_close(stream);
}

static void check_file(const struct buffer *bytes, int nthreads)
{
        const char *path = scratch_path("alignments");
        const struct kc_records_options options = { .accepted = KC_RECORDS_ALIGNMENTS,
                                                    .nthreads = nthreads,
                                                    .chunk_nbytes = 5000 };
        char name[32];
        write_file(path, bytes->data, bytes->n);
        struct stream s = read_records(path, &options);
        if (s.status != KC_OK)
                print_error("%s\n", s.message);
        assert_int_equal(s.status, KC_OK);
        assert_int_equal(s.n, COPIES * NRECORDS);
        for (size_t i = 0; i < s.n; i++) {
                const struct stored *r = &records[i % NRECORDS];
                snprintf(name, sizeof name, "r%zu", i);
                assert_buffer(&s.got[i].name, name);
                assert_buffer(&s.got[i].bases, r->bases);
                assert_int_equal(s.got[i].has_qualities, r->qualities != NULL);
                assert_buffer(&s.got[i].qualities, r->qualities ? r->qualities : "");
                assert_int_equal(s.got[i].repeated, (r->flag & 0x900) != 0);
        }
        assert_int_equal(s.text.n, 0);
        drop_stream(&s);
        check_alignments(path, &options);
        unlink(path);
}

static void test_formats(void **state)
{
        (void)state;
        static const char *const modes[] = { "wb", "wb0", "wz", "wc" };
        struct buffer sam = sam_text();
        for (int nthreads = 1; nthreads < 5; nthreads += 3) {
                check_file(&sam, nthreads);
                for (int i = 0; i < 4; i++) {
                        struct buffer bytes = convert(&sam, modes[i], NULL);
                        check_file(&bytes, nthreads);
                        struct buffer text = inflate_all(&bytes), packed = { 0 };
                        if (i == 0) { /* BAM that is not in BGZF */
                                check_file(&text, nthreads);
                                gzip_member(&packed, text.data, text.n);
                                check_file(&packed, nthreads);
                        }
                        drop(&packed);
                        drop(&text);
                        drop(&bytes);
                }
        }
        drop(&sam);
}

/* What a file with these lines before its records is, and the order that its header promises. */
static void check_kind(const char *head, const char *mode, enum kc_records_kind kind,
                       enum kc_records_order order)
{
        const char *path = scratch_path("kind");
        const struct kc_records_options options = { .accepted = KC_RECORDS_ALIGNMENTS,
                                                    .nthreads = 1 };
        struct buffer sam = { 0 };
        struct kc_records *stream;
        puts_to(&sam, head);
        puts_to(&sam, "r\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n");
        struct buffer bytes = convert(&sam, mode, NULL);
        write_file(path, bytes.data, bytes.n);
        assert_int_equal(kc_records_open(&stream, path, &options, NULL), KC_OK);
        assert_int_equal(kc_records_kind(stream), kind);
        assert_int_equal(kc_records_order(stream), order);
        kc_records_close(stream);
        unlink(path);
        drop(&bytes);
        drop(&sam);
}

static void test_kinds_and_orders(void **state)
{
        (void)state;
        check_kind("@HD\tVN:1.6\n", "w", KC_RECORDS_BAM, KC_RECORDS_ANY_ORDER);
        check_kind("@CO\tGO:query\n", "wb", KC_RECORDS_BAM, KC_RECORDS_ANY_ORDER);
        check_kind("@HD\tVN:1.6\tSO:unsorted\tGO:query\n", "wb", KC_RECORDS_BAM,
                   KC_RECORDS_BY_NAME);
        check_kind("@HD\tVN:1.6\tSO:queryname\n", "wc", KC_RECORDS_CRAM, KC_RECORDS_BY_NAME);
        check_kind("@HD\tVN:1.6\tSO:coordinate\n", "w", KC_RECORDS_BAM, KC_RECORDS_BY_PLACE);
}

static void check_cut(const struct buffer *bytes, size_t cut, const char *says)
{
        struct buffer part = { .data = bytes->data, .n = bytes->n - cut };
        struct stream s = read_record_bytes(
                &part, &(struct kc_records_options){ .accepted = KC_RECORDS_ALIGNMENTS,
                                                     .nthreads = 2,
                                                     .chunk_nbytes = 5000 });
        assert_bad(&s, says);
        assert_bad(&s, "kcount-test-");
        drop_stream(&s);
}

static void test_truncated(void **state)
{
        (void)state;
        struct buffer sam = sam_text(), bam = convert(&sam, "wb", NULL), text = inflate_all(&bam);
        struct buffer cram = convert(&sam, "wc", NULL), packed = { 0 };
        check_cut(&sam, 12, "alignment record 2100 (line 2102) is truncated or damaged");
        check_cut(&bam, BGZF_END_NBYTES, "(alignment records read: 2100)");
        check_cut(&bam, BGZF_END_NBYTES + 9, "is truncated");
        check_cut(&text, 5, "alignment record 2100 is truncated or damaged");
        check_cut(&cram, 9, "is truncated");
        gzip_member(&packed, text.data, text.n);
        check_cut(&packed, 1, "truncated");
        check_cut(&packed, 9, "truncated");
        check_cut(&packed, 500, "truncated");
        drop(&packed);
        drop(&cram);
        drop(&text);
        drop(&bam);
        drop(&sam);
}

/* Mates that follow each other, as in a file that is sorted by name. */
static void test_mates_of_alignments(void **state)
{
        (void)state;
        const char *path = scratch_path("collated");
        const struct kc_records_options options = { .accepted = KC_RECORDS_ALIGNMENTS,
                                                    .nthreads = 1,
                                                    .chunk_nbytes = 500 };
        struct buffer sam = sam_text();
        struct kc_mates *mates;
        struct kc_mate_batch run;
        size_t n = 0;
        write_file(path, sam.data, sam.n);
        assert_int_equal(kc_mates_open(&mates, path, NULL, &options, NULL), KC_OK);
        assert_non_null(kc_records_header(kc_mates_stream(mates, 1)));
        while (kc_mates_next(mates, &run, NULL) == KC_OK && run.n > 0) {
                for (size_t i = 0; i < run.n; i++)
                        for (int m = 0; m < 2; m++) {
                                const size_t at = run.first[m] + i * run.step;
                                assert_int_equal(run.batch[m]->records[at].number, n++);
                        }
                kc_mates_release(mates, &run);
        }
        assert_int_equal(n, COPIES * NRECORDS);
        kc_mates_close(mates);
        unlink(path);
        drop(&sam);
}

int main(void)
{
        hts_set_log_level(HTS_LOG_OFF);
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_formats),
                cmocka_unit_test(test_kinds_and_orders),
                cmocka_unit_test(test_truncated),
                cmocka_unit_test(test_mates_of_alignments),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
