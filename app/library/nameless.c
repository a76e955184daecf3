#include "app/library/nameless.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char *kc_nameless_path(const char *folder)
{
        char *path;
        const bool made =
                asprintf(&path, "%s%skcount.temporary.%ld.kc", folder != NULL ? folder : "",
                         folder != NULL ? "/" : "", (long)getpid()) >= 0;
        return made ? path : NULL;
}

enum kc_status kc_nameless_create(struct kc_store_writer **writer, const char *folder,
                                  const struct kc_store_options *options, struct kc_error *err)
{
        struct kc_store_options own = *options;
        char *path = kc_nameless_path(folder);
        if (path == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        own.tmp_folder = folder;
        const enum kc_status status = kc_store_create(writer, path, &own, err);
        free(path);
        return status;
}
