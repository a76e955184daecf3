#include "app/output_name.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* Length of name without its ending if that is in endings and something is left. */
static size_t strip(const char *name, size_t length, const char *const *endings)
{
        for (; *endings; endings++) {
                size_t n = strlen(*endings);
                if (n < length && strncasecmp(name + length - n, *endings, n) == 0)
                        return length - n;
        }
        return length;
}

char *output_name(const char *input)
{
        static const char *const compressions[] = { ".gz",  ".bgz",  ".bgzf", ".gzip",
                                                    ".zst", ".zstd", NULL };
        static const char *const sequences[] = { ".fq",   ".fastq", ".fa",  ".fasta",
                                                 ".fna",  ".ffn",   ".fas", ".bam",
                                                 ".cram", ".sam",   NULL };
        static const char *const lists[] = { ".txt", ".list", ".lst", ".fofn", NULL };
        bool is_list = input[0] == '@';
        const char *slash = strrchr(input, '/');
        const char *name = slash ? slash + 1 : input + is_list;
        if (strcmp(input, "-") == 0 || *name == '\0')
                name = "stdin";
        size_t length = strlen(name);
        if (is_list) {
                length = strip(name, length, lists);
        } else {
                length = strip(name, length, compressions);
                length = strip(name, length, sequences);
        }
        char *path;
        return asprintf(&path, "%.*s.kc", (int)length, name) < 0 ? NULL : path;
}

size_t output_stem_length(const char *path)
{
        static const char *const endings[] = { ".kc", NULL };
        return strip(path, strlen(path), endings);
}

char *output_name_for(const char *path, int k)
{
        char *name;
        return asprintf(&name, "%.*s.k%d.kc", (int)output_stem_length(path), path, k) < 0 ? NULL
                                                                                          : name;
}

enum kc_status output_check_stdout(const char *path, const char *option, struct kc_error *err)
{
        if (strcmp(path, "-") != 0)
                return KC_OK;
        return kc_fail(err, KC_EUSAGE,
                       "a .kc file cannot be written to standard output; name a file with %s",
                       option);
}

enum kc_status output_check(const char *path, bool force, struct kc_error *err)
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
        if (!force)
                return kc_fail_remedy(err, KC_EEXIST, KC_REMEDY_OTHER_OUTPUT | KC_REMEDY_REPLACE,
                                      "%s already exists", path);
        return KC_OK;
}

static bool is_stdin(const char *input)
{
        return strcmp(input, "-") == 0;
}

static bool is_same_file(const char *input, const struct stat *output)
{
        struct stat found;
        int code = is_stdin(input) ? fstat(STDIN_FILENO, &found) : stat(input, &found);
        return code == 0 && found.st_dev == output->st_dev && found.st_ino == output->st_ino;
}

enum kc_status output_check_inputs(const char *path, const char *const *inputs, size_t ninputs,
                                   struct kc_error *err)
{
        struct stat output;
        if (stat(path, &output) != 0)
                return KC_OK;
        for (size_t i = 0; i < ninputs; i++)
                if (is_same_file(inputs[i], &output))
                        return kc_fail(err, KC_EUSAGE,
                                       "%s is an input%s and the output as well; name two "
                                       "different files",
                                       is_stdin(inputs[i]) ? path : inputs[i],
                                       is_stdin(inputs[i]) ? " (standard input)" : "");
        return KC_OK;
}
