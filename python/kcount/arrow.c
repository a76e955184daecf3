/* Counts as an Arrow stream. */
#include "_kcount.h"

#include <stdlib.h>

#define ARROW_STREAM "arrow_array_stream" /* the name that Arrow's PyCapsule interface gives it */

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
        struct kcount_counts *handle = py_counts_of(counts);
        struct kcount_error *error = NULL;
        enum kcount_status status;
        PyObject *capsule;
        Py_BEGIN_ALLOW_THREADS status =
                kcount_arrow_stream(handle, NULL, NULL, 0, &held->stream, &error);
        Py_END_ALLOW_THREADS if (status != KCOUNT_OK) return py_raise(module, error);
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

PyObject *py_arrow_stream(PyObject *module, PyObject *counts)
{
        struct held_stream *held = calloc(1, sizeof *held);
        struct ArrowArrayStream *stream = calloc(1, sizeof *stream);
        PyObject *capsule = NULL;
        if (held == NULL || stream == NULL)
                PyErr_NoMemory();
        else if (py_counts_of(counts) != NULL)
                capsule = new_stream(module, counts, held, stream);
        if (capsule == NULL) {
                free(held);
                free(stream);
        }
        return capsule;
}
