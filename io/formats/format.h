/*
 * The formats of other programs: their names. writer.h writes them.
 */
#ifndef KC_FORMATS_FORMAT_H
#define KC_FORMATS_FORMAT_H

#include <stdbool.h>

enum kc_format {
        KC_FORMAT_TSV,       /* lines of a k-mer, a tab, its count */
        KC_FORMAT_KFF,       /* k-mer file format 1 */
        KC_FORMAT_KMC,       /* KMC's database: NAME.kmc_pre and NAME.kmc_suf */
        KC_FORMAT_JELLYFISH, /* Jellyfish's binary/sorted */
        KC_FORMAT_FASTK,     /* NAME.ktab with its hidden parts, and NAME.hist */
        KC_FORMAT_ARROW,     /* Arrow IPC */
};

enum { KC_NFORMATS = KC_FORMAT_ARROW + 1 };

/* "tsv", "kff", "kmc", "jellyfish", "fastk" or "arrow". */
const char *kc_format_name(enum kc_format format);

/* Whether there is a format of that name; it is then *format. */
bool kc_format_find(const char *name, enum kc_format *format);

#endif
