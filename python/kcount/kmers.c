/* k-mers as numbers. */
#include "_kcount.h"

PyObject *py_encode(PyObject *module, PyObject *args)
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

PyObject *py_decode(PyObject *module, PyObject *args)
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

PyObject *py_canonical(PyObject *module, PyObject *args)
{
        (void)module;
        return change_all(args, kcount_canonical);
}

PyObject *py_reverse_complement(PyObject *module, PyObject *args)
{
        (void)module;
        return change_all(args, kcount_reverse_complement);
}
