#include "app/library/nameless.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

char *kc_nameless_path(const char *folder)
{
        char *path;
        const bool made =
                asprintf(&path, "%s%skcount.temporary.%ld.kc", folder != NULL ? folder : "",
                         folder != NULL ? "/" : "", (long)getpid()) >= 0;
        return made ? path : NULL;
}
