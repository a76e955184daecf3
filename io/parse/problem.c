#include "io/parse/problem.h"

#include "io/text_file.h"
#include "kmer/remedy.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void kc_problem_set_return(struct kc_problem *problem)
{
        snprintf(problem->what, sizeof problem->what,
                 "has a carriage return within a line, an old Mac line ending");
        problem->remedies = KC_REMEDY_FILTER;
        problem->filter = "tr '\\r' '\\n' < FILE";
}

void kc_problem_set_letter(struct kc_problem *problem, uint8_t letter)
{
        if (letter == '\r')
                kc_problem_set_return(problem);
        else if (letter == '>')
                snprintf(problem->what, sizeof problem->what,
                         "has '>' in its sequence" KC_TEXT_INNER_HEADER);
        else
                snprintf(problem->what, sizeof problem->what,
                         "has the byte 0x%02x in its sequence: the file is damaged, or not FASTQ "
                         "or FASTA",
                         (unsigned)letter);
}

void kc_problem_set_held(struct kc_problem *problem, const struct kc_held_limit *limit,
                         uint64_t nbases, unsigned bases_per_byte)
{
        uint64_t nbytes = (nbases + bases_per_byte - 1) / bases_per_byte;
        snprintf(problem->what, sizeof problem->what,
                 "has %" PRIu64 " bases, more than the %" PRIu64 " that memory can hold until "
                 "their qualities are read",
                 nbases, (uint64_t)limit->nbytes * bases_per_byte);
        problem->remedies = KC_REMEDY_MORE_MEMORY | KC_REMEDY_IGNORE_QUALITIES;
        if (limit->bound_factor > 0)
                problem->needed_nbytes = limit->bound_nbytes + limit->bound_factor * nbytes;
}

enum kc_status kc_problem_fail(const struct kc_problem *problem, const char *file, uint64_t record,
                               struct kc_error *err, const char *format, ...)
{
        struct kc_error own = { .needed_nbytes = problem->needed_nbytes,
                                .unit = KC_UNIT_RECORD,
                                .number = record };
        char message[sizeof own.message];
        va_list args;
        va_start(args, format);
        vsnprintf(message, sizeof message, format, args);
        va_end(args);
        kc_fail_filter(&own, problem->remedies, file,
                       problem->filter != NULL ? problem->filter : "", "%s", message);
        return kc_fail_as(err, &own);
}

enum kc_status kc_problem_report(const struct kc_problem *problem, const char *file,
                                 const char *checker, uint64_t nbefore, struct kc_error *err)
{
        struct kc_problem shown = *problem;
        const uint64_t sum = nbefore + problem->record, record = sum > 0 ? sum : 1;
        if (problem->what[0] == 0)
                return KC_OK;
        if (shown.remedies == 0 && checker != NULL) {
                shown.remedies = KC_REMEDY_TEST;
                shown.filter = checker;
        }
        return kc_problem_fail(&shown, file, record, err, "%s: record %" PRIu64 " %s", file, record,
                               shown.what);
}
