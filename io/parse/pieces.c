#include "io/parse/pieces.h"

#include <stdlib.h>

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
static enum kc_status assign_whole(const struct kc_sized_input *inputs, size_t n, int nranks,
                                   int *owners, double *loads, struct kc_error *err)
{
        size_t nwhole = 0;
        struct sized *whole = malloc((n + 1) * sizeof *whole);
        if (whole == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        for (size_t i = 0; i < n; i++)
                if (!inputs[i].cuttable)
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

/* How many bases each rank should have once files that can be cut are shared out, too: the same
 * number for all, except for those that have more already. */
static double level(const double *loads, int nranks, double ncut)
{
        double low = 0, high = ncut;
        for (int i = 0; i < nranks; i++)
                high = loads[i] + ncut > high ? loads[i] + ncut : high;
        for (int step = 0; step < 100; step++) {
                const double middle = (low + high) / 2;
                double room = 0;
                for (int i = 0; i < nranks; i++)
                        room += loads[i] < middle ? middle - loads[i] : 0;
                if (room < ncut)
                        low = middle;
                else
                        high = middle;
        }
        return high;
}

/* Where each rank's part of such files begins, and where the last one ends, in bases:
 * [nranks + 1]. */
static void place_cuts(const double *loads, int nranks, double ncut, double *begins)
{
        const double target = level(loads, nranks, ncut);
        begins[0] = 0;
        for (int i = 0; i < nranks; i++)
                begins[i + 1] = begins[i] + (loads[i] < target ? target - loads[i] : 0);
        begins[nranks] = ncut + 1;
}

/* The place in an input, whose bases come after `before` others, where `begin` bases are over. */
static uint64_t place_in(const struct kc_sized_input *in, double before, double begin)
{
        if (begin <= before || in->nbases <= 0)
                return 0;
        const double part = (begin - before) / in->nbases;
        return part >= 1 ? in->nbytes : (uint64_t)(part * (double)in->nbytes);
}

/* The rank's pieces of files that can be cut, and the inputs that it owns. */
static size_t list_pieces(const struct kc_sized_input *inputs, size_t n, int rank,
                          const int *owners, const double *begins, struct kc_input_piece *pieces)
{
        size_t npieces = 0;
        double before = 0;
        for (size_t i = 0; i < n; i++) {
                const struct kc_sized_input *in = &inputs[i];
                struct kc_input_piece piece = { i, 0, UINT64_MAX, in->nbytes };
                if (!in->cuttable) {
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

enum kc_status kc_divide_inputs(const struct kc_sized_input *inputs, size_t n, int nranks, int rank,
                                struct kc_input_piece **pieces, size_t *npieces,
                                struct kc_error *err)
{
        enum kc_status status = KC_OK;
        double ncut = 0;
        double *loads = calloc((size_t)nranks, sizeof *loads);
        double *begins = calloc((size_t)nranks + 1, sizeof *begins);
        int *owners = calloc(n + 1, sizeof *owners);
        *pieces = malloc((n + 1) * sizeof **pieces);
        if (loads == NULL || begins == NULL || owners == NULL || *pieces == NULL)
                status = kc_fail(err, KC_ENOMEM, "out of memory for reading");
        if (status == KC_OK)
                status = assign_whole(inputs, n, nranks, owners, loads, err);
        if (status == KC_OK) {
                for (size_t i = 0; i < n; i++)
                        ncut += inputs[i].cuttable ? inputs[i].nbases : 0;
                place_cuts(loads, nranks, ncut, begins);
                *npieces = list_pieces(inputs, n, rank, owners, begins, *pieces);
        }
        free(loads);
        free(begins);
        free(owners);
        return status;
}
