/*
 * Runs a fuzz target over files that were found before, without libFuzzer; and, on request, over
 * random changes of these files, which needs no special compiler but reaches less code.
 *
 *      replay [--mutate SECONDS SEED SCRATCH] FILE|FOLDER...
 *
 * SCRATCH holds the bytes that the target works on, so that they remain after a crash.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_NBYTES = 1 << 16 };

struct file {
        uint8_t *data;
        size_t n;
};

struct corpus {
        struct file *files;
        size_t n;
};

static void die(const char *path)
{
        perror(path);
        exit(1);
}

/* ---- the corpus ---- */

static void take_file(struct corpus *corpus, const char *path, size_t nbytes)
{
        FILE *file = fopen(path, "rb");
        uint8_t *data = malloc(nbytes ? nbytes : 1);
        if (file == NULL || data == NULL || fread(data, 1, nbytes, file) != nbytes)
                die(path);
        fclose(file);
        corpus->files = realloc(corpus->files, (corpus->n + 1) * sizeof *corpus->files);
        if (corpus->files == NULL)
                die(path);
        corpus->files[corpus->n++] = (struct file){ data, nbytes };
}

static void take(struct corpus *corpus, const char *path)
{
        struct stat about;
        if (stat(path, &about) != 0)
                die(path);
        if (!S_ISDIR(about.st_mode)) {
                take_file(corpus, path, (size_t)about.st_size);
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
                take(corpus, inner);
        }
        closedir(folder);
}

static void drop(struct corpus *corpus)
{
        for (size_t i = 0; i < corpus->n; i++)
                free(corpus->files[i].data);
        free(corpus->files);
}

/* ---- changes ---- */

static size_t draw(uint64_t *state, size_t below)
{
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        return below ? (size_t)(*state >> 11) % below : 0;
}

/* Insert a part of another file somewhere, or replace the rest of the file by it. */
static void put_part(struct file *to, const struct file *from, uint64_t *state)
{
        size_t begin = draw(state, from->n + 1), at = draw(state, to->n + 1);
        size_t n = draw(state, from->n - begin + 1), kept = draw(state, 2) ? to->n - at : 0;
        if (at + n + kept > MAX_NBYTES)
                return;
        memmove(to->data + at + n, to->data + at, kept);
        memcpy(to->data + at, from->data + begin, n);
        to->n = at + n + kept;
}

static void change(struct file *file, const struct file *other, uint64_t *state)
{
        static const uint8_t telling[] = "\0\1\n\r\t @+>;AN\x7f\x80\xff";
        size_t at = draw(state, file->n), n = draw(state, file->n - at + 1);
        switch (file->n > 0 ? draw(state, 6) : 5) {
        case 0:
                file->data[at] ^= (uint8_t)(1 << draw(state, 8));
                break;
        case 1:
                file->data[at] = telling[draw(state, sizeof telling)];
                break;
        case 2:
                file->data[at] = (uint8_t)draw(state, 256);
                break;
        case 3:
                file->n = at;
                break;
        case 4:
                memmove(file->data + at, file->data + at + n, file->n - at - n);
                file->n -= n;
                break;
        default:
                put_part(file, other, state);
        }
}

/* Save the bytes to the scratch file, then run the target on a copy of exactly their size. */
static void run(int scratch, const struct file *file)
{
        uint8_t *exact = malloc(file->n ? file->n : 1);
        if (exact == NULL || pwrite(scratch, file->data, file->n, 0) != (ssize_t)file->n ||
            ftruncate(scratch, (off_t)file->n) != 0)
                die("the scratch file");
        memcpy(exact, file->data, file->n);
        LLVMFuzzerTestOneInput(exact, file->n);
        free(exact);
}

static void mutate(const struct corpus *corpus, double seconds, uint64_t state, const char *path)
{
        static uint8_t buffer[MAX_NBYTES];
        struct file file = { buffer, 0 };
        unsigned long long ninputs = 0;
        time_t end = time(NULL) + (time_t)seconds;
        int scratch = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (scratch < 0)
                die(path);
        state = state * 2 + 1; /* never 0 */
        for (; time(NULL) < end; ninputs++) {
                const struct file *from = &corpus->files[draw(&state, corpus->n)];
                file.n = from->n < MAX_NBYTES ? from->n : MAX_NBYTES;
                memcpy(file.data, from->data, file.n);
                for (size_t n = 1 + draw(&state, 4); n > 0; n--)
                        change(&file, &corpus->files[draw(&state, corpus->n)], &state);
                run(scratch, &file);
        }
        close(scratch);
        unlink(path);
        printf("%llu inputs\n", ninputs);
}

int main(int argc, char **argv)
{
        struct corpus corpus = { 0 };
        bool mutates = argc > 4 && strcmp(argv[1], "--mutate") == 0;
        for (int i = mutates ? 5 : 1; i < argc; i++)
                take(&corpus, argv[i]);
        for (size_t i = 0; i < corpus.n; i++)
                LLVMFuzzerTestOneInput(corpus.files[i].data, corpus.files[i].n);
        printf("%zu files\n", corpus.n);
        if (mutates && corpus.n > 0)
                mutate(&corpus, atof(argv[2]), strtoull(argv[3], NULL, 10), argv[4]);
        drop(&corpus);
        return 0;
}
