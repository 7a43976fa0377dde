/* control_trace.c - ControlTrace and its relatives, QueryAllTraces. */
#include "autologger/controller/named.h"
#include "autologger/controller/properties.h"

#include <stdlib.h>
#include <string.h>

/* What a control code does with a session; *info is the session before it, and becomes that after it. */
typedef wstatus control_act(struct control_client *c, const EVENT_TRACE_PROPERTIES *p, bool wide,
                            struct ctl_session_info *info);

static wstatus act_query(struct control_client *c, const EVENT_TRACE_PROPERTIES *p, bool wide,
                         struct ctl_session_info *info)
{
    (void)c, (void)p, (void)wide, (void)info;
    return W_SUCCESS;
}

static wstatus act_stop(struct control_client *c, const EVENT_TRACE_PROPERTIES *p, bool wide,
                        struct ctl_session_info *info)
{
    struct ctl_session_info final;
    struct reason           why;
    (void)p, (void)wide;
    wstatus st = control_stop(c, info->name, &final, &why);
    if (!st)
        *info = final;
    return st;
}

/* A snapshot, or the next file. */
static wstatus control_trace_file_more(struct control_client *c, const char *file, struct ctl_session_info *info)
{
    struct reason             why;
    struct ctl_update_answer *answer = calloc(1, sizeof *answer);
    wstatus                   st     = answer ? control_file(c, info->name, file, answer, &why) : W_NOT_ENOUGH_MEMORY;
    if (!st)
        *info = answer->session;
    free(answer);
    return st;
}

/* A session without a file (BUFFERING): its memory is written to the file that the caller names. */
static wstatus act_flush(struct control_client *c, const EVENT_TRACE_PROPERTIES *p, bool wide,
                         struct ctl_session_info *info)
{
    struct reason why;
    char         *file = NULL;
    wstatus       st   = info->log_file_mode & EVENT_TRACE_BUFFERING_MODE ? properties_file(p, wide, &file) : W_SUCCESS;
    if (!st && info->log_file_mode & EVENT_TRACE_BUFFERING_MODE)
        st = file ? control_trace_file_more(c, file, info) : W_BAD_PATHNAME;
    else
        st = st ? st : control_flush(c, info->name, &why);
    free(file);
    return st ? st : control_query(c, info->name, info, &why);
}

static wstatus act_next_file(struct control_client *c, const EVENT_TRACE_PROPERTIES *p, bool wide,
                             struct ctl_session_info *info)
{
    (void)p, (void)wide;
    return control_trace_file_more(c, NULL, info);
}

/* Real time may be switched on and off. Other mode bits stay: bits that the session does not have are refused, missing
 * ones are ignored. */
static wstatus mode_change(const EVENT_TRACE_PROPERTIES *p, const struct ctl_session_info *info, uint32_t *what)
{
    enum {
        KINDS = EVENT_TRACE_FILE_MODE_CIRCULAR | EVENT_TRACE_FILE_MODE_APPEND | EVENT_TRACE_FILE_MODE_NEWFILE |
                EVENT_TRACE_FILE_MODE_PREALLOCATE | EVENT_TRACE_BUFFERING_MODE | EVENT_TRACE_PRIVATE_LOGGER_MODE |
                EVENT_TRACE_PRIVATE_IN_PROC | EVENT_TRACE_NONSTOPPABLE_MODE
    };
    if (p->LogFileMode & ~info->log_file_mode & KINDS)
        return W_INVALID_PARAMETER;
    const bool on = p->LogFileMode & EVENT_TRACE_REAL_TIME_MODE, is = info->log_file_mode & EVENT_TRACE_REAL_TIME_MODE;
    if (on != is)
        *what |= on ? CTL_UPDATE_REALTIME_ON : CTL_UPDATE_REALTIME_OFF;
    return W_SUCCESS;
}

static wstatus update_fill(const EVENT_TRACE_PROPERTIES *p, bool wide, const struct ctl_session_info *info,
                           struct ctl_update_request *r)
{
    char   *file = NULL;
    wstatus st   = properties_file(p, wide, &file);
    r->what      = info->kernel ? CTL_UPDATE_FLAGS : 0;
    st           = st ? st : mode_change(p, info, &r->what);
    st           = st ? st : properties_flags(p, r->group_mask);
    if (!st && file && strlen(file) >= sizeof r->file)
        st = W_FILENAME_EXCED_RANGE;
    if (!st && file) {
        memcpy(r->file, file, strlen(file) + 1);
        r->what |= CTL_UPDATE_FILE;
    }
    free(file);
    r->flush_timer     = p->FlushTimer;
    r->maximum_buffers = p->MaximumBuffers;
    if (p->FlushTimer && p->FlushTimer != info->flush_timer && !(info->log_file_mode & EVENT_TRACE_BUFFERING_MODE))
        r->what |= CTL_UPDATE_FLUSH_TIMER;
    if (p->MaximumBuffers && p->MaximumBuffers != info->maximum_buffers)
        r->what |= CTL_UPDATE_MAXIMUM_BUFFERS;
    if (p->EnableFlags && !(p->EnableFlags & EVENT_TRACE_FLAG_EXTENSION)) /* the first word alone; 0: all of them */
        memcpy(r->group_mask + 1, info->group_mask + 1, sizeof r->group_mask - sizeof *r->group_mask);
    return st;
}

static wstatus update_ask(struct control_client *c, struct ctl_update_request *r, struct ctl_session_info *info)
{
    struct reason             why;
    struct ctl_update_answer *answer = calloc(1, sizeof *answer);
    wstatus                   st     = answer ? control_update(c, r, info->name, answer, &why) : W_NOT_ENOUGH_MEMORY;
    if (!st)
        *info = answer->session;
    free(answer);
    return st;
}

static wstatus act_update(struct control_client *c, const EVENT_TRACE_PROPERTIES *p, bool wide,
                          struct ctl_session_info *info)
{
    struct ctl_update_request request = {.what = 0};
    wstatus                   st      = info->log_file_mode & EVENT_TRACE_NONSTOPPABLE_MODE ? W_INVALID_PARAMETER
                                                                                            : update_fill(p, wide, info, &request);
    return st || !request.what ? st : update_ask(c, &request, info); /* no change was given */
}

static wstatus act_convert(struct control_client *c, const EVENT_TRACE_PROPERTIES *p, bool wide,
                           struct ctl_session_info *info)
{
    struct ctl_update_request request = {.what = CTL_UPDATE_CONVERT};
    (void)p, (void)wide;
    return update_ask(c, &request, info);
}

static control_act *const control_trace_acts[] = {
    [EVENT_TRACE_CONTROL_QUERY]               = act_query,
    [EVENT_TRACE_CONTROL_STOP]                = act_stop,
    [EVENT_TRACE_CONTROL_UPDATE]              = act_update,
    [EVENT_TRACE_CONTROL_FLUSH]               = act_flush,
    [EVENT_TRACE_CONTROL_INCREMENT_FILE]      = act_next_file,
    [EVENT_TRACE_CONTROL_CONVERT_TO_REALTIME] = act_convert,
};

/* The file's name as declared, for a caller that has no room for the mapped one: malloc; NULL: there is room, or the
 * name is unknown. */
static char *given_file(struct control_client *c, const EVENT_TRACE_PROPERTIES *p, bool wide,
                        const struct ctl_session_info *info)
{
    struct ctl_declaration *d    = NULL;
    struct ctl_enabled_row *rows = NULL;
    char                   *file = NULL;
    unsigned                count;
    struct reason           why;
    if (properties_file_fits(p, wide, info->log_path) || !(d = malloc(sizeof *d)))
        return NULL;
    if (!control_declaration(c, info->name, d, &rows, &count, &why) && *d->file_name)
        file = strdup(d->file_name);
    free(rows);
    free(d);
    return file;
}

static wstatus control(TRACEHANDLE handle, const void *text, EVENT_TRACE_PROPERTIES *p, ULONG code, bool wide)
{
    struct control_client  *client = NULL;
    struct ctl_session_info info;
    struct reason           why;
    char                   *name = NULL, *file = NULL;
    EVENT_TRACE_PROPERTIES  given;
    wstatus st = p && p->Wnode.BufferSize >= sizeof *p ? W_SUCCESS : p ? W_BAD_LENGTH : W_INVALID_PARAMETER;

    if (!st) {
        given = *p; /* only StartTrace requires WNODE_FLAG_TRACED_GUID */
        given.Wnode.Flags |= WNODE_FLAG_TRACED_GUID;
        st = properties_check(&given);
    }
    if (!st && code >= sizeof control_trace_acts / sizeof *control_trace_acts)
        st = W_NOT_SUPPORTED;
    if (!st && text)
        st = name_take(text, wide, &name);
    if (!st && !text && !handle)
        st = W_INVALID_PARAMETER;
    st = st ? st : control_open(NULL, &client, &why);
    st = st ? st : session_named(client, name, handle, &info);
    if (!st)
        file = given_file(client, p, wide, &info); /* asked now: a stopped session can't be asked */
    st = st ? st : control_trace_acts[code](client, p, wide, &info);
    st = st ? st : properties_fill(p, wide, &info, file);
    control_close(client);
    free(name);
    free(file);
    return st;
}

ULONG ControlTraceW(TRACEHANDLE TraceHandle, LPCWSTR InstanceName, PEVENT_TRACE_PROPERTIES Properties,
                    ULONG ControlCode)
{
    return control(TraceHandle, InstanceName, Properties, ControlCode, true);
}

ULONG ControlTraceA(TRACEHANDLE TraceHandle, LPCSTR InstanceName, PEVENT_TRACE_PROPERTIES Properties, ULONG ControlCode)
{
    return control(TraceHandle, InstanceName, Properties, ControlCode, false);
}

#define RELATIVE(name, code) \
    ULONG name##W(TRACEHANDLE TraceHandle, LPCWSTR InstanceName, PEVENT_TRACE_PROPERTIES Properties) \
    { \
        return control(TraceHandle, InstanceName, Properties, code, true); \
    } \
    ULONG name##A(TRACEHANDLE TraceHandle, LPCSTR InstanceName, PEVENT_TRACE_PROPERTIES Properties) \
    { \
        return control(TraceHandle, InstanceName, Properties, code, false); \
    }
RELATIVE(QueryTrace, EVENT_TRACE_CONTROL_QUERY)
RELATIVE(StopTrace, EVENT_TRACE_CONTROL_STOP)
RELATIVE(UpdateTrace, EVENT_TRACE_CONTROL_UPDATE)
RELATIVE(FlushTrace, EVENT_TRACE_CONTROL_FLUSH)
#undef RELATIVE

static wstatus query_all(PEVENT_TRACE_PROPERTIES *array, ULONG count, PULONG total, bool wide)
{
    enum { SESSIONS_MAX = 64 };
    struct control_client   *client = NULL;
    struct ctl_session_info *rows   = NULL;
    unsigned                 have   = 0;
    struct reason            why;

    if (!array || !total || !count || count > SESSIONS_MAX)
        return W_INVALID_PARAMETER;
    wstatus st = W_SUCCESS;
    for (ULONG i = 0; i < count && !st; i++)
        st = !array[i] ? W_INVALID_PARAMETER : array[i]->Wnode.BufferSize < sizeof *array[i] ? W_BAD_LENGTH : W_SUCCESS;
    st             = st ? st : control_open(NULL, &client, &why);
    st             = st ? st : control_query_all(client, &rows, &have, &why);
    unsigned shown = 0; /* without private sessions */
    for (unsigned i = 0; !st && i < have; i++)
        if (!(rows[i].log_file_mode & EVENT_TRACE_PRIVATE_IN_PROC) && (rows[i].kernel || !rows[i].processes.kind))
            rows[shown++] = rows[i];
    have = st ? have : shown;
    for (unsigned i = 0; !st && i < have && i < count; i++) {
        char *file = given_file(client, array[i], wide, &rows[i]);
        st         = properties_fill(array[i], wide, &rows[i], file);
        free(file);
    }
    if (rows || !st)
        *total = have;
    if (!st && have > count)
        st = W_MORE_DATA;
    free(rows);
    control_close(client);
    return st;
}

ULONG QueryAllTracesW(PEVENT_TRACE_PROPERTIES *PropertyArray, ULONG PropertyArrayCount, PULONG LoggerCount)
{
    return query_all(PropertyArray, PropertyArrayCount, LoggerCount, true);
}

ULONG QueryAllTracesA(PEVENT_TRACE_PROPERTIES *PropertyArray, ULONG PropertyArrayCount, PULONG LoggerCount)
{
    return query_all(PropertyArray, PropertyArrayCount, LoggerCount, false);
}
