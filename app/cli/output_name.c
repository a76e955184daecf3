#include "app/cli/output_name.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* Whether this is standard input, or another descriptor, as in <(command) of a shell. */
static bool is_descriptor(const char *input)
{
        static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };
        for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
                if (strncmp(input, folders[i], strlen(folders[i])) == 0)
                        return true;
        return strcmp(input, "-") == 0 || strcmp(input, "/dev/stdin") == 0;
}

/* Endings of all compressions, also those that kcount cannot read: advice names the output of an
 * input that another program decompresses. */
static const char *const compressions[] = { ".gz",   ".bgz", ".bgzf", ".gzip", ".zst",
                                            ".zstd", ".xz",  ".lzma", ".bz2",  ".lz4",
                                            ".lz",   ".lzo", ".Z",    ".zip",  NULL };

static const char *const sequences[] = { ".fq",  ".fastq", ".fa",   ".fasta", ".fna", ".ffn",
                                         ".fas", ".bam",   ".cram", ".sam",   NULL };

/* Endings of a KMC database's two files. */
static const char *const databases[] = { ".kmc_pre", ".kmc_suf", NULL };

char *output_name_imported(const char *input)
{
        static const char *const formats[] = { ".jf",  ".kff", ".ktab", ".meryl",
                                               ".tsv", ".txt", NULL };
        size_t length = strlen(input);
        while (length > 1 && input[length - 1] == '/') /* a folder's name */
                length--;
        const char *slash = memrchr(input, '/', length);
        const char *name = slash != NULL ? slash + 1 : input;
        length = strip(name, length - (size_t)(name - input), databases);
        length = strip(name, strip(name, length, compressions), formats);
        char *path;
        return asprintf(&path, "%.*s.kc", (int)length, name) < 0 ? NULL : path;
}

size_t output_database_length(const char *path)
{
        return strip(path, strlen(path), databases);
}

char *output_name(const char *input)
{
        static const char *const lists[] = { ".txt", ".list", ".lst", ".fofn", NULL };
        bool is_list = input[0] == '@';
        const char *slash = strrchr(input, '/');
        const char *name = slash ? slash + 1 : input + is_list;
        if (is_descriptor(input + is_list) || *name == '\0')
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

const char *output_endings(const char *path)
{
        const char *slash = strrchr(path, '/');
        const char *name = slash != NULL ? slash + 1 : path;
        size_t length = strlen(name);
        if (is_descriptor(path))
                return path + strlen(path);
        length = strip(name, strip(name, length, compressions), sequences);
        return name + length;
}

bool output_ends_with(const char *path, const char *const *endings)
{
        const size_t length = strlen(path);
        return strip(path, length, endings) < length;
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
