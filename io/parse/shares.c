#include "io/parse/shares.h"

#include <stdlib.h>
#include <string.h>

/* ---- shares ---- */

struct sized {
        double nbases;
        size_t input;
};

static int larger_first(const void *a, const void *b)
{
        const struct sized *x = a, *y = b;
        if (x->nbases != y->nbases)
                return x->nbases < y->nbases ? 1 : -1;
        return x->input < y->input ? -1 : 1;
}

static int least_loaded(const double *loads, int nranks)
{
        int least = 0;
        for (int i = 1; i < nranks; i++)
                if (loads[i] < loads[least])
                        least = i;
        return least;
}

/* Give away the inputs that cannot be cut.
 *   owners  out [n]
 *   loads   in/out [nranks] bases */
static enum kc_status share_whole(const struct kc_sized_input *inputs, size_t n, int nranks,
                                  int *owners, double *loads, struct kc_error *err)
{
        size_t nwhole = 0;
        struct sized *whole = malloc((n + 1) * sizeof *whole);
        if (whole == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        for (size_t i = 0; i < n; i++)
                if (!inputs[i].plain)
                        whole[nwhole++] = (struct sized){ inputs[i].nbases, i };
        qsort(whole, nwhole, sizeof *whole, larger_first);
        for (size_t i = 0; i < nwhole; i++) {
                const bool piped = inputs[whole[i].input].nbytes == 0;
                const int owner = piped ? 0 : least_loaded(loads, nranks);
                owners[whole[i].input] = owner;
                loads[owner] += whole[i].nbases;
        }
        free(whole);
        return KC_OK;
}

/* The bases that each rank should have when plain text is shared out, too: none less than the
 * others, unless it has more already. */
static double level(const double *loads, int nranks, double nplain)
{
        double low = 0, high = nplain;
        for (int i = 0; i < nranks; i++)
                high = loads[i] + nplain > high ? loads[i] + nplain : high;
        for (int step = 0; step < 100; step++) {
                const double middle = (low + high) / 2;
                double room = 0;
                for (int i = 0; i < nranks; i++)
                        room += loads[i] < middle ? middle - loads[i] : 0;
                if (room < nplain)
                        low = middle;
                else
                        high = middle;
        }
        return high;
}

/* The bases of plain text before the share of each rank, and after the last: [nranks + 1]. */
static void place_shares(const double *loads, int nranks, double nplain, double *begins)
{
        const double target = level(loads, nranks, nplain);
        begins[0] = 0;
        for (int i = 0; i < nranks; i++)
                begins[i + 1] = begins[i] + (loads[i] < target ? target - loads[i] : 0);
        begins[nranks] = nplain + 1;
}

/* The place in an input, whose bases come after `before` others, where `begin` bases are over. */
static uint64_t place_in(const struct kc_sized_input *in, double before, double begin)
{
        if (begin <= before || in->nbases <= 0)
                return 0;
        const double part = (begin - before) / in->nbases;
        return part >= 1 ? in->nbytes : (uint64_t)(part * (double)in->nbytes);
}

/* The rank's pieces of plain text, and the inputs that it owns. */
static size_t list_pieces(const struct kc_sized_input *inputs, size_t n, int rank,
                          const int *owners, const double *begins, struct kc_input_piece *pieces)
{
        size_t npieces = 0;
        double before = 0;
        for (size_t i = 0; i < n; i++) {
                const struct kc_sized_input *in = &inputs[i];
                struct kc_input_piece piece = { i, 0, UINT64_MAX };
                if (!in->plain) {
                        if (owners[i] == rank)
                                pieces[npieces++] = piece;
                        continue;
                }
                piece.from = place_in(in, before, begins[rank]);
                piece.to = place_in(in, before, begins[rank + 1]);
                if (piece.from < in->nbytes && piece.to > piece.from) {
                        if (piece.to == in->nbytes)
                                piece.to = UINT64_MAX;
                        pieces[npieces++] = piece;
                }
                before += in->nbases;
        }
        return npieces;
}

enum kc_status kc_share_inputs(const struct kc_sized_input *inputs, size_t n, int nranks, int rank,
                               struct kc_input_piece **pieces, size_t *npieces,
                               struct kc_error *err)
{
        enum kc_status status = KC_OK;
        double nplain = 0;
        double *loads = calloc((size_t)nranks, sizeof *loads);
        double *begins = calloc((size_t)nranks + 1, sizeof *begins);
        int *owners = calloc(n + 1, sizeof *owners);
        *pieces = malloc((n + 1) * sizeof **pieces);
        if (loads == NULL || begins == NULL || owners == NULL || *pieces == NULL)
                status = kc_fail(err, KC_ENOMEM, "out of memory for reading");
        if (status == KC_OK)
                status = share_whole(inputs, n, nranks, owners, loads, err);
        if (status == KC_OK) {
                for (size_t i = 0; i < n; i++)
                        nplain += inputs[i].plain ? inputs[i].nbases : 0;
                place_shares(loads, nranks, nplain, begins);
                *npieces = list_pieces(inputs, n, rank, owners, begins, *pieces);
        }
        free(loads);
        free(begins);
        free(owners);
        return status;
}

/* ---- records ---- */

enum {
        FIRST_WINDOW = 64 << 10,
        LAST_WINDOW = 64 << 20, /* a longer record is not looked for: its piece goes to the end */
        RECORDS_TO_FIT = 4,
};

static const char *line_end(const char *line, const char *end)
{
        return memchr(line, '\n', (size_t)(end - line));
}

enum fit { FITS, DOES_NOT_FIT, UNKNOWN };

/* Whether a record of four lines begins here; *next: where the one after it does. */
static enum fit is_record(const char *text, const char *end, const char **next)
{
        const char *ends[4], *line = text;
        if (text == end)
                return UNKNOWN;
        if (*text != '@')
                return DOES_NOT_FIT;
        for (int i = 0; i < 4; i++) {
                ends[i] = line_end(line, end);
                if (ends[i] == NULL)
                        return UNKNOWN;
                line = ends[i] + 1;
                if (i == 1 && line < end && *line != '+')
                        return DOES_NOT_FIT;
        }
        *next = line;
        return ends[1] - ends[0] == ends[3] - ends[2] ? FITS : DOES_NOT_FIT;
}

/* Whether several records begin here, or as many as there are before the end of the file. */
static enum fit are_records(const char *text, const char *end, bool whole)
{
        for (int i = 0; i < RECORDS_TO_FIT; i++) {
                if (whole && text == end)
                        break;
                const enum fit fit = is_record(text, end, &text);
                if (fit != FITS)
                        return fit;
        }
        return FITS;
}

/* Look for a record in text, which begins at the beginning of a line or, if `cut`, within one.
 *   whole  the file ends where the text does
 *   at     out, if FITS; end of the text if there is none in it */
static enum fit find_record(const char *text, size_t n, bool cut, bool whole, char first,
                            size_t *at)
{
        const char *end = text + n, *line = text;
        if (cut && (line = line_end(text, end)) != NULL)
                line++;
        for (; line != NULL && line < end; line = (line = line_end(line, end)) ? line + 1 : NULL) {
                *at = (size_t)(line - text);
                if (first == '>' && *line == '>')
                        return FITS;
                if (first == '>')
                        continue;
                const enum fit fit = are_records(line, end, whole);
                if (fit != DOES_NOT_FIT)
                        return fit;
        }
        *at = n;
        return whole ? FITS : UNKNOWN;
}

/* The first place from `at` on where a record begins; the end of the file if none is found. */
static enum kc_status find_place(const struct kc_input *in, char first, uint64_t at,
                                 uint64_t *place, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        enum fit fit = UNKNOWN;
        char *text = NULL;
        *place = in->size;
        for (size_t n = FIRST_WINDOW; fit == UNKNOWN && n <= LAST_WINDOW; n *= 4) {
                char *larger = realloc(text, n);
                size_t got, found;
                if (larger == NULL) {
                        status = kc_fail(err, KC_ENOMEM, "out of memory for reading");
                        goto out;
                }
                text = larger;
                /* from the byte before: if it ends a line, a record may begin right here */
                KC_TRY(kc_input_read_at(in, text, n, at - 1, &got, err));
                fit = find_record(text, got, true, at - 1 + got >= in->size, first, &found);
                if (fit == FITS)
                        *place = at - 1 + found;
        }
out:
        free(text);
        return status;
}

enum kc_status kc_input_piece_align(struct kc_input_piece *piece, struct kc_input *in, char first,
                                    struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (piece->from > 0)
                KC_TRY(find_place(in, first, piece->from, &piece->from, err));
        if (piece->to < in->size)
                KC_TRY(find_place(in, first, piece->to, &piece->to, err));
        else
                piece->to = in->size;
out:
        return status;
}
