/* Set operations. */
#include "_kcount.h"

/* The handles of a tuple of counts, which the caller frees with PyMem_Free. */
static struct kcount_counts **handles_of(PyObject *tuple)
{
        const Py_ssize_t n = PyTuple_Size(tuple);
        struct kcount_counts **handles = PyMem_Calloc((size_t)n + 1, sizeof(*handles));
        if (handles == NULL)
                PyErr_NoMemory();
        for (Py_ssize_t i = 0; handles != NULL && i < n; i++) {
                handles[i] = py_counts_of(PyTuple_GetItem(tuple, i));
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
        return status == KCOUNT_OK ? py_capsule_of(counts) : py_raise(module, error);
}

/* combine(inputs, operation, rule, output, folder, replace, progress): inputs: a tuple of counts */
PyObject *py_combine(PyObject *module, PyObject *args)
{
        struct kcount_set_options options = KCOUNT_SET_OPTIONS_INIT;
        PyObject *inputs, *output, *folder, *progress, *counts = NULL;
        int operation, rule, replace;
        if (!PyArg_ParseTuple(args, "O!iiOOpO", &PyTuple_Type, &inputs, &operation, &rule, &output,
                              &folder, &replace, &progress) ||
            py_optional_path(output, &output) != 0)
                return NULL;
        if (py_optional_path(folder, &folder) == 0) {
                options.operation = (enum kcount_set)operation;
                options.rule = (enum kcount_rule)rule;
                options.replace = replace != 0;
                options.tmp_folder = py_text_of(folder);
                options.progress = py_report;
                options.progress_ctx = progress;
                counts = run_combine(module, inputs, &options, py_text_of(output));
                Py_XDECREF(folder);
        }
        Py_XDECREF(output);
        return counts;
}
