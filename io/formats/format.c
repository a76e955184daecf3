#include "io/formats/format.h"

#include <string.h>

static const char *const names[KC_NFILE_FORMATS] = {
        [KC_FILE_TSV] = "tsv",     [KC_FILE_KFF] = "kff",
        [KC_FILE_KMC] = "kmc",     [KC_FILE_JELLYFISH] = "jellyfish",
        [KC_FILE_FASTK] = "fastk", [KC_FILE_ARROW] = "arrow",
};

const char *kc_file_format_name(enum kc_file_format format)
{
        return names[format];
}

bool kc_file_format_find(const char *name, enum kc_file_format *format)
{
        for (int i = 0; i < KC_NFILE_FORMATS; i++) {
                if (strcmp(names[i], name) == 0) {
                        *format = (enum kc_file_format)i;
                        return true;
                }
        }
        return false;
}
