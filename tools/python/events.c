/* events.c - autologger._events: the decoded events of traces and of real-time sessions, for Python. The other half of
 * the package is Python itself (autologger/).
 * An Event is the same object again for each event while nobody keeps it; one that is kept takes all that it needs out
 * of the reader's memory before the reader goes on. So a loop makes no object an event but those that it asks for.
 * Threads: the interpreter's lock; waiting for a session's next events releases it.
 * Not for: writing events (autologger/provider.py). */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "autologger/analysis/trace.h"
#include "autologger/consumer/live.h"
#include "autologger/schema/learn.h"
#include "autologger/schema/manifest.h"
#include "autologger/schema/manifest_model.h"
#include "autologger/schema/publishers.h"
#include "registry-sim/win32/filetime.h"
#include "tools/python/fields.h"
#include "tools/python/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES_MOST = 256, MANIFEST_MOST = 64 * 1024 * 1024 };

typedef struct {
    PyObject_HEAD struct trace *trace; /* NULL: a live session */
    struct live                *live;
    struct etl_reader          *window;
    struct schema_set          *set;
    struct publishers           installed;
    struct learn_files          learn;
    char                      **paths;
    Py_ssize_t                  count;
    struct trace_event          seen; /* of a live session */
    PyObject                   *last; /* the Event that is given again */
    struct learner              learner;
    PyThreadState              *waiting; /* of the thread that waits */
    bool                        ended;
    bool                        busy;    /* a thread waits in it */
    bool                        closing; /* close() came meanwhile: that thread closes */
} Events;

typedef struct {
    PyObject_HEAD Events *owner; /* NULL: it was kept, and has all of its own */
    struct etl_event      e;
    struct decoded        names;
    unsigned              file;
    uint64_t              ns;                                         /* since the trace began */
    PyObject             *provider, *name, *fields, *payload, *stack; /* made when asked for */
    bool                  whole; /* all fields could be decoded; known with `fields` */
} Event;

static PyTypeObject *events_type, *event_type;
static PyObject     *error_type;

static PyObject *fail(wstatus status, const struct reason *why)
{
    PyObject *value = Py_BuildValue("(is)", (int)status, why->text);
    if (value)
        PyErr_SetObject(error_type, value);
    Py_XDECREF(value);
    return NULL;
}

/* ---- an event ---- */

static PyObject *text_or_guid(const char *text, const struct guid *guid)
{
    char out[GUID_TEXT_SIZE];
    return words_get(text ? text : guid_format(guid, out));
}

static PyObject *provider_get(PyObject *self, void *unused)
{
    Event *v = (Event *)self;
    (void)unused;
    if (!v->provider)
        v->provider = text_or_guid(v->names.provider, &v->e.provider);
    Py_XINCREF(v->provider);
    return v->provider;
}

static PyObject *name_get(PyObject *self, void *unused)
{
    Event *v = (Event *)self;
    (void)unused;
    if (!v->name)
        v->name = words_get(v->names.event);
    Py_XINCREF(v->name);
    return v->name;
}

static PyObject *fields_get(PyObject *self, void *unused)
{
    Event *v = (Event *)self;
    (void)unused;
    if (!v->fields)
        v->fields = fields_make(&v->e, &v->names, &v->whole);
    Py_XINCREF(v->fields);
    return v->fields;
}

static PyObject *payload_get(PyObject *self, void *unused)
{
    Event *v = (Event *)self;
    (void)unused;
    if (!v->payload)
        v->payload = PyBytes_FromStringAndSize((const char *)v->e.payload, (Py_ssize_t)v->e.payload_size);
    Py_XINCREF(v->payload);
    return v->payload;
}

static PyObject *frames_get(PyObject *self, void *unused)
{
    Event   *v = (Event *)self;
    uint64_t frames[FRAMES_MOST];
    (void)unused;
    if (!v->stack) {
        const unsigned n = v->e.is_64bit ? decoded_stack(&v->e, frames, FRAMES_MOST) : 0;
        v->stack         = PyList_New((Py_ssize_t)n);
        for (unsigned i = 0; v->stack && i < n; i++) {
            PyObject *frame = PyLong_FromUnsignedLongLong(frames[i]);
            if (!frame)
                Py_CLEAR(v->stack);
            else
                PyList_SetItem(v->stack, (Py_ssize_t)i, frame);
        }
    }
    Py_XINCREF(v->stack);
    return v->stack;
}

static PyObject *decoded_get(PyObject *self, void *unused)
{
    PyObject *fields = fields_get(self, unused);
    Py_XDECREF(fields);
    return fields ? PyBool_FromLong(((Event *)self)->whole) : NULL;
}

static PyObject *id_or_none(uint32_t id)
{
    if (id == UINT32_MAX)
        Py_RETURN_NONE;
    return PyLong_FromUnsignedLong(id);
}

enum number {
    N_TIME,
    N_SINCE,
    N_PID,
    N_TID,
    N_CPU,
    N_ID,
    N_VERSION,
    N_LEVEL,
    N_OPCODE,
    N_TASK,
    N_KEYWORD,
    N_CHANNEL,
    N_FILE,
    N_RAW
};
static PyObject *number_get(PyObject *self, void *which)
{
    const Event            *v = (const Event *)self;
    const struct etl_event *e = &v->e;
    switch ((enum number)(uintptr_t)which) {
    case N_TIME: return PyLong_FromUnsignedLongLong(filetime_to_unix_ns(e->filetime));
    case N_SINCE: return PyLong_FromUnsignedLongLong(v->ns);
    case N_PID: return id_or_none(e->process_id);
    case N_TID: return id_or_none(e->thread_id);
    case N_CPU: return PyLong_FromLong(e->cpu);
    case N_ID: return PyLong_FromLong(e->id);
    case N_VERSION: return PyLong_FromLong(e->version);
    case N_LEVEL: return PyLong_FromLong(e->level);
    case N_OPCODE: return PyLong_FromLong(e->opcode);
    case N_TASK: return PyLong_FromLong(e->task);
    case N_KEYWORD: return PyLong_FromUnsignedLongLong(e->keyword);
    case N_CHANNEL: return PyLong_FromLong(e->channel);
    case N_FILE: return PyLong_FromLong((long)v->file);
    case N_RAW: return PyLong_FromLongLong(e->raw_time);
    }
    Py_RETURN_NONE;
}

static PyObject *guid_get(PyObject *self, void *which)
{
    const Event *v = (const Event *)self;
    char         out[GUID_TEXT_SIZE];
    if (which && guid_is_zero(&v->e.activity))
        Py_RETURN_NONE;
    return PyUnicode_FromString(guid_format(which ? &v->e.activity : &v->e.provider, out));
}

#define NUMBER(name, which, text) \
    { \
        name, number_get, NULL, text, (void *)(uintptr_t)(which) \
    }
static PyGetSetDef event_members[] = {
    {"provider", provider_get, NULL, "the provider's name, or its {GUID} where no name is known", NULL},
    {"name", name_get, NULL, "the event's name, or its number where no name is known", NULL},
    {"fields", fields_get, NULL, "its values by name: numbers, texts, lists, and dicts for structs", NULL},
    {"payload", payload_get, NULL, "its bytes", NULL},
    {"stack", frames_get, NULL, "addresses of the stack that it carries, leaf first", NULL},
    {"decoded", decoded_get, NULL, "True: all of the payload was decoded", NULL},
    {"guid", guid_get, NULL, "the provider's {GUID}", NULL},
    {"activity", guid_get, NULL, "the {GUID} of its activity, or None", (void *)1},
    NUMBER("time_ns", N_TIME, "nanoseconds since 1970, UTC"),
    NUMBER("since_ns", N_SINCE, "nanoseconds since the trace began"),
    NUMBER("pid", N_PID, "process, or None"),
    NUMBER("tid", N_TID, "thread, or None"),
    NUMBER("cpu", N_CPU, "processor"),
    NUMBER("id", N_ID, "id"),
    NUMBER("version", N_VERSION, "version"),
    NUMBER("level", N_LEVEL, "level, 1 (critical) to 5 (verbose)"),
    NUMBER("opcode", N_OPCODE, "opcode"),
    NUMBER("task", N_TASK, "task"),
    NUMBER("keyword", N_KEYWORD, "keyword"),
    NUMBER("channel", N_CHANNEL, "channel"),
    NUMBER("file", N_FILE, "index of its file"),
    NUMBER("raw_time", N_RAW, "its time on the file's own clock"),
    {NULL, NULL, NULL, NULL, NULL}};

static PyObject *event_item(PyObject *self, PyObject *key)
{
    PyObject *fields = fields_get(self, NULL), *found = fields ? PyObject_GetItem(fields, key) : NULL;
    Py_XDECREF(fields);
    return found;
}

static PyObject *event_repr(PyObject *self)
{
    PyObject *provider = provider_get(self, NULL), *name = name_get(self, NULL), *fields = fields_get(self, NULL),
             *out = NULL;
    if (provider && name && fields)
        out = PyUnicode_FromFormat("<%U/%U %R>", provider, name, fields);
    Py_XDECREF(provider);
    Py_XDECREF(name);
    Py_XDECREF(fields);
    return out;
}

static void event_forget(Event *v)
{
    Py_CLEAR(v->provider);
    Py_CLEAR(v->name);
    Py_CLEAR(v->fields);
    Py_CLEAR(v->payload);
    Py_CLEAR(v->stack);
}

/* Somebody keeps it, and the reader goes on: everything that points into its memory is made now. */
static bool event_settle(Event *v)
{
    PyObject *(*const parts[])(PyObject *, void *) = {provider_get, name_get, fields_get, payload_get, frames_get};
    bool ok                                        = true;
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        PyObject *made = parts[i]((PyObject *)v, NULL);
        ok &= made != NULL;
        Py_XDECREF(made);
    }
    v->owner        = NULL;
    v->e.payload    = NULL;
    v->names.schema = NULL;
    return ok;
}

static void event_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    event_forget((Event *)self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyType_Slot event_slots[] = {{Py_tp_getset, event_members},
                                    {Py_tp_repr, (void *)event_repr},
                                    {Py_mp_subscript, (void *)event_item},
                                    {Py_tp_dealloc, (void *)event_dealloc},
                                    {Py_tp_doc, "An event; event[\"Field\"] is event.fields[\"Field\"]."},
                                    {0, NULL}};
static PyType_Spec event_spec    = {"autologger.Event", sizeof(Event), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, event_slots};

/* ---- events, one after another ---- */

static void events_close(Events *t)
{
    PyObject *type, *value, *trace;
    if (t->busy) {
        t->closing = true;
        live_stop(t->live);
        return;
    }
    PyErr_Fetch(&type, &value, &trace); /* an exception that ends the loop is not ours */
    if (t->last && Py_REFCNT(t->last) > 1 && !event_settle((Event *)t->last))
        PyErr_WriteUnraisable(t->last);
    Py_CLEAR(t->last);
    trace_close(t->trace);
    live_close(t->live, t->ended);
    learner_finish(&t->learner);
    schema_set_free(t->set);
    t->trace   = NULL;
    t->live    = NULL;
    t->window  = NULL;
    t->set     = NULL;
    t->learner = (struct learner){0};
    for (Py_ssize_t i = 0; i < t->count; i++)
        PyMem_Free(t->paths[i]);
    PyMem_Free(t->paths);
    t->paths = NULL;
    t->count = 0;
    PyErr_Restore(type, value, trace);
}

static PyObject *events_close_method(PyObject *self, PyObject *unused)
{
    (void)unused;
    events_close((Events *)self);
    Py_RETURN_NONE;
}

/* A signal came while a thread waits: Python's handlers run now, in that thread if it is the one that runs them. */
static bool on_interrupt(void *ctx)
{
    Events *t = ctx;
    PyEval_RestoreThread(t->waiting);
    const bool goes_on = PyErr_CheckSignals() == 0;
    t->waiting         = PyEval_SaveThread();
    return goes_on;
}

/* Waits for the next window, without the interpreter's lock. 1: it came; 0: closed meanwhile; -1: an exception. */
static int window_wait(Events *t)
{
    struct reason why = {0};
    t->busy           = true;
    live_interrupt_by(t->live, on_interrupt, t);
    t->waiting       = PyEval_SaveThread();
    const wstatus st = live_next(t->live, &t->window, &why);
    PyEval_RestoreThread(t->waiting);
    t->busy           = false;
    const bool raised = PyErr_Occurred() != NULL || PyErr_CheckSignals();
    if (t->closing || raised) { /* after an interruption the connection is of no use */
        t->closing = false;
        events_close(t);
        return raised ? -1 : 0;
    }
    if (st)
        fail(st, &why);
    return st ? -1 : 1;
}

/* The next event of a live session. 1: there is one; 0: the session has ended; -1: an exception. */
static int live_step(Events *t)
{
    if (t->busy) {
        PyErr_SetString(PyExc_ValueError, "another thread waits for this session's events");
        return -1;
    }
    while (!t->window || !etl_next(t->window, &t->seen.e)) {
        const int waited = window_wait(t);
        if (waited <= 0)
            return waited;
        if (!t->window) {
            t->ended = true;
            return 0;
        }
    }
    learner_see(&t->learner, t->set, &t->seen.e); /* descriptions that programs write themselves */
    decoded_names(t->set, &t->seen.e, &t->seen.names);
    return 1;
}

static PyObject *events_next(PyObject *self)
{
    Events                   *t  = (Events *)self;
    const struct trace_event *at = &t->seen;
    Event                    *v  = (Event *)t->last;
    if (v && Py_REFCNT(t->last) > 1) {
        const bool settled = event_settle(v);
        Py_CLEAR(t->last);
        v = NULL;
        if (!settled)
            return NULL;
    }
    if (t->trace ? !trace_next(t->trace, &at) : !t->live)
        return NULL;
    if (t->live && live_step(t) <= 0)
        return NULL;
    if (!v) {
        if (!(v = PyObject_New(Event, event_type)))
            return NULL;
        memset((char *)v + sizeof(PyObject), 0, sizeof *v - sizeof(PyObject));
        t->last = (PyObject *)v;
    } else {
        event_forget(v);
    }
    v->owner = t;
    v->e     = at->e;
    v->names = at->names;
    if (at->names.event == at->names.own) /* a number in its own room */
        v->names.event = v->names.own;
    v->file = at->file;
    v->ns   = t->trace ? trace_ns(t->trace, at->file, at->e.raw_time) : 0;
    Py_INCREF((PyObject *)v);
    return (PyObject *)v;
}

static wstatus manifest_add(struct schema_set *set, const char *path, const char *culture, struct reason *why)
{
    FILE                    *f     = fopen(path, "rb");
    struct manifest         *m     = NULL;
    struct manifest_problems found = {.forgiving = true};
    char                    *bytes = f ? malloc(MANIFEST_MOST) : NULL;
    const size_t             n     = bytes ? fread(bytes, 1, MANIFEST_MOST, f) : 0;
    wstatus                  st    = !f       ? reason_set(why, W_FILE_NOT_FOUND, "%s can't be opened", path)
                                     : !bytes ? W_NOT_ENOUGH_MEMORY
                                              : manifest_read(bytes, n, path, &found, &m, why);
    if (!st)
        st = manifest_schemas(m, manifest_culture_find(m, culture), SCHEMA_MANIFEST, set, why);
    manifest_free(m);
    free(bytes);
    if (f)
        fclose(f);
    return st;
}

/* Copies a sequence of texts. -1: an exception. */
static Py_ssize_t texts_copy(PyObject *list, char ***out)
{
    const Py_ssize_t n = PySequence_Size(list);
    *out               = n > 0 ? PyMem_Calloc((size_t)n, sizeof **out) : NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject   *item = PySequence_GetItem(list, i), *bytes = NULL;
        const char *text = item && PyUnicode_FSConverter(item, &bytes) ? PyBytes_AsString(bytes) : NULL;
        if (text && *out && ((*out)[i] = PyMem_Malloc(strlen(text) + 1)))
            strcpy((*out)[i], text);
        Py_XDECREF(item);
        Py_XDECREF(bytes);
        if (!text)
            return -1;
    }
    return n;
}

static bool events_open(Events *t, PyObject *manifests, const char *session, const char *runtime)
{
    struct reason why  = {0};
    char        **list = NULL;
    wstatus       st   = (t->set = schema_set_new()) ? W_SUCCESS : reason_set(&why, W_NOT_ENOUGH_MEMORY, "no memory");
    t->installed       = (struct publishers){.folder = publishers_folder(), .culture = publishers_culture(NULL)};
    const Py_ssize_t n = texts_copy(manifests, &list);
    for (Py_ssize_t i = 0; i < n && !st; i++)
        st = manifest_add(t->set, list[i], t->installed.culture, &why);
    for (Py_ssize_t i = 0; i < n; i++)
        PyMem_Free(list[i]);
    PyMem_Free(list);
    if (n < 0)
        return false;
    if (!st) {
        schema_set_ask(t->set, publishers_ask, &t->installed);
        if (session) {
            t->learner = (struct learner){.manifest = manifest_learn, .ctx = (void *)(uintptr_t)t->installed.culture};
            st         = live_open(runtime, session, &t->live, &why);
        } else {
            t->learn = (struct learn_files){(const char *const *)t->paths, (unsigned)t->count, manifest_learn,
                                            (void *)(uintptr_t)t->installed.culture};
            schema_set_search(t->set, learn_search, &t->learn);
            st = trace_open((const char *const *)t->paths, (unsigned)t->count, &t->trace, &why);
        }
    }
    if (!st && t->trace)
        trace_describe(t->trace, t->set);
    if (st)
        fail(st, &why);
    return !st;
}

static PyObject *events_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *words[] = {"paths", "manifests", "session", "runtime_dir", NULL};
    PyObject    *paths, *manifests;
    const char  *session = NULL, *runtime = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|zz", words, &paths, &manifests, &session, &runtime))
        return NULL;
    allocfunc make = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Events   *t    = (Events *)make(type, 0);
    if (!t)
        return NULL;
    t->count = texts_copy(paths, &t->paths);
    if (t->count < 0 || !events_open(t, manifests, session, runtime)) {
        t->count = t->count < 0 ? 0 : t->count;
        Py_DECREF(t);
        return NULL;
    }
    return (PyObject *)t;
}

static void events_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    events_close((Events *)self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyObject *events_self(PyObject *self)
{
    Py_INCREF(self);
    return self;
}

static PyObject *text_or_empty(const char *text)
{
    return PyUnicode_DecodeUTF8(text ? text : "", (Py_ssize_t)(text ? strlen(text) : 0), "replace");
}

static unsigned long long unix_ns(int64_t filetime) { return filetime_to_unix_ns((uint64_t)filetime); }

static PyObject *header_make(const char *path, const struct etl_file_header *h, unsigned damaged)
{
    PyObject *const texts[] = {PyUnicode_DecodeFSDefault(path), text_or_empty(h->logger_name),
                               text_or_empty(h->file_name)};
    if (!texts[0] || !texts[1] || !texts[2]) {
        for (int i = 0; i < 3; i++)
            Py_XDECREF(texts[i]);
        return NULL;
    }
    return Py_BuildValue("{s:N,s:N,s:N,s:K,s:K,s:K,s:I,s:I,s:I,s:I,s:I}", "path", texts[0], "logger", texts[1], "file",
                         texts[2], "start_ns", unix_ns(h->raw.start_time), "end_ns", unix_ns(h->raw.end_time),
                         "boot_ns", unix_ns(h->raw.boot_time), "processors", h->raw.processors, "events_lost",
                         h->raw.events_lost, "buffers_lost", h->raw.buffers_lost, "mode", h->raw.log_file_mode,
                         "damaged", damaged);
}

/* One dict a file: what its header says, and the damage that reading has met so far. */
static PyObject *headers_get(PyObject *self, void *unused)
{
    Events   *t   = (Events *)self;
    PyObject *out = PyList_New(0);
    (void)unused;
    for (unsigned i = 0; out && t->trace && i < trace_files(t->trace); i++) {
        const struct etl_file_header *h = trace_header(t->trace, i);
        unsigned                      damaged;
        etl_reader_damage(trace_reader(t->trace, i), &damaged);
        PyObject *one = header_make(trace_path(t->trace, i), h, damaged);
        if (!one || PyList_Append(out, one))
            Py_CLEAR(out);
        Py_XDECREF(one);
    }
    return out;
}

static PyObject *lost_get(PyObject *self, void *unused)
{
    Events  *t = (Events *)self;
    uint64_t n = t->live ? live_losses(t->live).events : 0;
    (void)unused;
    for (unsigned i = 0; t->trace && i < trace_files(t->trace); i++)
        n += trace_header(t->trace, i)->raw.events_lost;
    return PyLong_FromUnsignedLongLong(n);
}

static PyMethodDef events_methods[] = {{"close", events_close_method, METH_NOARGS, "Ends reading."},
                                       {NULL, NULL, 0, NULL}};
static PyGetSetDef events_members[] = {
    {"headers", headers_get, NULL, "what the files' headers say, a dict each", NULL},
    {"events_lost", lost_get, NULL, "events that the session lost, as far as is known", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot events_slots[] = {{Py_tp_new, (void *)events_new},           {Py_tp_dealloc, (void *)events_dealloc},
                                     {Py_tp_iter, (void *)events_self},         {Py_tp_iternext, (void *)events_next},
                                     {Py_tp_methods, events_methods},           {Py_tp_getset, events_members},
                                     {Py_tp_doc, "Events, one after another."}, {0, NULL}};
static PyType_Spec events_spec    = {"autologger._events.Events", sizeof(Events), 0,
                                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, events_slots};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_events", "Decoded events of traces and sessions.", -1, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__events(void);
PyMODINIT_FUNC PyInit__events(void)
{
    PyObject *m = PyModule_Create(&module);
    events_type = (PyTypeObject *)PyType_FromSpec(&events_spec);
    event_type  = (PyTypeObject *)PyType_FromSpec(&event_spec);
    error_type  = PyErr_NewExceptionWithDoc("autologger.TraceError", "A Status and its reason: args[0] is the number.",
                                            PyExc_OSError, NULL);
    if (!m || !events_type || !event_type || !error_type || PyModule_AddObject(m, "Events", (PyObject *)events_type) ||
        PyModule_AddObject(m, "Event", (PyObject *)event_type) || PyModule_AddObject(m, "TraceError", error_type))
        return NULL;
    return m;
}
