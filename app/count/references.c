#include "app/count/references.h"

#include <htslib/hts.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * If REF_PATH is not set, htslib takes references from its cache, otherwise from a server of the
 * EBI. Keep the cache, in the folder that htslib chooses (XDG_CACHE_HOME, otherwise HOME), so that
 * htslib finds what samtools has downloaded.
 */
static void keep_references_local(void)
{
        char path[4096] = "/nonexistent/%s";
        const char *set = getenv("REF_PATH"), *cache = getenv("XDG_CACHE_HOME");
        const char *home = getenv("HOME");
        if (set != NULL && *set != '\0')
                return;
        if (cache != NULL && *cache != '\0')
                snprintf(path, sizeof path, "%s/hts-ref/%%2s/%%2s/%%s", cache);
        else if (home != NULL && *home != '\0')
                snprintf(path, sizeof path, "%s/.cache/hts-ref/%%2s/%%2s/%%s", home);
        setenv("REF_PATH", path, 1);
}

void references_set_up(void)
{
        hts_set_log_level(HTS_LOG_ERROR);
        keep_references_local();
}
