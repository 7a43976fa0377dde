/* autologger_classic.h - the older providers' part of evntrace.h, which includes it, with the SDK's names, types and
 * layouts.
 *
 *   RegisterTraceGuids   announces a provider; its callback gets WMI_ENABLE_EVENTS, with the session's handle, and
 *                        WMI_DISABLE_EVENTS
 *   TraceEvent           writes one event into that session
 *   TraceMessage         writes one message of a preprocessor of messages
 *
 * One session at a time enables such a provider: the last one takes it from the one before. The provider filters by
 * itself: level and flags (the low 32 bits of the keywords) are in the handle. For new providers: evntprov.h.
 * Threads: any; the callback runs on the library's own thread. Link with -lautologger. */
#ifndef AUTOLOGGER_CLASSIC_H
#define AUTOLOGGER_CLASSIC_H
#include "autologger_controller.h"
#include <stdarg.h>

#define TRACE_LEVEL_NONE 0
#define TRACE_LEVEL_CRITICAL 1
#define TRACE_LEVEL_FATAL 1
#define TRACE_LEVEL_ERROR 2
#define TRACE_LEVEL_WARNING 3
#define TRACE_LEVEL_INFORMATION 4
#define TRACE_LEVEL_VERBOSE 5
#define EVENT_TRACE_TYPE_INFO 0x00
#define EVENT_TRACE_TYPE_START 0x01
#define EVENT_TRACE_TYPE_END 0x02
#define EVENT_TRACE_TYPE_STOP 0x02
#define EVENT_TRACE_TYPE_DC_START 0x03
#define EVENT_TRACE_TYPE_DC_END 0x04
#define EVENT_TRACE_TYPE_EXTENSION 0x05
#define EVENT_TRACE_TYPE_REPLY 0x06
#define EVENT_TRACE_TYPE_DEQUEUE 0x07
#define EVENT_TRACE_TYPE_RESUME 0x07
#define EVENT_TRACE_TYPE_CHECKPOINT 0x08
#define EVENT_TRACE_TYPE_SUSPEND 0x08
#define EVENT_TRACE_TYPE_WINEVT_SEND 0x09
#define EVENT_TRACE_TYPE_WINEVT_RECEIVE 0xF0

/* EVENT_TRACE_HEADER.Flags, as a provider sets them: TRACED_GUID always. */
#define WNODE_FLAG_USE_TIMESTAMP 0x00000200 /* ERROR_NOT_SUPPORTED */
#define WNODE_FLAG_USE_GUID_PTR 0x00080000  /* GuidPtr points to the GUID */
#define WNODE_FLAG_USE_MOF_PTR 0x00100000   /* MOF_FIELDs, not the data, follow the header */
#define MAX_MOF_FIELDS 16
typedef struct _MOF_FIELD {
    ULONG64 DataPtr;
    ULONG   Length;
    ULONG   DataType;
} MOF_FIELD, *PMOF_FIELD;

typedef struct _EVENT_TRACE_HEADER {
    USHORT Size;
    __extension__ union {
        USHORT FieldTypeFlags;
        __extension__ struct {
            UCHAR HeaderType;
            UCHAR MarkerFlags;
        };
    };
    __extension__ union {
        ULONG Version;
        struct {
            UCHAR  Type;
            UCHAR  Level;
            USHORT Version;
        } Class;
    };
    ULONG         ThreadId;
    ULONG         ProcessId;
    LARGE_INTEGER TimeStamp;
    __extension__ union {
        GUID      Guid;
        ULONGLONG GuidPtr;
    };
    __extension__ union {
        __extension__ struct {
            ULONG KernelTime;
            ULONG UserTime;
        };
        ULONG64 ProcessorTime;
        __extension__ struct {
            ULONG ClientContext;
            ULONG Flags;
        };
    };
} EVENT_TRACE_HEADER, *PEVENT_TRACE_HEADER;

typedef struct _EVENT_INSTANCE_HEADER {
    USHORT Size;
    __extension__ union {
        USHORT FieldTypeFlags;
        __extension__ struct {
            UCHAR HeaderType;
            UCHAR MarkerFlags;
        };
    };
    __extension__ union {
        ULONG Version;
        struct {
            UCHAR  Type;
            UCHAR  Level;
            USHORT Version;
        } Class;
    };
    ULONG         ThreadId;
    ULONG         ProcessId;
    LARGE_INTEGER TimeStamp;
    ULONGLONG     RegHandle;
    ULONG         InstanceId;
    ULONG         ParentInstanceId;
    __extension__ union {
        __extension__ struct {
            ULONG KernelTime;
            ULONG UserTime;
        };
        ULONG64 ProcessorTime;
        __extension__ struct {
            ULONG EventId;
            ULONG Flags;
        };
    };
    ULONGLONG ParentRegHandle;
} EVENT_INSTANCE_HEADER, *PEVENT_INSTANCE_HEADER;

typedef struct _EVENT_INSTANCE_INFO {
    HANDLE RegHandle; /* of a class: TRACE_GUID_REGISTRATION.RegHandle */
    ULONG  InstanceId;
} EVENT_INSTANCE_INFO, *PEVENT_INSTANCE_INFO;
typedef struct _TRACE_GUID_REGISTRATION {
    LPCGUID Guid;      /* of a class of events */
    HANDLE  RegHandle; /* out */
} TRACE_GUID_REGISTRATION, *PTRACE_GUID_REGISTRATION;

typedef enum {
    WMI_GET_ALL_DATA        = 0,
    WMI_GET_SINGLE_INSTANCE = 1,
    WMI_SET_SINGLE_INSTANCE = 2,
    WMI_SET_SINGLE_ITEM     = 3,
    WMI_ENABLE_EVENTS       = 4,
    WMI_DISABLE_EVENTS      = 5,
    WMI_ENABLE_COLLECTION   = 6,
    WMI_DISABLE_COLLECTION  = 7,
    WMI_REGINFO             = 8,
    WMI_EXECUTE_METHOD      = 9
} WMIDPREQUESTCODE;
/* Called for WMI_ENABLE_EVENTS and WMI_DISABLE_EVENTS alone; Buffer is a WNODE_HEADER. */
typedef ULONG(WINAPI *WMIDPREQUEST)(WMIDPREQUESTCODE RequestCode, PVOID RequestContext, ULONG *BufferSize,
                                    PVOID Buffer);

/* ERROR_INVALID_PARAMETER: a required argument is NULL; ERROR_NO_SYSTEM_RESOURCES: over 1,024 registrations;
 * ERROR_NOT_ENOUGH_MEMORY. MOF is not read: both names may be NULL. */
AUTOLOGGER_API ULONG RegisterTraceGuidsW(WMIDPREQUEST RequestAddress, PVOID RequestContext, LPCGUID ControlGuid,
                                         ULONG GuidCount, PTRACE_GUID_REGISTRATION TraceGuidReg, LPCWSTR MofImagePath,
                                         LPCWSTR MofResourceName, PTRACEHANDLE RegistrationHandle);
AUTOLOGGER_API ULONG RegisterTraceGuidsA(WMIDPREQUEST RequestAddress, PVOID RequestContext, LPCGUID ControlGuid,
                                         ULONG GuidCount, PTRACE_GUID_REGISTRATION TraceGuidReg, LPCSTR MofImagePath,
                                         LPCSTR MofResourceName, PTRACEHANDLE RegistrationHandle);
/* No callback runs after it has returned. ERROR_INVALID_HANDLE: another handle. */
AUTOLOGGER_API ULONG UnregisterTraceGuids(TRACEHANDLE RegistrationHandle);
/* The handle in the callback's Buffer during WMI_ENABLE_EVENTS; (TRACEHANDLE)-1 for NULL. The handle holds the level
 * and flags of the enabling session. */
AUTOLOGGER_API TRACEHANDLE GetTraceLoggerHandle(PVOID Buffer);
AUTOLOGGER_API UCHAR       GetTraceEnableLevel(TRACEHANDLE TraceHandle);
AUTOLOGGER_API ULONG       GetTraceEnableFlags(TRACEHANDLE TraceHandle);

/* EventTrace is a header and the data, in one piece; the provider sets Size, Class, Guid and Flags.
 * ERROR_INVALID_PARAMETER; ERROR_BAD_LENGTH: Size is smaller than a header; ERROR_INVALID_FLAG_NUMBER: Flags;
 * ERROR_INVALID_HANDLE: the session does not enable a classic provider of this program; ERROR_NOT_SUPPORTED: a time of
 * the provider's own; ERROR_ARITHMETIC_OVERFLOW, ERROR_MORE_DATA, ERROR_NOT_ENOUGH_MEMORY as EventWrite. */
AUTOLOGGER_API ULONG TraceEvent(TRACEHANDLE TraceHandle, PEVENT_TRACE_HEADER EventTrace);
/* The same for an instance of a class. ParentInstInfo, the instance that it belongs to, may be NULL. */
AUTOLOGGER_API ULONG TraceEventInstance(TRACEHANDLE TraceHandle, PEVENT_INSTANCE_HEADER EventTrace,
                                        PEVENT_INSTANCE_INFO InstInfo, PEVENT_INSTANCE_INFO ParentInstInfo);
/* Makes a number that no other instance of this class has in this process. ERROR_INVALID_PARAMETER. */
AUTOLOGGER_API ULONG CreateTraceInstanceId(HANDLE RegHandle, PEVENT_INSTANCE_INFO InstInfo);

#define TRACE_MESSAGE_SEQUENCE \
    1 /* the number is 0 unless the session numbers messages: LogFileMode USE_LOCAL_SEQUENCE or USE_GLOBAL_SEQUENCE */
#define TRACE_MESSAGE_GUID 2
#define TRACE_MESSAGE_COMPONENTID 4
#define TRACE_MESSAGE_TIMESTAMP 8
#define TRACE_MESSAGE_PERFORMANCE_TIMESTAMP 16
#define TRACE_MESSAGE_SYSTEMINFO 32
#define TRACE_MESSAGE_POINTER32 0x0040
#define TRACE_MESSAGE_POINTER64 0x0080
#define TRACE_MESSAGE_FLAG_MASK 0xFFFF
#define TRACE_MESSAGE_MAXIMUM_SIZE (64 * 1024)
/* Pairs (PVOID data, size_t bytes) follow MessageNumber, ended by NULL. With COMPONENTID MessageGuid is a component's
 * ULONG. ERROR_INVALID_HANDLE; ERROR_INVALID_PARAMETER; ERROR_ARITHMETIC_OVERFLOW, ERROR_MORE_DATA,
 * ERROR_NOT_ENOUGH_MEMORY. */
AUTOLOGGER_API ULONG TraceMessage(TRACEHANDLE LoggerHandle, ULONG MessageFlags, LPCGUID MessageGuid,
                                  ULONG MessageNumber, ...); /* of 16 bits */
AUTOLOGGER_API ULONG TraceMessageVa(TRACEHANDLE LoggerHandle, ULONG MessageFlags, LPCGUID MessageGuid,
                                    USHORT MessageNumber, va_list MessageArgList);

#ifdef UNICODE
#define RegisterTraceGuids RegisterTraceGuidsW
#else
#define RegisterTraceGuids RegisterTraceGuidsA
#endif
#endif
