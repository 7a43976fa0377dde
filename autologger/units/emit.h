/* emit.h - units as events: the providers and their events, with the times at which they happened. A provider is a GUID
 * that sessions enable: that of Windows' Service Control Manager, or of a declaration with Unit=. Its events describe
 * themselves (TraceLogging), level and keywords as below; an event that no enablement wants is not written. An event
 * that finds no room waits for it (EMIT_PATIENCE_MS in a row), then it is lost and counted by its session.
 * Threads: one; `asked` is called from any. Ownership: create/destroy. Not for: asking systemd (bus.h). */
#ifndef AUTOLOGGER_UNITS_EMIT_H
#define AUTOLOGGER_UNITS_EMIT_H
#include "autologger/units/bus.h"
#include "autologger/units/waiting.h"
#include "registry-sim/win32/guid.h"

enum { EMIT_PATIENCE_MS = 10000 };
enum emit_keyword {
    EMIT_STATE   = 0x1,
    EMIT_PROCESS = 0x2,
    EMIT_JOB     = 0x4,
    EMIT_CGROUP  = 0x8,
    EMIT_BOOT    = 0x10,
    EMIT_RUNDOWN = 0x20,
    EMIT_WAITING = 0x40
};

/* One declared provider. */
struct emit_row {
    struct guid guid;
    int         session;  /* its index; -1: every session that enables the GUID */
    const char *patterns; /* unit_matches; NULL or "": all units */
};
struct emitter;

/* Registers the GUIDs. `asked` is called, on another thread, whenever a session enables one of them or wants its
 * state. */
wstatus emit_create(const struct emit_row *rows, unsigned count, void (*asked)(void *ctx), void *ctx,
                    struct emitter **out, struct reason *why);
bool    emit_wanted(const struct emitter *e); /* a session has one of the GUIDs enabled */
void    emit_step(struct emitter *e, const struct unit_event *event);
void    emit_cgroup(struct emitter *e, const struct unit *u, const char *path, uint64_t id);
/* `result` NULL: the job was queued, or runs. `us`: when the message came. */
void emit_job(struct emitter *e, const struct unit_job *job, const char *result, uint64_t us);
/* A process waits now, of a unit that has been starting since `since_us`. */
void emit_waiting(struct emitter *e, const char *unit, uint64_t since_us, uint32_t pid, const struct waiting *w);
void emit_marks(struct emitter *e, const uint64_t marks[BUS_MARKS]);
void emit_rundown(struct emitter *e, const struct unit *u, uint64_t cgroup_id);
/* Events without a time get this one from now on (us, CLOCK_MONOTONIC); 0: the current time again. A long series about
 * one moment so has one time, and events that happen meanwhile are younger. */
void emit_moment(struct emitter *e, uint64_t us);
void emit_destroy(struct emitter *e); /* NULL is fine */
#endif
