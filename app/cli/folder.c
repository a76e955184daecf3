#include "app/cli/folder.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

bool folder_is(const char *path)
{
        struct stat found;
        return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

bool folder_is_meryl(const char *path)
{
        char index[4096];
        const int n = snprintf(index, sizeof index, "%s/merylIndex", path);
        return n > 0 && (size_t)n < sizeof index && access(index, F_OK) == 0;
}

static bool matches(const char *name, const char *pattern)
{
        const size_t n = strlen(name), ending = strlen(pattern) - 1;
        return name[0] != '.' && n > ending && strcmp(name + n - ending, pattern + 1) == 0;
}

const char *folder_pattern(const char *path)
{
        static const char *const patterns[] = {
                "*.fq.gz",    "*.fastq.gz", "*.fq", "*.fastq", "*.fq.zst", "*.fastq.zst", "*.fa.gz",
                "*.fasta.gz", "*.fna.gz",   "*.fa", "*.fasta", "*.fna",    "*.bam",       "*.cram",
        };
        enum { N = sizeof patterns / sizeof *patterns };
        size_t nfiles[N] = { 0 }, best = 0;
        DIR *folder = opendir(path);
        const struct dirent *entry;
        while (folder != NULL && (entry = readdir(folder)) != NULL)
                for (size_t i = 0; i < N; i++)
                        nfiles[i] += matches(entry->d_name, patterns[i]);
        if (folder != NULL)
                closedir(folder);
        for (size_t i = 1; i < N; i++)
                if (nfiles[i] > nfiles[best])
                        best = i;
        return nfiles[best] > 0 ? patterns[best] : NULL;
}
