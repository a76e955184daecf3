#include "io/parse/problem.h"

#include <inttypes.h>
#include <stdio.h>

void kc_problem_set_high(struct kc_problem *problem, const uint8_t *seq, size_t n)
{
        size_t at = 0;
        while (at + 1 < n && seq[at] < 128)
                at++;
        snprintf(problem->what, sizeof problem->what,
                 "has the byte 0x%02x in its sequence: the file is damaged, or not FASTQ or FASTA",
                 (unsigned)seq[at]);
}

void kc_problem_set_held(struct kc_problem *problem, const struct kc_held_limit *limit,
                         uint64_t nbases, unsigned bases_per_byte)
{
        uint64_t nbytes = nbases / bases_per_byte + 1;
        char bound[64] = "";
        if (limit->bound_factor > 0)
                snprintf(bound, sizeof bound, "; that takes -m %" PRIu64 "M",
                         ((limit->bound_nbytes + limit->bound_factor * nbytes) >> 20) + 1);
        snprintf(problem->what, sizeof problem->what,
                 "has %" PRIu64 " bases, more than the %" PRIu64 " that memory can hold until "
                 "their qualities are read, as --min-quality demands%s",
                 nbases, (uint64_t)limit->nbytes * bases_per_byte, bound);
}
