/* fields.c - see fields.h. */
#include "tools/python/fields.h"

#include "tools/python/words.h"

#include <string.h>

struct making {
    PyObject   *root;
    struct text text;
    bool        is_64bit, failed;
};

/* The shapes of Python's values; all other forms of values.def are texts. */
enum python_shape {
    SHAPE_TEXT,
    SHAPE_SIGNED,
    SHAPE_UNSIGNED,
    SHAPE_FLOAT,
    SHAPE_BOOLEAN,
    SHAPE_BYTES,
    SHAPE_ADDRESSES
};
enum form {
    FORM_SIGNED,
    FORM_UNSIGNED,
    FORM_HEX,
    FORM_FLOAT,
    FORM_BOOLEAN,
    FORM_BYTES,
    FORM_ADDRESSES,
    FORM_CHARACTER,
    FORM_BIG_ENDIAN,
    FORM_IPV4,
    FORM_IPV6,
    FORM_GUID,
    FORM_FILETIME,
    FORM_SYSTEMTIME,
    FORM_UNIXTIME,
    FORM_UTF16,
    FORM_ANSI,
    FORM_BYTES_IPV6,
    FORM_SOCKADDR,
    FORM_SID,
    FORM_SID_BLOCK,
    FORMS
};
static const uint8_t shape_of_form[FORMS] = {
    [FORM_SIGNED] = SHAPE_SIGNED,      [FORM_UNSIGNED] = SHAPE_UNSIGNED, [FORM_HEX] = SHAPE_UNSIGNED,
    [FORM_FLOAT] = SHAPE_FLOAT,        [FORM_BOOLEAN] = SHAPE_BOOLEAN,   [FORM_BYTES] = SHAPE_BYTES,
    [FORM_ADDRESSES] = SHAPE_ADDRESSES};
static const uint8_t form_of_kind[VALUE_KINDS] = {
#define V(name, word, width, end, form) [VALUE_##name] = FORM_##form,
#include "autologger/schema/values.def"
#undef V
};

static PyObject *float_make(const struct value *v)
{
    float  narrow = 0;
    double wide   = 0;
    if (v->size == sizeof narrow)
        memcpy(&narrow, v->data, sizeof narrow);
    else
        memcpy(&wide, v->data, v->size < sizeof wide ? v->size : sizeof wide);
    return PyFloat_FromDouble(v->size == sizeof narrow ? (double)narrow : wide);
}

/* Pointers up to the end of the payload: a stack. */
static PyObject *addresses_make(const struct value *v, bool is_64bit)
{
    const size_t width = is_64bit ? 8 : 4;
    PyObject    *out   = PyList_New(0);
    for (size_t at = 0; out && at + width <= v->size; at += width) {
        uint64_t n = 0;
        memcpy(&n, v->data + at, width);
        PyObject *one = PyLong_FromUnsignedLongLong(n);
        if (!one || PyList_Append(out, one))
            Py_CLEAR(out);
        Py_XDECREF(one);
    }
    return out;
}

static PyObject *field_text_make(struct making *m, const struct schema_field *f, const struct value *v)
{
    enum value_json json;
    text_cut(&m->text, 0);
    walk_text(f, v, m->is_64bit, &m->text, &json);
    return PyUnicode_DecodeUTF8(text_get(&m->text), (Py_ssize_t)m->text.length, "replace");
}

static PyObject *value_make(struct making *m, const struct schema_field *f, const struct value *v)
{
    const enum value_kind kind = f->kind;
    switch (f->map ? SHAPE_TEXT : (enum python_shape)shape_of_form[form_of_kind[kind]]) {
    case SHAPE_SIGNED: return PyLong_FromLongLong((int64_t)value_number(v, kind));
    case SHAPE_UNSIGNED: return PyLong_FromUnsignedLongLong(value_number(v, kind));
    case SHAPE_FLOAT: return float_make(v);
    case SHAPE_BOOLEAN: return PyBool_FromLong(value_number(v, kind) != 0);
    case SHAPE_BYTES: return PyBytes_FromStringAndSize((const char *)v->data, (Py_ssize_t)v->size);
    case SHAPE_ADDRESSES: return addresses_make(v, m->is_64bit);
    case SHAPE_TEXT: break;
    }
    return field_text_make(m, f, v);
}

/* The list or dict under `key`, made where it is missing; borrowed. A description may have one name for two fields of
 * different shapes: the later one takes the place. */
static PyObject *inner(PyObject *outer, PyObject *key, bool list)
{
    PyObject *there = PyDict_GetItemWithError(outer, key);
    if (there && (list ? PyList_Check(there) : PyDict_Check(there)))
        return there;
    there = list ? PyList_New(0) : PyDict_New();
    if (!there)
        return NULL;
    const int failed = PyDict_SetItem(outer, key, there);
    Py_DECREF(there); /* the dict has it */
    return failed ? NULL : there;
}

/* The dict that holds the members of one struct; borrowed. */
static PyObject *struct_of(PyObject *outer, const struct walk_level *level)
{
    PyObject *key = words_get(level->field->name);
    PyObject *at  = key ? inner(outer, key, level->in_array) : NULL;
    Py_XDECREF(key);
    if (!at || !level->in_array)
        return at;
    while (PyList_Size(at) <= level->element) {
        PyObject *made = PyDict_New();
        if (!made || PyList_Append(at, made)) {
            Py_XDECREF(made);
            return NULL;
        }
        Py_DECREF(made);
    }
    PyObject *made = PyList_GetItem(at, level->element);
    if (made && !PyDict_Check(made)) { /* of another field of that name */
        if (PyList_SetItem(at, level->element, PyDict_New()))
            return NULL;
        made = PyList_GetItem(at, level->element);
    }
    return made;
}

static bool value_put(struct making *m, PyObject *into, const struct walk_level *level, const struct value *v)
{
    PyObject *key = words_get(level->field->name), *made = key ? value_make(m, level->field, v) : NULL;
    PyObject *list = made && level->in_array ? inner(into, key, true) : NULL;
    bool      ok   = made && (level->in_array ? list && !PyList_Append(list, made) : !PyDict_SetItem(into, key, made));
    Py_XDECREF(key);
    Py_XDECREF(made);
    return ok;
}

static bool on_value(void *ctx, const struct walk_place *place, const struct value *v)
{
    struct making *m  = ctx;
    PyObject      *at = m->root;
    if (place->levels[place->depth].field->flags & FIELD_HIDDEN)
        return true;
    for (unsigned i = 0; i < place->depth && at; i++)
        at = struct_of(at, &place->levels[i]);
    m->failed = !at || !value_put(m, at, &place->levels[place->depth], v);
    return !m->failed;
}

/* A walk delivers no value of an empty array. */
static void empty_arrays(struct making *m, const struct schema_event *s)
{
    for (unsigned i = 0; i < s->top_count && !m->failed; i++) {
        const struct schema_field *f = &s->fields[i];
        PyObject *key = f->flags & FIELD_COUNT_OF && !(f->flags & FIELD_HIDDEN) ? words_get(f->name) : NULL;
        if (key)
            m->failed = !inner(m->root, key, true);
        Py_XDECREF(key);
    }
}

PyObject *fields_make(const struct etl_event *e, const struct decoded *names, bool *whole)
{
    struct making m    = {.root = PyDict_New(), .is_64bit = e->is_64bit};
    uint32_t      used = 0;
    *whole             = !e->payload_size;
    if (!m.root || !names->schema)
        return m.root;
    const struct schema_event *s = names->schema;
    if (walk_is_flat(s)) {
        struct value values[WALK_VALUES];
        unsigned     count;
        *whole = walk_values(s, e->payload, e->payload_size, values, &count, &used) == DECODE_OK;
        for (unsigned i = 0; i < count && !m.failed; i++)
            m.failed = !value_put(&m, m.root, &(struct walk_level){.field = &s->fields[i]}, &values[i]);
    } else {
        *whole = walk_payload(s, e->payload, e->payload_size, e->is_64bit, on_value, &m, &used) == DECODE_OK;
        if (*whole)
            empty_arrays(&m, s);
    }
    text_finish(&m.text);
    if (m.failed)
        Py_CLEAR(m.root);
    return m.root;
}
