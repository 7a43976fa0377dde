/* bus.h - listens to systemd over D-Bus: all units with their times, then every change. The results go to a sink.
 * It speaks to process 1 directly (/run/systemd/private), so no message bus need run.
 * Until systemd has finished the boot, for two minutes at most, it asks for one unit at a time, with a pause of 30
 * times the answer's time: a boot waits for process 1.
 * Threads: one. Blocks only in bus_open, and in bus_step as long as its caller says. Ownership: open/close. Not for:
 * the meaning of the times (unit.h). Only bus*.c use libdbus. */
#ifndef AUTOLOGGER_UNITS_BUS_H
#define AUTOLOGGER_UNITS_BUS_H
#include "autologger/units/unit.h"
#include "registry-sim/win32/wstatus.h"

#define BUS_SYSTEMD "unix:path=/run/systemd/private"

struct unit_job {
    uint32_t id;
    char    *unit, *type;     /* "start", "stop" ...; type NULL: not known, or not yet */
    uint64_t queued, running; /* us of CLOCK_MONOTONIC at which the message came; 0: none came */
    bool     asked, untold;   /* its type was asked for; it runs, and the report waits for the type */
};
/* The manager's times, in us of CLOCK_MONOTONIC (the first two: before the kernel began, us); 0 = unknown. */
enum bus_mark {
    BUS_FIRMWARE,
    BUS_LOADER,
    BUS_INITRD,
    BUS_USERSPACE,
    BUS_LOAD_START,
    BUS_LOAD_FINISH,
    BUS_FINISH,
    BUS_MARKS
};

struct bus_sink {
    void *ctx;
    /* A unit's current state; borrowed. Before `listed` for every unit once, then after each change. */
    void (*unit)(void *ctx, const struct unit *u);
    /* The unit is starting, by the first list; its other properties come later with `unit`. May be NULL. */
    void (*starts)(void *ctx, const char *name);
    /* Every unit has been reported once. */
    void (*listed)(void *ctx, const uint64_t marks[BUS_MARKS]);
    void (*gone)(void *ctx, const char *name);
    /* `result` NULL: the job was queued (running 0) or began to run; else its end: "done", "failed" ... */
    void (*job)(void *ctx, const struct unit_job *job, const char *result);
    /* After `listed`: systemd has reported the end of the boot, so its marks are complete. May be NULL. */
    void (*finished)(void *ctx, const uint64_t marks[BUS_MARKS]);
};
struct bus;

/* Connects and asks for everything; answers come with bus_step. `boots`: asks gently, one unit at a time as above.
 * W_ACCESS_DENIED, W_FILE_NOT_FOUND, W_TIMEOUT ... with the reason. */
wstatus bus_open(const char *address, const struct bus_sink *sink, bool boots, struct bus **out, struct reason *why);
int     bus_fd(const struct bus *b); /* readable: bus_step has something to do */
/* Takes the received messages. Not 0: the connection has ended, or its answers make no sense. */
wstatus bus_step(struct bus *b, struct reason *why);
/* Calls `unit` for each known unit. */
void bus_each(const struct bus *b, void (*unit)(void *ctx, const struct unit *u), void *ctx);
/* True: received messages are left that bus_step has not taken; call it again without waiting. */
bool bus_waits(const struct bus *b);
/* How long the caller may wait for a message before it calls bus_step, ms; -1: no limit. */
int      bus_wait_ms(const struct bus *b);
unsigned bus_answers(const struct bus *b); /* answers so far */
void     bus_close(struct bus *b);         /* NULL is fine */
#endif
