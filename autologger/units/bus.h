/* bus.h - listens to systemd over D-Bus: all units with their times, then every change. What it learns goes to a sink.
 * It speaks to process 1 directly (/run/systemd/private), so no message bus need run.
 * While systemd has not finished the boot, for two minutes at most, each unit is asked for by itself, with a pause of
 * 30 times its answer's time: a boot waits for process 1.
 * Threads: one. Blocks only in bus_open, and in bus_step as long as its caller says. Ownership: open/close. Not for:
 * what the times mean (unit.h). The only file that sees libdbus is bus.c. */
#ifndef AUTOLOGGER_UNITS_BUS_H
#define AUTOLOGGER_UNITS_BUS_H
#include "autologger/units/unit.h"
#include "registry-sim/win32/wstatus.h"

#define BUS_SYSTEMD "unix:path=/run/systemd/private"

struct unit_job {
    uint32_t id;
    char    *unit, *type;     /* "start", "stop" ...; type NULL: not told, or not yet */
    uint64_t queued, running; /* us of CLOCK_MONOTONIC when we heard of it; 0: not heard */
    bool     asked, untold;   /* its type was asked for; it runs, which waits for that */
};
/* When the manager did what, in us of CLOCK_MONOTONIC (the first two: before the kernel began, us); 0 = not told. */
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
    /* A unit as it is now; borrowed. Before `listed` for every unit once, then whenever it changed. */
    void (*unit)(void *ctx, const struct unit *u);
    /* It is being started, by the first list; all else of it comes with `unit`, some time later. May be NULL. */
    void (*starts)(void *ctx, const char *name);
    /* All units have been told once. */
    void (*listed)(void *ctx, const uint64_t marks[BUS_MARKS]);
    void (*gone)(void *ctx, const char *name);
    /* `result` NULL: it was made (running 0) or began to run; else its end: "done", "failed" ... */
    void (*job)(void *ctx, const struct unit_job *job, const char *result);
    /* After `listed`: the boot is finished by systemd's word, so its marks are complete. May be NULL. */
    void (*finished)(void *ctx, const uint64_t marks[BUS_MARKS]);
};
struct bus;

/* Connects and asks for everything; answers come with bus_step. `boots`: gently, as said above. W_ACCESS_DENIED,
 * W_FILE_NOT_FOUND, W_TIMEOUT ... with the reason. */
wstatus bus_open(const char *address, const struct bus_sink *sink, bool boots, struct bus **out, struct reason *why);
int     bus_fd(const struct bus *b); /* readable: bus_step has something to do */
/* Takes what is there. Not 0: the connection is over, or its answers make no sense. */
wstatus bus_step(struct bus *b, struct reason *why);
/* Calls the sink's `unit` for each unit that is known. */
void bus_each(const struct bus *b, void (*unit)(void *ctx, const struct unit *u), void *ctx);
/* There are messages that bus_step has not taken yet, though nothing comes any more: call it again without waiting. */
bool bus_waits(const struct bus *b);
/* How long bus_step may be left alone while nothing comes, ms; -1: for ever. */
int      bus_wait_ms(const struct bus *b);
unsigned bus_answers(const struct bus *b); /* answers so far */
void     bus_close(struct bus *b);         /* NULL is fine */
#endif
