#include "kernel/python.h"

#include <stdio.h>
#include <string.h>
#include <structmember.h>

#include "base/err.h"
#include "kernel/embedded.h"
#include "kernel/native.h"

enum { MODULES_MAX = 32 };

/* Our modules as frozen ones: found before anything on sys.path. */
static int freeze_modules(struct err *e)
{
    static struct _frozen table[MODULES_MAX + 1];
    size_t count = 0;
    for (const struct embedded_module *m = embedded_modules; m->name; m++, count++) {
        if (count == MODULES_MAX)
            return err_set(e, ERR_INTERNAL, "more than %d modules", MODULES_MAX);
        table[count] = (struct _frozen){.name = m->name, .code = m->code, .size = m->len};
    }
    PyImport_FrozenModules = table;
    return 0;
}

static PyStatus fill_config(PyConfig *config)
{
    static wchar_t *const argv[] = {L""};
    config->use_environment = 0;
    config->parse_argv = 0;
    config->user_site_directory = 0;
    config->site_import = 0; /* start.py does it, without what a cold start need not pay for */
    config->write_bytecode = 0;
    config->use_hash_seed = 1;
    config->hash_seed = 0;
    config->install_signal_handlers = 1;
    config->faulthandler = 1;
    PyStatus status = PyConfig_SetString(config, &config->program_name, L"/usr/bin/python3");
    if (!PyStatus_Exception(status))
        status = PyConfig_SetString(config, &config->executable, L"/usr/bin/python3");
    if (!PyStatus_Exception(status))
        status = PyConfig_SetArgv(config, 1, argv);
    return status;
}

static PyStatus initialise(void)
{
    PyPreConfig pre;
    PyPreConfig_InitPythonConfig(&pre);
    pre.use_environment = 0;
    PyStatus status = Py_PreInitialize(&pre);
    if (PyStatus_Exception(status))
        return status;

    PyConfig config;
    PyConfig_InitPythonConfig(&config);
    status = fill_config(&config);
    if (!PyStatus_Exception(status))
        status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    return status;
}

int python_start(struct err *e)
{
    if (freeze_modules(e))
        return -1;
    if (PyImport_AppendInittab("_cicada", native_init))
        return err_set(e, ERR_NO_MEMORY, "start Python");
    PyStatus status = initialise();
    if (PyStatus_Exception(status))
        return err_set(e, ERR_INTERNAL, "start Python: %s",
                       status.err_msg ? status.err_msg : "failed");
    if (PyImport_GetMagicNumber() != embedded_magic)
        return err_set(e, ERR_INTERNAL, "built for another Python than %s", Py_GetVersion());
    /* What C libraries print should come line by line, between what Python prints. */
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    return 0;
}

/* Otherwise multiprocessing would start its children with -S. */
void python_claim_site(void)
{
    PyObject *flags = PySys_GetObject("flags");
    const PyMemberDef *member = Py_TYPE(flags)->tp_members;
    for (Py_ssize_t i = 0; member[i].name; i++)
        if (strcmp(member[i].name, "no_site") == 0) {
            PyObject *old = PyStructSequence_GetItem(flags, i);
            PyStructSequence_SetItem(flags, i, PyLong_FromLong(0));
            Py_DECREF(old);
        }
}

int python_import(const char *name, PyObject **ret, struct err *e)
{
    PyObject *module = PyImport_ImportModule(name);
    if (!module)
        return python_error(e, name);
    *ret = module;
    return 0;
}

/* Without the session's __import__, if it has put one into builtins. */
PyObject *python_call(const char *module, const char *function, PyObject *argument)
{
    PyObject *found = PyImport_ImportModuleLevel(module, NULL, NULL, NULL, 0);
    PyObject *callable = found ? PyObject_GetAttrString(found, function) : NULL;
    PyObject *result = callable ? PyObject_CallFunctionObjArgs(callable, argument, NULL) : NULL;
    Py_XDECREF(found);
    Py_XDECREF(callable);
    Py_XDECREF(argument);
    return result;
}

int python_error(struct err *e, const char *what)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *text = value ? PyObject_Repr(value) : NULL;
    const char *said = text ? PyUnicode_AsUTF8(text) : NULL;
    err_set(e, ERR_INTERNAL, "%s: %s", what, said ? said : "failed");
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return -1;
}
