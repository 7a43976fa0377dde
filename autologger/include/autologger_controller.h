/* autologger_controller.h - the controller's part of evntrace.h, which includes it: starts, queries, changes and stops
 * sessions, and enables providers in them. Names, types, layouts and numbers are the SDK's. Every function returns a
 * Win32 error number (ERROR_SUCCESS is 0), and needs a running daemon: ERROR_WMI_INSTANCE_NOT_FOUND without one. A
 * caller without the right to a request gets ERROR_ACCESS_DENIED; by default root, the daemon's own user and the group
 * "autologger" may change sessions. The A functions take UTF-8, the W functions UTF-16.
 * Threads: any; each call has a connection of its own. Link with -lautologger-trace. */
#ifndef AUTOLOGGER_CONTROLLER_H
#define AUTOLOGGER_CONTROLLER_H
#include "autologger_kernel.h"
#include "autologger_types.h"

#ifndef ERROR_ALREADY_EXISTS
#define ERROR_INVALID_FUNCTION 1u
#define ERROR_NOT_SUPPORTED 50u
#define ERROR_INSUFFICIENT_BUFFER 122u
#define ERROR_INVALID_NAME 123u
#define ERROR_ALREADY_EXISTS 183u
#define ERROR_NO_SYSTEM_RESOURCES 1450u
#define ERROR_TIMEOUT 1460u
#define ERROR_WMI_GUID_NOT_FOUND 4200u
#endif

typedef ULONG64 TRACEHANDLE, *PTRACEHANDLE;
typedef ULONG64 CONTROLTRACE_ID, PROCESSTRACE_HANDLE; /* newer names of the same */

/* LogFileMode: the bits that evntrace.h does not define */
#define EVENT_TRACE_FILE_MODE_NEWFILE 0x00000008
#define EVENT_TRACE_USE_MS_FLUSH_TIMER 0x00000010
#define EVENT_TRACE_FILE_MODE_PREALLOCATE 0x00000020
#define EVENT_TRACE_NONSTOPPABLE_MODE 0x00000040
#define EVENT_TRACE_SECURE_MODE 0x00000080
#define EVENT_TRACE_PRIVATE_LOGGER_MODE 0x00000800
#define EVENT_TRACE_USE_KBYTES_FOR_SIZE 0x00002000
#define EVENT_TRACE_USE_GLOBAL_SEQUENCE 0x00004000
#define EVENT_TRACE_USE_LOCAL_SEQUENCE 0x00008000
#define EVENT_TRACE_RELOG_MODE 0x00010000 /* of relogged files; StartTrace refuses it */
#define EVENT_TRACE_PRIVATE_IN_PROC 0x00020000
#define EVENT_TRACE_MODE_RESERVED 0x00100000
#define EVENT_TRACE_STOP_ON_HYBRID_SHUTDOWN 0x00400000
#define EVENT_TRACE_PERSIST_ON_HYBRID_SHUTDOWN 0x00800000
#define EVENT_TRACE_USE_PAGED_MEMORY 0x01000000
#define EVENT_TRACE_SYSTEM_LOGGER_MODE 0x02000000
#define EVENT_TRACE_COMPRESSED_MODE 0x04000000
#define EVENT_TRACE_INDEPENDENT_SESSION_MODE 0x08000000
#define EVENT_TRACE_NO_PER_PROCESSOR_BUFFERING 0x10000000
#define EVENT_TRACE_ADDTO_TRIAGE_DUMP 0x80000000

/* ControlTrace */
#define EVENT_TRACE_CONTROL_QUERY 0
#define EVENT_TRACE_CONTROL_STOP 1
#define EVENT_TRACE_CONTROL_UPDATE 2
#define EVENT_TRACE_CONTROL_FLUSH 3
#define EVENT_TRACE_CONTROL_INCREMENT_FILE 4
#define EVENT_TRACE_CONTROL_CONVERT_TO_REALTIME 5

#define WNODE_FLAG_TRACED_GUID 0x00020000
#define WNODE_FLAG_VERSIONED_PROPERTIES 0x00800000

typedef struct _WNODE_HEADER {
    ULONG BufferSize; /* bytes of the whole structure, names included */
    ULONG ProviderId;
    __extension__ union {
        ULONG64 HistoricalContext; /* out: the session's handle */
        __extension__ struct {
            ULONG Version;
            ULONG Linkage;
        };
    };
    __extension__ union {
        HANDLE        KernelHandle;
        LARGE_INTEGER TimeStamp;
    };
    GUID  Guid;          /* of the session; all zero: a new one is made */
    ULONG ClientContext; /* the clock: 1 performance counter (0 too), 2 system time, 3 CPU cycles */
    ULONG Flags;         /* WNODE_FLAG_TRACED_GUID */
} WNODE_HEADER, *PWNODE_HEADER;

/* Names follow the structure in memory, at the offsets. */
typedef struct _EVENT_TRACE_PROPERTIES {
    WNODE_HEADER Wnode;
    ULONG        BufferSize; /* KB */
    ULONG        MinimumBuffers;
    ULONG        MaximumBuffers;
    ULONG        MaximumFileSize; /* MB; KB with EVENT_TRACE_USE_KBYTES_FOR_SIZE; 0: no limit */
    ULONG        LogFileMode;
    ULONG        FlushTimer;  /* s; ms with EVENT_TRACE_USE_MS_FLUSH_TIMER; 0: full buffers alone */
    ULONG        EnableFlags; /* of the kernel's events; sessions that are system loggers only */
    __extension__ union {
        LONG AgeLimit;
        LONG FlushThreshold;
    };
    ULONG  NumberOfBuffers; /* from here on: out */
    ULONG  FreeBuffers;
    ULONG  EventsLost;
    ULONG  BuffersWritten;
    ULONG  LogBuffersLost;
    ULONG  RealTimeBuffersLost;
    HANDLE LoggerThreadId;
    ULONG  LogFileNameOffset; /* bytes from the start of the structure; 0: no file */
    ULONG  LoggerNameOffset;  /* StartTrace writes the name there */
} EVENT_TRACE_PROPERTIES, *PEVENT_TRACE_PROPERTIES;

/* With WNODE_FLAG_VERSIONED_PROPERTIES in Wnode.Flags and VersionNumber 2; passed as EVENT_TRACE_PROPERTIES. Filters
 * (PID, EXECUTABLE_NAME) choose the processes of a session with EVENT_TRACE_PRIVATE_LOGGER_MODE alone; V2Options are
 * ignored. */
struct _EVENT_FILTER_DESCRIPTOR; /* evntprov.h */
typedef struct _EVENT_TRACE_PROPERTIES_V2 {
    WNODE_HEADER Wnode;
    ULONG        BufferSize;
    ULONG        MinimumBuffers;
    ULONG        MaximumBuffers;
    ULONG        MaximumFileSize;
    ULONG        LogFileMode;
    ULONG        FlushTimer;
    ULONG        EnableFlags;
    __extension__ union {
        LONG AgeLimit;
        LONG FlushThreshold;
    };
    ULONG  NumberOfBuffers;
    ULONG  FreeBuffers;
    ULONG  EventsLost;
    ULONG  BuffersWritten;
    ULONG  LogBuffersLost;
    ULONG  RealTimeBuffersLost;
    HANDLE LoggerThreadId;
    ULONG  LogFileNameOffset;
    ULONG  LoggerNameOffset;
    __extension__ union {
        __extension__ struct {
            ULONG VersionNumber : 8;
        };
        ULONG V2Control;
    };
    ULONG                            FilterDescCount;
    struct _EVENT_FILTER_DESCRIPTOR *FilterDesc;
    __extension__ union {
        __extension__ struct {
            ULONG Wow : 1;
            ULONG QpcDeltaTracking : 1;
            ULONG LargeMdlPages : 1;
            ULONG ExcludeKernelStack : 1;
        };
        ULONG64 V2Options;
    };
} EVENT_TRACE_PROPERTIES_V2, *PEVENT_TRACE_PROPERTIES_V2;

/* Starts a session that runs until it is stopped, or the daemon ends. *TraceHandle is 0 on failure. The log file lies
 * below the daemon's log folder, like the FileName of a configuration. ERROR_BAD_LENGTH: a size or an offset is too
 * small; ERROR_INVALID_PARAMETER: NULL, no WNODE_FLAG_TRACED_GUID, modes that exclude each other; ERROR_NOT_SUPPORTED:
 * a mode that this version does not have; ERROR_BAD_PATHNAME: neither a file nor a mode that needs none;
 * ERROR_ALREADY_EXISTS: name or GUID taken; ERROR_SHARING_VIOLATION: another session writes the file;
 * ERROR_ACCESS_DENIED; ERROR_NOT_ENOUGH_MEMORY; ERROR_DISK_FULL; ERROR_NO_SYSTEM_RESOURCES: no place;
 * ERROR_PRIVILEGE_NOT_HELD: kernel events without the right to them. EVENT_TRACE_PRIVATE_LOGGER_MODE alone: each
 * process that registers the provider Wnode.Guid, now or while the session runs, has a file of its own: the first
 * process the named file, the others one with `_PID` appended; QUERY, STOP and FLUSH apply to all of them. */
AUTOLOGGER_API ULONG StartTraceW(PTRACEHANDLE TraceHandle, LPCWSTR InstanceName, PEVENT_TRACE_PROPERTIES Properties);
AUTOLOGGER_API ULONG StartTraceA(PTRACEHANDLE TraceHandle, LPCSTR InstanceName, PEVENT_TRACE_PROPERTIES Properties);
/* InstanceName, or if it is NULL the handle, names the session. QUERY, STOP, UPDATE and FLUSH fill *Properties, names
 * too: LogFileName is the path of the file, or, if that does not fit, the name that the session was started with.
 * UPDATE: EnableFlags of a system logger, MaximumBuffers and FlushTimer, of which 0 keeps the value;
 * ERROR_NOT_SUPPORTED for values that can't be changed here. ERROR_BAD_LENGTH; ERROR_INVALID_PARAMETER;
 * ERROR_WMI_INSTANCE_NOT_FOUND: the session does not run; ERROR_MORE_DATA: no room for the names (after STOP the
 * session is stopped all the same); ERROR_ACCESS_DENIED; ERROR_NOT_SUPPORTED: other codes. */
AUTOLOGGER_API ULONG ControlTraceW(TRACEHANDLE TraceHandle, LPCWSTR InstanceName, PEVENT_TRACE_PROPERTIES Properties,
                                   ULONG ControlCode);
AUTOLOGGER_API ULONG ControlTraceA(TRACEHANDLE TraceHandle, LPCSTR InstanceName, PEVENT_TRACE_PROPERTIES Properties,
                                   ULONG ControlCode);
/* ControlTrace with one code each. */
AUTOLOGGER_API ULONG QueryTraceW(TRACEHANDLE TraceHandle, LPCWSTR InstanceName, PEVENT_TRACE_PROPERTIES Properties);
AUTOLOGGER_API ULONG QueryTraceA(TRACEHANDLE TraceHandle, LPCSTR InstanceName, PEVENT_TRACE_PROPERTIES Properties);
AUTOLOGGER_API ULONG StopTraceW(TRACEHANDLE TraceHandle, LPCWSTR InstanceName, PEVENT_TRACE_PROPERTIES Properties);
AUTOLOGGER_API ULONG StopTraceA(TRACEHANDLE TraceHandle, LPCSTR InstanceName, PEVENT_TRACE_PROPERTIES Properties);
AUTOLOGGER_API ULONG UpdateTraceW(TRACEHANDLE TraceHandle, LPCWSTR InstanceName, PEVENT_TRACE_PROPERTIES Properties);
AUTOLOGGER_API ULONG UpdateTraceA(TRACEHANDLE TraceHandle, LPCSTR InstanceName, PEVENT_TRACE_PROPERTIES Properties);
AUTOLOGGER_API ULONG FlushTraceW(TRACEHANDLE TraceHandle, LPCWSTR InstanceName, PEVENT_TRACE_PROPERTIES Properties);
AUTOLOGGER_API ULONG FlushTraceA(TRACEHANDLE TraceHandle, LPCSTR InstanceName, PEVENT_TRACE_PROPERTIES Properties);
/* Fills the structures of PropertyArray, each of which has its sizes and offsets set; *LoggerCount gets the number of
 * sessions. ERROR_INVALID_PARAMETER: count 0 or above 64; ERROR_MORE_DATA: more sessions than structures, which are
 * filled; ERROR_BAD_LENGTH. */
AUTOLOGGER_API ULONG QueryAllTracesW(PEVENT_TRACE_PROPERTIES *PropertyArray, ULONG PropertyArrayCount,
                                     PULONG LoggerCount);
AUTOLOGGER_API ULONG QueryAllTracesA(PEVENT_TRACE_PROPERTIES *PropertyArray, ULONG PropertyArrayCount,
                                     PULONG LoggerCount);

#ifndef EVENT_CONTROL_CODE_ENABLE_PROVIDER
#define EVENT_CONTROL_CODE_DISABLE_PROVIDER 0
#define EVENT_CONTROL_CODE_ENABLE_PROVIDER 1
#define EVENT_CONTROL_CODE_CAPTURE_STATE 2
#endif
#define EVENT_ENABLE_PROPERTY_SID 0x001
#define EVENT_ENABLE_PROPERTY_TS_ID 0x002
#define EVENT_ENABLE_PROPERTY_STACK_TRACE 0x004
#define EVENT_ENABLE_PROPERTY_PSM_KEY 0x008
#define EVENT_ENABLE_PROPERTY_IGNORE_KEYWORD_0 0x010
#define EVENT_ENABLE_PROPERTY_PROVIDER_GROUP 0x020
#define EVENT_ENABLE_PROPERTY_ENABLE_KEYWORD_0 0x040
#define EVENT_ENABLE_PROPERTY_PROCESS_START_KEY 0x080
#define EVENT_ENABLE_PROPERTY_EVENT_KEY 0x100
#define EVENT_ENABLE_PROPERTY_EXCLUDE_INPRIVATE 0x200
#define EVENT_ENABLE_PROPERTY_ENABLE_SILOS 0x400
#define EVENT_ENABLE_PROPERTY_SOURCE_CONTAINER_TRACKING 0x800
/* not in Windows: KernelTime and UserTime; costs a system call an event */
#define AUTOLOGGER_ENABLE_PROPERTY_CPU_TIME 0x10000
#define ENABLE_TRACE_PARAMETERS_VERSION 1
#define ENABLE_TRACE_PARAMETERS_VERSION_2 2
struct _EVENT_FILTER_DESCRIPTOR; /* evntprov.h */
typedef struct _ENABLE_TRACE_PARAMETERS {
    ULONG                            Version; /* 1 or 2 */
    ULONG                            EnableProperty;
    ULONG                            ControlFlags;
    GUID                             SourceId;         /* of the caller; not used */
    struct _EVENT_FILTER_DESCRIPTOR *EnableFilterDesc; /* see evntprov.h */
    /* at most 13; Version 1: ignored, EnableFilterDesc is one filter */
    ULONG FilterDescCount;
} ENABLE_TRACE_PARAMETERS, *PENABLE_TRACE_PARAMETERS;

/* Enables a provider in a session, replaces its enablement, disables it, or asks it for its state. Timeout: ms to wait
 * for the callbacks of the programs that have registered it; 0: do not wait. ERROR_INVALID_PARAMETER: also a filter
 * that is malformed, over a limit, or there twice; ERROR_NO_SYSTEM_RESOURCES: the provider is in 8 sessions;
 * ERROR_WMI_INSTANCE_NOT_FOUND; ERROR_WMI_GUID_NOT_FOUND: not enabled (disable, capture state); ERROR_TIMEOUT: not all
 * callbacks were done in time (the provider was enabled all the same); ERROR_NOT_SUPPORTED: unsupported types of
 * filters, the property PSM_KEY, filters of a classic provider: nothing was changed. Each call replaces all filters. */
AUTOLOGGER_API ULONG EnableTraceEx2(TRACEHANDLE TraceHandle, LPCGUID ProviderId, ULONG ControlCode, UCHAR Level,
                                    ULONGLONG MatchAnyKeyword, ULONGLONG MatchAllKeyword, ULONG Timeout,
                                    PENABLE_TRACE_PARAMETERS EnableParameters);
AUTOLOGGER_API ULONG EnableTraceEx(LPCGUID ProviderId, LPCGUID SourceId, TRACEHANDLE TraceHandle, ULONG IsEnabled,
                                   UCHAR Level, ULONGLONG MatchAnyKeyword, ULONGLONG MatchAllKeyword,
                                   ULONG EnableProperty, struct _EVENT_FILTER_DESCRIPTOR *EnableFilterDesc);
AUTOLOGGER_API ULONG EnableTrace(ULONG Enable, ULONG EnableFlag, ULONG EnableLevel, LPCGUID ControlGuid,
                                 TRACEHANDLE TraceHandle);

/* An event whose stacks a session takes: Type 0 with Guid {ce1dbfb4-137e-4da6-87b0-3f59aa102cbc} (PerfInfo) and so
 * on. */
typedef struct _CLASSIC_EVENT_ID {
    GUID  EventGuid;
    UCHAR Type;
    UCHAR Reserved[7];
} CLASSIC_EVENT_ID, *PCLASSIC_EVENT_ID;
/* The answer of EnumerateTraceGuidsEx about a provider (TraceGuidQueryInfo): TRACE_GUID_INFO, then an instance for
 * every program that has registered it (PRE_ENABLE: one, without a program, when none has), each followed by its
 * enablements. */
typedef struct _TRACE_GUID_INFO {
    ULONG InstanceCount;
    ULONG Reserved;
} TRACE_GUID_INFO, *PTRACE_GUID_INFO;
#define TRACE_PROVIDER_FLAG_LEGACY 0x00000001
#define TRACE_PROVIDER_FLAG_PRE_ENABLE 0x00000002
typedef struct _TRACE_PROVIDER_INSTANCE_INFO {
    ULONG NextOffset; /* from this instance to the next one; 0: the last */
    ULONG EnableCount;
    ULONG Pid;
    ULONG Flags;
} TRACE_PROVIDER_INSTANCE_INFO, *PTRACE_PROVIDER_INSTANCE_INFO;
typedef struct _TRACE_ENABLE_INFO {
    ULONG     IsEnabled;
    UCHAR     Level;
    UCHAR     Reserved1;
    USHORT    LoggerId;
    ULONG     EnableProperty;
    ULONG     Reserved2;
    ULONGLONG MatchAnyKeyword;
    ULONGLONG MatchAllKeyword;
} TRACE_ENABLE_INFO, *PTRACE_ENABLE_INFO;
/* The sampling interval of a source: TraceSampledProfileIntervalInfo. */
typedef struct _TRACE_PROFILE_INTERVAL {
    ULONG Source;   /* 0: the clock, as for EVENT_TRACE_FLAG_PROFILE; there is no other */
    ULONG Interval; /* 100 ns units */
} TRACE_PROFILE_INTERVAL, *PTRACE_PROFILE_INTERVAL;
/* Classes without a comment give ERROR_NOT_SUPPORTED. */
typedef enum _TRACE_QUERY_INFO_CLASS {
    /* EnumerateTraceGuidsEx: GUIDs of the registered or enabled providers */
    TraceGuidQueryList              = 0,
    TraceGuidQueryInfo              = 1, /* EnumerateTraceGuidsEx: one provider, whose GUID is the input */
    TraceGuidQueryProcess           = 2,
    TraceStackTracingInfo           = 3, /* set, query: CLASSIC_EVENT_ID[] */
    TraceSystemTraceEnableFlagsInfo = 4, /* set, query: ULONG[8], the group mask */
    /* query, set, no session: TRACE_PROFILE_INTERVAL, whose Source is the input. Only the present interval can be set:
     * ERROR_NOT_SUPPORTED for another one */
    TraceSampledProfileIntervalInfo = 5,
    TraceProfileSourceConfigInfo    = 6,
    TraceProfileSourceListInfo      = 7,
    TracePmcEventListInfo           = 8,
    TracePmcCounterListInfo         = 9,
    TraceSetDisallowList            = 10,
    TraceVersionInfo                = 11,
    /* EnumerateTraceGuidsEx: GUIDs of the groups that registered providers have joined */
    TraceGroupQueryList = 12,
    /* EnumerateTraceGuidsEx: one group, in the form of a provider: its members' programs, and its enablements */
    TraceGroupQueryInfo               = 13,
    TraceDisallowListQuery            = 14,
    TraceInfoReserved15               = 15,
    TracePeriodicCaptureStateListInfo = 16,
    TracePeriodicCaptureStateInfo     = 17,
    TraceProviderBinaryTracking       = 18,
    TraceMaxLoggersQuery              = 19, /* query, no session: ULONG */
    TraceLbrConfigurationInfo         = 20,
    TraceLbrEventListInfo             = 21,
    TraceMaxPmcCounterQuery           = 22,
    TraceStreamCount                  = 23,
    TraceStackCachingInfo             = 24,
    MaxTraceSetInfoClass              = 25
} TRACE_QUERY_INFO_CLASS,
    TRACE_INFO_CLASS;
/* ERROR_INVALID_PARAMETER; ERROR_BAD_LENGTH: the length does not fit the class; ERROR_WMI_INSTANCE_NOT_FOUND;
 * ERROR_NOT_SUPPORTED: another class, or an unknown stack event; and the errors of the change. */
AUTOLOGGER_API ULONG TraceSetInformation(TRACEHANDLE SessionHandle, TRACE_INFO_CLASS InformationClass,
                                         PVOID TraceInformation, ULONG InformationLength);
/* *ReturnLength (may be NULL) gets the bytes of the whole answer; ERROR_INSUFFICIENT_BUFFER when they don't fit. */
AUTOLOGGER_API ULONG TraceQueryInformation(TRACEHANDLE SessionHandle, TRACE_INFO_CLASS InformationClass,
                                           PVOID TraceInformation, ULONG InformationLength, PULONG ReturnLength);
/* ERROR_INSUFFICIENT_BUFFER: *ReturnLength is the size that is needed; ERROR_INVALID_PARAMETER;
 * ERROR_WMI_GUID_NOT_FOUND: the provider is not known; ERROR_NOT_SUPPORTED: another class. */
AUTOLOGGER_API ULONG EnumerateTraceGuidsEx(TRACE_QUERY_INFO_CLASS TraceQueryInfoClass, PVOID InBuffer,
                                           ULONG InBufferSize, PVOID OutBuffer, ULONG OutBufferSize,
                                           PULONG ReturnLength);
/* One registered or enabled provider, in the answer of EnumerateTraceGuids. */
typedef struct _TRACE_GUID_PROPERTIES {
    GUID  Guid;
    ULONG GuidType; /* 0 */
    /* of the first session that enables it, with that enablement: the flags are the low 32 bits of MatchAnyKeyword */
    ULONG   LoggerId;
    ULONG   EnableLevel;
    ULONG   EnableFlags;
    BOOLEAN IsEnable;
} TRACE_GUID_PROPERTIES, *PTRACE_GUID_PROPERTIES;
/* Fills the structures that the array points to; *GuidCount gets the number of providers. ERROR_MORE_DATA: more than
 * PropertyArrayCount, which are filled; ERROR_INVALID_PARAMETER: no array, no room, or no *GuidCount.
 * EnumerateTraceGuidsEx tells more. */
AUTOLOGGER_API ULONG EnumerateTraceGuids(PTRACE_GUID_PROPERTIES *GuidPropertiesArray, ULONG PropertyArrayCount,
                                         PULONG GuidCount);

#ifdef UNICODE
#define StartTrace StartTraceW
#define ControlTrace ControlTraceW
#define QueryTrace QueryTraceW
#define StopTrace StopTraceW
#define UpdateTrace UpdateTraceW
#define FlushTrace FlushTraceW
#define QueryAllTraces QueryAllTracesW
#else
#define StartTrace StartTraceA
#define ControlTrace ControlTraceA
#define QueryTrace QueryTraceA
#define StopTrace StopTraceA
#define UpdateTrace UpdateTraceA
#define FlushTrace FlushTraceA
#define QueryAllTraces QueryAllTracesA
#endif
#endif
