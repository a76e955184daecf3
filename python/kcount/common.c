#include "_kcount.h"

#define COUNTS "kcount.counts"

static void free_counts(PyObject *capsule)
{
        kcount_close((struct kcount_counts *)PyCapsule_GetPointer(capsule, COUNTS));
}

PyObject *py_capsule_over(void *handle, const char *name, PyCapsule_Destructor destroy,
                          PyObject *counts)
{
        PyObject *capsule = PyCapsule_New(handle, name, destroy);
        if (capsule != NULL) {
                Py_INCREF(counts);
                (void)PyCapsule_SetContext(capsule, counts);
        }
        return capsule;
}

bool py_report(void *ctx, const char *stage, uint64_t done, uint64_t total)
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

PyObject *py_path_of(PyObject *item)
{
        PyObject *bytes;
        return PyUnicode_FSConverter(item, &bytes) ? bytes : NULL;
}

int py_optional_path(PyObject *item, PyObject **path)
{
        *path = item == Py_None ? NULL : py_path_of(item);
        return item != Py_None && *path == NULL ? -1 : 0;
}

const char *py_text_of(PyObject *bytes)
{
        return bytes == NULL ? NULL : PyBytes_AsString(bytes);
}

PyObject *py_capsule_of(struct kcount_counts *counts)
{
        PyObject *capsule = PyCapsule_New(counts, COUNTS, free_counts);
        if (capsule == NULL)
                kcount_close(counts);
        return capsule;
}

struct kcount_counts *py_counts_of(PyObject *capsule)
{
        return (struct kcount_counts *)PyCapsule_GetPointer(capsule, COUNTS);
}
