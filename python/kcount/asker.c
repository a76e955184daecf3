/* The counts of given k-mers. */
#include "_kcount.h"

#define ASKER "kcount.asker"

static void free_asker(PyObject *capsule)
{
        kcount_asker_close((struct kcount_asker *)PyCapsule_GetPointer(capsule, ASKER));
        Py_XDECREF((PyObject *)PyCapsule_GetContext(capsule));
}

/* asker_open(counts, nthreads, memory, device) */
PyObject *py_asker_open(PyObject *module, PyObject *args)
{
        struct kcount_ask_options options = KCOUNT_ASK_OPTIONS_INIT;
        struct kcount_error *error = NULL;
        struct kcount_counts *counts;
        struct kcount_asker *asker;
        enum kcount_status status;
        unsigned long long memory;
        PyObject *owner, *capsule;
        if (!PyArg_ParseTuple(args, "OiKz", &owner, &options.nthreads, &memory, &options.device) ||
            (counts = py_counts_of(owner)) == NULL)
                return NULL;
        options.memory_nbytes = memory;
        options.progress = py_report; /* for Ctrl-C */
        options.progress_ctx = Py_None;
        Py_BEGIN_ALLOW_THREADS status = kcount_asker_open(&asker, counts, &options, &error);
        Py_END_ALLOW_THREADS if (status != KCOUNT_OK) return py_raise(module, error);
        capsule = py_capsule_over(asker, ASKER, free_asker, owner);
        if (capsule == NULL)
                kcount_asker_close(asker);
        return capsule;
}

/* ask(asker, kmers, found) */
PyObject *py_ask(PyObject *module, PyObject *args)
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
                return py_raise(module, error);
        Py_RETURN_NONE;
}

/* ask_sequence(asker, letters, found, valid or None) */
PyObject *py_ask_sequence(PyObject *module, PyObject *args)
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
                return py_raise(module, error);
        Py_RETURN_NONE;
}
