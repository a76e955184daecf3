/* What counts contain: info, histograms, k-mers in order. */
#include "_kcount.h"

#define CURSOR "kcount.cursor"

PyObject *py_open_file(PyObject *module, PyObject *args)
{
        struct kcount_counts *counts;
        struct kcount_error *error = NULL;
        enum kcount_status status;
        PyObject *path;
        if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path))
                return NULL;
        const char *name = PyBytes_AsString(path);
        Py_BEGIN_ALLOW_THREADS status = kcount_open(&counts, name, &error);
        Py_END_ALLOW_THREADS Py_DECREF(path);
        return status == KCOUNT_OK ? py_capsule_of(counts) : py_raise(module, error);
}

PyObject *py_info(PyObject *module, PyObject *capsule)
{
        struct kcount_info info = { .size = sizeof info };
        struct kcount_counts *counts = py_counts_of(capsule);
        (void)module;
        if (counts == NULL)
                return NULL;
        kcount_get_info(counts, &info);
        return Py_BuildValue(
                "{sisNsNsKsKsKsKsKsKsKsN}", "k", info.k, "canonical",
                PyBool_FromLong(!info.stranded), "hpc", PyBool_FromLong(info.hpc), "distinct",
                (unsigned long long)info.ndistinct, "unique", (unsigned long long)info.nunique,
                "max_count", (unsigned long long)info.max_count, "total",
                (unsigned long long)info.total, "reads", (unsigned long long)info.nreads, "bases",
                (unsigned long long)info.nbases, "kmers", (unsigned long long)info.nkmers, "exact",
                PyBool_FromLong(info.exact));
}

PyObject *py_warning(PyObject *module, PyObject *capsule)
{
        struct kcount_counts *counts = py_counts_of(capsule);
        (void)module;
        return counts == NULL ? NULL : PyUnicode_DecodeFSDefault(kcount_warning(counts));
}

/* The rows of a histogram as bytes, with ncolumns uint64 a row. Frees them. */
static PyObject *bytes_of(void *rows, size_t n, size_t ncolumns)
{
        PyObject *bytes = PyBytes_FromStringAndSize((const char *)rows,
                                                    (Py_ssize_t)(n * ncolumns * sizeof(uint64_t)));
        kcount_free(rows);
        return bytes;
}

/* histogram(counts, progress) */
PyObject *py_histogram(PyObject *module, PyObject *args)
{
        struct kcount_histogram_options options = KCOUNT_HISTOGRAM_OPTIONS_INIT;
        struct kcount_error *error = NULL;
        struct kcount_counts *counts;
        struct kcount_row *rows;
        size_t n;
        enum kcount_status status;
        PyObject *capsule, *progress;
        if (!PyArg_ParseTuple(args, "OO", &capsule, &progress) ||
            (counts = py_counts_of(capsule)) == NULL)
                return NULL;
        options.progress = py_report;
        options.progress_ctx = progress;
        Py_BEGIN_ALLOW_THREADS status = kcount_histogram(counts, &options, &rows, &n, &error);
        Py_END_ALLOW_THREADS return status == KCOUNT_OK ? bytes_of(rows, n, 2)
                                                        : py_raise(module, error);
}

/* joint_histogram(a, b, max_a, max_b, progress) */
PyObject *py_joint_histogram(PyObject *module, PyObject *args)
{
        struct kcount_joint_options options = KCOUNT_JOINT_OPTIONS_INIT;
        struct kcount_error *error = NULL;
        struct kcount_counts *a, *b;
        struct kcount_cell *cells;
        size_t n;
        enum kcount_status status;
        PyObject *capsule_a, *capsule_b, *progress;
        unsigned int max_a, max_b;
        if (!PyArg_ParseTuple(args, "OOIIO", &capsule_a, &capsule_b, &max_a, &max_b, &progress) ||
            (a = py_counts_of(capsule_a)) == NULL || (b = py_counts_of(capsule_b)) == NULL)
                return NULL;
        options.max_a = max_a;
        options.max_b = max_b;
        options.progress = py_report;
        options.progress_ctx = progress;
        Py_BEGIN_ALLOW_THREADS status = kcount_joint_histogram(a, b, &options, &cells, &n, &error);
        Py_END_ALLOW_THREADS return status == KCOUNT_OK ? bytes_of(cells, n, 3)
                                                        : py_raise(module, error);
}

/* ---- cursors ---- */

static void free_cursor(PyObject *capsule)
{
        kcount_cursor_close((struct kcount_cursor *)PyCapsule_GetPointer(capsule, CURSOR));
        Py_XDECREF((PyObject *)PyCapsule_GetContext(capsule));
}

/* The words of a bound, or NULL for None. */
static const uint64_t *bound_of(const Py_buffer *buffer)
{
        return (const uint64_t *)buffer->buf;
}

PyObject *py_cursor_open(PyObject *module, PyObject *args)
{
        Py_buffer from, to; /* "z*": None gives NULL */
        struct kcount_error *error = NULL;
        struct kcount_counts *counts;
        struct kcount_cursor *cursor;
        enum kcount_status status;
        PyObject *owner, *capsule;
        if (!PyArg_ParseTuple(args, "Oz*z*", &owner, &from, &to))
                return NULL;
        if ((counts = py_counts_of(owner)) == NULL)
                return NULL;
        Py_BEGIN_ALLOW_THREADS status =
                kcount_cursor_open(&cursor, counts, bound_of(&from), bound_of(&to), &error);
        Py_END_ALLOW_THREADS PyBuffer_Release(&from);
        PyBuffer_Release(&to);
        if (status != KCOUNT_OK)
                return py_raise(module, error);
        capsule = py_capsule_over(cursor, CURSOR, free_cursor, owner);
        if (capsule == NULL)
                kcount_cursor_close(cursor);
        return capsule;
}

PyObject *py_cursor_next(PyObject *module, PyObject *args)
{
        Py_buffer kmers, found;
        struct kcount_error *error = NULL;
        enum kcount_status status;
        PyObject *capsule;
        size_t n;
        if (!PyArg_ParseTuple(args, "Ow*w*", &capsule, &kmers, &found))
                return NULL;
        struct kcount_cursor *cursor =
                (struct kcount_cursor *)PyCapsule_GetPointer(capsule, CURSOR);
        Py_BEGIN_ALLOW_THREADS status =
                kcount_cursor_next(cursor, (uint64_t *)kmers.buf, (uint32_t *)found.buf,
                                   items_of(&found, 4), &n, &error);
        Py_END_ALLOW_THREADS PyBuffer_Release(&kmers);
        PyBuffer_Release(&found);
        return status == KCOUNT_OK ? PyLong_FromSize_t(n) : py_raise(module, error);
}
