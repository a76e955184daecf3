/*
 * The extension module kcount._kcount: kcount.h for Python, one function for each of its functions.
 * kcount/__init__.py makes classes of them. Handles are capsules; arrays are buffers that the
 * caller provides, with as many items as kcount.h says, which __init__.py has checked.
 *
 * Written for the limited API of Python 3.11, so one build serves all later versions.
 */
#ifndef KCOUNT_PYTHON_H
#define KCOUNT_PYTHON_H

#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "kcount.h"

/* ---- module.c ---- */

/* Raise the error, and free it. An exception that a callback has raised stays. Returns NULL. */
PyObject *py_raise(PyObject *module, struct kcount_error *error);

/* ---- common.c ---- */

/* A capsule of open counts, which it closes; on failure they are closed, too. And back: NULL with an
 * exception if it is no such capsule. */
PyObject *py_capsule_of(struct kcount_counts *counts);
struct kcount_counts *py_counts_of(PyObject *capsule);

/* A capsule of something that must be closed before the counts, which it keeps open. */
PyObject *py_capsule_over(void *handle, const char *name, PyCapsule_Destructor destroy,
                          PyObject *counts);

/* "y*" and "w*" of PyArg_ParseTuple give contiguous buffers. Returns items of so many bytes. */
static inline size_t items_of(const Py_buffer *buffer, size_t nbytes)
{
        return (size_t)buffer->len / nbytes;
}

/* Text of a str or path-like object, as a bytes object; NULL with an exception. */
PyObject *py_path_of(PyObject *item);

/* The same, or NULL for None. Returns -1 with an exception. */
int py_optional_path(PyObject *item, PyObject **path);

/* The text of a bytes object; NULL for NULL. */
const char *py_text_of(PyObject *bytes);

/* A kcount_progress. ctx: a callable, or None. It lets Ctrl-C end the call. */
bool py_report(void *ctx, const char *stage, uint64_t done, uint64_t total);

/* ---- the functions of the module ---- */

PyObject *py_encode(PyObject *module, PyObject *args);
PyObject *py_decode(PyObject *module, PyObject *args);
PyObject *py_canonical(PyObject *module, PyObject *args);
PyObject *py_reverse_complement(PyObject *module, PyObject *args);
PyObject *py_count(PyObject *module, PyObject *args);
PyObject *py_open_file(PyObject *module, PyObject *args);
PyObject *py_info(PyObject *module, PyObject *capsule);
PyObject *py_warning(PyObject *module, PyObject *capsule);
PyObject *py_histogram(PyObject *module, PyObject *args);
PyObject *py_joint_histogram(PyObject *module, PyObject *args);
PyObject *py_cursor_open(PyObject *module, PyObject *args);
PyObject *py_cursor_next(PyObject *module, PyObject *args);
PyObject *py_asker_open(PyObject *module, PyObject *args);
PyObject *py_ask(PyObject *module, PyObject *args);
PyObject *py_ask_sequence(PyObject *module, PyObject *args);
PyObject *py_combine(PyObject *module, PyObject *args);
PyObject *py_arrow_stream(PyObject *module, PyObject *counts);

#endif
