#include "autologger/controller/properties.h"

#include "autologger/controller/filters.h"
#include "registry-sim/win32/utf16.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(EVENT_TRACE_PROPERTIES) == 120 && offsetof(EVENT_TRACE_PROPERTIES, BufferSize) == 0x30 &&
                   offsetof(EVENT_TRACE_PROPERTIES, LoggerThreadId) == 0x68 &&
                   offsetof(EVENT_TRACE_PROPERTIES, LogFileNameOffset) == 0x70,
               "EVENT_TRACE_PROPERTIES as the SDK has it for 64 bits");

static bool offset_ok(const EVENT_TRACE_PROPERTIES *p, uint32_t offset)
{
    return !offset || (offset >= sizeof *p && offset < p->Wnode.BufferSize);
}

wstatus properties_check(const EVENT_TRACE_PROPERTIES *p)
{
    if (!p)
        return W_INVALID_PARAMETER;
    if (p->Wnode.BufferSize < sizeof *p)
        return W_BAD_LENGTH;
    if (!(p->Wnode.Flags & WNODE_FLAG_TRACED_GUID))
        return W_INVALID_PARAMETER;
    return offset_ok(p, p->LogFileNameOffset) && offset_ok(p, p->LoggerNameOffset) ? W_SUCCESS : W_INVALID_PARAMETER;
}

/* Bytes of the text at `text` without its terminator, at most `room`; SIZE_MAX: not terminated there. */
static size_t properties_text_bytes(const void *text, bool wide, size_t room)
{
    const uint8_t *b = text;
    for (size_t i = 0; wide ? i + 1 < room : i < room; i += wide ? 2 : 1)
        if (!b[i] && (!wide || !b[i + 1]))
            return i;
    return SIZE_MAX;
}

static wstatus properties_text_take(const void *text, bool wide, size_t bytes, char **out)
{
    size_t need = wide ? utf16le_to_utf8(text, bytes, NULL, 0) : bytes;
    if (!(*out = malloc(need + 1)))
        return W_NOT_ENOUGH_MEMORY;
    if (wide)
        utf16le_to_utf8(text, bytes, *out, need + 1);
    else
        memcpy(*out, text, bytes);
    (*out)[need] = 0;
    return W_SUCCESS;
}

wstatus name_take(const void *text, bool wide, char **out)
{
    enum { NAME_MOST = 1024 }; /* characters, from the SDK */
    size_t n = properties_text_bytes(text, wide, wide ? 2 * (NAME_MOST + 1) : NAME_MOST + 1);
    return n == SIZE_MAX ? W_INVALID_PARAMETER : properties_text_take(text, wide, n, out);
}

wstatus properties_flags(const EVENT_TRACE_PROPERTIES *p, uint32_t mask[8])
{
    enum { WORDS = 8, EXTENSION = 0x80 };
    const uint32_t offset = p->EnableFlags & 0xFFFF, words = p->EnableFlags >> 16 & 0xFF, flag = p->EnableFlags >> 24;
    memset(mask, 0, WORDS * sizeof *mask);
    mask[0] = p->EnableFlags;
    if (!(p->EnableFlags & EVENT_TRACE_FLAG_EXTENSION))
        return W_SUCCESS;
    if (flag != EXTENSION || !words || words > WORDS || offset < sizeof *p ||
        offset + words * sizeof *mask > p->Wnode.BufferSize)
        return W_INVALID_PARAMETER;
    memcpy(mask, (const uint8_t *)p + offset, words * sizeof *mask);
    return W_SUCCESS;
}

wstatus properties_file(const EVENT_TRACE_PROPERTIES *p, bool wide, char **out)
{
    *out = NULL;
    if (!p->LogFileNameOffset)
        return W_SUCCESS;
    const uint8_t *text = (const uint8_t *)p + p->LogFileNameOffset;
    size_t         n    = properties_text_bytes(text, wide, p->Wnode.BufferSize - p->LogFileNameOffset);
    if (n == SIZE_MAX)
        return W_INVALID_PARAMETER;
    return n ? properties_text_take(text, wide, n, out) : W_SUCCESS;
}

wstatus properties_processes(const EVENT_TRACE_PROPERTIES *p, struct filter_block **out)
{
    enum { VERSION = 2 };
    EVENT_TRACE_PROPERTIES_V2 v2;
    struct reason             why;
    _Static_assert(sizeof v2 == 144 && offsetof(EVENT_TRACE_PROPERTIES_V2, FilterDescCount) == 0x7C &&
                       offsetof(EVENT_TRACE_PROPERTIES_V2, FilterDesc) == 0x80,
                   "as the SDK has it for 64 bits");
    *out = NULL;
    if (!(p->Wnode.Flags & WNODE_FLAG_VERSIONED_PROPERTIES))
        return W_SUCCESS;
    if (p->Wnode.BufferSize < sizeof v2)
        return W_BAD_LENGTH;
    memcpy(&v2, p, sizeof v2);
    if (v2.VersionNumber != VERSION || (p->LogFileNameOffset && p->LogFileNameOffset < sizeof v2) ||
        p->LoggerNameOffset < sizeof v2)
        return W_INVALID_PARAMETER;
    return filters_from(v2.FilterDesc, v2.FilterDescCount, out, &why);
}

/* The bytes from `offset` to the end, or to the other name. */
static size_t text_room(const EVENT_TRACE_PROPERTIES *p, uint32_t offset)
{
    const uint32_t other = offset == p->LogFileNameOffset ? p->LoggerNameOffset : p->LogFileNameOffset;
    size_t         room  = offset < p->Wnode.BufferSize ? p->Wnode.BufferSize - offset : 0;
    return other > offset && other - offset < room ? other - offset : room;
}
static size_t text_needed(bool wide, const char *text)
{
    const size_t n = strlen(text);
    return wide ? utf8_to_utf16le(text, n, NULL, 0) + 2 : n + 1;
}

/* False: no room, nothing was written. */
static bool text_put(EVENT_TRACE_PROPERTIES *p, uint32_t offset, bool wide, const char *text)
{
    uint8_t     *at    = (uint8_t *)p + offset;
    const size_t bytes = text_needed(wide, text) - (wide ? 2 : 1);
    if (!offset)
        return true;
    if (text_needed(wide, text) > text_room(p, offset))
        return false;
    if (wide)
        utf8_to_utf16le(text, strlen(text), at, bytes);
    else
        memcpy(at, text, bytes);
    memset(at + bytes, 0, wide ? 2 : 1);
    return true;
}

bool properties_file_fits(const EVENT_TRACE_PROPERTIES *p, bool wide, const char *file)
{
    return !p->LogFileNameOffset || text_needed(wide, file) <= text_room(p, p->LogFileNameOffset);
}

wstatus properties_name_put(EVENT_TRACE_PROPERTIES *p, bool wide, const char *name)
{
    return p->LoggerNameOffset && text_put(p, p->LoggerNameOffset, wide, name) ? W_SUCCESS : W_BAD_LENGTH;
}

static uint32_t properties_fits(uint64_t n) { return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX; }

wstatus properties_fill(EVENT_TRACE_PROPERTIES *p, bool wide, const struct ctl_session_info *s, const char *given)
{
    p->Wnode.HistoricalContext = session_handle(s);
    p->Wnode.ClientContext     = s->clock_type;
    p->Wnode.Flags |= WNODE_FLAG_TRACED_GUID;
    memcpy(&p->Wnode.Guid, &s->guid, sizeof p->Wnode.Guid);
    p->BufferSize          = s->buffer_kb;
    p->MinimumBuffers      = s->minimum_buffers;
    p->MaximumBuffers      = s->maximum_buffers;
    p->MaximumFileSize     = s->max_file_size;
    p->LogFileMode         = s->log_file_mode;
    p->FlushTimer          = s->flush_timer;
    p->FlushThreshold      = (LONG)s->flush_threshold;
    p->EnableFlags         = s->kernel ? s->group_mask[0] : 0;
    p->NumberOfBuffers     = s->number_of_buffers;
    p->FreeBuffers         = s->free_buffers;
    p->EventsLost          = properties_fits(ctl_events_lost(s));
    p->BuffersWritten      = s->buffers_written;
    p->LogBuffersLost      = s->log_buffers_lost;
    p->RealTimeBuffersLost = s->realtime_buffers_lost;
    p->LoggerThreadId      = (HANDLE)(uintptr_t)s->logger_thread_id;
    const bool mapped      = !given || properties_file_fits(p, wide, s->log_path);
    const bool file        = text_put(p, p->LogFileNameOffset, wide, mapped ? s->log_path : given);
    const bool name        = text_put(p, p->LoggerNameOffset, wide, s->name);
    return file && name ? W_SUCCESS : W_MORE_DATA;
}

TRACEHANDLE session_handle(const struct ctl_session_info *s)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    uint8_t  bytes[sizeof s->guid];
    memcpy(bytes, &s->guid, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    for (const char *c = s->name; *c; c++)
        hash = (hash ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
    const uint64_t handle = (hash << 16 | s->logger_id) & INT64_MAX; /* never INVALID_PROCESSTRACE_HANDLE */
    return handle ? handle : INT64_MAX;
}
