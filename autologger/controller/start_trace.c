/* start_trace.c - StartTrace: turns properties into the values of a declaration, which the daemon reads like those of a
 * boot. */
#include "autologger/control/client.h"
#include "autologger/controller/named.h"
#include "autologger/controller/properties.h"
#include "autologger/include/evntrace.h"
#include "registry-sim/base/cursor.h"
#include "registry-sim/store/snapshot_single.h"
#include "registry-sim/win32/utf16.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { PRIVATE_MODES = EVENT_TRACE_PRIVATE_LOGGER_MODE | EVENT_TRACE_PRIVATE_IN_PROC };
enum { VALUES = 16, NUMBERS = 12, FLAG_BYTES = 32 };

/* The values of a session's declaration. */
struct declaration {
    struct regvalue value[VALUES];
    unsigned        count;
    uint8_t         number[NUMBERS][4], flags[FLAG_BYTES];
    unsigned        numbers;
    uint8_t        *text[2]; /* malloc */
    unsigned        texts;
};

static void start_trace_put(struct declaration *d, const char *name, uint32_t type, const void *data, size_t size)
{
    d->value[d->count++] = (struct regvalue){.name = name, .type = type, .data = data, .size = (uint32_t)size};
}

static void start_trace_put_number(struct declaration *d, const char *name, uint32_t n)
{
    uint8_t      *raw = d->number[d->numbers++];
    struct writer w   = wr_make(raw, 4);
    wr_u32(&w, n);
    start_trace_put(d, name, REG_TYPE_DWORD, raw, 4);
}

static bool start_trace_put_text(struct declaration *d, const char *name, const char *text)
{
    size_t   n   = utf8_to_utf16le(text, strlen(text), NULL, 0);
    uint8_t *raw = calloc(1, n + 2);
    if (!raw)
        return false;
    utf8_to_utf16le(text, strlen(text), raw, n);
    d->text[d->texts++] = raw;
    start_trace_put(d, name, REG_TYPE_SZ, raw, n + 2);
    return true;
}

/* Modes that StartTrace refuses and a boot does not, and modes that this version does not have: the first matching
 * row. */
static const struct {
    uint32_t all;
    wstatus  status;
} start_trace_refused[] = {
    {EVENT_TRACE_NONSTOPPABLE_MODE, W_INVALID_PARAMETER},
    {EVENT_TRACE_PRIVATE_LOGGER_MODE | EVENT_TRACE_REAL_TIME_MODE, W_INVALID_PARAMETER},
    {EVENT_TRACE_FILE_MODE_SEQUENTIAL | EVENT_TRACE_FILE_MODE_CIRCULAR, W_INVALID_PARAMETER},
    {EVENT_TRACE_FILE_MODE_CIRCULAR | EVENT_TRACE_FILE_MODE_APPEND, W_INVALID_PARAMETER},
    {EVENT_TRACE_FILE_MODE_NEWFILE | EVENT_TRACE_FILE_MODE_CIRCULAR, W_INVALID_PARAMETER},
    {EVENT_TRACE_FILE_MODE_NEWFILE | EVENT_TRACE_FILE_MODE_APPEND, W_INVALID_PARAMETER},
    {EVENT_TRACE_PRIVATE_LOGGER_MODE | EVENT_TRACE_FILE_MODE_PREALLOCATE, W_INVALID_PARAMETER},
    {EVENT_TRACE_PRIVATE_IN_PROC | EVENT_TRACE_SYSTEM_LOGGER_MODE, W_INVALID_PARAMETER},
};

static wstatus mode_check(const EVENT_TRACE_PROPERTIES *p, const char *file)
{
    enum { NEEDS_NO_FILE = EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_BUFFERING_MODE };
    for (size_t i = 0; i < sizeof start_trace_refused / sizeof *start_trace_refused; i++)
        if ((p->LogFileMode & start_trace_refused[i].all) == start_trace_refused[i].all)
            return start_trace_refused[i].status;
    if ((p->LogFileMode & PRIVATE_MODES) == EVENT_TRACE_PRIVATE_IN_PROC)
        return W_INVALID_PARAMETER;
    if (!file && !(p->LogFileMode & NEEDS_NO_FILE))
        return p->LogFileMode ? W_INVALID_PARAMETER : W_BAD_PATHNAME;
    return W_SUCCESS;
}

static const struct guid start_trace_system_trace = AUTOLOGGER_SYSTEM_TRACE_CONTROL_GUID;

/* The kernel logger's name and GUID go together; a session without a GUID gets one. */
static wstatus start_trace_identity(EVENT_TRACE_PROPERTIES *p, char **name, struct guid *id)
{
    const bool is_kernel = name_compare(*name, KERNEL_LOGGER_NAMEA) == 0;
    memcpy(id, &p->Wnode.Guid, sizeof *id);
    if (guid_equal(id, &start_trace_system_trace) && !is_kernel)
        return W_INVALID_PARAMETER;
    /* whose processes? */
    if (guid_is_zero(id) && (p->LogFileMode & PRIVATE_MODES) == EVENT_TRACE_PRIVATE_LOGGER_MODE)
        return W_INVALID_PARAMETER;
    if (is_kernel)
        *id = start_trace_system_trace;
    else if ((guid_is_zero(id) ||
              p->LogFileMode &
                  EVENT_TRACE_PRIVATE_IN_PROC) && /* this GUID names a provider, which others may name too */
             getrandom(id, sizeof *id, 0) != sizeof *id)
        return W_NOT_ENOUGH_MEMORY;
    return W_SUCCESS;
}

static bool start_trace_declare(struct declaration *d, const EVENT_TRACE_PROPERTIES *p, const struct guid *id,
                                bool kernel, const char *file)
{
    static const struct {
        const char *name;
        size_t      at;
    } optional[] = {
        {"BufferSize", offsetof(EVENT_TRACE_PROPERTIES, BufferSize)},
        {"MinimumBuffers", offsetof(EVENT_TRACE_PROPERTIES, MinimumBuffers)},
        {"MaximumBuffers", offsetof(EVENT_TRACE_PROPERTIES, MaximumBuffers)},
        {"FlushTimer", offsetof(EVENT_TRACE_PROPERTIES, FlushTimer)},
        {"ClockType", offsetof(EVENT_TRACE_PROPERTIES, Wnode.ClientContext)},
    };
    char guid[GUID_TEXT_SIZE];
    start_trace_put_number(d, "Start", 1);
    start_trace_put_number(d, "LogFileMode", p->LogFileMode);
    start_trace_put_number(d, "MaxFileSize", p->MaximumFileSize);
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++) {
        uint32_t n;
        memcpy(&n, (const uint8_t *)p + optional[i].at, sizeof n);
        if (n)
            start_trace_put_number(d, optional[i].name, n);
    }
    if (p->FlushThreshold > 0)
        start_trace_put_number(d, "FlushThreshold", (uint32_t)p->FlushThreshold);
    if (kernel) {
        struct writer w = wr_make(d->flags, sizeof d->flags);
        uint32_t      mask[FLAG_BYTES / sizeof(uint32_t)];
        properties_flags(p, mask); /* checked before */
        for (size_t i = 0; i < sizeof mask / sizeof *mask; i++)
            wr_u32(&w, mask[i]);
        start_trace_put(d, "EnableKernelFlags", REG_TYPE_BINARY, d->flags, sizeof d->flags);
    }
    return start_trace_put_text(d, "Guid", guid_format(id, guid)) &&
           (!file || start_trace_put_text(d, "FileName", file));
}

static wstatus start_trace_start(const struct declaration *given, const char *name,
                                 const struct filter_block *processes, struct ctl_session_info *out)
{
    struct declaration        d      = *given;
    struct ctl_update_answer *answer = calloc(1, sizeof *answer);
    struct control_client    *client = NULL;
    struct reason             why;
    uint8_t                  *bytes = NULL;
    size_t                    size  = 0;
    char                     *below = NULL;
    wstatus st = answer && asprintf(&below, "Autologger\\%s", name) >= 0 ? W_SUCCESS : W_NOT_ENOUGH_MEMORY;
    st         = st ? st : snapshot_single(below, d.value, d.count, &bytes, &size, &why);
    st         = st ? st : control_open(NULL, &client, &why);
    st         = st ? st : control_start_for(client, bytes, size, processes, answer, &why);
    if (!st)
        *out = answer->session;
    control_close(client);
    free(bytes);
    free(below);
    free(answer);
    return st;
}

/* Each program has its own sessions of a name, and its own files: both get its pid. */
static wstatus make_private(const EVENT_TRACE_PROPERTIES *p, char **name, char **file)
{
    char *own = NULL, *own_file = NULL;
    if (!(p->LogFileMode & EVENT_TRACE_PRIVATE_IN_PROC))
        return W_SUCCESS;
    if (asprintf(&own, PRIVATE_NAME, *name, (int)getpid()) < 0 ||
        (*file && asprintf(&own_file, "%s_%d", *file, (int)getpid()) < 0)) {
        free(own);
        return W_NOT_ENOUGH_MEMORY;
    }
    free(*name);
    free(*file);
    *name = own, *file = own_file;
    return W_SUCCESS;
}

static wstatus start_named(PTRACEHANDLE handle, char **text, EVENT_TRACE_PROPERTIES *p, bool wide)
{
    char                   *name = *text;
    struct ctl_session_info info;
    struct declaration      d = {.count = 0};
    struct guid             id;
    char                   *file      = NULL;
    struct filter_block    *processes = NULL;
    wstatus                 st        = properties_file(p, wide, &file);

    st = st ? st : properties_processes(p, &processes);
    if (!st && (!*name || strpbrk(name, "\\/")))
        st = W_INVALID_PARAMETER;
    st   = st ? st : properties_name_put(p, wide, name);
    st   = st ? st : start_trace_identity(p, &name, &id);
    st   = st ? st : mode_check(p, file);
    st   = st ? st : make_private(p, text, &file);
    name = *text;
    const bool kernel =
        !st && (guid_equal(&id, &start_trace_system_trace) || p->LogFileMode & EVENT_TRACE_SYSTEM_LOGGER_MODE);
    uint32_t mask[8];
    if (!st && kernel)
        st = properties_flags(p, mask);
    if (!st && !start_trace_declare(&d, p, &id, kernel, file))
        st = W_NOT_ENOUGH_MEMORY;
    st = st ? st : start_trace_start(&d, name, processes, &info);
    if (!st) {
        properties_fill(p, wide, &info, NULL);
        *handle = session_handle(&info);
    }
    for (unsigned i = 0; i < d.texts; i++)
        free(d.text[i]);
    free(processes);
    free(file);
    return st;
}

static wstatus start_trace(PTRACEHANDLE handle, const void *text, EVENT_TRACE_PROPERTIES *p, bool wide)
{
    char *name = NULL;
    if (!handle)
        return W_INVALID_PARAMETER;
    *handle    = 0;
    wstatus st = text ? properties_check(p) : W_INVALID_PARAMETER;
    st         = st ? st : name_take(text, wide, &name);
    st         = st ? st : start_named(handle, &name, p, wide);
    free(name);
    return st;
}

ULONG StartTraceW(PTRACEHANDLE TraceHandle, LPCWSTR InstanceName, PEVENT_TRACE_PROPERTIES Properties)
{
    return start_trace(TraceHandle, InstanceName, Properties, true);
}

ULONG StartTraceA(PTRACEHANDLE TraceHandle, LPCSTR InstanceName, PEVENT_TRACE_PROPERTIES Properties)
{
    return start_trace(TraceHandle, InstanceName, Properties, false);
}
