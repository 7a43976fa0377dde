/* words.h - Python's texts for names that come again and again, made once: names of fields, events and providers.
 * Threads: the interpreter's lock. */
#ifndef TOOLS_PYTHON_WORDS_H
#define TOOLS_PYTHON_WORDS_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* A new reference. NULL: an exception. */
PyObject *words_get(const char *text);
#endif
