/*
 * Private to this folder. How the reports of report_example.h are made.
 */
#ifndef TESTS_APP_REPORT_EXAMPLE_INTERNAL_H
#define TESTS_APP_REPORT_EXAMPLE_INTERNAL_H

#include "app/report/page/genome.h"
#include "tests/app/report_example.h"

enum { MOST_SEQUENCES = 5000 }; /* of which PAGE_MAX_SEQUENCES differ */

/* What differs between the examples. */
struct design {
        int ploidy, k;
        double coverage, bias, length;
        double share[8]; /* of k-mers in 1, 2, ... copies */
        size_t nrows, nsequences;
};

/* A report, and what it points to. */
struct example {
        struct page report;
        struct design design;
        struct page_genome genome;
        uint32_t state;
        char names[PAGE_MAX_SEQUENCES][80];
        struct page_sequence sequences[MOST_SEQUENCES];
        uint32_t bins[PAGE_MAX_SEQUENCES][PAGE_MAX_BINS][PAGE_NBIN_VALUES];
        uint64_t kmers[PAGE_MAX_ROWS];
        uint64_t copies[1 + PAGE_MAX_ASSEMBLIES][PAGE_MAX_ROWS][PAGE_NCOPIES]; /* first: of all */
        uint64_t holders[PAGE_MAX_ROWS][PAGE_NHOLDERS];
        double parts[PAGE_NPARTS + 1][PAGE_MAX_ROWS]; /* the last: errors */
        double curves[3][PAGE_MAX_ROWS];
        uint64_t first[200], gc[101 * 200];
};

double example_draw(struct example *e); /* -1 to 1 */

/* The spectrum and its parts are filled; nassemblies of the report is set. */
void example_fill_assemblies(struct example *e);

struct page_qv example_make_qv(double nonly, double nkmers, int k);

#endif
