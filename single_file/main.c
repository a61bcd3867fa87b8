/* The program `agent-wrap` in one file: Python linked in, its modules in a zip behind.

   Called with Python's own first word -P, -m or -c it is that Python: so it starts
   itself again (`sys.executable -P -m agent_wrap`) as an ordinary install does. */

#include <Python.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define RUN                                                                          \
    L"import _signal, sys\n"                                                         \
    L"mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, {1, 2, 3, 15})\n"            \
    L"from agent_wrap.cli import main\n"                                             \
    L"sys.exit(main(mask=mask))\n"

static char *own_path(void)
{
    static char path[4096];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    if (size > 0) {
        return path;
    }
    const char *called = (const char *)getauxval(AT_EXECFN); /* without /proc */
    char *found = called ? realpath(called, NULL) : NULL;
    return found ? found : "agent-wrap";
}

static int is_python(int argc, char **argv)
{
    return argc > 1 && (!strcmp(argv[1], "-P") || !strcmp(argv[1], "-m") ||
                        !strcmp(argv[1], "-c"));
}

/* Ours first: in somebody's image PYTHONPATH may name another Python's modules. */
static PyStatus add_paths(PyConfig *config, const wchar_t *own)
{
    PyStatus status = PyWideStringList_Append(&config->module_search_paths, own);
    char *given = getenv("PYTHONPATH");
    char *paths = given ? strdup(given) : NULL;
    for (char *rest = paths, *one; !PyStatus_Exception(status) &&
                                   (one = strsep(&rest, ":")) != NULL;) {
        wchar_t *wide = *one ? Py_DecodeLocale(one, NULL) : NULL;
        if (wide != NULL) {
            status = PyWideStringList_Append(&config->module_search_paths, wide);
            PyMem_RawFree(wide);
        }
    }
    free(paths);
    config->module_search_paths_set = 1;
    return status;
}

static PyStatus configure(PyConfig *config, int argc, char **argv)
{
    int python = is_python(argc, argv);
    config->use_environment = 0;
    config->user_site_directory = 0;
    config->site_import = 0;
    config->safe_path = 1;
    config->write_bytecode = 0;
    config->parse_argv = python;
    PyStatus status = PyConfig_SetBytesArgv(config, argc, argv);
    if (PyStatus_Exception(status)) {
        return status;
    }
    status = PyConfig_SetBytesString(config, &config->executable, own_path());
    if (PyStatus_Exception(status)) {
        return status;
    }
    status = PyConfig_SetString(config, &config->prefix, config->executable);
    if (PyStatus_Exception(status)) {
        return status;
    }
    status = PyConfig_SetString(config, &config->exec_prefix, config->executable);
    if (PyStatus_Exception(status)) {
        return status;
    }
    if (!python) {
        status = PyConfig_SetString(config, &config->run_command, RUN);
        if (PyStatus_Exception(status)) {
            return status;
        }
    }
    return add_paths(config, config->executable);
}

int main(int argc, char **argv)
{
    PyPreConfig before;
    PyPreConfig_InitPythonConfig(&before);
    before.use_environment = 0;
    before.parse_argv = 0;
    PyStatus status = Py_PreInitialize(&before);
    if (PyStatus_Exception(status)) {
        Py_ExitStatusException(status);
    }
    PyConfig config;
    PyConfig_InitPythonConfig(&config);
    status = configure(&config, argc, argv);
    if (!PyStatus_Exception(status)) {
        status = Py_InitializeFromConfig(&config);
    }
    PyConfig_Clear(&config);
    if (PyStatus_Exception(status)) {
        Py_ExitStatusException(status);
    }
    PyObject *extensions = PyImport_ImportModule("memory_extensions");
    if (extensions == NULL) {
        PyErr_Print();
        return 125;
    }
    Py_DECREF(extensions);
    return Py_RunMain();
}
