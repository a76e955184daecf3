/*
 * The errors of fitted parameters (app/model/least_squares.h).
 */
#include "app/model/least_squares.h"

#include <math.h>

enum { MOST = LEAST_SQUARES_MAX_PARAMETERS };

static double dot(const double *a, const double *b, size_t n)
{
        double sum = 0;
        for (size_t i = 0; i < n; i++)
                sum += a[i] * b[i];
        return sum;
}

/* Gram-Schmidt orthogonalization: slopes = upper' * rows, where the rows, which replace slopes, are
 * orthonormal. */
static bool factor(double *slopes, size_t n, size_t nrows, double upper[MOST][MOST])
{
        for (size_t j = 0; j < n; j++) {
                double *row = slopes + j * nrows;
                const double before = sqrt(dot(row, row, nrows));
                for (size_t i = 0; i < j; i++) {
                        const double *unit = slopes + i * nrows;
                        const double part = dot(unit, row, nrows);
                        upper[i][j] = part;
                        for (size_t at = 0; at < nrows; at++)
                                row[at] -= part * unit[at];
                }
                upper[j][j] = sqrt(dot(row, row, nrows));
                if (!(upper[j][j] > 1e-7 * before) || isinf(before))
                        return false;
                for (size_t at = 0; at < nrows; at++)
                        row[at] /= upper[j][j];
        }
        return true;
}

static void invert_triangle(double upper[MOST][MOST], size_t n, double out[MOST][MOST])
{
        for (size_t j = 0; j < n; j++) {
                out[j][j] = 1 / upper[j][j];
                for (size_t i = j; i-- > 0;) {
                        double sum = 0;
                        for (size_t at = i + 1; at <= j; at++)
                                sum += upper[i][at] * out[at][j];
                        out[i][j] = -sum / upper[i][i];
                }
        }
}

bool least_squares_invert(double *slopes, size_t n, size_t nrows, double *inverse)
{
        double upper[MOST][MOST], unfolded[MOST][MOST];
        if (!factor(slopes, n, nrows, upper))
                return false;
        invert_triangle(upper, n, unfolded);
        for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < n; j++) {
                        inverse[i * n + j] = 0;
                        for (size_t at = i > j ? i : j; at < n; at++)
                                inverse[i * n + j] += unfolded[i][at] * unfolded[j][at];
                }
        return true;
}
