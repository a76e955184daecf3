#include "io/parse/bam_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { UNMAPPED = 0x4, REVERSE = 0x10 };

uint64_t kc_bam_record_nbytes(const uint8_t *bytes)
{
        enum { LEAST = KC_BAM_FIXED_NBYTES - KC_BAM_LENGTH_NBYTES };
        uint32_t rest = kc_bam_u32(bytes);
        return rest < LEAST || rest > INT32_MAX ? 0 : (uint64_t)rest + KC_BAM_LENGTH_NBYTES;
}

uint64_t kc_bam_record_nhead(const uint8_t *bytes)
{
        return KC_BAM_FIXED_NBYTES + bytes[12] + UINT64_C(4) * kc_bam_u16(bytes + 16);
}

/* ---- checks ---- */

/* The number of bases that a CIGAR describes. */
static uint64_t cigar_nbases(const uint8_t *cigar, size_t nops)
{
        enum { CONSUMES = 0x193 }; /* bit i: operation i of MIDNSHP=X takes bases of the read */
        uint64_t nbases = 0;
        for (size_t i = 0; i < nops; i++) {
                uint32_t op = kc_bam_u32(cigar + 4 * i);
                if (CONSUMES >> (op & 15) & 1)
                        nbases += op >> 4;
        }
        return nbases;
}

/* Whether this is the number of a reference sequence, or -1. */
static bool is_ref(const uint8_t *bytes, uint32_t nrefs)
{
        uint32_t ref = kc_bam_u32(bytes);
        return ref < nrefs || ref == UINT32_MAX;
}

static void check_sizes(const uint8_t *bytes, const struct kc_bam_record *r,
                        struct kc_problem *problem)
{
        uint64_t needed = r->qual + r->nbases;
        if (bytes[12] == 0)
                snprintf(problem->what, sizeof problem->what, "has a name of length 0");
        else if (r->nbases > INT32_MAX)
                snprintf(problem->what, sizeof problem->what, "has %" PRId32 " bases",
                         (int32_t)r->nbases);
        else if (needed > r->nbytes)
                snprintf(problem->what, sizeof problem->what,
                         "has %" PRIu64 " bytes, but its name, CIGAR and %" PRIu32
                         " bases take %" PRIu64,
                         r->nbytes, r->nbases, needed);
}

static void check_references(const uint8_t *bytes, uint32_t nrefs, struct kc_problem *problem)
{
        const uint8_t *ref = is_ref(bytes + 4, nrefs) ? bytes + 24 : bytes + 4;
        if (!is_ref(ref, nrefs))
                snprintf(problem->what, sizeof problem->what,
                         "refers to reference sequence %" PRId32 ", but the header names %" PRIu32,
                         (int32_t)kc_bam_u32(ref), nrefs);
}

/* The CIGAR of a mapped read with bases describes all of them. So does the one that stands in the
 * place of a CIGAR of more than 65535 operations, which is in a tag. */
static void check_cigar(const uint8_t *bytes, const struct kc_bam_record *r,
                        struct kc_problem *problem)
{
        size_t nops = kc_bam_u16(bytes + 16);
        if (nops == 0 || r->nbases == 0 || (kc_bam_u16(bytes + 18) & UNMAPPED) != 0)
                return;
        uint64_t nbases = cigar_nbases(bytes + r->bases - 4 * nops, nops);
        if (nbases != r->nbases)
                snprintf(problem->what, sizeof problem->what,
                         "has %" PRIu32 " bases, but a CIGAR of %" PRIu64, r->nbases, nbases);
}

void kc_bam_record_parse(const uint8_t *bytes, uint32_t nrefs, struct kc_bam_record *record,
                         struct kc_problem *problem)
{
        uint32_t flags = kc_bam_u16(bytes + 18);
        struct kc_bam_record r = {
                .nbytes = kc_bam_record_nbytes(bytes),
                .nbases = kc_bam_u32(bytes + 20),
                .bases = kc_bam_record_nhead(bytes),
                .flags = (uint16_t)flags,
                .reverse = (flags & REVERSE) != 0,
        };
        r.qual = r.bases + (UINT64_C(1) + r.nbases) / 2;
        problem->what[0] = 0;
        check_sizes(bytes, &r, problem);
        if (problem->what[0] == 0)
                check_references(bytes, nrefs, problem);
        if (problem->what[0] == 0)
                check_cigar(bytes, &r, problem);
        *record = r;
}

/* ---- letters ---- */

void kc_bam_decoder_init(struct kc_bam_decoder *decoder, const struct kc_kernels *kernels,
                         int min_quality)
{
        static const char plain[] = "=ACMGRSVTWYHKDBN", complement[] = "=TGKCYSBAWRDMHVN";
        enum { HIGHEST = 200 }; /* as in kc_quality_letter */
        decoder->kernels = kernels;
        decoder->min_quality = (uint8_t)(min_quality < HIGHEST ? min_quality : HIGHEST);
        for (int byte = 0; byte < 256; byte++) {
                decoder->plain[byte][0] = (uint8_t)plain[byte >> 4];
                decoder->plain[byte][1] = (uint8_t)plain[byte & 15];
                decoder->complement[byte][0] = (uint8_t)complement[byte >> 4];
                decoder->complement[byte][1] = (uint8_t)complement[byte & 15];
        }
}

static void unpack(const uint8_t pairs[256][2], const uint8_t *bases, size_t first, size_t n,
                   uint8_t *letters)
{
        bases += first / 2;
        if (first % 2 != 0 && n > 0) {
                *letters++ = pairs[*bases++][1];
                n--;
        }
        for (size_t i = 0; i < n / 2; i++)
                memcpy(letters + 2 * i, pairs[bases[i]], 2);
        if (n % 2 != 0)
                letters[n - 1] = pairs[bases[n / 2]][0];
}

size_t kc_bam_decode(const struct kc_bam_decoder *decoder, bool complement, const uint8_t *bases,
                     size_t first, size_t n, const uint8_t *qual, uint8_t *letters)
{
        const uint8_t(*pairs)[2] = complement ? decoder->complement : decoder->plain;
        uint8_t some[1024];
        size_t nlow = 0;
        if (qual == NULL) {
                unpack(pairs, bases, first, n, letters);
                return 0;
        }
        for (size_t i = 0; i < n; i += sizeof some) {
                size_t m = n - i < sizeof some ? n - i : sizeof some;
                unpack(pairs, bases, first + i, m, some);
                nlow += decoder->kernels->mask_quality(some, qual + i, m, decoder->min_quality);
                memcpy(letters + i, some, m);
        }
        return nlow;
}

void kc_bam_reverse(uint8_t *letters, size_t n)
{
        for (size_t i = 0, j = n; i + 1 < j; i++) {
                uint8_t letter = letters[i];
                letters[i] = letters[--j];
                letters[j] = letter;
        }
}
