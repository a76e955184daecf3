#include "app/model/table.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- parsing ---- */

struct cursor {
        const char *at, *end; /* end: of the line */
};

static bool is_space(char letter)
{
        return letter == ' ' || letter == '\t' || letter == '\r';
}

static void skip_spaces(struct cursor *c)
{
        while (c->at < c->end && is_space(*c->at))
                c->at++;
}

static bool take_number(struct cursor *c, uint64_t *number)
{
        const char *begin = c->at;
        *number = 0;
        for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
                const uint64_t digit = (uint64_t)(*c->at - '0');
                if (*number > (UINT64_MAX - digit) / 10)
                        return false;
                *number = *number * 10 + digit;
        }
        return c->at > begin;
}

/* Whether the line holds a row and nothing else. */
static bool take_row(struct cursor c, struct kc_histogram_row *row)
{
        skip_spaces(&c);
        if (!take_number(&c, &row->count) || c.at == c.end || (!is_space(*c.at) && *c.at != ','))
                return false;
        skip_spaces(&c);
        if (c.at < c.end && *c.at == ',')
                c.at++;
        skip_spaces(&c);
        if (!take_number(&c, &row->ndistinct))
                return false;
        skip_spaces(&c);
        return c.at == c.end;
}

static bool is_empty(struct cursor c)
{
        skip_spaces(&c);
        return c.at == c.end || *c.at == '#';
}

/* How many bytes of the line a message shows. */
static int shown_length(struct cursor c)
{
        enum { MOST = 40 };
        return (int)(c.end - c.at < MOST ? c.end - c.at : MOST);
}

static enum kc_status take_line(struct cursor c, const char *name, uint64_t line,
                                struct kc_histogram_row *rows, size_t *nrows, struct kc_error *err)
{
        struct kc_histogram_row row;
        if (is_empty(c))
                return KC_OK;
        if (!take_row(c, &row))
                return kc_fail(err, KC_EINPUT,
                               "%s, line %" PRIu64
                               ": '%.*s' is not a row of a histogram, which has a "
                               "count and a number of k-mers",
                               name, line, shown_length(c), c.at);
        if (*nrows > 0 && row.count <= rows[*nrows - 1].count)
                return kc_fail(err, KC_EINPUT,
                               "%s, line %" PRIu64 ": count %" PRIu64 " comes after count %" PRIu64
                               ": the counts of a histogram ascend",
                               name, line, row.count, rows[*nrows - 1].count);
        if (row.count > (uint64_t)1 << 53)
                return kc_fail(err, KC_EINPUT,
                               "%s, line %" PRIu64 ": the count %" PRIu64 " is too large: no reads "
                               "have more than 2^53 of a k-mer",
                               name, line, row.count);
        if (row.count > 0)
                rows[(*nrows)++] = row;
        return KC_OK;
}

static size_t count_lines(const char *text, size_t nbytes)
{
        size_t n = 1;
        for (const char *at = text, *end = text + nbytes;
             at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
                n++;
        return n;
}

enum kc_status table_parse(const char *text, size_t nbytes, const char *name,
                           struct kc_histogram_row **rows_out, size_t *nrows_out,
                           struct kc_error *err)
{
        const char *const end = text + nbytes;
        struct kc_histogram_row *rows = malloc(count_lines(text, nbytes) * sizeof *rows);
        size_t nrows = 0;
        uint64_t line = 1;
        enum kc_status status = KC_OK;
        if (rows == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory while %s is read", name);
        for (const char *at = text; at < end; line++) {
                const char *stop = memchr(at, '\n', (size_t)(end - at));
                const struct cursor c = { at, stop != NULL ? stop : end };
                KC_TRY(take_line(c, name, line, rows, &nrows, err));
                at = c.end + 1;
        }
        if (nrows == 0)
                KC_TRY(kc_fail(err, KC_EINPUT, "%s holds no histogram: it has no rows", name));
        *rows_out = rows;
        *nrows_out = nrows;
        rows = NULL;
out:
        free(rows);
        return status;
}

/* ---- reading ---- */

enum { MOST_NBYTES = 1 << 28, FIRST_NBYTES = 1 << 16 };

/* Read the whole file. The caller frees text, also on failure. */
static enum kc_status read_all(int fd, const char *name, char **text, size_t *nbytes,
                               struct kc_error *err)
{
        size_t room = 0;
        for (*text = NULL, *nbytes = 0;;) {
                if (*nbytes == room) {
                        room = room > 0 ? 2 * room : FIRST_NBYTES;
                        char *grown = room <= MOST_NBYTES ? realloc(*text, room) : NULL;
                        if (room > MOST_NBYTES)
                                return kc_fail(err, KC_EINPUT,
                                               "%s is too large for a histogram: it has more than "
                                               "%d MiB",
                                               name, MOST_NBYTES >> 20);
                        if (grown == NULL)
                                return kc_fail(err, KC_ENOMEM, "out of memory while %s is read",
                                               name);
                        *text = grown;
                }
                const ssize_t n = read(fd, *text + *nbytes, room - *nbytes);
                if (n == 0)
                        return KC_OK;
                if (n > 0)
                        *nbytes += (size_t)n;
                else if (errno != EINTR)
                        return kc_fail(err, KC_EINPUT, "cannot read %s: %s", name,
                                       kc_strerror(errno));
        }
}

enum kc_status table_read(const char *path, struct kc_histogram_row **rows, size_t *nrows,
                          struct kc_error *err)
{
        const bool is_stdin = strcmp(path, "-") == 0;
        const char *name = is_stdin ? "standard input" : path;
        const int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
        char *text = NULL;
        size_t nbytes;
        enum kc_status status;
        if (fd < 0)
                return kc_fail(err, KC_EINPUT, "cannot open %s: %s", path, kc_strerror(errno));
        KC_TRY(read_all(fd, name, &text, &nbytes, err));
        KC_TRY(table_parse(text, nbytes, name, rows, nrows, err));
out:
        free(text);
        if (!is_stdin)
                close(fd);
        return status;
}
