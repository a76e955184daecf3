#include "io/formats/format.h"

#include <string.h>

static const char *const names[KC_NFORMATS] = {
        [KC_FORMAT_TSV] = "tsv",     [KC_FORMAT_KFF] = "kff",
        [KC_FORMAT_KMC] = "kmc",     [KC_FORMAT_JELLYFISH] = "jellyfish",
        [KC_FORMAT_FASTK] = "fastk", [KC_FORMAT_ARROW] = "arrow",
};

const char *kc_format_name(enum kc_format format)
{
        return names[format];
}

bool kc_format_find(const char *name, enum kc_format *format)
{
        for (int i = 0; i < KC_NFORMATS; i++) {
                if (strcmp(names[i], name) == 0) {
                        *format = (enum kc_format)i;
                        return true;
                }
        }
        return false;
}
