/*
 * For the tests of BAM: files with records of all kinds, and what htslib reads from them.
 */
#ifndef KC_TESTS_IO_PARSE_BAM_SUPPORT_H
#define KC_TESTS_IO_PARSE_BAM_SUPPORT_H

#include "tests/io/parse/alignment_support.h"

#include <htslib/bgzf.h>
#include <htslib/hts_log.h>

/* ---- files ---- */

static inline sam_hdr_t *new_header(int nrefs)
{
        sam_hdr_t *header = sam_hdr_init();
        char name[32];
        assert_int_equal(sam_hdr_add_line(header, "HD", "VN", "1.6", NULL), 0);
        for (int i = 0; i < nrefs; i++) {
                snprintf(name, sizeof name, "chromosome%d", i);
                assert_int_equal(
                        sam_hdr_add_line(header, "SQ", "SN", name, "LN", "300000000", NULL), 0);
        }
        return header;
}

struct shape {
        int nrefs;
        size_t nbases, max_nops;
        bool primary; /* no secondary or supplementary alignments */
};

/* Write the operations of a CIGAR of n bases; returns how many there are. */
static inline size_t make_cigar(uint32_t *cigar, size_t n, size_t max_nops, uint64_t *seed)
{
        size_t nops = 0;
        for (; n > 0 && nops + 2 < max_nops; nops++) {
                uint32_t op = (uint32_t)(next_random(seed) % 9), most = n < 9 ? (uint32_t)n : 9;
                uint32_t length = 1 + (uint32_t)(next_random(seed) % most);
                cigar[nops] = length << 4 | op;
                if (bam_cigar_type(op) & 1)
                        n -= length;
        }
        if (n > 0)
                cigar[nops++] = (uint32_t)n << 4 | BAM_CSOFT_CLIP;
        return nops;
}

static inline void add_tags(bam1_t *record, uint64_t *seed)
{
        static uint8_t text[1000];
        size_t n = next_random(seed) % sizeof text;
        memset(text, 'x', sizeof text);
        text[n] = 0;
        if (next_random(seed) % 2 == 0)
                assert_int_equal(bam_aux_append(record, "RG", 'Z', (int)n + 1, text), 0);
        if (next_random(seed) % 2 == 0)
                assert_int_equal(bam_aux_update_int(record, "NM", 3), 0);
}

/* A record with any flags, and the given number of bases. */
static inline void make_record(bam1_t *record, const struct shape *shape, uint64_t *seed)
{
        static const char letters[] = "ACGTACGTACGTACGTACGTACGTACGTACGT=MRSVWYHKDBN";
        static const uint16_t flags[] = { 0, 4, 16, 20, 77, 141, 0x400, 0x100, 0x800, 0x910 };
        size_t n = shape->nbases, nname = 1 + next_random(seed) % 253;
        char name[256], *seq = malloc(n + 1), *qual = malloc(n + 1);
        uint32_t *cigar = malloc(4 * (shape->max_nops + 2));
        memset(name, 'q', sizeof name);
        for (size_t i = 0; i < n; i++) {
                seq[i] = letters[next_random(seed) % (next_random(seed) % 8 == 0 ? 43 : 32)];
                qual[i] = (char)(next_random(seed) % 94);
        }
        if (next_random(seed) % 8 == 0)
                qual[0] = (char)0xff; /* no qualities, whatever follows */
        uint16_t flag = flags[next_random(seed) % (shape->primary ? 7 : 10)];
        bool mapped = shape->nrefs > 0 && (flag & 4) == 0;
        if (!mapped)
                flag |= 4;
        size_t nops = mapped ? make_cigar(cigar, n, shape->max_nops, seed) : 0;
        int ref = mapped ? (int)(next_random(seed) % (unsigned)shape->nrefs) : -1;
        bool no_quality = next_random(seed) % 4 == 0;
        assert_true(bam_set1(record, nname, name, flag, ref, mapped ? 1000 : -1, 60, nops, cigar,
                             -1, -1, 0, n, seq, no_quality ? NULL : qual, 2048) >= 0);
        add_tags(record, seed);
        free(seq);
        free(qual);
        free(cigar);
}

/* The text of a BAM file with records of these numbers of bases. */
static inline struct buffer make_bam(const size_t *nbases, size_t nrecords, struct shape shape,
                                     uint64_t seed)
{
        const char *path = scratch_path("made.bam");
        htsFile *out = hts_open(path, "wb1");
        sam_hdr_t *header = new_header(shape.nrefs);
        bam1_t *record = bam_init1();
        assert_int_equal(sam_hdr_write(out, header), 0);
        for (size_t i = 0; i < nrecords; i++) {
                shape.nbases = nbases[i];
                make_record(record, &shape, &seed);
                assert_true(sam_write1(out, header, record) >= 0);
        }
        bam_destroy1(record);
        sam_hdr_destroy(header);
        assert_int_equal(hts_close(out), 0);
        struct buffer packed = read_file(path), raw = inflate_all(&packed);
        unlink(path);
        drop(&packed);
        return raw;
}

/* Pack into BGZF blocks of 1 to max bytes of text, each a chunk of its own. The first one is long
 * enough to be recognized as BAM. */
static inline struct buffer pack_bam(const struct buffer *raw, size_t max, uint64_t seed)
{
        struct buffer out = { 0 };
        for (size_t at = 0; at < raw->n;) {
                size_t n = 1 + next_random(&seed) % max, least = at == 0 ? 4 : 1;
                n = n < least ? least : n;
                n = n < raw->n - at ? n : raw->n - at;
                bgzf_block(&out, raw->data + at, n);
                at += n;
        }
        bgzf_end(&out);
        return out;
}

/* ---- what htslib reads ---- */

static inline char complement(char c)
{
        static const char from[] = "ACMGRSVTWYHKDBN=", to[] = "TGKCYSBAWRDMHVN=";
        return to[strchr(from, c) - from];
}

static inline void expect_read(struct outcome *want, const bam1_t *b, const struct setting *setting)
{
        size_t n = (size_t)b->core.l_qseq;
        char *seq = malloc(n + 1), *qual = malloc(n + 1);
        bool has = n > 0 && bam_get_qual(b)[0] != 0xff;
        const size_t skipped = skipped_of(setting, n);
        for (size_t i = 0; i < n; i++) {
                size_t to = bam_is_rev(b) ? n - 1 - i : i;
                char c = seq_nt16_str[bam_seqi(bam_get_seq(b), i)];
                uint8_t q = bam_get_qual(b)[i];
                seq[to] = bam_is_rev(b) ? complement(c) : c;
                qual[to] = (char)(has && q < 94 ? q + 33 : 126);
                if (to < skipped)
                        want->totals.nleft_out++;
                else if (!upper_base(c))
                        want->totals.nskipped++;
                else if (qual[to] - 33 < setting->min_quality)
                        want->totals.nlow_quality++;
        }
        digest_sequence(&want->digest, seq + skipped, qual + skipped, n - skipped, setting->k,
                        setting->min_quality, setting->selection.hpc);
        want->totals.nreads++;
        want->totals.nbases += n - skipped;
        free(seq);
        free(qual);
}

static inline bool is_taken(const struct setting *setting, unsigned flags)
{
        const struct kc_selection *s = &setting->selection;
        return (flags & s->required) == s->required && (flags & s->excluded) == 0;
}

/* What htslib reads from a regular file, with one thread. */
static inline struct outcome expect(const struct buffer *bytes, const struct setting *setting)
{
        struct outcome want = { 0 };
        const char *path = scratch_path("expect.bam");
        write_file(path, bytes->data, bytes->n);
        htsFile *in = hts_open(path, "r");
        sam_hdr_t *header = in != NULL ? sam_hdr_read(in) : NULL;
        bam1_t *record = bam_init1();
        int code = header == NULL ? -2 : 0;
        while (code >= 0) {
                code = sam_read1(in, header, record);
                if (code < 0 || (record->core.flag & 0x900) != 0)
                        continue;
                if (is_taken(setting, record->core.flag))
                        expect_read(&want, record, setting);
                else
                        want.totals.nleft_out += (uint64_t)record->core.l_qseq;
        }
        bool packed = in != NULL && in->is_bgzf && in->fp.bgzf->is_compressed;
        bool no_end = packed && in->fp.bgzf->no_eof_block;
        want.status = code < -1 || no_end ? KC_EINPUT : KC_OK;
        bam_destroy1(record);
        sam_hdr_destroy(header);
        if (in != NULL)
                hts_close(in);
        unlink(path);
        return want;
}

static inline void assert_as(const struct outcome *got, const struct outcome *want,
                             const char *what, size_t number)
{
        if (got->status != want->status)
                print_error("%s %zu: \"%s\"\n", what, number, got->message);
        assert_int_equal(got->status, want->status);
        if (want->status == KC_OK)
                assert_outcome(got, want);
        else
                assert_refused(got, "/tmp/kcount-test-");
}

/* Three records: mapped, unmapped without bases, and reverse with a CIGAR of two operations. */
static inline struct buffer small_bam(void)
{
        struct buffer sam = { 0 };
        puts_to(&sam, "@HD\tVN:1.6\n@SQ\tSN:c1\tLN:1000\n@SQ\tSN:c2\tLN:9\n"
                      "a\t0\tc1\t1\t9\t7M\t=\t5\t0\tACGTACG\tIIIIIII\n"
                      "bc\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*\tNM:i:1\n"
                      "d\t16\tc2\t2\t9\t4M4S\t*\t0\t0\tAACCGGTT\t*\tXX:Z:yes\n");
        struct buffer packed = convert(&sam, "wb", NULL), raw = inflate_all(&packed);
        drop(&packed);
        drop(&sam);
        return raw;
}

static inline int quiet(void **state)
{
        (void)state;
        hts_set_log_level(HTS_LOG_OFF);
        return 0;
}

#endif
