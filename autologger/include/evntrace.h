/* evntrace.h - controlling sessions and reading traces, with the SDK's names, types and layouts. The controller's
 * functions (StartTrace, ControlTrace, EnableTraceEx2 ...) are in autologger_controller.h, those of the older providers
 * (TraceEvent ...) in autologger_classic.h, EVENT_TRACE_FLAG_* in autologger_kernel.h; this header includes all three;
 * the consumer's are:
 *
 *   OpenTrace      names a log file, or a real-time session of the running daemon
 *   ProcessTrace   gives its events to a callback, in time order, until the end
 *   CloseTrace     closes it; from another thread, or a callback, it also ends ProcessTrace
 *
 * Events come as EVENT_RECORD (PROCESS_TRACE_MODE_EVENT_RECORD, see evntcons.h). A real-time session gives the events
 * that no consumer has read yet, then new ones, at least once a second; events that a consumer had not finished when it
 * died go to the next one. One call of ProcessTrace takes several files, or one real-time session. Losses come as
 * events of the class RT_LostEvent. The A functions take UTF-8, the W functions UTF-16.
 * Threads: each handle one at a time, but CloseTrace from any. Link with -lautologger-trace. */
#ifndef _EVNTRACE_
#define _EVNTRACE_
#include "autologger_types.h"
#include "autologger_controller.h"
#include "autologger_classic.h"

#define INVALID_PROCESSTRACE_HANDLE ((TRACEHANDLE)-1)

/* The error numbers of these functions. */
#ifndef ERROR_FILE_NOT_FOUND
#define ERROR_FILE_NOT_FOUND 2u
#define ERROR_ACCESS_DENIED 5u
#define ERROR_INVALID_DATA 13u
#define ERROR_BAD_LENGTH 24u
#define ERROR_BAD_PATHNAME 161u
#define ERROR_CANCELLED 1223u
#define ERROR_INVALID_TIME 1901u
#define ERROR_WMI_INSTANCE_NOT_FOUND 4201u
#define ERROR_WMI_ALREADY_ENABLED 4206u
#define ERROR_CTX_CLOSE_PENDING 7007u
#endif

/* LogFileMode of sessions */
#define EVENT_TRACE_FILE_MODE_NONE 0x00000000
#define EVENT_TRACE_FILE_MODE_SEQUENTIAL 0x00000001
#define EVENT_TRACE_FILE_MODE_CIRCULAR 0x00000002
#define EVENT_TRACE_FILE_MODE_APPEND 0x00000004
#define EVENT_TRACE_REAL_TIME_MODE 0x00000100
#define EVENT_TRACE_DELAY_OPEN_FILE_MODE 0x00000200
#define EVENT_TRACE_BUFFERING_MODE 0x00000400
#define EVENT_TRACE_ADD_HEADER_MODE 0x00001000

/* {68fdd900-4a3e-11d1-84f4-0000f80464e3}: the header event of a file (opcode 0) */
#define AUTOLOGGER_EVENT_TRACE_GUID \
    { \
        0x68fdd900, 0x4a3e, 0x11d1, { 0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3 } \
    }
/* {6a399ae0-4bc6-4de9-870b-3657f8947e7e}: RT_LostEvent; opcodes: events, buffers, a backup file were lost */
#define AUTOLOGGER_RT_LOST_EVENT_GUID \
    { \
        0x6a399ae0, 0x4bc6, 0x4de9, { 0x87, 0x0b, 0x36, 0x57, 0xf8, 0x94, 0x7e, 0x7e } \
    }
#define EVENT_TRACE_TYPE_RT_LOST_EVENT 0x20
#define EVENT_TRACE_TYPE_RT_LOST_BUFFER 0x21
#define EVENT_TRACE_TYPE_RT_LOST_FILE 0x22

typedef struct _TIME_ZONE_INFORMATION {
    LONG       Bias;
    WCHAR      StandardName[32];
    SYSTEMTIME StandardDate;
    LONG       StandardBias;
    WCHAR      DaylightName[32];
    SYSTEMTIME DaylightDate;
    LONG       DaylightBias;
} TIME_ZONE_INFORMATION;

typedef struct _ETW_BUFFER_CONTEXT {
    __extension__ union {
        __extension__ struct {
            UCHAR ProcessorNumber;
            UCHAR Alignment;
        };
        USHORT ProcessorIndex;
    };
    USHORT LoggerId;
} ETW_BUFFER_CONTEXT, *PETW_BUFFER_CONTEXT;

typedef struct _EVENT_TRACE {
    EVENT_TRACE_HEADER Header;
    ULONG              InstanceId;
    ULONG              ParentInstanceId;
    GUID               ParentGuid;
    PVOID              MofData;
    ULONG              MofLength;
    __extension__ union {
        ULONG              ClientContext;
        ETW_BUFFER_CONTEXT BufferContext;
    };
} EVENT_TRACE, *PEVENT_TRACE;

typedef struct _TRACE_LOGFILE_HEADER {
    ULONG BufferSize;
    __extension__ union {
        ULONG Version;
        struct {
            UCHAR MajorVersion;
            UCHAR MinorVersion;
            UCHAR SubVersion;
            UCHAR SubMinorVersion;
        } VersionDetail;
    };
    ULONG         ProviderVersion;
    ULONG         NumberOfProcessors;
    LARGE_INTEGER EndTime;
    ULONG         TimerResolution;
    ULONG         MaximumFileSize;
    ULONG         LogFileMode;
    ULONG         BuffersWritten;
    __extension__ union {
        GUID LogInstanceGuid;
        __extension__ struct {
            ULONG StartBuffers;
            ULONG PointerSize;
            ULONG EventsLost;
            ULONG CpuSpeedInMHz;
        };
    };
    LPWSTR                LoggerName;  /* NULL */
    LPWSTR                LogFileName; /* NULL */
    TIME_ZONE_INFORMATION TimeZone;
    LARGE_INTEGER         BootTime;
    LARGE_INTEGER         PerfFreq;
    LARGE_INTEGER         StartTime;
    ULONG                 ReservedFlags; /* the clock: 1, 2 or 3 */
    ULONG                 BuffersLost;
} TRACE_LOGFILE_HEADER, *PTRACE_LOGFILE_HEADER;

struct _EVENT_RECORD; /* evntcons.h */
typedef struct _EVENT_TRACE_LOGFILEW EVENT_TRACE_LOGFILEW, *PEVENT_TRACE_LOGFILEW;
typedef struct _EVENT_TRACE_LOGFILEA EVENT_TRACE_LOGFILEA, *PEVENT_TRACE_LOGFILEA;
/* Called after all events of a buffer (Filled: its bytes; 0 for files). FALSE ends ProcessTrace
 * with ERROR_CANCELLED. */
typedef ULONG(WINAPI *PEVENT_TRACE_BUFFER_CALLBACKW)(PEVENT_TRACE_LOGFILEW Logfile);
typedef ULONG(WINAPI *PEVENT_TRACE_BUFFER_CALLBACKA)(PEVENT_TRACE_LOGFILEA Logfile);
typedef VOID(WINAPI *PEVENT_CALLBACK)(PEVENT_TRACE pEvent);
typedef VOID(WINAPI *PEVENT_RECORD_CALLBACK)(struct _EVENT_RECORD *EventRecord);

#define AUTOLOGGER_LOGFILE_FIELDS(text, callback) \
    text     LogFileName; /* one of the two */ \
    text     LoggerName; \
    LONGLONG CurrentTime; \
    ULONG    BuffersRead; \
    __extension__ union { \
        ULONG LogFileMode; \
        ULONG ProcessTraceMode; /* PROCESS_TRACE_MODE_* */ \
    }; \
    EVENT_TRACE          CurrentEvent;  /* of EventCallback: the last one */ \
    TRACE_LOGFILE_HEADER LogfileHeader; /* out: of a file */ \
    callback             BufferCallback; \
    ULONG                BufferSize; \
    ULONG                Filled; \
    ULONG                EventsLost; \
    __extension__ union { \
        PEVENT_CALLBACK        EventCallback; \
        PEVENT_RECORD_CALLBACK EventRecordCallback; /* with _EVENT_RECORD */ \
    }; \
    ULONG IsKernelTrace; \
    PVOID Context; /* becomes EVENT_RECORD.UserContext */
struct _EVENT_TRACE_LOGFILEW {
    AUTOLOGGER_LOGFILE_FIELDS(LPWSTR, PEVENT_TRACE_BUFFER_CALLBACKW)
};
struct _EVENT_TRACE_LOGFILEA {
    AUTOLOGGER_LOGFILE_FIELDS(LPSTR, PEVENT_TRACE_BUFFER_CALLBACKA)
};
#undef AUTOLOGGER_LOGFILE_FIELDS

/* INVALID_PROCESSTRACE_HANDLE on failure, and then GetLastError: ERROR_INVALID_PARAMETER: NULL; ERROR_BAD_PATHNAME: no
 * name, or both; ERROR_FILE_NOT_FOUND, ERROR_PATH_NOT_FOUND; ERROR_INVALID_DATA: not an .etl; ERROR_ACCESS_DENIED;
 * ERROR_NO_SYSTEM_RESOURCES: eight consumers read the session, or 1,024 traces are open. A session that does not run
 * yet is no failure. */
AUTOLOGGER_API TRACEHANDLE OpenTraceW(PEVENT_TRACE_LOGFILEW Logfile);
AUTOLOGGER_API TRACEHANDLE OpenTraceA(PEVENT_TRACE_LOGFILEA Logfile);
/* ERROR_SUCCESS at the end of the files or the session, and after CloseTrace; ERROR_BAD_LENGTH: no handle or more than
 * 64; ERROR_INVALID_HANDLE; ERROR_INVALID_PARAMETER; ERROR_INVALID_TIME: EndTime before StartTime; ERROR_CANCELLED: by
 * the buffer callback; ERROR_WMI_INSTANCE_NOT_FOUND: the session does not run, or is not a real-time one;
 * ERROR_WMI_ALREADY_ENABLED: more than one real-time handle; ERROR_NOT_SUPPORTED: files and a session together, or
 * times with a session; ERROR_INVALID_DATA: a damaged file, after all readable events. StartTime and EndTime may be
 * NULL. */
AUTOLOGGER_API ULONG ProcessTrace(PTRACEHANDLE HandleArray, ULONG HandleCount, LPFILETIME StartTime,
                                  LPFILETIME EndTime);
/* ERROR_INVALID_HANDLE; ERROR_CTX_CLOSE_PENDING: ProcessTrace uses the handle: it ends after the events that it has,
 * and then closes. */
AUTOLOGGER_API ULONG CloseTrace(TRACEHANDLE TraceHandle);
/* The last error of OpenTrace or of a function for modules (autologger_modules.h) in this thread, or the number of a
 * later SetLastError. */
AUTOLOGGER_API DWORD GetLastError(VOID);
AUTOLOGGER_API VOID  SetLastError(DWORD Error);

#ifdef UNICODE
typedef EVENT_TRACE_LOGFILEW          EVENT_TRACE_LOGFILE;
typedef PEVENT_TRACE_LOGFILEW         PEVENT_TRACE_LOGFILE;
typedef PEVENT_TRACE_BUFFER_CALLBACKW PEVENT_TRACE_BUFFER_CALLBACK;
#define OpenTrace OpenTraceW
#else
typedef EVENT_TRACE_LOGFILEA          EVENT_TRACE_LOGFILE;
typedef PEVENT_TRACE_LOGFILEA         PEVENT_TRACE_LOGFILE;
typedef PEVENT_TRACE_BUFFER_CALLBACKA PEVENT_TRACE_BUFFER_CALLBACK;
#define OpenTrace OpenTraceA
#endif
#endif
