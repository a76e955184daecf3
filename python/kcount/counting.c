/* Counting files and sequences. */
#include "_kcount.h"

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
                bytes = PyUnicode_AsEncodedString(text, "ascii", "replace"); /* "?" is no base */
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
        PyObject *warn;     /* callable */
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
                PyObject *path = py_path_of(PyList_GetItem(inputs, i));
                if (path == NULL || PyList_Append(call->inputs, path) != 0) {
                        Py_XDECREF(path);
                        return -1;
                }
                call->paths[call->npaths++] = PyBytes_AsString(path);
                Py_DECREF(path); /* the list holds it */
        }
        return 0;
}

/* A kcount_warn. ctx: a callable; after one call has raised an exception, there are no more. */
static void warn(void *ctx, const char *text)
{
        const PyGILState_STATE lock = PyGILState_Ensure();
        PyObject *message = NULL, *result = NULL;
        if (PyErr_Occurred() == NULL)
                message = PyUnicode_DecodeFSDefault(text);
        if (message != NULL)
                result = PyObject_CallFunctionObjArgs((PyObject *)ctx, message, NULL);
        Py_XDECREF(message);
        Py_XDECREF(result);
        PyGILState_Release(lock);
}

static enum kcount_status run_count(struct count_call *call, struct kcount_error **error)
{
        const char *output = py_text_of(call->output);
        enum kcount_status status;
        call->options.progress = py_report;
        call->options.progress_ctx = call->progress;
        call->options.warn = warn;
        call->options.warn_ctx = call->warn;
        call->options.tmp_folder = py_text_of(call->folder);
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
                return py_raise(module, error);
        }
        PyObject *counts = py_capsule_of(call->counts);
        if (PyErr_Occurred() != NULL) /* in warn */
                Py_CLEAR(counts);
        return counts;
}

/* count(inputs, output, folder, device, progress, warn, k, stranded, hpc, replace, accept_empty,
 *       min_count, max_count, min_quality, nthreads, memory): inputs: a list of paths, or an
 * iterator of sequences */
PyObject *py_count(PyObject *module, PyObject *args)
{
        struct count_call *call = PyMem_Calloc(1, sizeof *call);
        PyObject *inputs, *output, *folder, *counts = NULL;
        int stranded, hpc, replace, accept_empty;
        unsigned int min_count, max_count;
        unsigned long long memory;
        if (call == NULL)
                return PyErr_NoMemory();
        call->options = (struct kcount_count_options)KCOUNT_COUNT_OPTIONS_INIT;
        if (PyArg_ParseTuple(args, "OOOzOOippppIIiiK", &inputs, &output, &folder,
                             &call->options.device, &call->progress, &call->warn, &call->options.k,
                             &stranded, &hpc, &replace, &accept_empty, &min_count, &max_count,
                             &call->options.min_quality, &call->options.nthreads, &memory) &&
            py_optional_path(output, &call->output) == 0 &&
            py_optional_path(folder, &call->folder) == 0) {
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
