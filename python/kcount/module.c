/* The module, and its exceptions. */
#include "_kcount.h"

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

/* The place, and its unit. */
static int set_place(PyObject *exception, const struct kcount_error *error)
{
        static const char *const names[] = { [KCOUNT_UNIT_NONE] = "",
                                             [KCOUNT_UNIT_LINE] = "line",
                                             [KCOUNT_UNIT_RECORD] = "record",
                                             [KCOUNT_UNIT_BYTE] = "byte" };
        enum kcount_unit unit;
        const unsigned long long number = kcount_error_place(error, &unit);
        PyObject *value =
                unit == KCOUNT_UNIT_NONE ? Py_NewRef(Py_None) : PyLong_FromUnsignedLongLong(number);
        const int failed = value == NULL || PyObject_SetAttrString(exception, "place", value) != 0;
        Py_XDECREF(value);
        return failed ? -1 : set_text(exception, "unit", names[unit]);
}

PyObject *py_raise(PyObject *module, struct kcount_error *error)
{
        PyObject *class = class_of(state_of(module), kcount_error_status(error));
        PyObject *exception;
        if (PyErr_Occurred() == NULL) {
                exception = PyObject_CallFunction(class, "s", kcount_error_message(error));
                if (exception != NULL &&
                    set_text(exception, "path", kcount_error_file(error)) == 0 &&
                    set_place(exception, error) == 0 &&
                    set_text(exception, "advice", kcount_error_advice(error)) == 0)
                        PyErr_SetObject(class, exception);
                Py_XDECREF(exception);
        }
        kcount_error_free(error);
        return NULL;
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
        { "encode", py_encode, METH_VARARGS, NULL },
        { "decode", py_decode, METH_VARARGS, NULL },
        { "canonical", py_canonical, METH_VARARGS, NULL },
        { "reverse_complement", py_reverse_complement, METH_VARARGS, NULL },
        { "count", py_count, METH_VARARGS, NULL },
        { "open", py_open_file, METH_VARARGS, NULL },
        { "info", py_info, METH_O, NULL },
        { "warning", py_warning, METH_O, NULL },
        { "histogram", py_histogram, METH_VARARGS, NULL },
        { "joint_histogram", py_joint_histogram, METH_VARARGS, NULL },
        { "cursor_open", py_cursor_open, METH_VARARGS, NULL },
        { "cursor_next", py_cursor_next, METH_VARARGS, NULL },
        { "asker_open", py_asker_open, METH_VARARGS, NULL },
        { "ask", py_ask, METH_VARARGS, NULL },
        { "ask_sequence", py_ask_sequence, METH_VARARGS, NULL },
        { "combine", py_combine, METH_VARARGS, NULL },
        { "arrow_stream", py_arrow_stream, METH_O, NULL },
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
