/*
 * For the tests of SAM, BAM and CRAM: files that htslib writes.
 */
#ifndef KC_TESTS_IO_PARSE_ALIGNMENT_SUPPORT_H
#define KC_TESTS_IO_PARSE_ALIGNMENT_SUPPORT_H

#include "tests/io/parse/reader_support.h"

#include <htslib/hts.h>
#include <htslib/sam.h>

static inline struct buffer read_file(const char *path)
{
        struct buffer bytes = { 0 };
        char piece[4096];
        FILE *file = fopen(path, "rb");
        assert_non_null(file);
        for (size_t n; (n = fread(piece, 1, sizeof piece, file)) > 0;)
                put(&bytes, piece, n);
        fclose(file);
        return bytes;
}

/* The text of gzip or BGZF data. */
static inline struct buffer inflate_all(const struct buffer *packed)
{
        const char *path = scratch_path("packed");
        struct buffer all = { 0 };
        char piece[4096];
        write_file(path, packed->data, packed->n);
        gzFile file = gzopen(path, "rb");
        for (int n; (n = gzread(file, piece, sizeof piece)) > 0;)
                put(&all, piece, (size_t)n);
        gzclose(file);
        unlink(path);
        return all;
}

/* Write text as BAM ("wb"), CRAM ("wc"), SAM.gz ("wz"). reference may be NULL. */
static inline struct buffer convert(const struct buffer *sam, const char *mode,
                                    const char *reference)
{
        const char *from = scratch_path("from.sam"), *to = scratch_path("to");
        write_file(from, sam->data, sam->n);
        htsFile *in = hts_open(from, "r"), *out = hts_open(to, mode);
        assert_non_null(in);
        assert_non_null(out);
        if (mode[1] == 'c' && reference == NULL)
                assert_int_equal(hts_set_opt(out, CRAM_OPT_NO_REF, 1), 0);
        if (reference != NULL)
                assert_int_equal(hts_set_fai_filename(out, reference), 0);
        sam_hdr_t *header = sam_hdr_read(in);
        bam1_t *record = bam_init1();
        assert_int_equal(sam_hdr_write(out, header), 0);
        while (sam_read1(in, header, record) >= 0)
                assert_true(sam_write1(out, header, record) >= 0);
        bam_destroy1(record);
        sam_hdr_destroy(header);
        hts_close(in);
        assert_int_equal(hts_close(out), 0);
        struct buffer bytes = read_file(to);
        unlink(from);
        unlink(to);
        return bytes;
}

#endif
