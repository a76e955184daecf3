/*
 * Runs a fuzz target over files that were found before, where there is no libFuzzer.
 *
 *      replay FILE|FOLDER...
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void die(const char *path)
{
        perror(path);
        exit(1);
}

static void replay_file(const char *path, size_t nbytes)
{
        FILE *file = fopen(path, "rb");
        uint8_t *data = malloc(nbytes ? nbytes : 1);
        if (file == NULL || data == NULL || fread(data, 1, nbytes, file) != nbytes)
                die(path);
        fclose(file);
        LLVMFuzzerTestOneInput(data, nbytes);
        free(data);
}

static void replay(const char *path)
{
        struct stat about;
        if (stat(path, &about) != 0)
                die(path);
        if (!S_ISDIR(about.st_mode)) {
                replay_file(path, (size_t)about.st_size);
                return;
        }
        DIR *folder = opendir(path);
        if (folder == NULL)
                die(path);
        for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
                char inner[4096];
                if (entry->d_name[0] == '.')
                        continue;
                snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
                replay(inner);
        }
        closedir(folder);
}

int main(int argc, char **argv)
{
        for (int i = 1; i < argc; i++)
                replay(argv[i]);
        return 0;
}
