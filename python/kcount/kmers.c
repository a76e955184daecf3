/* k-mers as numbers. */
#include "_kcount.h"

#include <string.h>

enum {
        TOGETHER = 1 << 15, /* letters that are encoded together */
        AHEAD = 32,         /* texts that are fetched from memory before they are needed */
};

/* Copy the k letters of a text. Returns 1, or 0 if it has another length or letters that are not
 * ASCII, or -1 with an exception. */
static int copy_letters(PyObject *text, size_t k, char *letters)
{
        Py_buffer buffer = { 0 };
        Py_ssize_t n;
        const char *from;
        if (PyUnicode_CheckExact(text) || PyUnicode_Check(text)) { /* the first is much faster */
                from = PyUnicode_AsUTF8AndSize(text, &n);
                if (from == NULL && PyErr_ExceptionMatches(PyExc_UnicodeError)) {
                        PyErr_Clear();
                        return 0;
                }
        } else {
                Py_INCREF(text);
                from = PyObject_GetBuffer(text, &buffer, PyBUF_SIMPLE) == 0 ? buffer.buf : NULL;
                n = buffer.len;
                Py_DECREF(text);
        }
        const bool fits = from != NULL && (size_t)n == k;
        if (fits)
                memcpy(letters, from, k);
        if (buffer.obj != NULL)
                PyBuffer_Release(&buffer);
        return from == NULL && PyErr_Occurred() != NULL ? -1 : fits;
}

/* Most texts are in no cache yet, and each takes two cache lines. */
static PyObject *fetch(PyObject *list, Py_ssize_t i)
{
        PyObject *text = PyList_GetItem(list, i);
        __builtin_prefetch(text);
        __builtin_prefetch((const char *)text + 64);
        return text;
}

/*
 * Copy the letters of up to n texts of k letters each, from text begin on, until one has another
 * length. A text that is neither str nor bytes may run code that changes the list: it is the last.
 * Returns how many texts were copied, or -1 with an exception.
 */
static Py_ssize_t copy_texts(PyObject *list, Py_ssize_t begin, Py_ssize_t n, size_t k,
                             char *letters)
{
        PyObject *ahead[AHEAD];
        Py_ssize_t i;
        int fits = 1;
        for (i = 0; i < n && i < AHEAD; i++)
                ahead[i] = fetch(list, begin + i);
        for (i = 0; i < n && fits > 0; i += fits > 0) {
                PyObject *text = ahead[i % AHEAD];
                if (text == NULL)
                        return -1;
                if (i + AHEAD < n)
                        ahead[i % AHEAD] = fetch(list, begin + i + AHEAD);
                if (!PyUnicode_CheckExact(text) && !PyBytes_CheckExact(text))
                        n = i + 1;
                fits = copy_letters(text, k, letters + (size_t)i * k);
        }
        return fits < 0 ? -1 : i;
}

/* encode(k, texts, begin, kmers): encode texts of a list, from begin on. Returns how many were
 * encoded: if kmers has room for more, the next one is not a k-mer. */
PyObject *py_encode(PyObject *module, PyObject *args)
{
        char letters[TOGETHER];
        Py_buffer kmers;
        PyObject *texts;
        Py_ssize_t begin, ncopied;
        size_t done = 0, encoded;
        int k;
        (void)module;
        if (!PyArg_ParseTuple(args, "iO!nw*", &k, &PyList_Type, &texts, &begin, &kmers))
                return NULL;
        const Py_ssize_t nwords = kcount_nwords(k), n = (Py_ssize_t)items_of(&kmers, nwords * 8);
        const Py_ssize_t most = TOGETHER / k;
        do {
                const Py_ssize_t left = n - (Py_ssize_t)done;
                ncopied = copy_texts(texts, begin + (Py_ssize_t)done, left < most ? left : most,
                                     (size_t)k, letters);
                encoded = ncopied > 0 ? kcount_encode(k, letters, (size_t)ncopied,
                                                      (uint64_t *)kmers.buf + done * nwords)
                                      : 0;
                done += encoded;
        } while (encoded > 0 && encoded == (size_t)ncopied);
        PyBuffer_Release(&kmers);
        return ncopied < 0 ? NULL : PyLong_FromSize_t(done);
}

PyObject *py_decode(PyObject *module, PyObject *args)
{
        Py_buffer kmers, letters;
        int k;
        (void)module;
        if (!PyArg_ParseTuple(args, "iy*w*", &k, &kmers, &letters))
                return NULL;
        Py_BEGIN_ALLOW_THREADS kcount_decode(k, (const uint64_t *)kmers.buf,
                                             items_of(&letters, (size_t)k), (char *)letters.buf);
        Py_END_ALLOW_THREADS PyBuffer_Release(&kmers);
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
