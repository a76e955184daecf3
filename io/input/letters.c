#include "io/input/letters.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* CODE: IUPAC codes for several nucleotides. FOREIGN: letters that only proteins have. X is a BASE
 * because it masks bases in some genomes. */
enum letter { FOREIGN, BASE, CODE };

static const uint8_t kinds[26] = {
        ['A' - 'A'] = BASE, ['C' - 'A'] = BASE, ['G' - 'A'] = BASE, ['T' - 'A'] = BASE,
        ['U' - 'A'] = BASE, ['N' - 'A'] = BASE, ['X' - 'A'] = BASE, ['R' - 'A'] = CODE,
        ['Y' - 'A'] = CODE, ['S' - 'A'] = CODE, ['W' - 'A'] = CODE, ['K' - 'A'] = CODE,
        ['M' - 'A'] = CODE, ['B' - 'A'] = CODE, ['D' - 'A'] = CODE, ['H' - 'A'] = CODE,
        ['V' - 'A'] = CODE,
};

/* Count one line; returns how many symbols it has. */
static size_t count_line(struct kc_letters *letters, const char *at, const char *end)
{
        size_t nsymbols = 0, nletters = 0, ncodes = 0, nforeign = 0;
        for (; at < end; at++) {
                const unsigned i = ((unsigned char)*at | 0x20u) - 'a';
                nsymbols += !isspace((unsigned char)*at);
                if (i >= sizeof kinds)
                        continue;
                nletters++;
                ncodes += kinds[i] == CODE;
                nforeign += kinds[i] == FOREIGN;
        }
        letters->nsymbols += nsymbols;
        letters->nletters += nletters;
        letters->nother += ncodes + nforeign;
        letters->nforeign += nforeign;
        return nsymbols;
}

/* The lines of a text, one after the other. */
struct line {
        const char *at, *end; /* without the line end */
};

static bool next_line(struct line *line, const char *end)
{
        if (line->end == end)
                return false;
        line->at = line->end + 1;
        line->end = line->at < end ? memchr(line->at, '\n', (size_t)(end - line->at)) : NULL;
        if (line->end == NULL)
                line->end = end;
        return line->at < end;
}

static struct line begin(const char *text, const char *end)
{
        const char *eol = memchr(text, '\n', (size_t)(end - text));
        return (struct line){ text, eol != NULL ? eol : end };
}

static void count_fasta(struct kc_letters *letters, const char *text, const char *end)
{
        struct line line = begin(text, end);
        do {
                if (line.at < line.end && *line.at != '>' && *line.at != ';')
                        count_line(letters, line.at, line.end);
        } while (next_line(&line, end));
}

/* Sequence and qualities may have several lines: these are as long as those. */
static void count_fastq(struct kc_letters *letters, const char *text, const char *end)
{
        struct line line = begin(text, end);
        do {
                size_t left = 0;
                if (line.at == line.end || *line.at != '@') /* the qualities of an empty read */
                        continue;
                while (next_line(&line, end) && (line.at == line.end || *line.at != '+'))
                        left += count_line(letters, line.at, line.end);
                while (left > 0 && next_line(&line, end)) {
                        const size_t n = (size_t)(line.end - line.at);
                        left -= n < left ? n : left;
                }
        } while (next_line(&line, end));
}

struct kc_letters kc_letters_count(const char *text, size_t n)
{
        struct kc_letters letters = { 0 };
        if (text[0] == '@')
                count_fastq(&letters, text, text + n);
        else
                count_fasta(&letters, text, text + n);
        return letters;
}

unsigned kc_letters_percent_other(const struct kc_letters *letters)
{
        enum { MOST_PERCENT = 20 };
        if (letters->nforeign == 0 || 100 * letters->nother <= MOST_PERCENT * letters->nletters)
                return 0;
        return (unsigned)((100 * letters->nother + letters->nletters / 2) / letters->nletters);
}
