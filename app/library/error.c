/* Failures as callers of the library see them. The advice of the program (app/cli/advice.c) names
 * options of the command line; the advice here names those of kcount.h. */
#include "app/library/library.h"
#include "kmer/remedy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADVICE_NBYTES = 1024 };

struct kcount_error {
        enum kcount_status status;
        struct kc_error cause;
        char file[KC_ERROR_FILE_NBYTES]; /* also if the remedies are for none */
        char advice[ADVICE_NBYTES];
};

/* Returned if there is no memory for another one. Nothing writes to it. */
static const struct kcount_error out_of_memory = {
        KCOUNT_ENOMEM,
        { .status = KC_ENOMEM,
          .message = "there is no memory left, not even to say what has failed" },
        "",
        "",
};

static const struct {
        unsigned remedy;
        const char *text; /* a sentence */
} advices[] = {
        { KC_REMEDY_OTHER_OUTPUT, "Give the output another name." },
        { KC_REMEDY_REPLACE, "Set replace to true if it may be replaced." },
        { KC_REMEDY_OTHER_TMP, "Choose another folder with tmp_folder." },
        { KC_REMEDY_ROOMIER_TMP, "Choose a folder with more room with tmp_folder." },
        { KC_REMEDY_MORE_MEMORY, "Allow more memory with memory_nbytes." },
        { KC_REMEDY_LESS_MEMORY, "Choose a smaller memory_nbytes." },
        { KC_REMEDY_FEWER_THREADS, "Choose a smaller nthreads." },
        { KC_REMEDY_IGNORE_QUALITIES, "Count without min_quality." },
        { KC_REMEDY_LIST_DEVICES, "'kcount info --devices' lists the devices." },
        { KC_REMEDY_BUILD_CUDA, "Install libkcount-cuda.so.0, or build with -DKCOUNT_CUDA=ON." },
        { KC_REMEDY_BUILD_ARCH,
          "Build kcount with -DKCOUNT_CUDA_ARCHS set to the device's compute capability." },
        { KC_REMEDY_CPU, "Choose the device \"cpu\"." },
        { KC_REMEDY_READ_COUNTS, "It holds counts: open it with kcount_open." },
        { KC_REMEDY_SAME_STRANDS, "Count all with stranded, or all without it." },
        { KC_REMEDY_COMPACT, "'kcount compact' merges them." },
        { KC_REMEDY_CHANGE, "'kcount compact' repairs it." },
        { KC_REMEDY_CHECK, "'kcount check' finds the damage." },
        { KC_REMEDY_RESCUE, "'kcount check --repair' copies what is sound." },
        { KC_REMEDY_COUNT, "If it holds reads, count them with kcount_count_files." },
        { KC_REMEDY_IMPORT, "'kcount import' converts it to a .kc file." },
        { KC_REMEDY_SAVE, "'kcount import' converts it if it is an uncompressed file." },
        { KC_REMEDY_SKIP_EMPTY, "Find out why, or set accept_empty to true." },
        { KC_REMEDY_OTHER_INPUT, "Name another file." },
        { KC_REMEDY_REFERENCE, "Set the environment variable REF_PATH or REF_CACHE to its place." },
        { KC_REMEDY_TEST, "To see whether the file is damaged:" },
        { KC_REMEDY_FILTER, "Read what this writes:" },
        { KC_REMEDY_FILTER_HEAD, "To read only what comes before, read what this writes:" },
        { KC_REMEDY_FILTER_WHOLE, "If you know that it is complete, read what this writes:" },
};

enum {
        FILTERS = KC_REMEDY_TEST | KC_REMEDY_FILTER | KC_REMEDY_FILTER_HEAD | KC_REMEDY_FILTER_WHOLE
};

/* The sentences of all remedies, separated by blanks. The first that does not fit ends the text. */
static void advise(const struct kc_error *failure, char text[ADVICE_NBYTES])
{
        size_t n = 0;
        for (size_t i = 0; i < sizeof advices / sizeof *advices; i++) {
                const unsigned remedy = failure->remedies & advices[i].remedy;
                char detail[sizeof failure->filter + 32] = "";
                if (remedy == 0)
                        continue;
                if (remedy & FILTERS)
                        snprintf(detail, sizeof detail, " %s", failure->filter);
                else if (remedy == KC_REMEDY_MORE_MEMORY && failure->needed_nbytes > 0)
                        snprintf(detail, sizeof detail, " %" PRIu64 " bytes are enough.",
                                 failure->needed_nbytes);
                if (n + strlen(advices[i].text) + strlen(detail) + 2 > ADVICE_NBYTES)
                        return;
                n += (size_t)snprintf(text + n, ADVICE_NBYTES - n, "%s%s%s", n > 0 ? " " : "",
                                      advices[i].text, detail);
        }
}

static enum kcount_status status_of(enum kc_status status)
{
        switch (status) {
        case KC_OK:
                return KCOUNT_OK;
        case KC_EUSAGE:
                return KCOUNT_EUSAGE;
        case KC_EINPUT:
                return KCOUNT_EINPUT;
        case KC_ECORRUPT:
        case KC_EUNTIDY:
                return KCOUNT_EDAMAGED;
        case KC_EEXIST:
                return KCOUNT_EEXIST;
        case KC_EIO:
                return KCOUNT_EIO;
        case KC_ENOMEM:
                return KCOUNT_ENOMEM;
        case KC_EDEVICE:
                return KCOUNT_EDEVICE;
        case KC_ENODEVICE:
                return KCOUNT_ENODEVICE;
        case KC_ECANCELED:
                return KCOUNT_ECANCELED;
        }
        return KCOUNT_EIO;
}

enum kcount_status kc_library_failed(const struct kc_error *failure, struct kcount_error **error)
{
        return kc_library_failed_on(failure, failure->file, error);
}

enum kcount_status kc_library_failed_on(const struct kc_error *failure, const char *file,
                                        struct kcount_error **error)
{
        struct kcount_error *e;
        if (error == NULL)
                return status_of(failure->status);
        e = calloc(1, sizeof *e);
        if (e == NULL) {
                *error = (struct kcount_error *)&out_of_memory;
                return KCOUNT_ENOMEM;
        }
        e->status = status_of(failure->status);
        e->cause = *failure;
        if (strlen(file) < sizeof e->file)
                strcpy(e->file, file);
        advise(failure, e->advice);
        *error = e;
        return e->status;
}

const struct kc_error *kc_library_cause(const struct kcount_error *error)
{
        return &error->cause;
}

enum kcount_status kcount_error_status(const struct kcount_error *error)
{
        return error->status;
}

const char *kcount_error_message(const struct kcount_error *error)
{
        return error->cause.message;
}

const char *kcount_error_file(const struct kcount_error *error)
{
        return error->file;
}

uint64_t kcount_error_place(const struct kcount_error *error, enum kcount_unit *unit)
{
        static const enum kcount_unit units[] = { [KC_UNIT_NONE] = KCOUNT_UNIT_NONE,
                                                  [KC_UNIT_LINE] = KCOUNT_UNIT_LINE,
                                                  [KC_UNIT_RECORD] = KCOUNT_UNIT_RECORD,
                                                  [KC_UNIT_BYTE] = KCOUNT_UNIT_BYTE };
        if (unit != NULL)
                *unit = units[error->cause.unit];
        return error->cause.number;
}

const char *kcount_error_advice(const struct kcount_error *error)
{
        return error->advice;
}

void kcount_error_free(struct kcount_error *error)
{
        if (error != &out_of_memory)
                free(error);
}
