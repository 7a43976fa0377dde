/* autologger_classic.h - the older providers' part of evntrace.h, which includes it, with the SDK's names, types and
 * layouts.
 *
 *   RegisterTraceGuids   announces a provider; the callback is asked to begin (WMI_ENABLE_EVENTS), with the session's
 *   handle, or to end TraceEvent           writes one event into that session
 *   TraceMessage         writes one message of a preprocessor of messages
 *
 * One session at a time enables such a provider: who enables it last takes it from the one before. The provider filters
 * by itself: level and flags (the low 32 bits of the keywords) are in the handle. For new providers: evntprov.h.
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
#define WNODE_FLAG_USE_TIMESTAMP 0x00000200 /* not supported: 50 */
#define WNODE_FLAG_USE_GUID_PTR 0x00080000  /* GuidPtr points to the GUID */
#define WNODE_FLAG_USE_MOF_PTR 0x00100000   /* MOF_FIELDs follow the header, not the data */
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
/* Asked for WMI_ENABLE_EVENTS and WMI_DISABLE_EVENTS alone; Buffer is a WNODE_HEADER. */
typedef ULONG(WINAPI *WMIDPREQUEST)(WMIDPREQUESTCODE RequestCode, PVOID RequestContext, ULONG *BufferSize,
                                    PVOID Buffer);

/* 0; 87 for a NULL where something is needed; 1450 beyond 1,024 registrations; 8. Of MOF nothing is read: both names
 * may be NULL. */
AUTOLOGGER_API ULONG RegisterTraceGuidsW(WMIDPREQUEST RequestAddress, PVOID RequestContext, LPCGUID ControlGuid,
                                         ULONG GuidCount, PTRACE_GUID_REGISTRATION TraceGuidReg, LPCWSTR MofImagePath,
                                         LPCWSTR MofResourceName, PTRACEHANDLE RegistrationHandle);
AUTOLOGGER_API ULONG RegisterTraceGuidsA(WMIDPREQUEST RequestAddress, PVOID RequestContext, LPCGUID ControlGuid,
                                         ULONG GuidCount, PTRACE_GUID_REGISTRATION TraceGuidReg, LPCSTR MofImagePath,
                                         LPCSTR MofResourceName, PTRACEHANDLE RegistrationHandle);
/* No callback runs any more when it returns. 6 for another handle. */
AUTOLOGGER_API ULONG UnregisterTraceGuids(TRACEHANDLE RegistrationHandle);
/* Of the callback's Buffer while it is asked to begin; (TRACEHANDLE)-1 for NULL. What the enabling session asked for is
 * in the handle. */
AUTOLOGGER_API TRACEHANDLE GetTraceLoggerHandle(PVOID Buffer);
AUTOLOGGER_API UCHAR       GetTraceEnableLevel(TRACEHANDLE TraceHandle);
AUTOLOGGER_API ULONG       GetTraceEnableFlags(TRACEHANDLE TraceHandle);

/* EventTrace is a header, and what is told, in one piece: Size, Class, Guid and Flags are the provider's. 0; 87; 24
 * Size is smaller than a header; 186 Flags; 6 the session does not enable a classic provider of this program; 50 a time
 * of one's own; 534, 234, 8 as EventWrite. */
AUTOLOGGER_API ULONG TraceEvent(TRACEHANDLE TraceHandle, PEVENT_TRACE_HEADER EventTrace);
/* The same, of an instance of a class, and of the one that it belongs to (may be NULL). */
AUTOLOGGER_API ULONG TraceEventInstance(TRACEHANDLE TraceHandle, PEVENT_INSTANCE_HEADER EventTrace,
                                        PEVENT_INSTANCE_INFO InstInfo, PEVENT_INSTANCE_INFO ParentInstInfo);
/* A number that no instance of this class has in this process. 87. */
AUTOLOGGER_API ULONG CreateTraceInstanceId(HANDLE RegHandle, PEVENT_INSTANCE_INFO InstInfo);

#define TRACE_MESSAGE_SEQUENCE 1 /* the number is 0: no session numbers messages */
#define TRACE_MESSAGE_GUID 2
#define TRACE_MESSAGE_COMPONENTID 4
#define TRACE_MESSAGE_TIMESTAMP 8
#define TRACE_MESSAGE_PERFORMANCE_TIMESTAMP 16
#define TRACE_MESSAGE_SYSTEMINFO 32
#define TRACE_MESSAGE_POINTER32 0x0040
#define TRACE_MESSAGE_POINTER64 0x0080
#define TRACE_MESSAGE_FLAG_MASK 0xFFFF
#define TRACE_MESSAGE_MAXIMUM_SIZE (64 * 1024)
/* What follows MessageNumber: pairs (PVOID data, size_t bytes), ended by NULL. MessageGuid is a component's ULONG with
 * COMPONENTID. 6; 87; 534, 234, 8. */
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
