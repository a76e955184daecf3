#include "app/cli/file_check.h"

#include "app/cli/message.h"
#include "app/library/same_file.h"
#include "io/input/input.h"
#include "io/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *base_of(const char *path)
{
        const char *slash = strrchr(path, '/');
        return slash != NULL ? slash + 1 : path;
}

enum kc_status output_check_name(const char *path, const char *what, struct kc_error *err)
{
        const char *base = base_of(path);
        if (*path == '\0')
                return kc_fail(err, KC_EUSAGE, "%s: the file's name is empty", what);
        if (*base == '\0' || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
                return kc_fail(err, KC_EUSAGE, "%s: '%s' is a folder, not a file", what, path);
        return KC_OK;
}

enum kc_status output_check_stdout(const char *path, const char *option, struct kc_error *err)
{
        if (strcmp(path, "-") != 0)
                return KC_OK;
        return kc_fail(err, KC_EUSAGE,
                       "a .kc file cannot be written to standard output; name a file with %s",
                       option);
}

enum kc_status output_check(const char *path, bool is_text, bool force, struct kc_error *err)
{
        struct stat found;
        if (stat(path, &found) != 0)
                return KC_OK; /* creating it will report any other problem */
        if (S_ISDIR(found.st_mode))
                return kc_fail_remedy(err, KC_EIO, KC_REMEDY_OTHER_OUTPUT,
                                      "%s is a folder, not a file", path);
        if (!S_ISREG(found.st_mode))
                return kc_fail_remedy(err, KC_EIO, KC_REMEDY_OTHER_OUTPUT,
                                      "%s is not a regular file, so a .kc file cannot replace it",
                                      path);
        /* what is of another kind, such as reads, was hardly made by this command */
        const bool replaceable = found.st_size == 0 || kc_store_recognizes(path) != is_text;
        if (!force)
                return kc_fail_remedy(err, KC_EEXIST,
                                      KC_REMEDY_OTHER_OUTPUT |
                                              (replaceable ? KC_REMEDY_REPLACE : 0),
                                      "%s already exists", path);
        return KC_OK;
}

/* ---- inputs that are one file ---- */

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
        if (!kc_input_stat(name, &found) || !S_ISREG(found.st_mode))
                return false;
        *file = (struct named_file){ found.st_dev, found.st_ino, number };
        return true;
}

static bool are_one(const struct named_file *a, const struct named_file *b)
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
static void warn(const char *const *names, const struct named_file *files, size_t ntimes)
{
        char times[32] = "twice";
        if (ntimes > 2)
                snprintf(times, sizeof times, "%zu times", ntimes);
        const char *one = kc_input_name(names[files[0].number]);
        const char *other = kc_input_name(names[files[1].number]);
        if (strcmp(one, other) == 0)
                message_print("kcount: warning: %s is named %s, and counted %s\n", one, times,
                              times);
        else
                message_print("kcount: warning: %s and %s are the same file, which is counted %s\n",
                              one, other, times);
}

/* files: [n], sorted. */
static void warn_of_each(const char *const *names, const struct named_file *files, size_t n)
{
        size_t nrepeated = 0;
        for (size_t i = 0, next; i < n; i = next) {
                for (next = i + 1; next < n && are_one(&files[i], &files[next]);)
                        next++;
                if (next - i > 1 && ++nrepeated <= MOST_WARNINGS)
                        warn(names, files + i, next - i);
        }
        if (nrepeated > MOST_WARNINGS)
                message_print("kcount: warning: %zu more files are named more than once\n",
                              nrepeated - MOST_WARNINGS);
}

void input_warn_of_same(const char *const *names, size_t n)
{
        struct named_file *files = calloc(n, sizeof *files);
        size_t nfiles = 0;
        if (files == NULL)
                return;
        for (size_t i = 0; i < n; i++)
                nfiles += identify(names[i], i, &files[nfiles]);
        qsort(files, nfiles, sizeof *files, compare);
        warn_of_each(names, files, nfiles);
        free(files);
}
