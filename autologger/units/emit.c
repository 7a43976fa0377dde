#include "autologger/units/emit.h"

#include "autologger/include/TraceLoggingProvider.h"
#include "autologger/provider/event_told.h"
#include "autologger/provider/process.h"
#include "autologger/units/times.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROVIDER_NAME "systemd-Units"
enum { INFORMATION = 4, ERROR = 2 };

static const struct {
    UINT16 size;
    char   name[sizeof PROVIDER_NAME];
} emit_metadata = {2 + sizeof PROVIDER_NAME, PROVIDER_NAME};

struct provider {
    struct _tlgProvider_t tlg;
    struct emitter       *emitter;
    unsigned              sessions; /* number of sessions that enable it, at the last callback */
};
struct units_emit_row {
    struct emit_row row;
    char           *patterns;
    unsigned        provider;
};
struct emitter {
    struct units_emit_row *rows;
    struct provider       *providers;
    unsigned               row_count, provider_count;
    void (*asked)(void *ctx);
    void        *ctx;
    struct times times;
    /* of the event being written */
    const struct provider *at;
    const char            *unit; /* NULL: of no unit, for every session */
    uint64_t               time; /* us, CLOCK_MONOTONIC; 0: now */
    uint64_t               moment;
    bool                   impatient; /* the last one waited in vain */
};

/* ---- writing ---- */

static uint64_t emit_time_for(void *ctx, uint32_t clock_kind)
{
    struct emitter *e = ctx;
    return times_on(&e->times, e->time, clock_kind);
}

/* True if the session wants this unit. A session without a row enabled the GUID by itself, and gets all units. */
static bool session_wants(void *ctx, uint32_t session)
{
    const struct emitter *e     = ctx;
    bool                  known = false;

    for (unsigned i = 0; i < e->row_count; i++) {
        const struct units_emit_row *r = &e->rows[i];
        if (&e->providers[r->provider] != e->at || (r->row.session >= 0 && (uint32_t)r->row.session != session))
            continue;
        if (!e->unit || unit_matches(r->patterns, e->unit))
            return true;
        known = true;
    }
    return !known;
}

/* Replaces EventWriteTransfer in the expansion of TraceLoggingWrite. */
static void emit_write_event(struct emitter *e, REGHANDLE handle, PCEVENT_DESCRIPTOR d, ULONG n,
                             const EVENT_DATA_DESCRIPTOR *data)
{
    const struct event_told told = {.ctx = e, .time = emit_time_for, .wants = session_wants};
    event_told_send(handle, d, n, data, &told, EMIT_PATIENCE_MS, &e->impatient);
}
#define EventWriteTransfer(handle, d, activity, related, n, data) emit_write_event(e, handle, d, n, data)

#define TEXT(value, name) TraceLoggingUtf8String((value) ? (value) : "", name)
/* Writes the event for each provider. Uses the caller's `e`. */
#define EMIT(name_, level_, keyword_, ...) \
    for (e->at = e->providers; e->at < e->providers + e->provider_count; e->at++) \
    TraceLoggingWrite(&e->at->tlg, name_, TraceLoggingLevel(level_), TraceLoggingKeyword(keyword_), __VA_ARGS__)

static void emit_about(struct emitter *e, const char *unit, uint64_t time)
{
    e->unit = unit;
    e->time = time ? time : e->moment;
    times_sync(&e->times);
}

#define STATE_FIELDS(u, time_) \
    TEXT((u)->name, "Unit"), TEXT((u)->active, "ActiveState"), TEXT((u)->sub, "SubState"), \
        TEXT((u)->result, "Result"), TraceLoggingUInt64(time_, "MonotonicUs"), \
        TraceLoggingUtf8String((u)->invocation, "InvocationId")

void emit_moment(struct emitter *e, uint64_t us) { e->moment = us; }

void emit_step(struct emitter *e, const struct unit_event *event)
{
    const struct unit *u = event->unit;
    const uint64_t     wait =
        event->step == UNIT_ACTIVATING && u->queued && u->queued <= event->time ? event->time - u->queued : 0;

    emit_about(e, u->name, event->time);
    switch (event->step) {
    case UNIT_ACTIVATING:
        EMIT("UnitActivating", INFORMATION, EMIT_STATE, STATE_FIELDS(u, event->time),
             TraceLoggingUInt64(wait, "JobWaitUs"));
        break;
    case UNIT_ACTIVE: EMIT("UnitActive", INFORMATION, EMIT_STATE, STATE_FIELDS(u, event->time)); break;
    case UNIT_DEACTIVATING: EMIT("UnitDeactivating", INFORMATION, EMIT_STATE, STATE_FIELDS(u, event->time)); break;
    case UNIT_INACTIVE:
        if (event->failed)
            EMIT("UnitFailed", ERROR, EMIT_STATE, STATE_FIELDS(u, event->time));
        else
            EMIT("UnitInactive", INFORMATION, EMIT_STATE, STATE_FIELDS(u, event->time));
        break;
    case UNIT_PROCESS_START:
        EMIT("UnitMainProcessStart", INFORMATION, EMIT_PROCESS, TEXT(u->name, "Unit"),
             TraceLoggingPid(u->exec_pid, "ProcessId"), TraceLoggingUInt64(event->time, "MonotonicUs"),
             TEXT(u->cgroup, "ControlGroup"));
        break;
    case UNIT_PROCESS_EXIT:
        EMIT("UnitMainProcessExit", INFORMATION, EMIT_PROCESS, TEXT(u->name, "Unit"),
             TraceLoggingPid(u->exec_pid, "ProcessId"), TraceLoggingInt32(u->exec_code, "Code"),
             TraceLoggingInt32(u->exec_status, "ExitStatus"), TraceLoggingUInt64(event->time, "MonotonicUs"));
        break;
    case UNIT_STEPS: break;
    }
}

void emit_cgroup(struct emitter *e, const struct unit *u, const char *path, uint64_t id)
{
    emit_about(e, u->name, 0);
    EMIT("UnitCgroup", INFORMATION, EMIT_CGROUP, TEXT(u->name, "Unit"), TraceLoggingUInt64(id, "CgroupId"),
         TEXT(path, "ControlGroup"));
}

void emit_job(struct emitter *e, const struct unit_job *j, const char *result, uint64_t us)
{
    const uint64_t wait = j->running && j->queued ? j->running - j->queued : 0;

#define JOB_FIELDS \
    TEXT(j->unit, "Unit"), TraceLoggingUInt32(j->id, "JobId"), TEXT(j->type, "JobType"), \
        TraceLoggingUInt64(j->queued, "QueuedUs"), TraceLoggingUInt64(j->running, "RunningUs"), \
        TraceLoggingUInt64(wait, "JobWaitUs")
    emit_about(e, j->unit, us);
    if (result)
        EMIT("UnitJobEnd", INFORMATION, EMIT_JOB, JOB_FIELDS, TEXT(result, "Result"));
    else if (j->running)
        EMIT("UnitJobRunning", INFORMATION, EMIT_JOB, JOB_FIELDS);
    else
        EMIT("UnitJobQueued", INFORMATION, EMIT_JOB, JOB_FIELDS);
}

void emit_waiting(struct emitter *e, const char *unit, uint64_t since_us, uint32_t pid, const struct waiting *w)
{
    emit_about(e, unit, 0);
    EMIT("UnitWaiting", INFORMATION, EMIT_WAITING, TEXT(unit, "Unit"), TraceLoggingUInt64(since_us, "SinceUs"),
         TraceLoggingPid(pid, "ProcessId"), TEXT(w->name, "Name"), TEXT(waiting_word(w->kind), "Kind"),
         TEXT(w->object, "Object"), TraceLoggingUInt8(w->guessed, "Guessed"),
         TraceLoggingPid(w->holder, "HolderProcessId"), TEXT(w->call, "Call"), TEXT(w->function, "Function"));
}

void emit_marks(struct emitter *e, const uint64_t m[BUS_MARKS])
{
    emit_about(e, NULL, 0);
    EMIT("ManagerTimes", INFORMATION, EMIT_BOOT, TraceLoggingUInt64(m[BUS_FIRMWARE], "FirmwareUs"),
         TraceLoggingUInt64(m[BUS_LOADER], "LoaderUs"), TraceLoggingUInt64(m[BUS_INITRD], "InitRDMonotonicUs"),
         TraceLoggingUInt64(m[BUS_USERSPACE], "UserspaceMonotonicUs"),
         TraceLoggingUInt64(m[BUS_LOAD_START], "UnitsLoadStartMonotonicUs"),
         TraceLoggingUInt64(m[BUS_LOAD_FINISH], "UnitsLoadFinishMonotonicUs"),
         TraceLoggingUInt64(m[BUS_FINISH], "FinishMonotonicUs"));
}

void emit_rundown(struct emitter *e, const struct unit *u, uint64_t cgroup_id)
{
    emit_about(e, u->name, 0);
    EMIT("UnitRundown", INFORMATION, EMIT_RUNDOWN, TEXT(u->name, "Unit"), TEXT(u->active, "ActiveState"),
         TEXT(u->sub, "SubState"), TEXT(u->result, "Result"),
         TraceLoggingUInt64(u->time[UNIT_ACTIVATING], "InactiveExitMonotonicUs"),
         TraceLoggingUInt64(u->time[UNIT_ACTIVE], "ActiveEnterMonotonicUs"),
         TraceLoggingUInt64(u->time[UNIT_DEACTIVATING], "ActiveExitMonotonicUs"),
         TraceLoggingUInt64(u->time[UNIT_INACTIVE], "InactiveEnterMonotonicUs"),
         TraceLoggingPid(u->main_pid, "MainProcessId"), TraceLoggingUInt64(cgroup_id, "CgroupId"),
         TEXT(u->cgroup, "ControlGroup"), TraceLoggingUtf8String(u->invocation, "InvocationId"),
         TEXT(u->after, "After"));
}

/* ---- providers ---- */

static void NTAPI emit_on_enable(LPCGUID source, ULONG code, UCHAR level, ULONGLONG any, ULONGLONG all,
                                 PEVENT_FILTER_DESCRIPTOR filter, PVOID ctx)
{
    struct provider *p        = ctx;
    const unsigned   sessions = registration_sessions(p->tlg.RegHandle);
    (void)source, (void)level, (void)any, (void)all, (void)filter;
    /* "enabled" also comes when one of several sessions has ended: the others have their rundown */
    if (code != EVENT_CONTROL_CODE_DISABLE_PROVIDER &&
        (code != EVENT_CONTROL_CODE_ENABLE_PROVIDER || sessions >= p->sessions))
        p->emitter->asked(p->emitter->ctx);
    p->sessions = sessions;
}

static unsigned emit_provider_of(struct emitter *e, const struct guid *guid)
{
    unsigned i = 0;
    while (i < e->provider_count && memcmp(&e->providers[i].tlg.ProviderId, guid, sizeof *guid) != 0)
        i++;
    if (i == e->provider_count) {
        struct provider *p = &e->providers[e->provider_count++];
        p->emitter         = e;
        memcpy(&p->tlg.ProviderId, guid, sizeof *guid);
        p->tlg.ProviderMetadataPtr = &emit_metadata.size;
    }
    return i;
}

wstatus emit_create(const struct emit_row *rows, unsigned count, void (*asked)(void *ctx), void *ctx,
                    struct emitter **out, struct reason *why)
{
    struct emitter *e = calloc(1, sizeof *e);
    if (e)
        e->rows = calloc(count, sizeof *e->rows), e->providers = calloc(count, sizeof *e->providers);
    if (!e || !e->rows || !e->providers) {
        emit_destroy(e);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for %u providers", count);
    }
    e->asked = asked;
    e->ctx   = ctx;
    times_init(&e->times);
    for (unsigned i = 0; i < count; i++) {
        e->rows[i] = (struct units_emit_row){rows[i], rows[i].patterns ? strdup(rows[i].patterns) : NULL,
                                             emit_provider_of(e, &rows[i].guid)};
        e->row_count++;
    }
    *out = e;
    for (unsigned i = 0; i < e->provider_count; i++) {
        ULONG status = _tlgRegister(&e->providers[i].tlg, emit_on_enable, &e->providers[i]);
        if (status)
            return reason_set(why, status, "the provider could not be registered");
    }
    return W_SUCCESS;
}

bool emit_wanted(const struct emitter *e)
{
    for (unsigned i = 0; i < e->provider_count; i++)
        if (__atomic_load_n(&e->providers[i].tlg.LevelPlus1, __ATOMIC_RELAXED))
            return true;
    return false;
}

void emit_destroy(struct emitter *e)
{
    if (!e)
        return;
    for (unsigned i = 0; i < e->provider_count; i++)
        _tlgUnregister(&e->providers[i].tlg);
    for (unsigned i = 0; i < e->row_count; i++)
        free(e->rows[i].patterns);
    free(e->rows);
    free(e->providers);
    free(e);
}
