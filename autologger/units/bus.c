#include "autologger/units/bus.h"

#include <dbus/dbus.h>
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SYSTEMD "org.freedesktop.systemd1"
#define UNIT_PATH "/org/freedesktop/systemd1/unit/"
#define JOB_PATH "/org/freedesktop/systemd1/job/"
/* During a boot: the pause after a unit, as a multiple of its answer's time. Some boots never finish by systemd's word:
 * then the pauses end after two minutes. */
enum { GENTLE = 30, GENTLE_MOST_US = 250000, GENTLE_FOR_US = 120000000 };
enum { WINDOW = 64, JOBS = 4096, STEP_MESSAGES = 1000, RECEIVED_MOST = 16 << 20, NAME_ROOM = 1024 };

struct known_unit { /* unit first: found by its name */
    struct unit        unit;
    bool               complete; /* all its properties were read once */
    bool               wanted;   /* in the queue */
    bool               loaded;   /* by systemd's word: asking for it does not load it */
    bool               away;     /* removed by a reload of systemd, which brings it back */
    struct known_unit *next_wanted;
};
enum request_kind {
    REQUEST_NONE,
    REQUEST_LIST,
    REQUEST_MARKS,
    REQUEST_LOADED,
    REQUEST_UNIT,
    REQUEST_KIND,
    REQUEST_JOB
};
struct bus_request {
    enum request_kind kind;
    uint32_t          serial, job;
    char             *name; /* of the unit */
};
struct bus {
    DBusConnection    *connection;
    struct bus_sink    sink;
    void              *units; /* tsearch: struct known_unit */
    struct known_unit *first_wanted, **last_wanted;
    struct bus_request request[WINDOW];
    struct unit_job    job[JOBS];
    unsigned           requests, jobs, answers;
    uint64_t           marks[BUS_MARKS];
    uint64_t           opened_us, asked_us, next_us; /* asked_us: for the last unit; next_us: earliest for the next */
    bool               asked, listed, no_memory, hurry;
    bool               reloading; /* systemd reads its files again */
};

static uint64_t bus_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000;
}

/* ---- units ---- */

static int bus_by_name(const void *a, const void *b)
{
    return strcmp(((const struct known_unit *)a)->unit.name, ((const struct known_unit *)b)->unit.name);
}

static struct known_unit *unit_find(const struct bus *b, const char *name)
{
    struct known_unit   key = {.unit = {.name = (char *)(uintptr_t)name}};
    struct known_unit **at  = tfind(&key, &b->units, bus_by_name);
    return at ? *at : NULL;
}

/* Puts the unit into the queue of units to be read. */
static void unit_want(struct bus *b, const char *name)
{
    struct known_unit *k = unit_find(b, name);
    if (!k) {
        k = calloc(1, sizeof *k);
        if (!k || !(k->unit.name = strdup(name)) || !tsearch(k, &b->units, bus_by_name)) {
            if (k)
                free(k->unit.name);
            free(k);
            b->no_memory = true;
            return;
        }
    }
    if (k->wanted)
        return;
    k->wanted       = true;
    k->next_wanted  = NULL;
    *b->last_wanted = k;
    b->last_wanted  = &k->next_wanted;
}

/* The same for a unit that is loaded, by systemd's word. */
static void unit_want_loaded(struct bus *b, const char *name)
{
    unit_want(b, name);
    struct known_unit *k = unit_find(b, name);
    if (k)
        k->loaded = true;
}

static void unit_drop(struct bus *b, const char *name)
{
    struct known_unit *k = unit_find(b, name);
    if (k && k->wanted) /* the answer will show that it is gone */
        k->loaded = false;
    if (!k || k->wanted)
        return;
    tdelete(k, &b->units, bus_by_name);
    b->sink.gone(b->sink.ctx, name);
    unit_finish(&k->unit);
    free(k);
}

/* UnitNew. A unit that a reload brings back is as it was: its changes come as signals. */
static void unit_comes(struct bus *b, const char *name)
{
    struct known_unit *k    = unit_find(b, name);
    const bool         back = k && k->away;
    if (k)
        k->away = false;
    if (!back)
        unit_want(b, name);
}

/* UnitRemoved. During a reload (daemon-reload) systemd removes all units, and sends UnitNew for each that is left. */
static void unit_goes(struct bus *b, const char *name)
{
    struct known_unit *k = unit_find(b, name);
    if (!b->reloading)
        unit_drop(b, name);
    else if (k) {
        k->away   = true;
        k->loaded = false; /* until systemd says so again */
    }
}

static __thread struct known_unit *unit_away; /* twalk has no argument of ours */

static void unit_away_find(const void *node, VISIT visit, int depth)
{
    struct known_unit *k = *(struct known_unit *const *)node;
    (void)depth;
    if ((visit == postorder || visit == leaf) && k->away && !k->wanted)
        unit_away = k;
}

/* Reloading. UnitNew may come after the end of a reload; what is still away when the next one begins is gone. */
static void reload_marks(struct bus *b, bool begins)
{
    b->reloading = begins;
    for (bool more = begins; more;) {
        unit_away = NULL;
        twalk(b->units, unit_away_find);
        more = unit_away != NULL;
        if (more)
            unit_drop(b, unit_away->unit.name);
    }
}

static void unit_tell(struct bus *b, struct known_unit *k)
{
    k->unit.queued = 0;
    for (unsigned i = 0; i < b->jobs; i++)
        if (strcmp(b->job[i].unit, k->unit.name) == 0)
            k->unit.queued = b->job[i].queued;
    if (k->complete)
        b->sink.unit(b->sink.ctx, &k->unit);
}

/* ".../unit/a_2eservice": every byte other than a letter or digit is _XX. */
static bool path_name(const char *path, char out[NAME_ROOM])
{
    size_t n = 0;
    if (strncmp(path, UNIT_PATH, sizeof UNIT_PATH - 1) != 0)
        return false;
    for (const char *p = path + sizeof UNIT_PATH - 1; *p && n < NAME_ROOM - 1; p++) {
        unsigned byte = (unsigned char)*p;
        if (*p == '_' && sscanf(p + 1, "%2x", &byte) == 1)
            p += 2;
        out[n++] = (char)byte;
    }
    out[n] = 0;
    return n > 0;
}

static void name_path(const char *name, char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, "%s", UNIT_PATH);
    for (; *name && n + 4 < size; name++)
        if ((*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') || (*name >= '0' && *name <= '9'))
            out[n++] = *name;
        else
            n += (size_t)snprintf(out + n, size - n, "_%02x", (unsigned char)*name);
    out[n < size ? n : size - 1] = 0;
}

/* The interface with the properties of this kind of unit; NULL: none of them is wanted. */
static const char *kind_interface(const char *name)
{
    static const char *const kinds[][2] = {
        {".service", SYSTEMD ".Service"}, {".scope", SYSTEMD ".Scope"}, {".socket", SYSTEMD ".Socket"},
        {".mount", SYSTEMD ".Mount"},     {".swap", SYSTEMD ".Swap"},   {".slice", SYSTEMD ".Slice"},
        {".timer", SYSTEMD ".Timer"},     {".path", SYSTEMD ".Path"},   {".automount", SYSTEMD ".Automount"}};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(dot, kinds[i][0]) == 0)
            return kinds[i][1];
    return NULL;
}

static bool has_cgroup(const struct unit *u)
{
    const char *dot = strrchr(u->name, '.');
    return dot && u->active && (strcmp(u->active, "active") == 0 || strcmp(u->active, "activating") == 0) &&
           (strcmp(dot, ".service") == 0 || strcmp(dot, ".scope") == 0 || strcmp(dot, ".slice") == 0);
}

/* ---- asking ---- */

static bool bus_ask(struct bus *b, struct bus_request what, const char *path, const char *interface, const char *member,
                    const char *argument, const char *argument2)
{
    DBusMessage  *m = dbus_message_new_method_call(SYSTEMD, path, interface, member);
    dbus_uint32_t serial;
    bool          sent = m && (!what.kind || b->requests < WINDOW) &&
                (!argument || dbus_message_append_args(m, DBUS_TYPE_STRING, &argument, DBUS_TYPE_INVALID)) &&
                (!argument2 || dbus_message_append_args(m, DBUS_TYPE_STRING, &argument2, DBUS_TYPE_INVALID)) &&
                (what.kind || (dbus_message_set_no_reply(m, TRUE), true)) &&
                dbus_connection_send(b->connection, m, &serial);
    if (m)
        dbus_message_unref(m);
    if (!sent) {
        free(what.name);
        b->no_memory = true;
    } else if (what.kind) {
        what.serial               = serial;
        b->request[b->requests++] = what;
    }
    return sent;
}

#define PROPERTIES "org.freedesktop.DBus.Properties"
#define MANAGER_PATH "/org/freedesktop/systemd1"

/* Properties are asked for by the unit's path, and systemd loads a unit whose path is asked for. A unit that nothing
 * else needs is unloaded at once, with UnitNew and UnitRemoved: asking for each new unit by its path would go on for
 * ever, and take a whole processor. So the first question is whether the unit is loaded: by name, which loads
 * nothing. */
static void ask_unit(struct bus *b, struct known_unit *k)
{
    char              path[3 * NAME_ROOM];
    const char *const name = k->unit.name, *const kind = kind_interface(name);

    if (!k->loaded) {
        bus_ask(b, (struct bus_request){.kind = REQUEST_LOADED, .name = strdup(name)}, MANAGER_PATH, SYSTEMD ".Manager",
                "GetUnit", name, NULL);
        return;
    }
    k->loaded = false; /* until systemd says so again */
    name_path(name, path, sizeof path);
    bus_ask(b, (struct bus_request){.kind = REQUEST_UNIT, .name = strdup(name)}, path, PROPERTIES, "GetAll",
            SYSTEMD ".Unit", NULL);
    if (kind)
        bus_ask(b, (struct bus_request){.kind = REQUEST_KIND, .name = strdup(name)}, path, PROPERTIES, "GetAll", kind,
                NULL);
}

static bool about_units(enum request_kind kind)
{
    return kind == REQUEST_LOADED || kind == REQUEST_UNIT || kind == REQUEST_KIND;
}

static bool units_asked(const struct bus *b)
{
    for (unsigned i = 0; i < b->requests; i++)
        if (about_units(b->request[i].kind))
            return true;
    return false;
}

/* While systemd starts units, the boot waits for each of its answers: one unit is asked for at a time, with a pause
 * after it. Afterwards as many questions at a time as systemd answers without long waits for other clients. */
static bool gently(const struct bus *b, uint64_t now) { return !b->hurry && now - b->opened_us < GENTLE_FOR_US; }

static bool may_ask(const struct bus *b)
{
    const uint64_t now = bus_now_us();
    return b->requests + 2 <= WINDOW / 2 && (!gently(b, now) || (!units_asked(b) && now >= b->next_us));
}

static void ask_more(struct bus *b)
{
    while (b->first_wanted && !b->no_memory && may_ask(b)) {
        struct known_unit *k = b->first_wanted;
        b->first_wanted      = k->next_wanted;
        if (!b->first_wanted)
            b->last_wanted = &b->first_wanted;
        k->wanted   = false;
        b->asked_us = bus_now_us();
        ask_unit(b, k);
    }
    if (b->listed || !b->asked || b->requests || b->first_wanted)
        return;
    b->listed = true;
    b->sink.listed(b->sink.ctx, b->marks);
}

/* ---- answers ---- */

static bool bus_number_of(DBusMessageIter *at, uint64_t *out)
{
    union {
        dbus_uint64_t t;
        dbus_uint32_t u;
        dbus_int32_t  i;
        dbus_bool_t   b;
    } v      = {0};
    int type = dbus_message_iter_get_arg_type(at);
    if (type != DBUS_TYPE_UINT64 && type != DBUS_TYPE_UINT32 && type != DBUS_TYPE_INT32)
        return false;
    dbus_message_iter_get_basic(at, &v);
    *out = type == DBUS_TYPE_UINT64 ? v.t : type == DBUS_TYPE_UINT32 ? v.u : (uint64_t)(int64_t)v.i;
    return true;
}

static void hex_of(DBusMessageIter *at, char out[33])
{
    DBusMessageIter items;
    const uint8_t  *bytes = NULL;
    int             count = 0;
    if (dbus_message_iter_get_element_type(at) != DBUS_TYPE_BYTE)
        return;
    dbus_message_iter_recurse(at, &items);
    dbus_message_iter_get_fixed_array(&items, &bytes, &count);
    out[0] = 0;
    for (int i = 0; i < count && i < 16; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

/* The texts of an array, with blanks between them; as many whole texts as fit. */
static void bus_words_of(DBusMessageIter *at, char *out, size_t room)
{
    DBusMessageIter item;
    size_t          used = 0;

    out[0] = 0;
    for (dbus_message_iter_recurse(at, &item); dbus_message_iter_get_arg_type(&item) == DBUS_TYPE_STRING;
         dbus_message_iter_next(&item)) {
        const char *text;
        dbus_message_iter_get_basic(&item, &text);
        const size_t n = strlen(text);
        if (used + n + 2 > room)
            return;
        used += (size_t)snprintf(out + used, room - used, "%s%s", used ? " " : "", text);
    }
}

static void property_take(struct bus *b, struct unit *u, const char *name, DBusMessageIter *value)
{
    uint64_t    number;
    const char *text;
    char        hex[33] = "", words[8192];

    if (strcmp(name, "Id") == 0)
        return; /* may be that of an alias; the unit keeps the name that was asked for */
    if (dbus_message_iter_get_arg_type(value) == DBUS_TYPE_STRING) {
        dbus_message_iter_get_basic(value, &text);
        b->no_memory |= !unit_set_text(u, name, text);
    } else if (strcmp(name, "InvocationID") == 0 && dbus_message_iter_get_arg_type(value) == DBUS_TYPE_ARRAY) {
        hex_of(value, hex);
        unit_set_text(u, name, hex);
    } else if (strcmp(name, "After") == 0 && dbus_message_iter_get_arg_type(value) == DBUS_TYPE_ARRAY) {
        bus_words_of(value, words, sizeof words);
        b->no_memory |= !unit_set_text(u, name, words);
    } else if (bus_number_of(value, &number)) {
        unit_set_number(u, name, number);
    }
}

typedef void (*property_fn)(struct bus *b, void *to, const char *name, DBusMessageIter *value);

/* Calls `take` for each entry of the a{sv} at `at`. */
static void bus_properties(struct bus *b, DBusMessageIter *at, property_fn take, void *to)
{
    DBusMessageIter entry, pair, value;
    const char     *name;

    if (dbus_message_iter_get_arg_type(at) != DBUS_TYPE_ARRAY ||
        dbus_message_iter_get_element_type(at) != DBUS_TYPE_DICT_ENTRY)
        return;
    for (dbus_message_iter_recurse(at, &entry); dbus_message_iter_get_arg_type(&entry) == DBUS_TYPE_DICT_ENTRY;
         dbus_message_iter_next(&entry)) {
        dbus_message_iter_recurse(&entry, &pair);
        if (dbus_message_iter_get_arg_type(&pair) != DBUS_TYPE_STRING)
            return;
        dbus_message_iter_get_basic(&pair, &name);
        dbus_message_iter_next(&pair);
        if (dbus_message_iter_get_arg_type(&pair) != DBUS_TYPE_VARIANT)
            return;
        dbus_message_iter_recurse(&pair, &value);
        take(b, to, name, &value);
    }
}

static void take_unit(struct bus *b, void *to, const char *name, DBusMessageIter *value)
{
    property_take(b, to, name, value);
}

static void take_mark(struct bus *b, void *to, const char *name, DBusMessageIter *value)
{
    static const char *const names[BUS_MARKS] = {
        "FirmwareTimestampMonotonic",  "LoaderTimestampMonotonic",         "InitRDTimestampMonotonic",
        "UserspaceTimestampMonotonic", "UnitsLoadStartTimestampMonotonic", "UnitsLoadFinishTimestampMonotonic",
        "FinishTimestampMonotonic"};
    (void)to;
    for (unsigned i = 0; i < BUS_MARKS; i++)
        if (strcmp(name, names[i]) == 0)
            bus_number_of(value, &b->marks[i]);
}

/* The marks are asked for again after the end of the boot, because they include it only then. */
static void marks_take(struct bus *b, DBusMessageIter *at)
{
    bus_properties(b, at, take_mark, NULL);
    b->hurry |= b->marks[BUS_FINISH] != 0;
    if (b->listed && b->sink.finished)
        b->sink.finished(b->sink.ctx, b->marks);
}

static struct unit_job *job_find(struct bus *b, uint32_t id)
{
    for (unsigned i = 0; i < b->jobs; i++)
        if (b->job[i].id == id)
            return &b->job[i];
    return NULL;
}

/* A job may be heard to run before its type is known: that is reported with the type, and the time of the message. */
static void job_tell_running(struct bus *b, struct unit_job *j)
{
    if (j->untold)
        b->sink.job(b->sink.ctx, j, NULL);
    j->untold = false;
}

static void take_job(struct bus *b, void *to, const char *name, DBusMessageIter *value)
{
    struct unit_job *j = job_find(b, *(const uint32_t *)to);
    const char      *text;

    if (!j || dbus_message_iter_get_arg_type(value) != DBUS_TYPE_STRING)
        return;
    dbus_message_iter_get_basic(value, &text);
    if (strcmp(name, "JobType") == 0 && !j->type) {
        j->type = strdup(text);
        job_tell_running(b, j);
    } else if (strcmp(name, "State") == 0 && strcmp(text, "running") == 0 && !j->running) {
        j->running = bus_now_us();
        j->untold  = true;
        if (j->type || !j->asked)
            job_tell_running(b, j);
    }
}

/* A row of a(ssssssouso) begins with name, description, load state, active state and sub state. False: another form of
 * message. */
static bool row_read(DBusMessageIter *row, const char **name, bool *starts)
{
    enum { NAME, ACTIVE = 3, SUB };
    DBusMessageIter cell;
    const char     *text = "";

    dbus_message_iter_recurse(row, &cell);
    *name   = "";
    *starts = false;
    for (int i = NAME; i <= SUB; i++, dbus_message_iter_next(&cell)) {
        if (dbus_message_iter_get_arg_type(&cell) != DBUS_TYPE_STRING)
            return false;
        dbus_message_iter_get_basic(&cell, &text);
        if (i == NAME)
            *name = text;
        else if (i == ACTIVE)
            *starts = strcmp(text, "activating") == 0;
    }
    *starts &= strncmp(text, "auto-restart", 12) != 0; /* in the pause before a new start */
    return true;
}

/* Starting units are asked for first. */
static void take_list(struct bus *b, DBusMessageIter *at)
{
    DBusMessageIter row;
    const char     *name;
    bool            starts;

    if (dbus_message_iter_get_arg_type(at) != DBUS_TYPE_ARRAY)
        return;
    for (int first = 1; first >= 0; first--)
        for (dbus_message_iter_recurse(at, &row); dbus_message_iter_get_arg_type(&row) == DBUS_TYPE_STRUCT;
             dbus_message_iter_next(&row)) {
            if (!row_read(&row, &name, &starts))
                return;
            if (starts != first)
                continue;
            unit_want_loaded(b, name);
            if (starts && b->sink.starts)
                b->sink.starts(b->sink.ctx, name);
        }
    b->asked = true;
}

static wstatus on_answer(struct bus *b, DBusMessage *m, struct reason *why)
{
    struct bus_request r      = {0};
    const bool         failed = dbus_message_get_type(m) == DBUS_MESSAGE_TYPE_ERROR;
    uint32_t           serial = dbus_message_get_reply_serial(m);
    DBusMessageIter    at;

    for (unsigned i = 0; i < b->requests && !r.kind; i++)
        if (b->request[i].serial == serial) {
            r             = b->request[i];
            b->request[i] = b->request[--b->requests];
        }
    b->answers += r.kind != REQUEST_NONE;
    b->hurry |= failed && r.kind == REQUEST_MARKS;
    if (about_units(r.kind) && !units_asked(b)) {
        const uint64_t now = bus_now_us(), pause = GENTLE * (now - b->asked_us);
        b->next_us = now + (pause < GENTLE_MOST_US ? pause : GENTLE_MOST_US);
    }
    if (failed && r.kind == REQUEST_LIST)
        return reason_set(why, W_ACCESS_DENIED, "systemd does not list its units: %s", dbus_message_get_error_name(m));
    bool               values = !failed && dbus_message_iter_init(m, &at);
    struct known_unit *k      = r.name ? unit_find(b, r.name) : NULL;
    if (values && r.kind == REQUEST_LIST)
        take_list(b, &at);
    else if (values && r.kind == REQUEST_MARKS)
        marks_take(b, &at);
    else if (values && r.kind == REQUEST_JOB)
        bus_properties(b, &at, take_job, &r.job);
    else if (r.kind == REQUEST_LOADED && k && !failed)
        unit_want_loaded(b, r.name);
    else if (r.kind == REQUEST_LOADED && k)
        unit_drop(b, r.name);
    else if (values && k)
        bus_properties(b, &at, take_unit, &k->unit);
    if (k && r.kind >= REQUEST_UNIT && (r.kind == REQUEST_KIND || !kind_interface(r.name))) {
        k->complete |= values;
        if (k->complete)
            unit_tell(b, k);
        else
            unit_drop(b, r.name); /* the unit was gone before it could be read */
    }
    free(r.name);
    return W_SUCCESS;
}

/* ---- signals ---- */

static void on_changed(struct bus *b, DBusMessage *m)
{
    const char        *path = dbus_message_get_path(m), *interface;
    char               name[NAME_ROOM];
    DBusMessageIter    at;
    struct known_unit *k;

    if (!path || !dbus_message_iter_init(m, &at) || dbus_message_iter_get_arg_type(&at) != DBUS_TYPE_STRING)
        return;
    dbus_message_iter_get_basic(&at, &interface);
    dbus_message_iter_next(&at);
    if (strncmp(path, JOB_PATH, sizeof JOB_PATH - 1) == 0) {
        uint32_t id = (uint32_t)strtoul(path + sizeof JOB_PATH - 1, NULL, 10);
        bus_properties(b, &at, take_job, &id);
        return;
    }
    if (!path_name(path, name))
        return;
    if (!(k = unit_find(b, name))) {
        unit_want(b, name);
        if (!(k = unit_find(b, name)))
            return;
    }
    const bool whole = strcmp(interface, SYSTEMD ".Unit") == 0; /* all properties that can change, with the times */
    bus_properties(b, &at, take_unit, &k->unit);
    k->complete |= whole;
    /* of systemd's two signals the one with the kind's properties comes first: the result is known when the times
     * come */
    unit_tell(b, k);
    if (whole && has_cgroup(&k->unit) && (!k->unit.cgroup || !*k->unit.cgroup))
        unit_want_loaded(b, name); /* its cgroup is made when it starts, and no signal gives its path */
}

static void on_job_new(struct bus *b, uint32_t id, const char *path, const char *unit)
{
    struct unit_job *j = &b->job[b->jobs];
    if (b->jobs == JOBS)
        return; /* no room: its wait will not be known */
    *j = (struct unit_job){.id = id, .unit = strdup(unit), .queued = bus_now_us()};
    if (!j->unit) {
        b->no_memory = true;
        return;
    }
    b->jobs++;
    b->sink.job(b->sink.ctx, j, NULL);
    j->asked = b->requests < WINDOW;
    if (j->asked) /* for its type */
        bus_ask(b, (struct bus_request){.kind = REQUEST_JOB, .job = id}, path, PROPERTIES, "GetAll", SYSTEMD ".Job",
                NULL);
}

static void job_drop(struct bus *b, struct unit_job *j)
{
    free(j->unit);
    free(j->type);
    *j = b->job[--b->jobs];
}

static void ask_marks(struct bus *b)
{
    bus_ask(b, (struct bus_request){.kind = REQUEST_MARKS}, MANAGER_PATH, PROPERTIES, "GetAll", SYSTEMD ".Manager",
            NULL);
}

static void bus_on_signal(struct bus *b, DBusMessage *m)
{
    const char   *text = NULL, *path = NULL, *result = NULL;
    dbus_uint32_t id = 0;
    dbus_bool_t   on = FALSE;

    if (dbus_message_is_signal(m, PROPERTIES, "PropertiesChanged"))
        on_changed(b, m);
    else if (dbus_message_is_signal(m, SYSTEMD ".Manager", "UnitNew") &&
             dbus_message_get_args(m, NULL, DBUS_TYPE_STRING, &text, DBUS_TYPE_OBJECT_PATH, &path, DBUS_TYPE_INVALID))
        unit_comes(b, text);
    else if (dbus_message_is_signal(m, SYSTEMD ".Manager", "UnitRemoved") &&
             dbus_message_get_args(m, NULL, DBUS_TYPE_STRING, &text, DBUS_TYPE_OBJECT_PATH, &path, DBUS_TYPE_INVALID))
        unit_goes(b, text);
    else if (dbus_message_is_signal(m, SYSTEMD ".Manager", "Reloading") &&
             dbus_message_get_args(m, NULL, DBUS_TYPE_BOOLEAN, &on, DBUS_TYPE_INVALID))
        reload_marks(b, on);
    else if (dbus_message_is_signal(m, SYSTEMD ".Manager", "StartupFinished")) {
        b->hurry = true;
        if (b->requests < WINDOW)
            ask_marks(b);
    } else if (dbus_message_is_signal(m, SYSTEMD ".Manager", "JobNew") &&
               dbus_message_get_args(m, NULL, DBUS_TYPE_UINT32, &id, DBUS_TYPE_OBJECT_PATH, &path, DBUS_TYPE_STRING,
                                     &text, DBUS_TYPE_INVALID))
        on_job_new(b, id, path, text);
    else if (dbus_message_is_signal(m, SYSTEMD ".Manager", "JobRemoved") &&
             dbus_message_get_args(m, NULL, DBUS_TYPE_UINT32, &id, DBUS_TYPE_OBJECT_PATH, &path, DBUS_TYPE_STRING,
                                   &text, DBUS_TYPE_STRING, &result, DBUS_TYPE_INVALID)) {
        struct unit_job *j = job_find(b, id), unheard = {.id = id, .unit = (char *)(uintptr_t)text};
        if (j)
            job_tell_running(b, j);
        b->sink.job(b->sink.ctx, j ? j : &unheard, result);
        if (j)
            job_drop(b, j);
    }
}

/* ---- the connection ---- */

wstatus bus_open(const char *address, const struct bus_sink *sink, bool boots, struct bus **out, struct reason *why)
{
    DBusError   error = DBUS_ERROR_INIT;
    struct bus *b     = calloc(1, sizeof *b);

    if (!b)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory to listen to systemd");
    b->sink        = *sink;
    b->opened_us   = bus_now_us();
    b->hurry       = !boots;
    b->last_wanted = &b->first_wanted;
    b->connection  = dbus_connection_open_private(address, &error);
    if (!b->connection) {
        wstatus st =
            reason_set(why, dbus_error_has_name(&error, DBUS_ERROR_FILE_NOT_FOUND) ? W_FILE_NOT_FOUND : W_ACCESS_DENIED,
                       "systemd does not answer at %s: %s", address, error.message);
        dbus_error_free(&error);
        free(b);
        return st;
    }
    dbus_connection_set_exit_on_disconnect(b->connection, FALSE);
    dbus_connection_set_max_received_size(b->connection, RECEIVED_MOST);
    /* process 1 sends its signals to every direct connection; through a message bus they have to be subscribed to */
    bus_ask(b, (struct bus_request){.kind = REQUEST_NONE}, MANAGER_PATH, SYSTEMD ".Manager", "Subscribe", NULL, NULL);
    ask_marks(b);
    bus_ask(b, (struct bus_request){.kind = REQUEST_LIST}, MANAGER_PATH, SYSTEMD ".Manager", "ListUnits", NULL, NULL);
    dbus_connection_flush(b->connection);
    *out = b;
    return W_SUCCESS;
}

int bus_fd(const struct bus *b)
{
    int fd = -1;
    dbus_connection_get_unix_fd(b->connection, &fd);
    return fd;
}

wstatus bus_step(struct bus *b, struct reason *why)
{
    wstatus      st = W_SUCCESS;
    DBusMessage *m;

    dbus_connection_read_write(b->connection, 0);
    for (unsigned n = 0; n < STEP_MESSAGES && !st && (m = dbus_connection_pop_message(b->connection)); n++) {
        int type = dbus_message_get_type(m);
        if (dbus_message_is_signal(m, DBUS_INTERFACE_LOCAL, "Disconnected"))
            st = reason_set(why, W_NOT_FOUND, "systemd closed the connection");
        else if (type == DBUS_MESSAGE_TYPE_METHOD_RETURN || type == DBUS_MESSAGE_TYPE_ERROR)
            st = on_answer(b, m, why);
        else if (type == DBUS_MESSAGE_TYPE_SIGNAL)
            bus_on_signal(b, m);
        dbus_message_unref(m);
        ask_more(b);
    }
    ask_more(b); /* a pause may be over */
    if (!st && b->no_memory)
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for what systemd says");
    if (!st && dbus_connection_get_is_connected(b->connection))
        dbus_connection_flush(b->connection);
    return st;
}

bool bus_waits(const struct bus *b)
{
    return dbus_connection_get_dispatch_status(b->connection) == DBUS_DISPATCH_DATA_REMAINS;
}

int bus_wait_ms(const struct bus *b)
{
    const uint64_t now = bus_now_us();
    if (bus_waits(b))
        return 0;
    if (!b->first_wanted || units_asked(b) || b->requests + 2 > WINDOW / 2) /* an answer will come */
        return -1;
    if (may_ask(b))
        return 0;
    if (!gently(b, now))
        return -1;
    return b->next_us > now ? (int)((b->next_us - now) / 1000) + 1 : 0;
}

unsigned bus_answers(const struct bus *b) { return b->answers; }

/* twalk has no argument of ours */
static __thread struct {
    void (*unit)(void *ctx, const struct unit *u);
    void *ctx;
} each;
static void each_node(const void *node, VISIT visit, int depth)
{
    const struct known_unit *k = *(const struct known_unit *const *)node;
    (void)depth;
    if ((visit == postorder || visit == leaf) && k->complete)
        each.unit(each.ctx, &k->unit);
}

void bus_each(const struct bus *b, void (*unit)(void *ctx, const struct unit *u), void *ctx)
{
    each.unit = unit, each.ctx = ctx;
    twalk(b->units, each_node);
}

static void unit_free(void *node)
{
    struct known_unit *k = node;
    unit_finish(&k->unit);
    free(k);
}

void bus_close(struct bus *b)
{
    if (!b)
        return;
    dbus_connection_close(b->connection);
    dbus_connection_unref(b->connection);
    for (unsigned i = 0; i < b->requests; i++)
        free(b->request[i].name);
    while (b->jobs)
        job_drop(b, &b->job[0]);
    tdestroy(b->units, unit_free);
    free(b);
}
