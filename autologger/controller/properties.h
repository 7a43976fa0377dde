/* properties.h - EVENT_TRACE_PROPERTIES as bytes from the caller: sizes and offsets are checked before anything is read
 * or written. Names are UTF-8 inside; `wide` says what they are outside.
 * Threads: any. Ownership: the caller's. Not for: the daemon (session.h). */
#ifndef AUTOLOGGER_CONTROLLER_PROPERTIES_H
#define AUTOLOGGER_CONTROLLER_PROPERTIES_H
#include "autologger/include/autologger_controller.h"
#include "autologger/wire/control.h"
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>

/* W_INVALID_PARAMETER, W_BAD_LENGTH: too small for the fixed part, or an offset points outside or into it. */
wstatus properties_check(const EVENT_TRACE_PROPERTIES *p);
/* The log file's name (properties_file), malloc; NULL in *out: none is given. W_INVALID_PARAMETER not terminated within
 * the structure, W_NOT_ENOUGH_MEMORY. */
/* EnableFlags as the masks of the kernel's groups: EnableFlags itself or, with EVENT_TRACE_FLAG_EXTENSION, up to 8
 * words to which it points behind the struct (W_INVALID_PARAMETER when these are not there). */
wstatus properties_flags(const EVENT_TRACE_PROPERTIES *p, uint32_t mask[8]);
wstatus properties_file(const EVENT_TRACE_PROPERTIES *p, bool wide, char **out);
/* The processes that EVENT_TRACE_PROPERTIES_V2 selects, malloc; NULL in *out: it selects none. W_INVALID_PARAMETER
 * another version, or a malformed filter; W_NOT_SUPPORTED; W_BAD_LENGTH. */
struct filter_block;
wstatus properties_processes(const EVENT_TRACE_PROPERTIES *p, struct filter_block **out);
/* Name of an argument, malloc. W_NOT_ENOUGH_MEMORY. */
wstatus name_take(const void *text, bool wide, char **out);
/* StartTrace puts the session's name there. W_BAD_LENGTH: no room. */
wstatus properties_name_put(EVENT_TRACE_PROPERTIES *p, bool wide, const char *name);
/* Whether the log file's name would fit where LogFileNameOffset says; also where it says nothing. */
bool properties_file_fits(const EVENT_TRACE_PROPERTIES *p, bool wide, const char *file);
/* All outputs, names where there is room for them. W_MORE_DATA: there is not. `given`, or NULL: the file's name as the
 * caller knows it, put where the mapped one does not fit. */
wstatus properties_fill(EVENT_TRACE_PROPERTIES *p, bool wide, const struct ctl_session_info *s, const char *given);

/* A session's handle: its slot, and a hash of its identity, so that a later session in that slot has another handle. */
TRACEHANDLE session_handle(const struct ctl_session_info *s);
#endif
