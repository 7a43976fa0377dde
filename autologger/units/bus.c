#include "autologger/units/bus_private.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t bus_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000;
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
    const char *const name = k->unit.name, *const kind = bus_kind_interface(name);

    if (!k->loaded) {
        bus_ask(b, (struct bus_request){.kind = REQUEST_LOADED, .name = strdup(name)}, MANAGER_PATH, SYSTEMD ".Manager",
                "GetUnit", name, NULL);
        return;
    }
    k->loaded = false; /* until systemd says so again */
    bus_name_path(name, path, sizeof path);
    bus_ask(b, (struct bus_request){.kind = REQUEST_UNIT, .name = strdup(name)}, path, PROPERTIES, "GetAll",
            SYSTEMD ".Unit", NULL);
    if (kind)
        bus_ask(b, (struct bus_request){.kind = REQUEST_KIND, .name = strdup(name)}, path, PROPERTIES, "GetAll", kind,
                NULL);
}

bool bus_about_units(enum request_kind kind)
{
    return kind == REQUEST_LOADED || kind == REQUEST_UNIT || kind == REQUEST_KIND;
}

bool bus_units_asked(const struct bus *b)
{
    for (unsigned i = 0; i < b->requests; i++)
        if (bus_about_units(b->request[i].kind))
            return true;
    return false;
}

/* While systemd starts units, the boot waits for each of its answers: one unit is asked for at a time, with a pause
 * after it. Afterwards as many questions at a time as systemd answers without long waits for other clients. */
static bool gently(const struct bus *b, uint64_t now) { return !b->hurry && now - b->opened_us < GENTLE_FOR_US; }

static bool may_ask(const struct bus *b)
{
    const uint64_t now = bus_now_us();
    return b->requests + 2 <= WINDOW / 2 && (!gently(b, now) || (!bus_units_asked(b) && now >= b->next_us));
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

/* ---- signals ---- */

static bool has_cgroup(const struct unit *u)
{
    const char *dot = strrchr(u->name, '.');
    return dot && u->active && (strcmp(u->active, "active") == 0 || strcmp(u->active, "activating") == 0) &&
           (strcmp(dot, ".service") == 0 || strcmp(dot, ".scope") == 0 || strcmp(dot, ".slice") == 0);
}

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
        bus_properties(b, &at, bus_take_job, &id);
        return;
    }
    if (!bus_path_name(path, name))
        return;
    if (!(k = bus_unit_find(b, name))) {
        bus_unit_want(b, name);
        if (!(k = bus_unit_find(b, name)))
            return;
    }
    const bool whole = strcmp(interface, SYSTEMD ".Unit") == 0; /* all properties that can change, with the times */
    bus_properties(b, &at, bus_take_unit, &k->unit);
    k->complete |= whole;
    /* of systemd's two signals the one with the kind's properties comes first: the result is known when the times
     * come */
    bus_unit_tell(b, k);
    if (whole && has_cgroup(&k->unit) && (!k->unit.cgroup || !*k->unit.cgroup))
        bus_unit_want_loaded(b, name); /* its cgroup is made when it starts, and no signal gives its path */
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
        bus_unit_comes(b, text);
    else if (dbus_message_is_signal(m, SYSTEMD ".Manager", "UnitRemoved") &&
             dbus_message_get_args(m, NULL, DBUS_TYPE_STRING, &text, DBUS_TYPE_OBJECT_PATH, &path, DBUS_TYPE_INVALID))
        bus_unit_goes(b, text);
    else if (dbus_message_is_signal(m, SYSTEMD ".Manager", "Reloading") &&
             dbus_message_get_args(m, NULL, DBUS_TYPE_BOOLEAN, &on, DBUS_TYPE_INVALID))
        bus_reload_marks(b, on);
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
        struct unit_job *j = bus_job_find(b, id), unheard = {.id = id, .unit = (char *)(uintptr_t)text};
        if (j)
            bus_job_tell_running(b, j);
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
            st = bus_on_answer(b, m, why);
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
    if (!b->first_wanted || bus_units_asked(b) || b->requests + 2 > WINDOW / 2) /* an answer will come */
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
