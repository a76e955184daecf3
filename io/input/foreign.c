#include "io/input/foreign.h"
#include "kmer/remedy.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* A kind of file, known by bytes at a fixed place. */
struct kind {
        const char *magic;
        uint8_t nbytes;
        uint16_t at;
        const char *what;
        const char *pipe;   /* the program that writes its content to a pipe, or NULL */
        const char *advice; /* what to do, or NULL */
        unsigned remedies;  /* if there is neither */
        const char *filter; /* of a named file only: the program cannot read a pipe */
};

#define KIND(bytes, at, what, ...) \
        { \
                bytes, sizeof(bytes) - 1, at, what, __VA_ARGS__ \
        }
#define PIPED(bytes, what, pipe)       KIND(bytes, 0, what, pipe, NULL, 0, NULL)
#define TARRED(bytes)                  KIND(bytes, 257, "a tar archive", "tar -xOf", NULL, 0, NULL)
#define OTHER(bytes, what, advice)     KIND(bytes, 0, what, NULL, advice, 0, NULL)
#define CONVERTED(bytes, what, filter) KIND(bytes, 0, what, NULL, NULL, KC_REMEDY_FILTER, filter)

#define COUNTS(bytes, what)  KIND(bytes, 0, what, NULL, NULL, KC_REMEDY_IMPORT, "")
#define USELESS(bytes, what) KIND(bytes, 0, what, NULL, NULL, KC_REMEDY_OTHER_INPUT, "")

#define NAME_INDEXED "name the file that it belongs to"
#define CRAM_ALONE   "decompress it to a file, since CRAM cannot be read from a pipe"
#define BASECALL     "make FASTQ or BAM from it with a basecaller"

/*
 * No entry may match the beginning of reads, or of a line of IUPAC letters: a magic number that
 * consists of such letters is followed by a byte that is not one.
 */
static const struct kind kinds[] = {
        PIPED("\xfd\x37zXZ\0", "compressed with xz", "xz -dc"),
        PIPED("]\0\0", "compressed with lzma", "xz -dc"),
        PIPED("BZh", "compressed with bzip2", "bzip2 -dc"),
        PIPED("\x04\x22\x4d\x18", "compressed with lz4", "lz4 -dc"),
        PIPED("LZIP\1", "compressed with lzip", "lzip -dc"),
        PIPED("\x89LZO\0\r\n", "compressed with lzop", "lzop -dc"),
        PIPED("\x1f\x9d", "compressed with compress (.Z)", "gzip -dc"),
        PIPED("\x1f\x8b", "compressed with gzip", "gzip -dc"),
        PIPED("\x28\xb5\x2f\xfd", "compressed with zstd", "zstd -dc"),
        TARRED("ustar\0"),
        TARRED("ustar  \0"),
        CONVERTED("PK\3\4", "a zip archive", "unzip -p FILE"),
        USELESS("PK\5\6", "an empty zip archive"),
        CONVERTED("7z\xbc\xaf\x27\x1c", "a 7z archive", "7z x -so FILE"),
        CONVERTED("Rar!\x1a\7", "a rar archive", "unrar p -inul FILE"),
        CONVERTED("NCBI.sra", "an SRA archive", "fastq-dump -Z FILE"),
        OTHER("CRAM\2", "CRAM", CRAM_ALONE),
        OTHER("CRAM\3", "CRAM", CRAM_ALONE),
        KIND("\x89KC\r\n\x1a\n\0", 0, "a .kc file, which holds counts already", NULL, NULL,
             KC_REMEDY_READ_COUNTS, ""),
        COUNTS("KMCP\0\0\0\0", "part of a KMC database"),
        COUNTS("KFF\1", "a KFF file"),
        OTHER("\x89HDF\r\n\x1a\n", "an HDF5 file (a fast5 file, if it comes from a sequencer)",
              BASECALL),
        OTHER("\x8bPOD\r\n\x1a\n", "a POD5 file, the raw signal of a sequencer", BASECALL),
        OTHER("BLOW5\1", "a BLOW5 file, the raw signal of a sequencer", BASECALL),
        OTHER("ABIF\0", "an ABIF file, the trace of a Sanger sequencer", "convert it to FASTQ"),
        OTHER(".sff", "an SFF file from a 454 sequencer", "convert it to FASTQ"),
        CONVERTED("\x43\x27\x41\x1a", "a 2bit file", "twoBitToFa FILE stdout"),
        CONVERTED("\x1a\x41\x27\x43", "a 2bit file", "twoBitToFa FILE stdout"),
        OTHER("BAI\1", "the index of a BAM file", NAME_INDEXED),
        OTHER("CSI\1", "an index (CSI)", NAME_INDEXED),
        OTHER("TBI\1", "an index (tabix)", NAME_INDEXED),
        USELESS("BCF\2", "a BCF file, which holds variants, not reads"),
        USELESS("##fileformat=VCF", "a VCF file, which holds variants, not reads"),
        USELESS("##gff", "a GFF file, which holds annotations, not reads"),
        OTHER("LOCUS  ", "a GenBank file", "convert it to FASTA"),
        OTHER("version https://git-lfs", "a Git LFS pointer, not the file itself",
              "fetch the file: git lfs pull"),
        OTHER("<", "an HTML or XML page, as left by a failed download",
              "look at it and download the file again"),
        USELESS("{", "a JSON file"),
        USELESS("\x7f\x45LF", "a program"),
        USELESS("%PDF", "a PDF document"),
};

/* ---- the message ---- */

/* A program that turns FILE into what can be read. */
struct pipe {
        const char *program;
        const char *file;  /* how FILE is passed to it */
        const char *stdin; /* how standard input is passed to it */
};

static enum kc_status refuse(const char *name, enum kc_container outer, const char *what,
                             const struct pipe *pipe, struct kc_error *err)
{
        const struct kc_packing packing = kc_container_packing(outer);
        char filter[sizeof err->filter];
        if (*packing.name == '\0')
                snprintf(filter, sizeof filter, "%s%s", pipe->program, pipe->file);
        else
                snprintf(filter, sizeof filter, "%s FILE | %s%s", packing.pipe, pipe->program,
                         pipe->stdin);
        return kc_fail_filter(err, KC_REMEDY_FILTER, name, filter,
                              "%s is %s%s%s, which kcount cannot read", name, what,
                              *packing.name ? " inside " : "", packing.name);
}

static enum kc_status refuse_kind(const char *name, enum kc_container outer,
                                  const struct kind *kind, struct kc_error *err)
{
        const struct pipe pipe = { kind->pipe, " FILE", " -" };
        const char *is = outer == KC_CONTAINER_PLAIN ? "is" : "is, once decompressed,";
        const bool is_standard = strcmp(name, kc_input_name("-")) == 0;
        if (kind->pipe != NULL)
                return refuse(name, outer, kind->what, &pipe, err);
        if (kind->advice != NULL)
                return kc_fail(err, KC_EINPUT, "%s %s %s; %s", name, is, kind->what, kind->advice);
        if (outer != KC_CONTAINER_PLAIN && kind->remedies == KC_REMEDY_IMPORT)
                return kc_fail_remedy(err, KC_EINPUT, KC_REMEDY_SAVE, "%s %s %s", name, is,
                                      kind->what);
        if (outer != KC_CONTAINER_PLAIN && kind->remedies != KC_REMEDY_OTHER_INPUT)
                return kc_fail(err, KC_EINPUT, "%s %s %s; decompress it first", name, is,
                               kind->what);
        return kc_fail_filter(err, kind->remedies, *kind->filter != 0 && is_standard ? "" : name,
                              kind->filter, "%s %s %s", name, is, kind->what);
}

const char *kc_foreign_show(char shown[KC_SHOWN_NBYTES], const uint8_t *bytes, size_t n)
{
        enum { MAX_LETTERS = 24, MAX_BYTES = 8 };
        size_t nletters = 0, length;
        while (nletters < n && nletters < MAX_LETTERS && bytes[nletters] < 0x7f &&
               (bytes[nletters] >= ' ' || bytes[nletters] == '\t'))
                nletters++;
        bool complete = nletters == n || bytes[nletters] == '\n' || bytes[nletters] == '\r';
        if (nletters > 0 && (complete || nletters == MAX_LETTERS)) {
                snprintf(shown, KC_SHOWN_NBYTES, "\"%.*s%s\"", (int)nletters, (const char *)bytes,
                         complete ? "" : "...");
                for (char *tab = shown; (tab = strchr(tab, '\t')) != NULL;)
                        *tab = ' ';
                return shown;
        }
        length = (size_t)snprintf(shown, KC_SHOWN_NBYTES, "the bytes");
        for (size_t i = 0; i < n && i < MAX_BYTES; i++)
                length += (size_t)snprintf(shown + length, KC_SHOWN_NBYTES - length, " %02x",
                                           (unsigned)bytes[i]);
        return shown;
}

/* ---- what it is ---- */

/* The encoding of text whose characters have two or four bytes; NULL: none of these. */
static const char *wide_encoding(const uint8_t *bytes, size_t n)
{
        enum { MIN_LOOK = 4, MAX_LOOK = 16 };
        size_t look = n < MAX_LOOK ? n / 2 * 2 : MAX_LOOK, neven = 0, nodd = 0;
        if (n >= 4 && memcmp(bytes, "\xff\xfe\0\0", 4) == 0)
                return "UTF-32";
        if (n >= 2 && (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0))
                return "UTF-16";
        for (size_t i = 0; i < look; i += 2) {
                neven += bytes[i] == 0 && bytes[i + 1] != 0;
                nodd += bytes[i] != 0 && bytes[i + 1] == 0;
        }
        if (look < MIN_LOOK)
                return NULL;
        return 2 * neven == look ? "UTF-16BE" : 2 * nodd == look ? "UTF-16LE" : NULL;
}

static uint32_t little_u32(const uint8_t *at)
{
        return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* KMCS and then bytes that are not text: these four letters alone could be IUPAC codes. */
static bool is_kmc_suffixes(const uint8_t *bytes, size_t n)
{
        enum { MARK = 4, MAX_LOOK = 64 };
        size_t at = MARK;
        if (n < MARK || memcmp(bytes, "KMCS", MARK) != 0)
                return false;
        while (at < n && at < MAX_LOOK && (isgraph(bytes[at]) || isspace(bytes[at])))
                at++;
        return at < n && at < MAX_LOOK;
}

/* Nine digits, then JSON. */
static bool is_jellyfish(const uint8_t *bytes, size_t n)
{
        enum { NDIGITS = 9 };
        size_t ndigits = 0;
        while (ndigits < n && isdigit(bytes[ndigits]))
                ndigits++;
        return ndigits == NDIGITS && ndigits < n && bytes[ndigits] == '{';
}

/* There is no magic number, but four small numbers: k, parts, lowest count, bytes of a prefix. */
static bool is_fastk(const uint8_t *bytes, size_t n)
{
        return n > 16 && little_u32(bytes) - 1 < 255 && little_u32(bytes + 4) - 1 < 1 << 16 &&
               little_u32(bytes + 8) < 1 << 15 && little_u32(bytes + 12) - 1 < 3;
}

/* It begins with k, and with the lowest and the highest count, which FastK never varies. */
static bool is_fastk_histogram(const uint8_t *bytes, size_t n)
{
        return n > 28 && little_u32(bytes) - 1 < 255 && little_u32(bytes + 4) == 1 &&
               little_u32(bytes + 8) == 0x7fff;
}

/* Text: bases, a blank, a number, and the line's end. */
static bool is_text_of_counts(const uint8_t *bytes, size_t n)
{
        size_t nbases = 0, ndigits = 0, at;
        while (nbases < n && bytes[nbases] != 0 && strchr("ACGTUacgtu", bytes[nbases]) != NULL)
                nbases++;
        at = nbases;
        while (at < n && (bytes[at] == ' ' || bytes[at] == '\t'))
                at++;
        if (nbases == 0 || at == nbases)
                return false;
        for (; at + ndigits < n && isdigit(bytes[at + ndigits]);)
                ndigits++;
        return ndigits > 0 && at + ndigits < n && isspace(bytes[at + ndigits]);
}

/* The kind of a file of counts that has no fixed magic number; NULL if it is none. */
static const struct kind *kind_of_counts(const uint8_t *bytes, size_t n)
{
        static const struct kind suffixes = COUNTS("", "part of a KMC database");
        static const struct kind jellyfish = COUNTS("", "a Jellyfish file");
        static const struct kind fastk = COUNTS("", "a FastK table");
        static const struct kind histogram = OTHER("", "a FastK histogram, which holds no k-mers",
                                                   "its .ktab file holds the k-mers");
        if (is_kmc_suffixes(bytes, n))
                return &suffixes;
        if (is_jellyfish(bytes, n))
                return &jellyfish;
        if (is_fastk_histogram(bytes, n))
                return &histogram;
        return is_fastk(bytes, n) ? &fastk : NULL;
}

enum kc_status kc_foreign_check(const char *name, enum kc_container outer, const uint8_t *bytes,
                                size_t n, struct kc_error *err)
{
        const struct kind *counts = kind_of_counts(bytes, n);
        if (counts != NULL)
                return refuse_kind(name, outer, counts, err);
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
                const struct kind *kind = &kinds[i];
                if (n >= (size_t)kind->at + kind->nbytes &&
                    memcmp(bytes + kind->at, kind->magic, kind->nbytes) == 0)
                        return refuse_kind(name, outer, kind, err);
        }
        const char *encoding = wide_encoding(bytes, n);
        if (encoding != NULL) {
                char program[32], what[32];
                snprintf(program, sizeof program, "iconv -f %s -t UTF-8", encoding);
                snprintf(what, sizeof what, "%s text", encoding);
                return refuse(name, outer, what, &(struct pipe){ program, " FILE", " -" }, err);
        }
        if (n > 0 && bytes[0] == 0)
                return kc_fail(err, KC_EINPUT,
                               "%s begins with NUL bytes, like a file that was not written "
                               "completely; copy or download it again",
                               name);
        return KC_OK;
}

/* Whether the first line, or its first field, consists of bases only. */
static bool is_sequence(const uint8_t *text, size_t n)
{
        enum { MIN_LETTERS = 4 };
        size_t nletters = 0;
        while (nletters < n && text[nletters] != 0 && strchr("ACGTUNacgtun", text[nletters]))
                nletters++;
        return nletters >= MIN_LETTERS && (nletters == n || isspace(text[nletters]));
}

enum kc_status kc_foreign_refuse(const char *name, enum kc_container outer, const uint8_t *bytes,
                                 size_t n, struct kc_error *err)
{
        char shown[KC_SHOWN_NBYTES];
        if (n == 0)
                return kc_fail(err, KC_EINPUT, "%s holds no reads: all of its lines are blank",
                               name);
        enum kc_status status = kc_foreign_check(name, outer, bytes, n, err);
        if (status != KC_OK)
                return status;
        if (is_text_of_counts(bytes, n))
                return kc_fail_file(err, KC_EINPUT, KC_REMEDY_IMPORT, name,
                                    "%s is a list of k-mers and their counts", name);
        if (is_sequence(bytes, n)) {
                const struct pipe pipe = { "awk '{ print \">\" NR \"\\n\" $1 }'", " FILE", "" };
                return refuse(name, outer, "a list of sequences without '>' lines", &pipe, err);
        }
        return kc_fail_file(
                err, KC_EINPUT, KC_REMEDY_OTHER_INPUT, name,
                "%s is neither FASTQ nor FASTA (nor SAM, BAM or CRAM): it does not begin "
                "with '@' or '>', but with %s",
                name, kc_foreign_show(shown, bytes, n));
}

enum kc_status kc_foreign_check_lines(const char *name, enum kc_container outer,
                                      const uint8_t *text, size_t n, struct kc_error *err)
{
        const struct pipe pipe = { "tr '\\r' '\\n'", " < FILE", "" };
        const uint8_t *cr = memchr(text, '\r', n);
        if (cr == NULL || cr + 1 == text + n || memchr(text, '\n', n) != NULL)
                return KC_OK;
        return refuse(name, outer, "text whose lines end with a carriage return only (old Mac)",
                      &pipe, err);
}
