/*
 * The extension module kcount._kcount: kcount.h for Python, one function for each of its functions.
 * kcount/__init__.py makes classes of them. Handles are capsules; arrays are buffers that the
 * caller provides, with as many items as kcount.h says, which __init__.py has checked.
 *
 * Written for the limited API of Python 3.11, so one build serves all later versions.
 */
#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "kcount.h"

#include <stdlib.h>

#define COUNTS       "kcount.counts"
#define CURSOR       "kcount.cursor"
#define ASKER        "kcount.asker"
#define ARROW_STREAM "arrow_array_stream" /* the name that Arrow's PyCapsule interface gives it */

/* ---- errors ---- */

struct module_state {
        PyObject *error, *usage, *format, *damaged; /* exception classes */
};

static struct module_state *state_of(PyObject *module)
{
        return (struct module_state *)PyModule_GetState(module);
}

static PyObject *class_of(const struct module_state *state, enum kcount_status status)
{
        switch (status) {
        case KCOUNT_EUSAGE:
                return state->usage;
        case KCOUNT_EINPUT:
                return state->format;
        case KCOUNT_EDAMAGED:
                return state->damaged;
        case KCOUNT_EEXIST:
                return PyExc_FileExistsError;
        case KCOUNT_ENOMEM:
                return PyExc_MemoryError;
        case KCOUNT_ECANCELED:
                return PyExc_KeyboardInterrupt;
        default:
                return state->error;
        }
}

static int set_text(PyObject *exception, const char *name, const char *text)
{
        PyObject *value = PyUnicode_DecodeFSDefault(text);
        const int failed = value == NULL || PyObject_SetAttrString(exception, name, value) != 0;
        Py_XDECREF(value);
        return failed ? -1 : 0;
}

/* Raise the error, and free it. An exception that a callback has raised stays. Returns NULL. */
static PyObject *raise(PyObject *module, struct kcount_error *error)
{
        PyObject *class = class_of(state_of(module), kcount_error_status(error));
        PyObject *exception;
        if (PyErr_Occurred() == NULL) {
                exception = PyObject_CallFunction(class, "s", kcount_error_message(error));
                if (exception != NULL &&
                    set_text(exception, "path", kcount_error_file(error)) == 0 &&
                    set_text(exception, "advice", kcount_error_advice(error)) == 0)
                        PyErr_SetObject(class, exception);
                Py_XDECREF(exception);
        }
        kcount_error_free(error);
        return NULL;
}

/* ---- handles ---- */

static void free_counts(PyObject *capsule)
{
        kcount_close((struct kcount_counts *)PyCapsule_GetPointer(capsule, COUNTS));
}

static void free_cursor(PyObject *capsule)
{
        kcount_cursor_close((struct kcount_cursor *)PyCapsule_GetPointer(capsule, CURSOR));
        Py_XDECREF((PyObject *)PyCapsule_GetContext(capsule));
}

static void free_asker(PyObject *capsule)
{
        kcount_asker_close((struct kcount_asker *)PyCapsule_GetPointer(capsule, ASKER));
        Py_XDECREF((PyObject *)PyCapsule_GetContext(capsule));
}

/* A capsule of something that must be closed before the counts, which it keeps open. */
static PyObject *capsule_over(void *handle, const char *name, PyCapsule_Destructor destroy,
                              PyObject *counts)
{
        PyObject *capsule = PyCapsule_New(handle, name, destroy);
        if (capsule != NULL) {
                Py_INCREF(counts);
                (void)PyCapsule_SetContext(capsule, counts);
        }
        return capsule;
}

/* ---- buffers ---- */

/* "y*" and "w*" of PyArg_ParseTuple give contiguous buffers. Returns items of so many bytes. */
static size_t items_of(const Py_buffer *buffer, size_t nbytes)
{
        return (size_t)buffer->len / nbytes;
}

/* ---- k-mers ---- */

static PyObject *encode(PyObject *module, PyObject *args)
{
        Py_buffer letters, kmers;
        size_t n;
        int k;
        (void)module;
        if (!PyArg_ParseTuple(args, "iy*w*", &k, &letters, &kmers))
                return NULL;
        n = kcount_encode(k, (const char *)letters.buf, items_of(&letters, (size_t)k),
                          (uint64_t *)kmers.buf);
        PyBuffer_Release(&letters);
        PyBuffer_Release(&kmers);
        return PyLong_FromSize_t(n);
}

static PyObject *decode(PyObject *module, PyObject *args)
{
        Py_buffer kmers, letters;
        int k;
        (void)module;
        if (!PyArg_ParseTuple(args, "iy*w*", &k, &kmers, &letters))
                return NULL;
        kcount_decode(k, (const uint64_t *)kmers.buf, items_of(&letters, (size_t)k),
                      (char *)letters.buf);
        PyBuffer_Release(&kmers);
        PyBuffer_Release(&letters);
        Py_RETURN_NONE;
}

static PyObject *change_all(PyObject *args, void (*change)(int k, uint64_t *kmers, size_t n))
{
        Py_buffer kmers;
        int k;
        if (!PyArg_ParseTuple(args, "iw*", &k, &kmers))
                return NULL;
        Py_BEGIN_ALLOW_THREADS change(k, (uint64_t *)kmers.buf,
                                      items_of(&kmers, (size_t)kcount_nwords(k) * 8));
        Py_END_ALLOW_THREADS PyBuffer_Release(&kmers);
        Py_RETURN_NONE;
}

static PyObject *canonical(PyObject *module, PyObject *args)
{
        (void)module;
        return change_all(args, kcount_canonical);
}

static PyObject *reverse_complement(PyObject *module, PyObject *args)
{
        (void)module;
        return change_all(args, kcount_reverse_complement);
}

/* ---- what lengthy calls have in common ---- */

static bool report(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
        PyObject *progress = (PyObject *)ctx; /* callable or None */
        const PyGILState_STATE lock = PyGILState_Ensure();
        bool goes_on = PyErr_Occurred() == NULL && PyErr_CheckSignals() == 0;
        if (goes_on && progress != Py_None) {
                PyObject *result =
                        PyObject_CallFunction(progress, "sKK", stage, (unsigned long long)done,
                                              (unsigned long long)total);
                goes_on = result != NULL;
                Py_XDECREF(result);
        }
        PyGILState_Release(lock);
        return goes_on;
}

/* Text of a str or path-like object, as a bytes object; NULL with an exception. */
static PyObject *path_of(PyObject *item)
{
        PyObject *bytes;
        return PyUnicode_FSConverter(item, &bytes) ? bytes : NULL;
}

static int optional_path(PyObject *item, PyObject **path)
{
        *path = item == Py_None ? NULL : path_of(item);
        return item != Py_None && *path == NULL ? -1 : 0;
}

static const char *text_of(PyObject *bytes)
{
        return bytes == NULL ? NULL : PyBytes_AsString(bytes);
}

static PyObject *capsule_of(struct kcount_counts *counts)
{
        PyObject *capsule = PyCapsule_New(counts, COUNTS, free_counts);
        if (capsule == NULL)
                kcount_close(counts);
        return capsule;
}

static struct kcount_counts *counts_of(PyObject *capsule)
{
        return (struct kcount_counts *)PyCapsule_GetPointer(capsule, COUNTS);
}

/* ---- counting ---- */

enum { MAX_HELD = 4096 };

/* What callbacks need while the thread that counts does not hold the interpreter's lock. */
struct callbacks {
        PyObject *sequences;      /* iterator, or NULL */
        PyObject *held[MAX_HELD]; /* [nheld] they own the letters of the last call */
        size_t nheld;
        PyObject *type, *value, *traceback; /* an exception of another thread, or NULL */
};

/* A thread that counts takes sequences: exceptions go to the thread that called. */
static void keep_exception(struct callbacks *callbacks)
{
        if (callbacks->type == NULL)
                PyErr_Fetch(&callbacks->type, &callbacks->value, &callbacks->traceback);
        PyErr_Clear();
}

static void forget_held(struct callbacks *callbacks)
{
        while (callbacks->nheld > 0)
                Py_DECREF(callbacks->held[--callbacks->nheld]);
}

/* Take one sequence, a str or bytes, from the iterator, and hold it. Returns 1, or 0 at the end, or
 * -1 with an exception. */
static int take_sequence(struct callbacks *callbacks, struct kcount_sequence *sequence)
{
        PyObject *bytes = PyIter_Next(callbacks->sequences);
        char *letters;
        Py_ssize_t n;
        if (bytes == NULL)
                return PyErr_Occurred() == NULL ? 0 : -1;
        if (PyUnicode_Check(bytes)) {
                PyObject *text = bytes;
                bytes = PyUnicode_AsUTF8String(text);
                Py_DECREF(text);
        }
        if (bytes == NULL || PyBytes_AsStringAndSize(bytes, &letters, &n) != 0) {
                Py_XDECREF(bytes);
                return -1;
        }
        callbacks->held[callbacks->nheld++] = bytes;
        *sequence = (struct kcount_sequence){ letters, (size_t)n };
        return 1;
}

static bool next_sequences(void *ctx, struct kcount_sequence *sequences, size_t cap, size_t *n)
{
        struct callbacks *callbacks = (struct callbacks *)ctx;
        const PyGILState_STATE lock = PyGILState_Ensure();
        int more = 1;
        forget_held(callbacks);
        *n = 0;
        while (more > 0 && *n < cap && *n < MAX_HELD) {
                more = take_sequence(callbacks, &sequences[*n]);
                *n += more > 0;
        }
        if (more < 0)
                keep_exception(callbacks);
        PyGILState_Release(lock);
        return more >= 0;
}

struct count_call {
        struct kcount_count_options options;
        struct callbacks callbacks;
        PyObject *progress; /* callable or None */
        PyObject *inputs;   /* list of bytes, or an iterator */
        const char **paths; /* [npaths], or NULL */
        size_t npaths;
        PyObject *output, *folder; /* bytes, or NULL */
        struct kcount_counts *counts;
};

/* The paths of a list: the call owns the bytes. */
static int take_paths(struct count_call *call, PyObject *inputs)
{
        const Py_ssize_t n = PyList_Size(inputs);
        call->inputs = PyList_New(0);
        call->paths = PyMem_Calloc((size_t)n + 1, sizeof *call->paths);
        if (n < 0 || call->inputs == NULL || call->paths == NULL)
                return -1;
        for (Py_ssize_t i = 0; i < n; i++) {
                PyObject *path = path_of(PyList_GetItem(inputs, i));
                if (path == NULL || PyList_Append(call->inputs, path) != 0) {
                        Py_XDECREF(path);
                        return -1;
                }
                call->paths[call->npaths++] = PyBytes_AsString(path);
                Py_DECREF(path); /* the list holds it */
        }
        return 0;
}

static enum kcount_status run_count(struct count_call *call, struct kcount_error **error)
{
        const char *output = text_of(call->output);
        enum kcount_status status;
        call->options.progress = report;
        call->options.progress_ctx = call->progress;
        call->options.tmp_folder = text_of(call->folder);
        Py_BEGIN_ALLOW_THREADS if (call->callbacks.sequences == NULL) status = kcount_count_files(
                call->paths, call->npaths, &call->options, output, &call->counts, error);
        else status = kcount_count_sequences(next_sequences, &call->callbacks, &call->options,
                                             output, &call->counts, error);
        Py_END_ALLOW_THREADS return status;
}

static void end_count(struct count_call *call)
{
        forget_held(&call->callbacks);
        Py_XDECREF(call->callbacks.sequences);
        Py_XDECREF(call->inputs);
        Py_XDECREF(call->output);
        Py_XDECREF(call->folder);
        PyMem_Free(call->paths);
        PyMem_Free(call);
}

static PyObject *finish_count(PyObject *module, struct count_call *call)
{
        struct kcount_error *error = NULL;
        if (run_count(call, &error) != KCOUNT_OK) {
                if (call->callbacks.type != NULL)
                        PyErr_Restore(call->callbacks.type, call->callbacks.value,
                                      call->callbacks.traceback);
                return raise(module, error);
        }
        return capsule_of(call->counts);
}

/* count(inputs, output, folder, device, progress, k, stranded, hpc, replace, accept_empty,
 *       min_count, max_count, min_quality, nthreads, memory): inputs: a list of paths, or an
 * iterator of sequences */
static PyObject *count(PyObject *module, PyObject *args)
{
        struct count_call *call = PyMem_Calloc(1, sizeof *call);
        PyObject *inputs, *output, *folder, *counts = NULL;
        int stranded, hpc, replace, accept_empty;
        unsigned int min_count, max_count;
        unsigned long long memory;
        if (call == NULL)
                return PyErr_NoMemory();
        call->options = (struct kcount_count_options)KCOUNT_COUNT_OPTIONS_INIT;
        if (PyArg_ParseTuple(args, "OOOzOippppIIiiK", &inputs, &output, &folder,
                             &call->options.device, &call->progress, &call->options.k, &stranded,
                             &hpc, &replace, &accept_empty, &min_count, &max_count,
                             &call->options.min_quality, &call->options.nthreads, &memory) &&
            optional_path(output, &call->output) == 0 &&
            optional_path(folder, &call->folder) == 0) {
                call->options.stranded = stranded != 0;
                call->options.hpc = hpc != 0;
                call->options.replace = replace != 0;
                call->options.accept_empty = accept_empty != 0;
                call->options.min_count = min_count;
                call->options.max_count = max_count;
                call->options.memory_nbytes = memory;
                if (!PyList_Check(inputs))
                        call->callbacks.sequences = PyObject_GetIter(inputs);
                if (PyList_Check(inputs) ? take_paths(call, inputs) == 0
                                         : call->callbacks.sequences != NULL)
                        counts = finish_count(module, call);
        }
        end_count(call);
        return counts;
}

/* ---- counts ---- */

static PyObject *open_file(PyObject *module, PyObject *args)
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
        return status == KCOUNT_OK ? capsule_of(counts) : raise(module, error);
}

static PyObject *info(PyObject *module, PyObject *capsule)
{
        struct kcount_info info = { .size = sizeof info };
        struct kcount_counts *counts = counts_of(capsule);
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

static PyObject *warning(PyObject *module, PyObject *capsule)
{
        struct kcount_counts *counts = counts_of(capsule);
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

static PyObject *histogram(PyObject *module, PyObject *args)
{
        struct kcount_error *error = NULL;
        struct kcount_counts *counts;
        struct kcount_row *rows;
        size_t n;
        enum kcount_status status;
        PyObject *capsule;
        int nthreads;
        if (!PyArg_ParseTuple(args, "Oi", &capsule, &nthreads) ||
            (counts = counts_of(capsule)) == NULL)
                return NULL;
        Py_BEGIN_ALLOW_THREADS status = kcount_histogram(counts, nthreads, &rows, &n, &error);
        Py_END_ALLOW_THREADS return status == KCOUNT_OK ? bytes_of(rows, n, 2)
                                                        : raise(module, error);
}

/* joint_histogram(a, b, max_a, max_b, progress) */
static PyObject *joint_histogram(PyObject *module, PyObject *args)
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
            (a = counts_of(capsule_a)) == NULL || (b = counts_of(capsule_b)) == NULL)
                return NULL;
        options.max_a = max_a;
        options.max_b = max_b;
        options.progress = report;
        options.progress_ctx = progress;
        Py_BEGIN_ALLOW_THREADS status = kcount_joint_histogram(a, b, &options, &cells, &n, &error);
        Py_END_ALLOW_THREADS return status == KCOUNT_OK ? bytes_of(cells, n, 3)
                                                        : raise(module, error);
}

/* ---- cursors ---- */

/* The words of a bound, or NULL for None. */
static const uint64_t *bound_of(const Py_buffer *buffer)
{
        return (const uint64_t *)buffer->buf;
}

static PyObject *cursor_open(PyObject *module, PyObject *args)
{
        Py_buffer from, to; /* "z*": None gives NULL */
        struct kcount_error *error = NULL;
        struct kcount_counts *counts;
        struct kcount_cursor *cursor;
        enum kcount_status status;
        PyObject *owner, *capsule;
        if (!PyArg_ParseTuple(args, "Oz*z*", &owner, &from, &to))
                return NULL;
        if ((counts = counts_of(owner)) == NULL)
                return NULL;
        status = kcount_cursor_open(&cursor, counts, bound_of(&from), bound_of(&to), &error);
        PyBuffer_Release(&from);
        PyBuffer_Release(&to);
        if (status != KCOUNT_OK)
                return raise(module, error);
        capsule = capsule_over(cursor, CURSOR, free_cursor, owner);
        if (capsule == NULL)
                kcount_cursor_close(cursor);
        return capsule;
}

static PyObject *cursor_next(PyObject *module, PyObject *args)
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
        return status == KCOUNT_OK ? PyLong_FromSize_t(n) : raise(module, error);
}

/* ---- askers ---- */

static PyObject *asker_open(PyObject *module, PyObject *args)
{
        struct kcount_ask_options options = KCOUNT_ASK_OPTIONS_INIT;
        struct kcount_error *error = NULL;
        struct kcount_counts *counts;
        struct kcount_asker *asker;
        unsigned long long memory;
        PyObject *owner, *capsule;
        if (!PyArg_ParseTuple(args, "OiK", &owner, &options.nthreads, &memory) ||
            (counts = counts_of(owner)) == NULL)
                return NULL;
        options.memory_nbytes = memory;
        if (kcount_asker_open(&asker, counts, &options, &error) != KCOUNT_OK)
                return raise(module, error);
        capsule = capsule_over(asker, ASKER, free_asker, owner);
        if (capsule == NULL)
                kcount_asker_close(asker);
        return capsule;
}

/* ask(asker, kmers, found) */
static PyObject *ask(PyObject *module, PyObject *args)
{
        Py_buffer kmers, found;
        struct kcount_error *error = NULL;
        enum kcount_status status;
        PyObject *capsule;
        if (!PyArg_ParseTuple(args, "Oy*w*", &capsule, &kmers, &found))
                return NULL;
        struct kcount_asker *asker = (struct kcount_asker *)PyCapsule_GetPointer(capsule, ASKER);
        Py_BEGIN_ALLOW_THREADS status =
                kcount_ask(asker, (const uint64_t *)kmers.buf, items_of(&found, 4),
                           (uint32_t *)found.buf, &error);
        Py_END_ALLOW_THREADS PyBuffer_Release(&kmers);
        PyBuffer_Release(&found);
        if (status != KCOUNT_OK)
                return raise(module, error);
        Py_RETURN_NONE;
}

/* ask_sequence(asker, letters, found, valid or None) */
static PyObject *ask_sequence(PyObject *module, PyObject *args)
{
        Py_buffer letters, found, valid = { 0 };
        struct kcount_error *error = NULL;
        enum kcount_status status;
        PyObject *capsule, *mask;
        if (!PyArg_ParseTuple(args, "Oy*w*O", &capsule, &letters, &found, &mask))
                return NULL;
        if (mask != Py_None && PyObject_GetBuffer(mask, &valid, PyBUF_CONTIG) != 0) {
                PyBuffer_Release(&letters);
                PyBuffer_Release(&found);
                return NULL;
        }
        struct kcount_asker *asker = (struct kcount_asker *)PyCapsule_GetPointer(capsule, ASKER);
        Py_BEGIN_ALLOW_THREADS status =
                kcount_ask_sequence(asker, (const char *)letters.buf, (size_t)letters.len,
                                    (uint32_t *)found.buf, (bool *)valid.buf, &error);
        Py_END_ALLOW_THREADS PyBuffer_Release(&letters);
        PyBuffer_Release(&found);
        if (mask != Py_None)
                PyBuffer_Release(&valid);
        if (status != KCOUNT_OK)
                return raise(module, error);
        Py_RETURN_NONE;
}

/* ---- set operations ---- */

/* The handles of a tuple of counts, which the caller frees with PyMem_Free. */
static struct kcount_counts **handles_of(PyObject *tuple)
{
        const Py_ssize_t n = PyTuple_Size(tuple);
        struct kcount_counts **handles = PyMem_Calloc((size_t)n + 1, sizeof(*handles));
        if (handles == NULL)
                PyErr_NoMemory();
        for (Py_ssize_t i = 0; handles != NULL && i < n; i++) {
                handles[i] = counts_of(PyTuple_GetItem(tuple, i));
                if (handles[i] == NULL) {
                        PyMem_Free(handles);
                        handles = NULL;
                }
        }
        return handles;
}

static PyObject *run_combine(PyObject *module, PyObject *inputs,
                             const struct kcount_set_options *options, const char *output)
{
        struct kcount_counts **handles = handles_of(inputs), *counts;
        const size_t n = (size_t)PyTuple_Size(inputs);
        struct kcount_error *error = NULL;
        enum kcount_status status;
        if (handles == NULL)
                return NULL;
        Py_BEGIN_ALLOW_THREADS status =
                kcount_combine(handles, n, options, output, &counts, &error);
        Py_END_ALLOW_THREADS PyMem_Free(handles);
        return status == KCOUNT_OK ? capsule_of(counts) : raise(module, error);
}

/* combine(inputs, operation, rule, output, folder, replace, progress): inputs: a tuple of counts */
static PyObject *combine(PyObject *module, PyObject *args)
{
        struct kcount_set_options options = KCOUNT_SET_OPTIONS_INIT;
        PyObject *inputs, *output, *folder, *progress, *counts = NULL;
        int operation, rule, replace;
        if (!PyArg_ParseTuple(args, "O!iiOOpO", &PyTuple_Type, &inputs, &operation, &rule, &output,
                              &folder, &replace, &progress) ||
            optional_path(output, &output) != 0)
                return NULL;
        if (optional_path(folder, &folder) == 0) {
                options.operation = (enum kcount_set)operation;
                options.rule = (enum kcount_rule)rule;
                options.replace = replace != 0;
                options.tmp_folder = text_of(folder);
                options.progress = report;
                options.progress_ctx = progress;
                counts = run_combine(module, inputs, &options, text_of(output));
                Py_XDECREF(folder);
        }
        Py_XDECREF(output);
        return counts;
}

/* ---- Arrow ---- */

/* A stream that keeps its counts open. The consumer may use it without the interpreter's lock. */
struct held_stream {
        struct ArrowArrayStream stream;
        PyObject *counts;
};

static struct held_stream *held_of(struct ArrowArrayStream *stream)
{
        return (struct held_stream *)stream->private_data;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *schema)
{
        return held_of(stream)->stream.get_schema(&held_of(stream)->stream, schema);
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *array)
{
        return held_of(stream)->stream.get_next(&held_of(stream)->stream, array);
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
        return held_of(stream)->stream.get_last_error(&held_of(stream)->stream);
}

static void release_stream(struct ArrowArrayStream *stream)
{
        struct held_stream *held = held_of(stream);
        held->stream.release(&held->stream);
        if (Py_IsInitialized()) { /* otherwise the counts are gone with the process */
                const PyGILState_STATE lock = PyGILState_Ensure();
                Py_DECREF(held->counts);
                PyGILState_Release(lock);
        }
        free(held);
        stream->release = NULL;
}

/* A consumer that took the stream has set release to NULL. */
static void free_stream(PyObject *capsule)
{
        struct ArrowArrayStream *stream =
                (struct ArrowArrayStream *)PyCapsule_GetPointer(capsule, ARROW_STREAM);
        if (stream->release != NULL)
                stream->release(stream);
        free(stream);
}

static PyObject *new_stream(PyObject *module, PyObject *counts, struct held_stream *held,
                            struct ArrowArrayStream *stream)
{
        struct kcount_error *error = NULL;
        PyObject *capsule;
        if (kcount_arrow_stream(counts_of(counts), NULL, NULL, 0, &held->stream, &error) !=
            KCOUNT_OK)
                return raise(module, error);
        capsule = PyCapsule_New(stream, ARROW_STREAM, free_stream);
        if (capsule == NULL) {
                held->stream.release(&held->stream);
                return NULL;
        }
        Py_INCREF(counts);
        held->counts = counts;
        *stream = (struct ArrowArrayStream){ get_schema, get_next, get_last_error, release_stream,
                                             held };
        return capsule;
}

static PyObject *arrow_stream(PyObject *module, PyObject *counts)
{
        struct held_stream *held = calloc(1, sizeof *held);
        struct ArrowArrayStream *stream = calloc(1, sizeof *stream);
        PyObject *capsule = NULL;
        if (held == NULL || stream == NULL)
                PyErr_NoMemory();
        else if (counts_of(counts) != NULL)
                capsule = new_stream(module, counts, held, stream);
        if (capsule == NULL) {
                free(held);
                free(stream);
        }
        return capsule;
}

/* ---- the module ---- */

static PyObject *version(PyObject *module, PyObject *unused)
{
        (void)module;
        (void)unused;
        return PyUnicode_FromString(kcount_version());
}

static PyMethodDef functions[] = {
        { "version", version, METH_NOARGS, NULL },
        { "encode", encode, METH_VARARGS, NULL },
        { "decode", decode, METH_VARARGS, NULL },
        { "canonical", canonical, METH_VARARGS, NULL },
        { "reverse_complement", reverse_complement, METH_VARARGS, NULL },
        { "count", count, METH_VARARGS, NULL },
        { "open", open_file, METH_VARARGS, NULL },
        { "info", info, METH_O, NULL },
        { "warning", warning, METH_O, NULL },
        { "histogram", histogram, METH_VARARGS, NULL },
        { "joint_histogram", joint_histogram, METH_VARARGS, NULL },
        { "cursor_open", cursor_open, METH_VARARGS, NULL },
        { "cursor_next", cursor_next, METH_VARARGS, NULL },
        { "asker_open", asker_open, METH_VARARGS, NULL },
        { "ask", ask, METH_VARARGS, NULL },
        { "ask_sequence", ask_sequence, METH_VARARGS, NULL },
        { "combine", combine, METH_VARARGS, NULL },
        { "arrow_stream", arrow_stream, METH_O, NULL },
        { NULL, NULL, 0, NULL },
};

static int add_constants(PyObject *module)
{
        static const struct {
                const char *name;
                long value;
        } constants[] = {
                { "UNION", KCOUNT_UNION },       { "INTERSECT", KCOUNT_INTERSECT },
                { "SUBTRACT", KCOUNT_SUBTRACT }, { "RULE_SUM", KCOUNT_RULE_SUM },
                { "RULE_MIN", KCOUNT_RULE_MIN }, { "RULE_LEFT", KCOUNT_RULE_LEFT },
        };
        for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
                if (PyModule_AddIntConstant(module, constants[i].name, constants[i].value) != 0)
                        return -1;
        return 0;
}

static int exec_module(PyObject *module)
{
        struct module_state *state = state_of(module);
        PyObject *errors = PyImport_ImportModule("kcount.errors");
        if (errors == NULL)
                return -1;
        state->error = PyObject_GetAttrString(errors, "Error");
        state->usage = PyObject_GetAttrString(errors, "UsageError");
        state->format = PyObject_GetAttrString(errors, "FormatError");
        state->damaged = PyObject_GetAttrString(errors, "DamagedError");
        Py_DECREF(errors);
        return PyErr_Occurred() == NULL ? add_constants(module) : -1;
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
        struct module_state *state = state_of(module);
        Py_VISIT(state->error);
        Py_VISIT(state->usage);
        Py_VISIT(state->format);
        Py_VISIT(state->damaged);
        return 0;
}

static int clear(PyObject *module)
{
        struct module_state *state = state_of(module);
        Py_CLEAR(state->error);
        Py_CLEAR(state->usage);
        Py_CLEAR(state->format);
        Py_CLEAR(state->damaged);
        return 0;
}

static PyModuleDef_Slot slots[] = {
        { Py_mod_exec, exec_module },
        { 0, NULL },
};

static PyModuleDef definition = {
        PyModuleDef_HEAD_INIT,  .m_name = "kcount._kcount", .m_size = sizeof(struct module_state),
        .m_methods = functions, .m_slots = slots,           .m_traverse = traverse,
        .m_clear = clear,
};

PyMODINIT_FUNC PyInit__kcount(void);
PyMODINIT_FUNC PyInit__kcount(void)
{
        return PyModuleDef_Init(&definition);
}
