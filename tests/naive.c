/*
 * naive: the oracle. Counts k-mers by their definition, with strings, qsort and none of kcount's
 * own code, and prints KMER <TAB> COUNT in alphabetical order.
 *
 *      naive -k K [-s] [-q MIN_QUALITY] FILE...        FASTQ or FASTA, plain or gzip
 *        -s  stranded: count k-mers as they are, not their canonical form
 *
 * Every k-mer is kept as text, so use it on small inputs only.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

struct text {
        char *at;
        size_t n, cap;
};

struct counter {
        int k, min_quality;
        bool stranded;
        struct text kmers; /* [n / k] strings of k letters */
};

static void die(const char *what, const char *name)
{
        fprintf(stderr, "naive: %s: %s\n", name, what);
        exit(1);
}

static void append(struct text *text, const char *from, size_t n)
{
        if (text->n + n + 1 > text->cap) {
                text->cap = 2 * (text->n + n) + 1024;
                text->at = realloc(text->at, text->cap);
                if (text->at == NULL)
                        die("out of memory", "text");
        }
        memcpy(text->at + text->n, from, n);
        text->n += n;
        text->at[text->n] = '\0';
}

/* ---- counting ---- */

static char normal(char letter)
{
        static const char from[] = "acgtuACGTU", to[] = "ACGTTACGTT";
        const char *at = letter ? strchr(from, letter) : NULL;
        return at ? to[at - from] : 'N';
}

static char complement(char letter)
{
        return letter == 'A' ? 'T' : letter == 'C' ? 'G' : letter == 'G' ? 'C' : 'A';
}

static void count_kmer(struct counter *c, const char *kmer)
{
        char reverse[256];
        for (int i = 0; i < c->k; i++)
                reverse[i] = complement(kmer[c->k - 1 - i]);
        bool flip = !c->stranded && memcmp(reverse, kmer, (size_t)c->k) < 0;
        append(&c->kmers, flip ? reverse : kmer, (size_t)c->k);
}

/* quality  NULL if there is none */
static void count_sequence(struct counter *c, struct text *bases, const char *quality)
{
        for (size_t i = 0; i < bases->n; i++) {
                bases->at[i] = normal(bases->at[i]);
                if (quality && quality[i] - 33 < c->min_quality)
                        bases->at[i] = 'N';
        }
        for (size_t i = 0; i + (size_t)c->k <= bases->n; i++)
                if (memchr(bases->at + i, 'N', (size_t)c->k) == NULL)
                        count_kmer(c, bases->at + i);
}

static int kmer_nletters;

static int compare(const void *a, const void *b)
{
        return memcmp(a, b, (size_t)kmer_nletters);
}

static void print_counts(struct counter *c)
{
        size_t k = (size_t)c->k, n = c->kmers.n;
        kmer_nletters = c->k;
        if (n > 0)
                qsort(c->kmers.at, n / k, k, compare);
        for (size_t i = 0, next; i < n; i = next) {
                for (next = i + k; next < n; next += k)
                        if (memcmp(c->kmers.at + i, c->kmers.at + next, k) != 0)
                                break;
                printf("%.*s\t%zu\n", c->k, c->kmers.at + i, (next - i) / k);
        }
}

/* ---- reading ---- */

/* The next line, without its line end and trailing blanks; false at the end of the file. */
static bool get_line(gzFile file, struct text *line, const char *name)
{
        char part[4096];
        int code;
        line->n = 0;
        append(line, "", 0);
        while (gzgets(file, part, sizeof part)) {
                append(line, part, strlen(part));
                if (line->at[line->n - 1] == '\n')
                        break;
        }
        gzerror(file, &code);
        if (code != Z_OK && code != Z_STREAM_END)
                die("damaged", name);
        bool got = line->n > 0;
        while (line->n > 0 && strchr(" \t\r\n", line->at[line->n - 1]))
                line->at[--line->n] = '\0';
        return got;
}

static void count_file(struct counter *c, const char *name)
{
        struct text line = { 0 }, bases = { 0 }, quality = { 0 };
        gzFile file = gzopen(name, "r");
        if (file == NULL)
                die("cannot open", name);
        bool more = get_line(file, &line, name);
        while (more) {
                char mark = line.at[0];
                if (mark != '\0' && mark != '>' && mark != '@')
                        die("neither FASTA nor FASTQ", name);
                bases.n = quality.n = 0;
                while ((more = get_line(file, &line, name)) && mark != '\0' &&
                       line.at[0] != (mark == '@' ? '+' : '>'))
                        append(&bases, line.at, line.n);
                if (mark != '@') {
                        count_sequence(c, &bases, NULL);
                        continue;
                }
                while ((more = get_line(file, &line, name)) && quality.n < bases.n)
                        append(&quality, line.at, line.n);
                if (quality.n != bases.n)
                        die("quality and sequence differ in length", name);
                count_sequence(c, &bases, quality.at);
        }
        gzclose(file);
        free(line.at), free(bases.at), free(quality.at);
}

int main(int argc, char **argv)
{
        struct counter c = { 0 };
        int option;
        while ((option = getopt(argc, argv, "k:sq:")) != -1) {
                if (option == 'k')
                        c.k = atoi(optarg);
                else if (option == 'q')
                        c.min_quality = atoi(optarg);
                else if (option == 's')
                        c.stranded = true;
        }
        if (c.k < 1 || c.k > 255)
                die("not between 1 and 255", "-k");
        for (int i = optind; i < argc; i++)
                count_file(&c, argv[i]);
        print_counts(&c);
        free(c.kmers.at);
        return ferror(stdout) || fclose(stdout) ? 1 : 0;
}
