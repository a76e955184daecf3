/*
 * The formats of other programs: their names. writer.h writes them.
 */
#ifndef KC_FORMATS_FORMAT_H
#define KC_FORMATS_FORMAT_H

#include <stdbool.h>

enum kc_file_format {
        KC_FILE_TSV,       /* lines of a k-mer, a tab, its count */
        KC_FILE_KFF,       /* k-mer file format 1 */
        KC_FILE_KMC,       /* KMC's database: NAME.kmc_pre and NAME.kmc_suf */
        KC_FILE_JELLYFISH, /* Jellyfish's binary/sorted */
        KC_FILE_FASTK,     /* NAME.ktab with its hidden parts, and NAME.hist */
        KC_FILE_ARROW,     /* Arrow IPC */
};

enum { KC_NFILE_FORMATS = KC_FILE_ARROW + 1 };

#define KC_FILE_FORMATS "tsv, kff, kmc, jellyfish, fastk, arrow"

/* One of KC_FILE_FORMATS. */
const char *kc_file_format_name(enum kc_file_format format);

/* Whether there is a format of that name; it is then *format. */
bool kc_file_format_find(const char *name, enum kc_file_format *format);

#endif
