/*
 * How library code reports failure: a status and a message, never a print or an exit.
 * Only app/ shows messages and turns them into exit codes.
 */
#ifndef KC_BASE_STATUS_H
#define KC_BASE_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum kc_status {
        KC_OK = 0,
        KC_EUSAGE,    /* the caller asked for something impossible: k out of range, ... */
        KC_EINPUT,    /* an input file is missing, damaged, truncated or of another kind */
        KC_ECORRUPT,  /* a .kc file is damaged or not a .kc file */
        KC_EUNTIDY,   /* a .kc file has lost nothing, but something in it should be repaired */
        KC_EEXIST,    /* the output exists and may not be replaced */
        KC_EIO,       /* the system refused to read, write, rename, ... */
        KC_ENOMEM,    /* out of memory, or a thread could not be started */
        KC_EDEVICE,   /* a device failed or cannot be used */
        KC_ENODEVICE, /* there is no device, no driver, or no CUDA engine */
        KC_ECANCELED, /* kc_job.cancel was set */
};

/*
 * What would help against a failure. Only app/ knows which options and commands do that, so the
 * messages of libraries name none of them. kmer/remedy.h has more, about engines and what they
 * count.
 */
enum kc_remedy {
        /* of the output and of temporary files */
        KC_REMEDY_OTHER_OUTPUT = 1 << 0, /* give the output another name */
        KC_REMEDY_REPLACE = 1 << 1,      /* allow the output to be replaced */
        KC_REMEDY_OTHER_TMP = 1 << 2,    /* put temporary files in another folder */
        KC_REMEDY_ROOMIER_TMP = 1 << 3,  /* put them where there is more room */
        /* of resources */
        KC_REMEDY_MORE_MEMORY = 1 << 4,
        KC_REMEDY_LESS_MEMORY = 1 << 5,
        KC_REMEDY_FEWER_THREADS = 1 << 6,
        /* of inputs */
        KC_REMEDY_TEST = 1 << 7,          /* kc_error.filter finds damage */
        KC_REMEDY_FILTER = 1 << 8,        /* read what kc_error.filter writes */
        KC_REMEDY_FILTER_HEAD = 1 << 9,   /* read what it writes before the damage */
        KC_REMEDY_FILTER_WHOLE = 1 << 10, /* read it if the file is known to be whole */
        KC_REMEDY_SKIP_EMPTY = 1 << 11,   /* accept files of 0 bytes */
        KC_REMEDY_OTHER_INPUT = 1 << 12,  /* name another file, or those in the folder */
        KC_REMEDY_NEXT = 1 << 13,         /* those of kmer/remedy.h begin here */
};

enum { KC_ERROR_FILE_NBYTES = 512 };

/* What the number of a place in a file counts. */
enum kc_unit {
        KC_UNIT_NONE, /* the place is unknown */
        KC_UNIT_LINE,
        KC_UNIT_RECORD,
        KC_UNIT_BYTE,
};

/* Where in a file something is wrong. */
struct kc_error_place {
        const char *file;
        enum kc_unit unit;
        uint64_t number; /* lines and records from 1, bytes from 0 */
};

static inline struct kc_error_place kc_byte_of(const char *file, uint64_t offset)
{
        const struct kc_error_place place = { file, KC_UNIT_BYTE, offset };
        return place;
}

/* The first failure. Zero-initialise it; use one per thread, or guard it yourself. */
struct kc_error {
        enum kc_status status;
        unsigned remedies;               /* KC_REMEDY_..., combined with | */
        uint64_t needed_nbytes;          /* the bound on memory that would be enough; 0: unknown */
        enum kc_unit unit;               /* of the place in the file that the message names */
        uint64_t number;                 /* of that place, as in struct kc_error_place */
        char file[KC_ERROR_FILE_NBYTES]; /* that the remedies are for; "": unknown, or too long */
        char filter[128]; /* a shell command, in which the word FILE stands for the file's name */
        char message[1024];
};

/*
 * Record a failure and return its status, so that `return kc_fail(err, ...)` reads well.
 * The first failure is kept: a later one does not overwrite it. err may be NULL.
 * The message names the file, the record or offset, and what is wrong; no newline.
 */
enum kc_status kc_fail(struct kc_error *err, enum kc_status status, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* Likewise, with what would help: KC_REMEDY_..., combined with |. */
enum kc_status kc_fail_remedy(struct kc_error *err, enum kc_status status, unsigned remedies,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Likewise, with the file that the remedies are for. */
enum kc_status kc_fail_file(struct kc_error *err, enum kc_status status, unsigned remedies,
                            const char *file, const char *format, ...)
        __attribute__((format(printf, 5, 6)));

/* Likewise, with the place in the file that the message names. */
enum kc_status kc_fail_at(struct kc_error *err, enum kc_status status, unsigned remedies,
                          struct kc_error_place place, const char *format, ...)
        __attribute__((format(printf, 5, 6)));

/* As kc_fail_file, for an input that is readable through a filter, a shell command. Returns
 * KC_EINPUT. */
enum kc_status kc_fail_filter(struct kc_error *err, unsigned remedies, const char *file,
                              const char *filter, const char *format, ...)
        __attribute__((format(printf, 5, 6)));

/* Record a failure that another kc_error holds, as kc_fail would, and return its status. */
enum kc_status kc_fail_as(struct kc_error *err, const struct kc_error *failure);

/* Likewise, with its remedies but another message, which may quote its own. */
enum kc_status kc_fail_reworded(struct kc_error *err, const struct kc_error *failure,
                                const char *format, ...) __attribute__((format(printf, 3, 4)));

/* strerror(code), but for EFBIG it names the process's limit on file sizes, if there is one. */
const char *kc_strerror(int code);

#define KC_TRY(expr) \
        do { \
                if ((status = (expr)) != KC_OK) \
                        goto out; \
        } while (0)

#ifdef __cplusplus
}
#endif
#endif
