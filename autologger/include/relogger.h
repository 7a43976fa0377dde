/* relogger.h - makes trace files out of trace files: merging, like perfctrl.dll's function, and relogging event by
 * event. Functions return Windows' error numbers; GetLastError of evntrace.h is not set. Threads: any; one call uses
 * one thread, its callbacks too. The result appears whole or not at all, and is never one of the inputs. */
#ifndef _AUTOLOGGER_RELOGGER_
#define _AUTOLOGGER_RELOGGER_
#include "evntcons.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One file out of FileCount (1 to 64) of one boot and one clock, in time order, with the identity of images, names of
 * kernel functions and descriptions of events added. ERROR_INVALID_PARAMETER: files of different clocks or boots, one
 * given twice, or none. */
AUTOLOGGER_API ULONG CreateMergedETLFile(const WCHAR *const *FileNames, ULONG FileCount, const WCHAR *TargetName);

/* Called for each event but the files' headers, in time order; TimeStamp is on the session's clock, and is kept. TRUE
 * keeps the event. `Relog` is for RelogInjectEvent, during the call. */
typedef BOOLEAN (*PRELOG_EVENT_CALLBACK)(ULONGLONG Relog, PEVENT_RECORD EventRecord, PVOID Context);
AUTOLOGGER_API ULONG RelogTraceFiles(const WCHAR *const *FileNames, ULONG FileCount, const WCHAR *TargetName,
                                     PRELOG_EVENT_CALLBACK Callback, PVOID Context);
/* Puts an event before the one that the callback was given, on its processor: header, extended data and payload of
 * EventRecord. TimeStamp 0 is that event's time; another time must lie between the previous event and that event, else
 * ERROR_INVALID_PARAMETER. ERROR_ARITHMETIC_OVERFLOW: over 64 KB. */
AUTOLOGGER_API ULONG RelogInjectEvent(ULONGLONG Relog, PEVENT_RECORD EventRecord);

#ifdef __cplusplus
}
#endif
#endif
