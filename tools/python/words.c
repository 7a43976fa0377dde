/* words.c - see words.h. A place is found by the address of a text; its content is compared, because other texts come to that
 * address. */
#include "tools/python/words.h"

#include <string.h>

enum { PLACES = 4096, LONGEST = 96 };
static struct known_word {
    PyObject *made;
    char      text[LONGEST];
} words_made[PLACES];

PyObject *words_get(const char *text)
{
    struct known_word *w = &words_made[((uintptr_t)text * UINT64_C(0x9E3779B97F4A7C15)) >> 52];
    if (w->made && strcmp(w->text, text) == 0) {
        Py_INCREF(w->made);
        return w->made;
    }
    PyObject    *made = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    const size_t n    = strlen(text);
    if (!made || n >= LONGEST)
        return made;
    PyUnicode_InternInPlace(&made);
    Py_XDECREF(w->made);
    memcpy(w->text, text, n + 1);
    w->made = made;
    Py_INCREF(made);
    return made;
}
