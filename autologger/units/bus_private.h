/* bus_private.h - what the files of bus.h share: bus.c asks and has the connection, bus_units.c knows units and their
 * paths, bus_answers.c reads answers. No other file includes it.
 * Threads: one per bus. */
#ifndef AUTOLOGGER_UNITS_BUS_PRIVATE_H
#define AUTOLOGGER_UNITS_BUS_PRIVATE_H
#include "autologger/units/bus.h"

#include <dbus/dbus.h>

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

uint64_t bus_now_us(void); /* of CLOCK_MONOTONIC */

/* ---- units: bus_units.c ---- */

struct known_unit *bus_unit_find(const struct bus *b, const char *name);
/* Puts the unit into the queue of units to be read. */
void bus_unit_want(struct bus *b, const char *name);
/* The same for a unit that is loaded, by systemd's word. */
void bus_unit_want_loaded(struct bus *b, const char *name);
void bus_unit_drop(struct bus *b, const char *name);
/* UnitNew, UnitRemoved, Reloading. */
void bus_unit_comes(struct bus *b, const char *name);
void bus_unit_goes(struct bus *b, const char *name);
void bus_reload_marks(struct bus *b, bool begins);
/* Reports a unit whose properties are known. */
void bus_unit_tell(struct bus *b, struct known_unit *k);
/* ".../unit/a_2eservice": every byte other than a letter or digit is _XX. */
bool bus_path_name(const char *path, char out[NAME_ROOM]);
void bus_name_path(const char *name, char *out, size_t size);
/* The interface with the properties of this kind of unit; NULL: none of them is wanted. */
const char *bus_kind_interface(const char *name);

/* ---- questions: bus.c ---- */

bool bus_about_units(enum request_kind kind);
bool bus_units_asked(const struct bus *b);

/* ---- answers: bus_answers.c ---- */

typedef void (*property_fn)(struct bus *b, void *to, const char *name, DBusMessageIter *value);
/* Calls `take` for each entry of the a{sv} at `at`. */
void bus_properties(struct bus *b, DBusMessageIter *at, property_fn take, void *to);
/* Takers: of a struct unit, and of the job with the number *to. */
void             bus_take_unit(struct bus *b, void *to, const char *name, DBusMessageIter *value);
void             bus_take_job(struct bus *b, void *to, const char *name, DBusMessageIter *value);
struct unit_job *bus_job_find(struct bus *b, uint32_t id);
void             bus_job_tell_running(struct bus *b, struct unit_job *j);
wstatus          bus_on_answer(struct bus *b, DBusMessage *m, struct reason *why);
#endif
