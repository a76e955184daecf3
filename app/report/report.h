/*
 * A report on reads and, if there are any, on assemblies of them.
 *
 *      report_open  the files, and what can be refused before any work
 *      report_work  counting, comparing, looking up; writes tracks and Merqury's files
 *      fill_page    (app/report/fill.h) what was found, for pages, JSON and pictures
 *
 * Inputs that are not counted yet are counted on the way (app/report/temporary.h), so all steps
 * after that see .kc files.
 */
#ifndef APP_REPORT_REPORT_H
#define APP_REPORT_REPORT_H

#include "app/cli/device.h"
#include "app/count/count.h"
#include "app/report/adjusting.h"
#include "app/report/checksum.h"
#include "app/report/contigs.h"
#include "app/report/files.h"
#include "app/report/multiqc.h"
#include "app/report/numbers.h"
#include "app/report/page/page.h"
#include "app/report/peaks.h"
#include "app/report/pictures.h"

struct report_assembly {
        const char *path;
        char *name;      /* as files are named after it */
        bool is_counted; /* it is a .kc file, and nothing is known about its sequences */
        struct kc_store *store;
        struct kc_store_info info;
        struct kc_store *pairs; /* of counts, for its windows; NULL: these are not looked up */
        struct contigs contigs;
        struct tracks_setup tracks; /* its text_outs belong to the files */
};

/* Merqury's files, which belong to the files of the report. NULL: there is none. */
struct merqury_files {
        struct merqury_of_assembly {
                struct text_out *copies, *only, *qv; /* qv: of sequences */
        } each[NUMBERS_MAX_ASSEMBLIES], both;
        struct text_out *qv, *completeness, *holders, *absent_holders, *hist, *ploidy, *filter;
};

struct report_setup {
        const char *const *reads; /* [nreads] one .kc file, or what count takes */
        size_t nreads;
        bool are_counted;              /* the reads are a .kc file */
        const char *const *assemblies; /* [nassemblies]; none: it is about the genome only */
        size_t nassemblies;
        const char *sample;                    /* NULL: named after the reads */
        const char *html;                      /* the page; NULL: none */
        const char *svg;                       /* folder of pictures; NULL: none */
        const char *multiqc;                   /* file for MultiQC; NULL: none */
        const char *merqury;                   /* prefix of Merqury's files; NULL: none */
        const char *tracks;                    /* prefix of BED files; NULL: none */
        const char *folder;                    /* for temporary files */
        const struct count_settings *counting; /* of reads and assemblies */
        uint64_t threshold;                    /* 0: the model decides, or the first minimum */
        const int *ploidies;                   /* [nploidies] of the model; none: the usual ones */
        int nploidies;
        uint64_t memory_nbytes; /* of the process */
        bool force;
        int nthreads;
        struct device_answers *device; /* what looks k-mers up */
        struct kc_job *job;
};

struct report {
        const struct report_setup *setup;
        char *sample;              /* as the reads are named; the setup may have another name */
        char *reads_name;          /* to be shown */
        struct kc_store *store;    /* of the reads; NULL until they are counted */
        struct kc_store_info info; /* what is known about it, also before that */
        struct count_done counted; /* if the reads are not a .kc file */
        struct report_assembly assemblies[NUMBERS_MAX_ASSEMBLIES];
        struct files files;
        struct text_out *html; /* NULL: not wanted */
        struct pictures pictures;
        struct multiqc multiqc;
        struct merqury_files merqury;
        /* known after report_work: */
        struct checksum checksums[NUMBERS_MAX_ASSEMBLIES + 1]; /* [nchecksums] of input files */
        size_t nchecksums;
        struct kc_histogram_row *rows; /* [nrows] of the reads */
        size_t nrows;
        struct kc_gc_cell *gc; /* [ngc] of the reads */
        size_t ngc;
        struct peaks peaks;
        enum page_refusal model_refusal;
        struct model model;         /* if it is not refused */
        struct adjusting adjusting; /* if the model fits */
        enum page_solid solid;
        uint64_t threshold;   /* k-mers with at least this count are solid */
        uint64_t depth;       /* the model's, or see peaks_depth; 0: unknown */
        uint64_t genome_size; /* of one haplotype, likewise; 0: unknown */
        int least_k;          /* at which few k-mers of the genome occur twice by chance; or 0 */
        struct numbers_of_assemblies numbers;
};

/* Zero-initialise *report. In any case, free it with report_close, which leaves nothing behind of
 * files that were not committed. KC_EUSAGE, KC_EEXIST, KC_EIO, KC_ECORRUPT, KC_ENOMEM. */
enum kc_status report_open(struct report *report, const struct report_setup *setup,
                           struct kc_error *err);
void report_close(struct report *report);

/* KC_EINPUT, KC_EUSAGE, KC_EIO, KC_ECORRUPT, KC_ENOMEM, KC_ECANCELED. The files are complete then,
 * except Merqury's, and have no names yet. */
enum kc_status report_work(struct report *report, struct kc_error *err);

const char *report_sample(const struct report *report);

/* What is known that makes the QV of an assembly wrong; of all of them, if it is NULL. */
enum page_refusal report_quality_refusal(const struct report *report,
                                         const struct report_assembly *assembly);

#endif
