/* Runs the initialiser that a capsule of the core's library holds: `start(capsule)` -> module.
   mypyc would have a library of its own for each module that does nothing else. */
#include <Python.h>

static PyObject *start(PyObject *self, PyObject *capsule)
{
    const char *name = PyCapsule_GetName(capsule);
    void *init = name ? PyCapsule_GetPointer(capsule, name) : NULL;
    return init ? ((PyObject * (*)(void)) init)() : NULL;
}

static PyMethodDef methods[] = {
    {"start", start, METH_O, "Make the module that the capsule initialises, and run its body."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "tvm_core_start", NULL, -1, methods,
};

PyMODINIT_FUNC PyInit_tvm_core_start(void)
{
    return PyModule_Create(&definition);
}
