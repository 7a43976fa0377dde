#include "autologger/units/bus_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void bus_properties(struct bus *b, DBusMessageIter *at, property_fn take, void *to)
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

void bus_take_unit(struct bus *b, void *to, const char *name, DBusMessageIter *value)
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

struct unit_job *bus_job_find(struct bus *b, uint32_t id)
{
    for (unsigned i = 0; i < b->jobs; i++)
        if (b->job[i].id == id)
            return &b->job[i];
    return NULL;
}

/* A job may be heard to run before its type is known: that is reported with the type, and the time of the message. */
void bus_job_tell_running(struct bus *b, struct unit_job *j)
{
    if (j->untold)
        b->sink.job(b->sink.ctx, j, NULL);
    j->untold = false;
}

void bus_take_job(struct bus *b, void *to, const char *name, DBusMessageIter *value)
{
    struct unit_job *j = bus_job_find(b, *(const uint32_t *)to);
    const char      *text;

    if (!j || dbus_message_iter_get_arg_type(value) != DBUS_TYPE_STRING)
        return;
    dbus_message_iter_get_basic(value, &text);
    if (strcmp(name, "JobType") == 0 && !j->type) {
        j->type = strdup(text);
        bus_job_tell_running(b, j);
    } else if (strcmp(name, "State") == 0 && strcmp(text, "running") == 0 && !j->running) {
        j->running = bus_now_us();
        j->untold  = true;
        if (j->type || !j->asked)
            bus_job_tell_running(b, j);
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
            bus_unit_want_loaded(b, name);
            if (starts && b->sink.starts)
                b->sink.starts(b->sink.ctx, name);
        }
    b->asked = true;
}

wstatus bus_on_answer(struct bus *b, DBusMessage *m, struct reason *why)
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
    if (bus_about_units(r.kind) && !bus_units_asked(b)) {
        const uint64_t now = bus_now_us(), pause = GENTLE * (now - b->asked_us);
        b->next_us = now + (pause < GENTLE_MOST_US ? pause : GENTLE_MOST_US);
    }
    if (failed && r.kind == REQUEST_LIST)
        return reason_set(why, W_ACCESS_DENIED, "systemd does not list its units: %s", dbus_message_get_error_name(m));
    bool               values = !failed && dbus_message_iter_init(m, &at);
    struct known_unit *k      = r.name ? bus_unit_find(b, r.name) : NULL;
    if (values && r.kind == REQUEST_LIST)
        take_list(b, &at);
    else if (values && r.kind == REQUEST_MARKS)
        marks_take(b, &at);
    else if (values && r.kind == REQUEST_JOB)
        bus_properties(b, &at, bus_take_job, &r.job);
    else if (r.kind == REQUEST_LOADED && k && !failed)
        bus_unit_want_loaded(b, r.name);
    else if (r.kind == REQUEST_LOADED && k)
        bus_unit_drop(b, r.name);
    else if (values && k)
        bus_properties(b, &at, bus_take_unit, &k->unit);
    if (k && r.kind >= REQUEST_UNIT && (r.kind == REQUEST_KIND || !bus_kind_interface(r.name))) {
        k->complete |= values;
        if (k->complete)
            bus_unit_tell(b, k);
        else
            bus_unit_drop(b, r.name); /* the unit was gone before it could be read */
    }
    free(r.name);
    return W_SUCCESS;
}
