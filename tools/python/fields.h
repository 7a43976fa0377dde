/* fields.h - the payload of an event as Python's values. Threads: the interpreter's lock. */
#ifndef TOOLS_PYTHON_FIELDS_H
#define TOOLS_PYTHON_FIELDS_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "autologger/consumer/decoded.h"

/* A dict: integers, floats, bools, texts, bytes; lists for arrays, dicts for structs; the text of its map for a value
 * that has one. *whole: nothing is left over. NULL: an exception. */
PyObject *fields_make(const struct etl_event *e, const struct decoded *names, bool *whole);
#endif
