/* process_trace.c - OpenTrace, ProcessTrace, CloseTrace over files (etl/reader) and one real-time session (live). See
 * evntrace.h.
 * Invariants: a handle is a place in process_trace_table and the generation of that place, so a closed handle is never
 * another trace's. A trace that ProcessTrace uses is freed by ProcessTrace; CloseTrace only marks it.
 * Threads: process_trace_lock guards the table, `used` and `closing`; the rest of a trace belongs to the thread that
 * set `used`. */
#include "autologger/consumer/live.h"
#include "autologger/consumer/record_view.h"
#include "autologger/consumer/tdh_state.h"
#include "autologger/consumer/wide_text.h"
#include "registry-sim/win32/filetime.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { TRACES = 1024, HANDLES_MAX = 64, GENERATION_SHIFT = 16 };

struct process_trace_trace {
    EVENT_TRACE_LOGFILEW logfile; /* as it was given; the A form has the same layout */
    char                *session; /* NULL: a file */
    char                *path;    /* NULL: a session */
    struct live         *live;    /* NULL: the session did not run yet */
    struct etl_reader   *reader;
    struct etl_event     event; /* of a file: the next one */
    bool                 has_event, used;
    atomic_bool          closing;
    uint64_t             generation;
    int64_t             *sequence; /* by CPU: of the buffer being delivered, for the buffer callback */
};
_Static_assert(sizeof(EVENT_TRACE_LOGFILEW) == sizeof(EVENT_TRACE_LOGFILEA), "one layout");

static pthread_mutex_t             process_trace_lock = PTHREAD_MUTEX_INITIALIZER;
static struct process_trace_trace *process_trace_table[TRACES];
static uint64_t                    generations;
static _Thread_local DWORD         process_trace_last_error;

DWORD GetLastError(VOID) { return process_trace_last_error; }
VOID  SetLastError(DWORD error) { process_trace_last_error = error; }

static void trace_free(struct process_trace_trace *t, bool done)
{
    if (!t)
        return;
    live_close(t->live, done);
    if (t->session)
        t->reader = NULL; /* the window's, owned by live */
    etl_reader_close(t->reader);
    free(t->sequence);
    free(t->session);
    free(t->path);
    free(t);
}

/* ---- handles ---- */

static TRACEHANDLE process_trace_handle_of(unsigned place, const struct process_trace_trace *t)
{
    return t->generation << GENERATION_SHIFT | place;
}

/* Under lock. */
static struct process_trace_trace *process_trace_find(TRACEHANDLE handle)
{
    struct process_trace_trace *t = process_trace_table[handle % TRACES];
    return t && (handle & ((1u << GENERATION_SHIFT) - 1)) < TRACES && t->generation == handle >> GENERATION_SHIFT
               ? t
               : NULL;
}

static TRACEHANDLE process_trace_enter(struct process_trace_trace *t)
{
    TRACEHANDLE handle = INVALID_PROCESSTRACE_HANDLE;
    pthread_mutex_lock(&process_trace_lock);
    for (unsigned i = 0; i < TRACES && handle == INVALID_PROCESSTRACE_HANDLE; i++)
        if (!process_trace_table[i]) {
            process_trace_table[i] = t;
            t->generation          = ++generations;
            handle                 = process_trace_handle_of(i, t);
        }
    pthread_mutex_unlock(&process_trace_lock);
    if (handle == INVALID_PROCESSTRACE_HANDLE)
        process_trace_last_error = W_NO_SYSTEM_RESOURCES;
    return handle;
}

/* ---- OpenTrace ---- */

static wstatus process_trace_file_open(struct process_trace_trace *t, const char *path)
{
    struct reason why;
    wstatus       st = etl_reader_open(path, &t->reader, &why);
    if (st)
        return st;
    const struct etl_file_header *h = etl_reader_header(t->reader);
    t->path                         = strdup(path);
    t->sequence                     = malloc((h->highest_cpu + 1u) * sizeof *t->sequence);
    if (!t->sequence || !t->path)
        return W_NOT_ENOUGH_MEMORY;
    for (unsigned i = 0; i <= h->highest_cpu; i++)
        t->sequence[i] = -1;
    record_view_header(h, &t->logfile.LogfileHeader);
    t->logfile.BufferSize    = h->raw.buffer_size;
    t->logfile.EventsLost    = h->raw.events_lost;
    t->has_event             = etl_next(t->reader, &t->event);
    t->logfile.IsKernelTrace = t->has_event && t->event.kind == ETL_KIND_SYSTEM;
    return W_SUCCESS;
}

static TRACEHANDLE open_named(const EVENT_TRACE_LOGFILEW *given, const char *file, const char *session,
                              EVENT_TRACE_LOGFILEW *out)
{
    struct reason               why;
    struct process_trace_trace *t  = calloc(1, sizeof *t);
    wstatus                     st = t ? W_SUCCESS : W_NOT_ENOUGH_MEMORY;

    if (!st) {
        t->logfile = *given;
        if (session && !(t->session = strdup(session)))
            st = W_NOT_ENOUGH_MEMORY;
        else if (session && (st = live_open(NULL, session, &t->live, &why)) == W_WMI_INSTANCE_NOT_FOUND)
            st = W_SUCCESS; /* ProcessTrace tries again */
        else if (!session)
            st = process_trace_file_open(t, file);
    }
    TRACEHANDLE handle = INVALID_PROCESSTRACE_HANDLE;
    if (st)
        process_trace_last_error = st;
    else if ((handle = process_trace_enter(t)) != INVALID_PROCESSTRACE_HANDLE) {
        out->LogfileHeader = t->logfile.LogfileHeader;
        out->BufferSize    = t->logfile.BufferSize;
        out->EventsLost    = t->logfile.EventsLost;
        out->IsKernelTrace = t->logfile.IsKernelTrace;
        return handle;
    }
    trace_free(t, false);
    return handle;
}

/* All checks before a name is looked at; 0, or an error. */
static DWORD logfile_check(const EVENT_TRACE_LOGFILEW *l)
{
    bool live = l && l->ProcessTraceMode & PROCESS_TRACE_MODE_REAL_TIME;
    if (!l)
        return ERROR_INVALID_PARAMETER;
    if (live ? !l->LoggerName || l->LogFileName : !l->LogFileName)
        return ERROR_BAD_PATHNAME;
    return 0;
}

TRACEHANDLE OpenTraceA(PEVENT_TRACE_LOGFILEA l)
{
    EVENT_TRACE_LOGFILEW *w = (void *)l;
    if ((process_trace_last_error = logfile_check(w)))
        return INVALID_PROCESSTRACE_HANDLE;
    bool live = l->ProcessTraceMode & PROCESS_TRACE_MODE_REAL_TIME;
    return open_named(w, live ? NULL : l->LogFileName, live ? l->LoggerName : NULL, w);
}

TRACEHANDLE OpenTraceW(PEVENT_TRACE_LOGFILEW l)
{
    if ((process_trace_last_error = logfile_check(l)))
        return INVALID_PROCESSTRACE_HANDLE;
    bool  live = l->ProcessTraceMode & PROCESS_TRACE_MODE_REAL_TIME;
    char *name = utf8_of_wide(live ? l->LoggerName : l->LogFileName, SIZE_MAX);
    if (!name) {
        process_trace_last_error = ERROR_NOT_ENOUGH_MEMORY;
        return INVALID_PROCESSTRACE_HANDLE;
    }
    TRACEHANDLE handle = open_named(l, live ? NULL : name, live ? name : NULL, l);
    free(name);
    return handle;
}

/* ---- ProcessTrace ---- */

/* Delivers one event to its trace's callback: EventRecordCallback where the mode says so, else EventCallback, which is
 * in the same place. */
static void process_trace_give(struct process_trace_trace *t, const struct etl_event *e)
{
    struct record_view view;
    const bool         raw = t->logfile.ProcessTraceMode & PROCESS_TRACE_MODE_RAW_TIMESTAMP;
    tdh_sees(e);
    t->logfile.CurrentTime = (int64_t)e->filetime;
    if (t->logfile.ProcessTraceMode & PROCESS_TRACE_MODE_EVENT_RECORD) {
        if (!t->logfile.EventRecordCallback)
            return;
        record_view_set(&view, e, raw, t->logfile.Context);
        t->logfile.EventRecordCallback(&view.record);
    } else {
        record_view_classic(&t->logfile.CurrentEvent, e, raw);
        if (t->logfile.EventCallback)
            t->logfile.EventCallback(&t->logfile.CurrentEvent);
    }
}

/* False: the callback wants no more. */
static bool buffer_told(struct process_trace_trace *t, unsigned buffers)
{
    t->logfile.BuffersRead += buffers;
    return !t->logfile.BufferCallback || t->logfile.BufferCallback(&t->logfile);
}

/* Calls back once for each buffer of a delivered window. False: the callback wants no more. */
static bool window_told(struct process_trace_trace *t)
{
    const unsigned buffers = live_window(t->live);
    for (unsigned i = 0; i < buffers; i++) {
        t->logfile.Filled = live_filled(t->live, i);
        if (!buffer_told(t, 1))
            return false;
    }
    t->logfile.Filled = 0;
    return buffers || buffer_told(t, 0); /* losses alone */
}

static wstatus process_live(struct process_trace_trace *t)
{
    struct reason why;
    wstatus       st = W_SUCCESS;

    if (!t->live) {
        struct live *l = NULL;
        if ((st = live_open(NULL, t->session, &l, &why)))
            return st;
        pthread_mutex_lock(&process_trace_lock); /* CloseTrace stops it from another thread */
        t->live = l;
        pthread_mutex_unlock(&process_trace_lock);
    }
    while (!atomic_load(&t->closing) && !(st = live_next(t->live, &t->reader, &why)) && t->reader) {
        struct etl_event e;
        record_view_header(etl_reader_header(t->reader), &t->logfile.LogfileHeader);
        t->logfile.BufferSize = t->logfile.LogfileHeader.BufferSize;
        t->logfile.EventsLost = (ULONG)live_losses(t->live).events;
        while (etl_next(t->reader, &e)) /* a window is delivered whole, so that it can be acknowledged */
            process_trace_give(t, &e);
        if (!window_told(t))
            return W_CANCELLED;
    }
    return st == W_CANCELLED ? W_SUCCESS : st; /* CloseTrace */
}

static uint64_t process_trace_when(const struct process_trace_trace *t) { return etl_event_turn(t->reader, &t->event); }

/* The trace whose next event is the oldest. */
static struct process_trace_trace *process_trace_oldest(struct process_trace_trace **traces, unsigned count)
{
    struct process_trace_trace *best = NULL;
    for (unsigned i = 0; i < count; i++)
        if (traces[i]->has_event && !atomic_load(&traces[i]->closing) &&
            (!best || process_trace_when(traces[i]) < process_trace_when(best)))
            best = traces[i];
    return best;
}

/* True: the event of `t` is in another buffer of its CPU than the one before, which was delivered whole. */
static bool buffer_changes(struct process_trace_trace *t)
{
    int64_t *at = &t->sequence[t->event.cpu], before = *at;
    *at = t->event.buffer_sequence;
    return before >= 0 && before != *at;
}

/* The last buffer of each CPU. */
static bool buffers_end(struct process_trace_trace *t)
{
    for (unsigned i = 0; i <= etl_reader_header(t->reader)->highest_cpu; i++)
        if (t->sequence[i] >= 0) {
            t->sequence[i] = -1;
            if (!buffer_told(t, 1))
                return false;
        }
    return true;
}

static wstatus process_files(struct process_trace_trace **traces, unsigned count, uint64_t from, uint64_t to)
{
    wstatus st = W_SUCCESS;
    for (struct process_trace_trace *t; (t = process_trace_oldest(traces, count)) && process_trace_when(t) <= to;) {
        if (buffer_changes(t) && !buffer_told(t, 1))
            return W_CANCELLED;
        if (t->event.filetime >= from)
            process_trace_give(t, &t->event);
        t->has_event = etl_next(t->reader, &t->event);
        if (!t->has_event && !buffers_end(t))
            return W_CANCELLED;
    }
    for (unsigned i = 0; i < count; i++) {
        unsigned damage;
        etl_reader_damage(traces[i]->reader, &damage);
        if (damage)
            st = W_INVALID_DATA;
    }
    return st;
}

/* Marks all as used; 0, or an error, and then none is marked. */
static wstatus take_all(const TRACEHANDLE *handles, unsigned count, struct process_trace_trace **traces)
{
    unsigned n = 0, live = 0;
    wstatus  st = W_SUCCESS;

    pthread_mutex_lock(&process_trace_lock);
    for (; n < count && !st; n++) {
        struct process_trace_trace *t = process_trace_find(handles[n]);
        if (!t || t->used) {
            st = t ? W_INVALID_PARAMETER : W_INVALID_HANDLE;
            break;
        }
        t->used   = true;
        traces[n] = t;
        live += t->session != NULL;
    }
    if (!st && live > 1)
        st = W_WMI_ALREADY_ENABLED;
    else if (!st && live && count > 1)
        st = W_NOT_SUPPORTED;
    for (unsigned i = 0; st && i < n; i++)
        traces[i]->used = false;
    pthread_mutex_unlock(&process_trace_lock);
    return st;
}

/* Releases them; frees those that were closed meanwhile. */
static void release_all(const TRACEHANDLE *handles, unsigned count, struct process_trace_trace **traces)
{
    for (unsigned i = 0; i < count; i++) {
        pthread_mutex_lock(&process_trace_lock);
        bool closing    = atomic_load(&traces[i]->closing);
        traces[i]->used = false;
        if (closing)
            process_trace_table[handles[i] % TRACES] = NULL;
        pthread_mutex_unlock(&process_trace_lock);
        if (closing)
            trace_free(traces[i], true);
    }
}

/* Processes files or a session; tdh.h can use the files' descriptions of events meanwhile. */
static wstatus process_trace_process(struct process_trace_trace **traces, unsigned count, uint64_t from, uint64_t to)
{
    const char        *paths[HANDLES_MAX];
    struct etl_reader *readers[HANDLES_MAX];

    if (traces[0]->session)
        return process_live(traces[0]);
    for (unsigned i = 0; i < count; i++) {
        paths[i]   = traces[i]->path;
        readers[i] = traces[i]->reader;
    }
    etl_readers_join(readers, count);
    for (unsigned i = 0; i < count; i++) /* the event that was read at the opening */
        traces[i]->event.filetime = etl_filetime(etl_reader_header(readers[i]), traces[i]->event.raw_time);
    tdh_reads(paths, count);
    wstatus st = process_files(traces, count, from, to);
    tdh_reads_end();
    return st;
}

static uint64_t process_trace_time_of(const FILETIME *t, uint64_t otherwise)
{
    return t ? (uint64_t)t->dwHighDateTime << 32 | t->dwLowDateTime : otherwise;
}

ULONG ProcessTrace(PTRACEHANDLE handles, ULONG count, LPFILETIME start, LPFILETIME end)
{
    struct process_trace_trace *traces[HANDLES_MAX];
    uint64_t                    from = process_trace_time_of(start, 0), to = process_trace_time_of(end, UINT64_MAX);

    if (!handles)
        return ERROR_INVALID_PARAMETER;
    if (!count || count > HANDLES_MAX)
        return ERROR_BAD_LENGTH;
    if (to < from)
        return ERROR_INVALID_TIME;
    wstatus st = take_all(handles, count, traces);
    if (st)
        return st;
    if (traces[0]->session && (start || end))
        st = W_NOT_SUPPORTED;
    else
        st = process_trace_process(traces, count, from, to);
    release_all(handles, count, traces);
    return st;
}

ULONG CloseTrace(TRACEHANDLE handle)
{
    pthread_mutex_lock(&process_trace_lock);
    struct process_trace_trace *t    = process_trace_find(handle);
    bool                        used = t && t->used;
    if (used) {
        atomic_store(&t->closing, true);
        if (t->live)
            live_stop(t->live);
    } else if (t) {
        process_trace_table[handle % TRACES] = NULL;
    }
    pthread_mutex_unlock(&process_trace_lock);
    if (!t)
        return ERROR_INVALID_HANDLE;
    if (used)
        return ERROR_CTX_CLOSE_PENDING;
    trace_free(t, true); /* the consumer has processed what ProcessTrace delivered */
    return ERROR_SUCCESS;
}
