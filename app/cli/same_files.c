#include "app/cli/same_files.h"

#include "app/cli/message.h"
#include "io/input/input.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_WARNINGS = 10 }; /* a list may hold thousands of names */

struct named_file {
        dev_t device;
        ino_t inode;
        size_t number; /* of the name */
};

/* Whether the name leads to a regular file. A pipe that is named twice is not read twice. */
static bool identify(const char *name, size_t number, struct named_file *file)
{
        struct stat found;
        const int code = strcmp(name, "-") == 0 ? fstat(STDIN_FILENO, &found) : stat(name, &found);
        if (code != 0 || !S_ISREG(found.st_mode))
                return false;
        *file = (struct named_file){ found.st_dev, found.st_ino, number };
        return true;
}

static bool are_same(const struct named_file *a, const struct named_file *b)
{
        return a->device == b->device && a->inode == b->inode;
}

/* Sort names of the same file next to each other, in the order in which they were given. */
static int compare(const void *a, const void *b)
{
        const struct named_file *x = a, *y = b;
        if (x->device != y->device)
                return x->device < y->device ? -1 : 1;
        if (x->inode != y->inode)
                return x->inode < y->inode ? -1 : 1;
        return x->number < y->number ? -1 : 1;
}

/* files: ntimes names of one file. */
static void warn(const char *const *names, const struct named_file *files, size_t ntimes,
                 const char *fate)
{
        char times[32] = "twice";
        if (ntimes > 2)
                snprintf(times, sizeof times, "%zu times", ntimes);
        const char *one = kc_input_name(names[files[0].number]);
        const char *other = kc_input_name(names[files[1].number]);
        if (strcmp(one, other) == 0)
                message_print("kcount: warning: %s is named %s, and %s %s\n", one, times, fate,
                              times);
        else
                message_print("kcount: warning: %s and %s are the same file, which is %s %s\n", one,
                              other, fate, times);
}

/* files: [n], sorted. */
static void warn_of_each(const char *const *names, const struct named_file *files, size_t n,
                         const char *fate)
{
        size_t nrepeated = 0;
        for (size_t i = 0, next; i < n; i = next) {
                for (next = i + 1; next < n && are_same(&files[i], &files[next]);)
                        next++;
                if (next - i > 1 && ++nrepeated <= MOST_WARNINGS)
                        warn(names, files + i, next - i, fate);
        }
        if (nrepeated > MOST_WARNINGS)
                message_print("kcount: warning: %zu more files are named more than once\n",
                              nrepeated - MOST_WARNINGS);
}

void same_files_warn(const char *const *names, size_t n, const char *fate)
{
        struct named_file *files = calloc(n, sizeof *files);
        size_t nfiles = 0;
        if (files == NULL)
                return;
        for (size_t i = 0; i < n; i++)
                nfiles += identify(names[i], i, &files[nfiles]);
        qsort(files, nfiles, sizeof *files, compare);
        warn_of_each(names, files, nfiles, fate);
        free(files);
}
