/* evntcons.h - what an event looks like to a consumer: EVENT_RECORD, with the SDK's names, types and layouts. Pointers
 * in an EVENT_RECORD are valid during the callback only. See evntrace.h for the functions. */
#ifndef _EVNTCONS_
#define _EVNTCONS_
#include "evntprov.h"
#include "evntrace.h"

#define PROCESS_TRACE_MODE_REAL_TIME 0x00000100
#define PROCESS_TRACE_MODE_RAW_TIMESTAMP 0x00001000 /* EventHeader.TimeStamp is the session's clock, not a FILETIME */
#define PROCESS_TRACE_MODE_EVENT_RECORD 0x10000000

#define EVENT_HEADER_EXT_TYPE_RELATED_ACTIVITYID 0x0001
#define EVENT_HEADER_EXT_TYPE_SID 0x0002
#define EVENT_HEADER_EXT_TYPE_TS_ID 0x0003
#define EVENT_HEADER_EXT_TYPE_INSTANCE_INFO 0x0004
#define EVENT_HEADER_EXT_TYPE_STACK_TRACE32 0x0005
#define EVENT_HEADER_EXT_TYPE_STACK_TRACE64 0x0006
#define EVENT_HEADER_EXT_TYPE_PEBS_INDEX 0x0007
#define EVENT_HEADER_EXT_TYPE_PMC_COUNTERS 0x0008
#define EVENT_HEADER_EXT_TYPE_PSM_KEY 0x0009
#define EVENT_HEADER_EXT_TYPE_EVENT_KEY 0x000A
#define EVENT_HEADER_EXT_TYPE_EVENT_SCHEMA_TL 0x000B
#define EVENT_HEADER_EXT_TYPE_PROV_TRAITS 0x000C
#define EVENT_HEADER_EXT_TYPE_PROCESS_START_KEY 0x000D
#define EVENT_HEADER_EXT_TYPE_CONTROL_GUID 0x000E
#define EVENT_HEADER_EXT_TYPE_QPC_DELTA 0x000F
#define EVENT_HEADER_EXT_TYPE_CONTAINER_ID 0x0010
#define EVENT_HEADER_EXT_TYPE_STACK_KEY32 0x0011
#define EVENT_HEADER_EXT_TYPE_STACK_KEY64 0x0012
#define EVENT_HEADER_EXT_TYPE_MAX 0x0013

#define EVENT_HEADER_FLAG_EXTENDED_INFO 0x0001
#define EVENT_HEADER_FLAG_PRIVATE_SESSION 0x0002
#define EVENT_HEADER_FLAG_STRING_ONLY 0x0004
#define EVENT_HEADER_FLAG_TRACE_MESSAGE 0x0008
#define EVENT_HEADER_FLAG_NO_CPUTIME 0x0010
#define EVENT_HEADER_FLAG_32_BIT_HEADER 0x0020
#define EVENT_HEADER_FLAG_64_BIT_HEADER 0x0040
#define EVENT_HEADER_FLAG_CLASSIC_HEADER 0x0100
#define EVENT_HEADER_FLAG_PROCESSOR_INDEX 0x0200

#define EVENT_HEADER_PROPERTY_XML 0x0001
#define EVENT_HEADER_PROPERTY_FORWARDED_XML 0x0002
#define EVENT_HEADER_PROPERTY_LEGACY_EVENTLOG 0x0004

typedef struct _EVENT_HEADER_EXTENDED_DATA_ITEM {
    USHORT Reserved1;
    USHORT ExtType;
    __extension__ struct {
        USHORT Linkage : 1;
        USHORT Reserved2 : 15;
    };
    USHORT    DataSize;
    ULONGLONG DataPtr;
} EVENT_HEADER_EXTENDED_DATA_ITEM, *PEVENT_HEADER_EXTENDED_DATA_ITEM;

typedef struct _EVENT_EXTENDED_ITEM_RELATED_ACTIVITYID {
    GUID RelatedActivityId;
} EVENT_EXTENDED_ITEM_RELATED_ACTIVITYID, *PEVENT_EXTENDED_ITEM_RELATED_ACTIVITYID;
typedef struct _EVENT_EXTENDED_ITEM_INSTANCE {
    ULONG InstanceId;
    ULONG ParentInstanceId;
    GUID  ParentGuid;
} EVENT_EXTENDED_ITEM_INSTANCE, *PEVENT_EXTENDED_ITEM_INSTANCE;
typedef struct _EVENT_EXTENDED_ITEM_TS_ID {
    ULONG SessionId;
} EVENT_EXTENDED_ITEM_TS_ID, *PEVENT_EXTENDED_ITEM_TS_ID;
typedef struct _EVENT_EXTENDED_ITEM_STACK_TRACE32 {
    ULONG64 MatchId;
    ULONG   Address[1];
} EVENT_EXTENDED_ITEM_STACK_TRACE32, *PEVENT_EXTENDED_ITEM_STACK_TRACE32;
typedef struct _EVENT_EXTENDED_ITEM_STACK_TRACE64 {
    ULONG64 MatchId;
    ULONG64 Address[1]; /* as many as the item has room for */
} EVENT_EXTENDED_ITEM_STACK_TRACE64, *PEVENT_EXTENDED_ITEM_STACK_TRACE64;

typedef struct _EVENT_HEADER {
    USHORT           Size;
    USHORT           HeaderType;
    USHORT           Flags;
    USHORT           EventProperty;
    ULONG            ThreadId;
    ULONG            ProcessId;
    LARGE_INTEGER    TimeStamp;
    GUID             ProviderId;
    EVENT_DESCRIPTOR EventDescriptor;
    __extension__ union {
        __extension__ struct {
            ULONG KernelTime;
            ULONG UserTime;
        };
        ULONG64 ProcessorTime;
    };
    GUID ActivityId;
} EVENT_HEADER, *PEVENT_HEADER;

typedef struct _EVENT_RECORD {
    EVENT_HEADER                     EventHeader;
    ETW_BUFFER_CONTEXT               BufferContext;
    USHORT                           ExtendedDataCount;
    USHORT                           UserDataLength;
    PEVENT_HEADER_EXTENDED_DATA_ITEM ExtendedData;
    PVOID                            UserData;
    PVOID                            UserContext;
} EVENT_RECORD, *PEVENT_RECORD;
typedef const EVENT_RECORD *PCEVENT_RECORD;

FORCEINLINE UCHAR GetEventProcessorNumber(PCEVENT_RECORD EventRecord)
{
    return EventRecord->BufferContext.ProcessorNumber;
}
FORCEINLINE ULONG GetEventProcessorIndex(PCEVENT_RECORD EventRecord)
{
    return EventRecord->EventHeader.Flags & EVENT_HEADER_FLAG_PROCESSOR_INDEX
               ? EventRecord->BufferContext.ProcessorIndex
               : EventRecord->BufferContext.ProcessorNumber;
}

/* ---- who may do what with a session, a provider or a provider group ---- */

#define WMIGUID_QUERY 0x0001
#define TRACELOG_CREATE_REALTIME 0x0020
#define TRACELOG_CREATE_ONDISK 0x0040
#define TRACELOG_GUID_ENABLE 0x0080
#define TRACELOG_ACCESS_KERNEL_LOGGER 0x0100
#define TRACELOG_LOG_EVENT 0x0200
#define TRACELOG_ACCESS_REALTIME 0x0400
#define TRACELOG_REGISTER_GUIDS 0x0800
#define TRACELOG_JOIN_GROUP 0x1000
#define TRACELOG_ALL 0x1FE1 /* not the SDK's value, which adds Windows' standard rights */

/* {0811c1af-7a07-4a06-82ed-869455cdf713}: the rights of every GUID without a descriptor of its own */
#define AUTOLOGGER_DEFAULT_TRACE_SECURITY_GUID \
    { \
        0x0811c1af, 0x7a07, 0x4a06, { 0x82, 0xed, 0x86, 0x94, 0x55, 0xcd, 0xf7, 0x13 } \
    }

typedef PVOID PSID, PSECURITY_DESCRIPTOR;
typedef enum {
    EventSecuritySetDACL, /* this entry alone */
    EventSecuritySetSACL, /* ERROR_NOT_SUPPORTED: there is no audit */
    EventSecurityAddDACL, /* added to the present entries */
    EventSecurityAddSACL,
    EventSecurityMax
} EVENTSECURITYOPERATION;

/* SIDs of Linux: a user is S-1-22-1-uid, a group S-1-22-2-gid (as Samba writes them); root is S-1-5-18, everybody
 * S-1-1-0, the group "autologger" S-1-5-32-559 (Performance Log Users). `sid` gets 16 bytes. */
FORCEINLINE PSID AutologgerUnixSid(BYTE sid[16], BOOLEAN group, ULONG id)
{
    static const BYTE head[8] = {1, 2, 0, 0, 0, 0, 0, 22};
    ULONG             i;
    memcpy(sid, head, sizeof head);
    for (i = 0; i < 4; i++) {
        sid[8 + i]  = (BYTE)(i == 0 ? (group ? 2 : 1) : 0);
        sid[12 + i] = (BYTE)(id >> (8 * i));
    }
    return sid;
}

/* Grants (AllowOrDeny TRUE) or denies rights to Sid, and keeps them below WMI\Security. Programs that already write to
 * a session continue until it ends. ERROR_INVALID_PARAMETER; ERROR_NOT_SUPPORTED: SACL; ERROR_ACCESS_DENIED: the caller
 * is neither root nor the daemon's own user; ERROR_WMI_INSTANCE_NOT_FOUND: no daemon; and errors of the store. */
AUTOLOGGER_API ULONG EventAccessControl(LPGUID Guid, ULONG Operation, PSID Sid, ULONG Rights, BOOLEAN AllowOrDeny);
/* The self-relative descriptor that applies to Guid, also when it is the default. ERROR_MORE_DATA: *BufferSize is the
 * size that is needed; ERROR_ACCESS_DENIED; ERROR_WMI_INSTANCE_NOT_FOUND. */
AUTOLOGGER_API ULONG EventAccessQuery(LPGUID Guid, PSECURITY_DESCRIPTOR Buffer, PULONG BufferSize);
/* Restores the default. ERROR_FILE_NOT_FOUND: Guid had no descriptor of its own; ERROR_ACCESS_DENIED;
 * ERROR_WMI_INSTANCE_NOT_FOUND. */
AUTOLOGGER_API ULONG EventAccessRemove(LPGUID Guid);
#endif
