/* fake_systemd - plays process 1 as commanded: fake_systemd SOCKET [RECORD]. RECORD holds units as "systemctl show"
 * prints them, with a blank line between two. Commands come on standard input, a line each:
 *   set UNIT, lines Name=Value, blank line   its properties change, as systemd signals it
 *   new UNIT, gone UNIT
 *   job ID UNIT TYPE   run ID   end ID RESULT
 *   flood COUNT UNIT   InactiveExitTimestampMonotonic from 1 to COUNT, a signal each
 *   slow MS            each question for properties takes so long
 *   unfinished         the boot is not finished, until "finished"
 *   reload             daemon-reload: all units go, and come back
 *   pass UNIT          it is loaded and, because nothing needs it, unloaded
 *   expect COUNT       at most so many units were asked for so far, each by its path; else the answer is "no: " and how
 *                      many
 *   refuse             from now on every question is answered with an error
 *   die                all connections are closed
 *   quit
 * Each is answered with "done" on standard output when its signals are on their way. A question for the properties of
 * an unloaded unit loads and unloads it, with UnitNew and UnitRemoved, as process 1 does. */
#include <dbus/dbus.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYSTEMD "org.freedesktop.systemd1"
enum { UNITS = 20000, PROPERTIES_MOST = 32, CONNECTIONS = 8, JOBS = 64 };

struct fake_unit {
    char *name, *property[PROPERTIES_MOST], *value[PROPERTIES_MOST];
};
static struct fake_unit units[UNITS];
static unsigned         unit_count;
static struct {
    unsigned id;
    char     unit[256], type[32];
} jobs[JOBS];
static DBusConnection *connections[CONNECTIONS];
static bool            refuses;
static unsigned        asked; /* units that were asked for, by path */
static unsigned        slow_ms;
static bool            unfinished;

static struct fake_unit *unit_get(const char *name)
{
    for (unsigned i = 0; i < unit_count; i++)
        if (strcmp(units[i].name, name) == 0)
            return &units[i];
    units[unit_count].name = strdup(name);
    return &units[unit_count++];
}

static void set(struct fake_unit *u, const char *line)
{
    const char *equals = strchr(line, '=');
    unsigned    i      = 0;
    if (!equals)
        return;
    while (i < PROPERTIES_MOST - 1 && u->property[i] &&
           (strlen(u->property[i]) != (size_t)(equals - line) ||
            strncmp(u->property[i], line, (size_t)(equals - line)) != 0))
        i++;
    free(u->value[i]);
    if (!u->property[i])
        u->property[i] = strndup(line, (size_t)(equals - line));
    u->value[i] = strdup(equals + 1);
}

static void record_read(const char *path)
{
    char  line[4096], block[PROPERTIES_MOST][512];
    FILE *f = fopen(path, "re");
    for (unsigned n = 0; f;) {
        bool more                 = fgets(line, sizeof line, f) != NULL;
        line[strcspn(line, "\n")] = 0;
        if (more && *line && n < PROPERTIES_MOST) {
            snprintf(block[n++], sizeof *block, "%s", line);
            continue;
        }
        struct fake_unit *u = NULL;
        for (unsigned i = 0; i < n; i++)
            if (strncmp(block[i], "Id=", 3) == 0)
                u = unit_get(block[i] + 3);
        for (unsigned i = 0; u && i < n; i++)
            set(u, block[i]);
        n = 0;
        if (!more)
            break;
    }
    if (f)
        fclose(f);
}

static void path_of(const char *name, char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, "/org/freedesktop/systemd1/unit/");
    for (; *name && n + 4 < size; name++)
        n += (size_t)(strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", *name)
                          ? snprintf(out + n, size - n, "%c", *name)
                          : snprintf(out + n, size - n, "_%02x", (unsigned char)*name));
}

static struct fake_unit *unit_at(const char *path)
{
    char there[2048];
    for (unsigned i = 0; i < unit_count; i++) {
        path_of(units[i].name, there, sizeof there);
        if (strcmp(there, path) == 0)
            return &units[i];
    }
    return NULL;
}

/* As systemd types them. */
static void append_value(DBusMessageIter *at, const char *name, const char *text)
{
    DBusMessageIter v, bytes;
    if (strcmp(name, "InvocationID") == 0) {
        uint8_t raw[16], *p = raw;
        for (int i = 0; i < 16; i++)
            sscanf(text + 2 * i, "%2hhx", &raw[i]);
        dbus_message_iter_open_container(at, DBUS_TYPE_VARIANT, "ay", &v);
        dbus_message_iter_open_container(&v, DBUS_TYPE_ARRAY, "y", &bytes);
        dbus_message_iter_append_fixed_array(&bytes, DBUS_TYPE_BYTE, &p, strlen(text) == 32 ? 16 : 0);
        dbus_message_iter_close_container(&v, &bytes);
        dbus_message_iter_close_container(at, &v);
        return;
    }
    if (strcmp(name, "After") == 0) {
        dbus_message_iter_open_container(at, DBUS_TYPE_VARIANT, "as", &v);
        dbus_message_iter_open_container(&v, DBUS_TYPE_ARRAY, "s", &bytes);
        dbus_message_iter_append_basic(&bytes, DBUS_TYPE_STRING, &text);
        dbus_message_iter_close_container(&v, &bytes);
        dbus_message_iter_close_container(at, &v);
        return;
    }
    dbus_uint64_t t    = strtoull(text, NULL, 10);
    dbus_uint32_t u    = (dbus_uint32_t)t;
    dbus_int32_t  i    = (dbus_int32_t)t;
    const bool    time = strstr(name, "Timestamp") != NULL, pid = strstr(name, "PID") != NULL,
               code  = strncmp(name, "ExecMain", 8) == 0;
    const char *type = time ? "t" : pid ? "u" : code ? "i" : "s";
    dbus_message_iter_open_container(at, DBUS_TYPE_VARIANT, type, &v);
    dbus_message_iter_append_basic(&v, *type, time ? (void *)&t : pid ? (void *)&u : code ? (void *)&i : (void *)&text);
    dbus_message_iter_close_container(at, &v);
}

static bool of_kind(const char *name)
{
    return strcmp(name, "Result") == 0 || strncmp(name, "ExecMain", 8) == 0 || strcmp(name, "MainPID") == 0 ||
           strcmp(name, "ControlGroup") == 0;
}

static void append_pair(DBusMessageIter *array, const char *name, const char *text)
{
    DBusMessageIter pair;
    dbus_message_iter_open_container(array, DBUS_TYPE_DICT_ENTRY, NULL, &pair);
    dbus_message_iter_append_basic(&pair, DBUS_TYPE_STRING, &name);
    append_value(&pair, name, text);
    dbus_message_iter_close_container(array, &pair);
}

/* The properties of the unit's own interface, or of its kind's. */
static void append_properties(DBusMessageIter *at, const struct fake_unit *u, bool kind)
{
    DBusMessageIter array;
    dbus_message_iter_open_container(at, DBUS_TYPE_ARRAY, "{sv}", &array);
    for (unsigned i = 0; u && i < PROPERTIES_MOST && u->property[i]; i++)
        if (of_kind(u->property[i]) == kind)
            append_pair(&array, u->property[i], u->value[i]);
    dbus_message_iter_close_container(at, &array);
}

static void tell(DBusMessage *m)
{
    for (unsigned i = 0; i < CONNECTIONS; i++)
        if (connections[i])
            dbus_connection_send(connections[i], m, NULL);
    dbus_message_unref(m);
}

static void changed(const struct fake_unit *u, bool kind)
{
    static const char *const names[] = {SYSTEMD ".Unit", SYSTEMD ".Service"};
    char                     path[2048];
    DBusMessageIter          at, none;
    path_of(u->name, path, sizeof path);
    DBusMessage *m = dbus_message_new_signal(path, "org.freedesktop.DBus.Properties", "PropertiesChanged");
    dbus_message_iter_init_append(m, &at);
    dbus_message_iter_append_basic(&at, DBUS_TYPE_STRING, &names[kind]);
    append_properties(&at, u, kind);
    dbus_message_iter_open_container(&at, DBUS_TYPE_ARRAY, "s", &none);
    dbus_message_iter_close_container(&at, &none);
    tell(m);
}

static void job_changed(unsigned id)
{
    char            path[64];
    const char     *interface = SYSTEMD ".Job";
    DBusMessageIter at, array;
    snprintf(path, sizeof path, "/org/freedesktop/systemd1/job/%u", id);
    DBusMessage *m = dbus_message_new_signal(path, "org.freedesktop.DBus.Properties", "PropertiesChanged");
    dbus_message_iter_init_append(m, &at);
    dbus_message_iter_append_basic(&at, DBUS_TYPE_STRING, &interface);
    dbus_message_iter_open_container(&at, DBUS_TYPE_ARRAY, "{sv}", &array);
    append_pair(&array, "State", "running");
    dbus_message_iter_close_container(&at, &array);
    tell(m);
}

static void manager_signal(const char *member, unsigned job, const char *unit, const char *result)
{
    char          path[2048];
    const char   *p  = path;
    dbus_uint32_t id = job;
    DBusMessage  *m  = dbus_message_new_signal("/org/freedesktop/systemd1", SYSTEMD ".Manager", member);
    if (job)
        snprintf(path, sizeof path, "/org/freedesktop/systemd1/job/%u", job);
    else
        path_of(unit, path, sizeof path);
    if (job)
        dbus_message_append_args(m, DBUS_TYPE_UINT32, &id, DBUS_TYPE_OBJECT_PATH, &p, DBUS_TYPE_STRING, &unit,
                                 DBUS_TYPE_INVALID);
    else
        dbus_message_append_args(m, DBUS_TYPE_STRING, &unit, DBUS_TYPE_OBJECT_PATH, &p, DBUS_TYPE_INVALID);
    if (result)
        dbus_message_append_args(m, DBUS_TYPE_STRING, &result, DBUS_TYPE_INVALID);
    tell(m);
}

static void reloading(dbus_bool_t on)
{
    DBusMessage *m = dbus_message_new_signal("/org/freedesktop/systemd1", SYSTEMD ".Manager", "Reloading");
    dbus_message_append_args(m, DBUS_TYPE_BOOLEAN, &on, DBUS_TYPE_INVALID);
    tell(m);
}

static void reload(void)
{
    reloading(TRUE);
    for (unsigned i = 0; i < unit_count; i++)
        manager_signal("UnitRemoved", 0, units[i].name, NULL);
    reloading(FALSE);
    for (unsigned i = 0; i < unit_count; i++)
        manager_signal("UnitNew", 0, units[i].name, NULL);
}

static void pass(const char *unit)
{
    manager_signal("UnitNew", 0, unit, NULL);
    manager_signal("UnitRemoved", 0, unit, NULL);
}

/* ---- questions ---- */

/* The answer to GetUnit, which loads nothing. */
static DBusMessage *where(DBusMessage *m)
{
    const char *name = "";
    dbus_message_get_args(m, NULL, DBUS_TYPE_STRING, &name, DBUS_TYPE_INVALID);
    for (unsigned i = 0; i < unit_count; i++)
        if (strcmp(units[i].name, name) == 0) {
            char         path[2048];
            const char  *p = path;
            DBusMessage *r = dbus_message_new_method_return(m);
            path_of(name, path, sizeof path);
            dbus_message_append_args(r, DBUS_TYPE_OBJECT_PATH, &p, DBUS_TYPE_INVALID);
            return r;
        }
    return dbus_message_new_error(m, SYSTEMD ".NoSuchUnit", name);
}

static void list(DBusMessageIter *at)
{
    DBusMessageIter rows, row;
    char            path[2048];
    const char     *p = path, *empty = "", *slash = "/";
    dbus_uint32_t   none = 0;
    dbus_message_iter_open_container(at, DBUS_TYPE_ARRAY, "(ssssssouso)", &rows);
    for (unsigned i = 0; i < unit_count; i++) {
        const char *text[6] = {units[i].name, empty, "loaded", "active", "running", empty};
        path_of(units[i].name, path, sizeof path);
        dbus_message_iter_open_container(&rows, DBUS_TYPE_STRUCT, NULL, &row);
        for (unsigned k = 0; k < 6; k++)
            dbus_message_iter_append_basic(&row, DBUS_TYPE_STRING, &text[k]);
        dbus_message_iter_append_basic(&row, DBUS_TYPE_OBJECT_PATH, &p);
        dbus_message_iter_append_basic(&row, DBUS_TYPE_UINT32, &none);
        dbus_message_iter_append_basic(&row, DBUS_TYPE_STRING, &empty);
        dbus_message_iter_append_basic(&row, DBUS_TYPE_OBJECT_PATH, &slash);
        dbus_message_iter_close_container(&rows, &row);
    }
    dbus_message_iter_close_container(at, &rows);
}

static void get_all(DBusMessage *m, DBusMessageIter *at)
{
    const char     *interface = "", *path = dbus_message_get_path(m);
    unsigned        id;
    DBusMessageIter array;

    dbus_message_get_args(m, NULL, DBUS_TYPE_STRING, &interface, DBUS_TYPE_INVALID);
    if (strcmp(interface, SYSTEMD ".Manager") == 0 || sscanf(path, "/org/freedesktop/systemd1/job/%u", &id) == 1) {
        dbus_message_iter_open_container(at, DBUS_TYPE_ARRAY, "{sv}", &array);
        if (strcmp(interface, SYSTEMD ".Manager") == 0) {
            static const char *const times[][2] = {
                {"FirmwareTimestampMonotonic", "9000000"},       {"LoaderTimestampMonotonic", "4000000"},
                {"InitRDTimestampMonotonic", "600000"},          {"UserspaceTimestampMonotonic", "1234567"},
                {"UnitsLoadStartTimestampMonotonic", "1300000"}, {"UnitsLoadFinishTimestampMonotonic", "1400000"},
                {"FinishTimestampMonotonic", "5000000"}};
            for (size_t i = 0; i < sizeof times / sizeof *times - unfinished; i++)
                append_pair(&array, times[i][0], times[i][1]);
        } else {
            for (unsigned i = 0; i < JOBS; i++)
                if (jobs[i].id == id)
                    append_pair(&array, "JobType", jobs[i].type);
        }
        dbus_message_iter_close_container(at, &array);
        return;
    }
    usleep(slow_ms * 1000);
    append_properties(at, unit_at(path), strcmp(interface, SYSTEMD ".Unit") != 0);
    asked += strcmp(interface, SYSTEMD ".Unit") == 0;
}

/* Unloads, after the answer, the unit that GetAll has loaded. */
static void loaded(DBusMessage *m)
{
    static const char at[] = "/org/freedesktop/systemd1/unit/";
    const char       *path = dbus_message_get_path(m);
    char              name[256];
    size_t            n = 0;
    if (strncmp(path, at, sizeof at - 1) != 0 || unit_at(path))
        return;
    for (const char *p = path + sizeof at - 1; *p && n < sizeof name - 1; n++) {
        unsigned byte = (unsigned char)*p;
        p += *p == '_' && sscanf(p + 1, "%2x", &byte) == 1 ? 3 : 1;
        name[n] = (char)byte;
    }
    name[n] = 0;
    pass(name);
}

static DBusHandlerResult on_message(DBusConnection *c, DBusMessage *m, void *ctx)
{
    (void)ctx;
    if (dbus_message_is_signal(m, DBUS_INTERFACE_LOCAL, "Disconnected")) {
        for (unsigned i = 0; i < CONNECTIONS; i++)
            if (connections[i] == c) {
                connections[i] = NULL;
                dbus_connection_unref(c);
            }
        return DBUS_HANDLER_RESULT_HANDLED;
    }
    if (dbus_message_get_type(m) != DBUS_MESSAGE_TYPE_METHOD_CALL || dbus_message_get_no_reply(m))
        return DBUS_HANDLER_RESULT_HANDLED;
    DBusMessageIter at;
    const char     *member = dbus_message_get_member(m);
    const bool      gets   = !refuses && strcmp(member, "GetAll") == 0;
    DBusMessage    *r      = refuses ? dbus_message_new_error(m, DBUS_ERROR_ACCESS_DENIED, "no")
                             : strcmp(member, "GetUnit") == 0 ? where(m)
                                                              : dbus_message_new_method_return(m);
    dbus_message_iter_init_append(r, &at);
    if (!refuses && strcmp(member, "ListUnits") == 0)
        list(&at);
    else if (gets)
        get_all(m, &at);
    dbus_connection_send(c, r, NULL);
    dbus_message_unref(r);
    if (gets)
        loaded(m);
    return DBUS_HANDLER_RESULT_HANDLED;
}

/* libdbus wants its descriptors watched: poll() does it. */
enum { WATCHES = 64 };
static DBusWatch  *watches[WATCHES];
static dbus_bool_t watch_add(DBusWatch *w, void *ctx)
{
    (void)ctx;
    for (unsigned i = 0; i < WATCHES; i++)
        if (!watches[i]) {
            watches[i] = w;
            return TRUE;
        }
    return FALSE;
}
static void watch_remove(DBusWatch *w, void *ctx)
{
    (void)ctx;
    for (unsigned i = 0; i < WATCHES; i++)
        if (watches[i] == w)
            watches[i] = NULL;
}

static void on_connection(DBusServer *server, DBusConnection *c, void *ctx)
{
    (void)server, (void)ctx;
    for (unsigned i = 0; i < CONNECTIONS; i++)
        if (!connections[i]) {
            connections[i] = dbus_connection_ref(c);
            dbus_connection_set_exit_on_disconnect(c, FALSE);
            dbus_connection_add_filter(c, on_message, NULL, NULL);
            dbus_connection_set_watch_functions(c, watch_add, watch_remove, NULL, NULL, NULL);
            return;
        }
}

/* ---- commands ---- */

static void die(void)
{
    for (unsigned i = 0; i < CONNECTIONS; i++)
        if (connections[i]) {
            dbus_connection_flush(connections[i]);
            dbus_connection_close(connections[i]);
            dbus_connection_unref(connections[i]);
            connections[i] = NULL;
        }
}

static struct fake_unit *setting;

static void command(char *line)
{
    char     word[32] = "", unit[256] = "", rest[256] = "", text[64];
    unsigned number = 0;

    if (setting) {
        if (*line) {
            set(setting, line);
            return;
        }
        changed(setting, true);
        changed(setting, false);
        setting = NULL;
    } else if (sscanf(line, "set %255s", unit) == 1) {
        setting = unit_get(unit);
        return;
    } else if (sscanf(line, "new %255s", unit) == 1) {
        unit_get(unit);
        manager_signal("UnitNew", 0, unit, NULL);
    } else if (strcmp(line, "finished") == 0) {
        unfinished = false;
        manager_signal("StartupFinished", 0, "any.target", NULL);
    } else if (strcmp(line, "unfinished") == 0) {
        unfinished = true;
    } else if (sscanf(line, "slow %u", &slow_ms) == 1) {
    } else if (sscanf(line, "gone %255s", unit) == 1) {
        struct fake_unit *u = unit_get(unit);
        *u                  = units[--unit_count];
        manager_signal("UnitRemoved", 0, unit, NULL);
    } else if (sscanf(line, "pass %255s", unit) == 1) {
        pass(unit);
    } else if (sscanf(line, "expect %u", &number) == 1 && asked > number) {
        printf("no: %u\n", asked);
        fflush(stdout);
        return;
    } else if (sscanf(line, "job %u %255s %31s", &number, unit, word) == 3) {
        jobs[number % JOBS].id = number;
        snprintf(jobs[number % JOBS].unit, sizeof jobs->unit, "%s", unit);
        snprintf(jobs[number % JOBS].type, sizeof jobs->type, "%s", word);
        manager_signal("JobNew", number, unit, NULL);
    } else if (sscanf(line, "run %u", &number) == 1) {
        job_changed(number);
    } else if (sscanf(line, "end %u %255s", &number, rest) == 2) {
        manager_signal("JobRemoved", number, jobs[number % JOBS].unit, rest);
    } else if (sscanf(line, "flood %u %255s", &number, unit) == 2) {
        for (unsigned i = 1; i <= number; i++) {
            snprintf(text, sizeof text, "InactiveExitTimestampMonotonic=%u", i);
            set(unit_get(unit), text);
            changed(unit_get(unit), false);
        }
    } else if (strcmp(line, "reload") == 0) {
        reload();
    } else if (strcmp(line, "refuse") == 0) {
        refuses = true;
    } else if (strcmp(line, "die") == 0) {
        die();
    } else if (strcmp(line, "quit") == 0) {
        exit(0);
    }
    puts("done");
    fflush(stdout);
}

static void turn(void)
{
    struct pollfd p[WATCHES + 1] = {{.fd = 0, .events = POLLIN}};
    DBusWatch    *of[WATCHES + 1];
    unsigned      n = 1;
    static char   text[1 << 16];
    static size_t size;

    for (unsigned i = 0; i < WATCHES; i++)
        if (watches[i] && dbus_watch_get_enabled(watches[i])) {
            of[n] = watches[i];
            p[n++] =
                (struct pollfd){.fd     = dbus_watch_get_unix_fd(watches[i]),
                                .events = dbus_watch_get_flags(watches[i]) & DBUS_WATCH_WRITABLE ? POLLOUT : POLLIN};
        }
    if (poll(p, n, -1) < 0)
        exit(1);
    for (unsigned i = 1; i < n; i++)
        for (unsigned k = 0; p[i].revents && k < WATCHES; k++)
            if (watches[k] == of[i]) /* not taken away meanwhile */
                dbus_watch_handle(of[i], (p[i].revents & POLLIN ? DBUS_WATCH_READABLE : 0u) |
                                             (p[i].revents & POLLOUT ? DBUS_WATCH_WRITABLE : 0u) |
                                             (p[i].revents & POLLHUP ? DBUS_WATCH_HANGUP : 0u) |
                                             (p[i].revents & POLLERR ? DBUS_WATCH_ERROR : 0u));
    for (unsigned i = 0; i < CONNECTIONS; i++)
        if (connections[i]) {
            DBusConnection *c = dbus_connection_ref(connections[i]);
            while (dbus_connection_dispatch(c) == DBUS_DISPATCH_DATA_REMAINS)
                ;
            dbus_connection_unref(c);
        }
    if (!p[0].revents)
        return;
    ssize_t got = read(0, text + size, sizeof text - 1 - size);
    if (got <= 0)
        exit(0);
    text[size += (size_t)got] = 0;
    for (char *line                                                                                        = text, *end;
         (end = strchr(line, '\n')) || (size = strlen(memmove(text, line, strlen(line) + 1)), false); line = end + 1) {
        *end = 0;
        command(line);
    }
}

int main(int argc, char **argv)
{
    DBusError error = DBUS_ERROR_INIT;
    char      address[300];
    if (argc < 2)
        return 100;
    if (argc > 2)
        record_read(argv[2]);
    snprintf(address, sizeof address, "unix:path=%s", argv[1]);
    DBusServer *server = dbus_server_listen(address, &error);
    if (!server) {
        fprintf(stderr, "%s\n", error.message);
        return 111;
    }
    dbus_server_set_new_connection_function(server, on_connection, NULL, NULL);
    dbus_server_set_watch_functions(server, watch_add, watch_remove, NULL, NULL, NULL);
    puts("listening");
    fflush(stdout);
    for (;;)
        turn();
}
