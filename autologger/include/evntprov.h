/* evntprov.h - writing events: the provider API of Event Tracing, with the SDK's names, types and layouts.
 *
 *   EventRegister     announces a provider; a session may enable it later, or has done so before
 *   EventWrite        writes one event into every session that enables it; nearly free when none does
 *   EventUnregister   ends it
 *
 * Threads: everything from any thread; EventWrite and EventEnabled also from signal handlers. The enable callback runs
 * on the library's own thread, once for each session that is already interested during EventRegister.
 * Programs should ignore what EventWrite returns, except in tests. Link with -lautologger. */
#ifndef _EVNTPROV_
#define _EVNTPROV_
#include "autologger_types.h"

#define EVENT_MIN_LEVEL 0
#define EVENT_MAX_LEVEL 0xff
#define EVENT_ACTIVITY_CTRL_GET_ID 1
#define EVENT_ACTIVITY_CTRL_SET_ID 2
#define EVENT_ACTIVITY_CTRL_CREATE_ID 3
#define EVENT_ACTIVITY_CTRL_GET_SET_ID 4
#define EVENT_ACTIVITY_CTRL_CREATE_SET_ID 5
#define MAX_EVENT_DATA_DESCRIPTORS 128
#define MAX_EVENT_FILTERS_COUNT 13
#define MAX_EVENT_FILTER_DATA_SIZE 1024
#define MAX_EVENT_FILTER_PAYLOAD_SIZE 4096
#define MAX_EVENT_FILTER_EVENT_NAME_SIZE 4096
#define MAX_EVENT_FILTER_PID_COUNT 8
#define MAX_EVENT_FILTER_EVENT_ID_COUNT 64
/* EVENT_FILTER_DESCRIPTOR.Type. SCHEMATIZED reaches the provider's callback; the library applies the others */
#define EVENT_FILTER_TYPE_NONE 0x00000000u
#define EVENT_FILTER_TYPE_SCHEMATIZED 0x80000000u
#define EVENT_FILTER_TYPE_SYSTEM_FLAGS 0x80000001u
#define EVENT_FILTER_TYPE_TRACEHANDLE 0x80000002u
#define EVENT_FILTER_TYPE_PID 0x80000004u                /* ULONG[], at most 8 */
#define EVENT_FILTER_TYPE_EXECUTABLE_NAME 0x80000008u    /* WCHAR[]: file names or paths, joined by ';' */
#define EVENT_FILTER_TYPE_PACKAGE_ID 0x80000010u         /* WCHAR[]: control groups or containers */
#define EVENT_FILTER_TYPE_PACKAGE_APP_ID 0x80000020u     /* WCHAR[]: systemd's units */
#define EVENT_FILTER_TYPE_PAYLOAD 0x80000100u            /* of TdhAggregatePayloadFilters */
#define EVENT_FILTER_TYPE_EVENT_ID 0x80000200u           /* EVENT_FILTER_EVENT_ID */
#define EVENT_FILTER_TYPE_EVENT_NAME 0x80000400u         /* EVENT_FILTER_EVENT_NAME */
#define EVENT_FILTER_TYPE_STACKWALK 0x80001000u          /* EVENT_FILTER_EVENT_ID */
#define EVENT_FILTER_TYPE_STACKWALK_NAME 0x80002000u     /* EVENT_FILTER_EVENT_NAME */
#define EVENT_FILTER_TYPE_STACKWALK_LEVEL_KW 0x80004000u /* EVENT_FILTER_LEVEL_KW */
#define EVENT_FILTER_TYPE_CONTAINER 0x80008000u          /* WCHAR[]: 12 or more digits of the id */
#define EVENT_DATA_DESCRIPTOR_TYPE_NONE 0
#define EVENT_DATA_DESCRIPTOR_TYPE_EVENT_METADATA 1
#define EVENT_DATA_DESCRIPTOR_TYPE_PROVIDER_METADATA 2
#define EVENT_DATA_DESCRIPTOR_TYPE_TIMESTAMP_OVERRIDE 3
#define EVENT_WRITE_FLAG_NO_FAULTING 0x1
#define EVENT_WRITE_FLAG_INPRIVATE 0x2
#ifndef EVENT_CONTROL_CODE_DISABLE_PROVIDER
#define EVENT_CONTROL_CODE_DISABLE_PROVIDER 0
#define EVENT_CONTROL_CODE_ENABLE_PROVIDER 1
#define EVENT_CONTROL_CODE_CAPTURE_STATE 2
#endif

typedef ULONGLONG REGHANDLE, *PREGHANDLE;

typedef struct _EVENT_DATA_DESCRIPTOR {
    ULONGLONG Ptr;
    ULONG     Size;
    __extension__ union {
        ULONG Reserved;
        __extension__ struct {
            UCHAR  Type;
            UCHAR  Reserved1;
            USHORT Reserved2;
        };
    };
} EVENT_DATA_DESCRIPTOR, *PEVENT_DATA_DESCRIPTOR;

#ifndef EVENT_DESCRIPTOR_DEF
#define EVENT_DESCRIPTOR_DEF
typedef struct _EVENT_DESCRIPTOR {
    USHORT    Id;
    UCHAR     Version;
    UCHAR     Channel;
    UCHAR     Level;
    UCHAR     Opcode;
    USHORT    Task;
    ULONGLONG Keyword;
} EVENT_DESCRIPTOR, *PEVENT_DESCRIPTOR;
typedef const EVENT_DESCRIPTOR *PCEVENT_DESCRIPTOR;
#endif

#ifndef EVENT_FILTER_DESCRIPTOR_DEF
#define EVENT_FILTER_DESCRIPTOR_DEF
typedef struct _EVENT_FILTER_DESCRIPTOR {
    ULONGLONG Ptr;
    ULONG     Size;
    ULONG     Type;
} EVENT_FILTER_DESCRIPTOR, *PEVENT_FILTER_DESCRIPTOR;
#endif

/* The header before a SCHEMATIZED filter's data, by agreement of controller and provider. In the callback InstanceId is
 * the session's, for EventWriteEx. */
typedef struct _EVENT_FILTER_HEADER {
    USHORT    Id;
    UCHAR     Version;
    UCHAR     Reserved[5];
    ULONGLONG InstanceId;
    ULONG     Size;
    ULONG     NextOffset;
} EVENT_FILTER_HEADER, *PEVENT_FILTER_HEADER;
typedef struct _EVENT_FILTER_EVENT_ID {
    BOOLEAN FilterIn;
    UCHAR   Reserved;
    USHORT  Count;
    USHORT  Events[1];
} EVENT_FILTER_EVENT_ID, *PEVENT_FILTER_EVENT_ID;
/* Names: UTF-8, each with its NUL. */
typedef struct _EVENT_FILTER_EVENT_NAME {
    ULONGLONG MatchAnyKeyword;
    ULONGLONG MatchAllKeyword;
    UCHAR     Level;
    BOOLEAN   FilterIn;
    USHORT    NameCount;
    UCHAR     Names[1];
} EVENT_FILTER_EVENT_NAME, *PEVENT_FILTER_EVENT_NAME;
typedef struct _EVENT_FILTER_LEVEL_KW {
    ULONGLONG MatchAnyKeyword;
    ULONGLONG MatchAllKeyword;
    UCHAR     Level;
    BOOLEAN   FilterIn;
} EVENT_FILTER_LEVEL_KW, *PEVENT_FILTER_LEVEL_KW;

typedef enum _EVENT_INFO_CLASS {
    EventProviderBinaryTrackInfo   = 0,
    EventProviderSetReserved1      = 1,
    EventProviderSetTraits         = 2,
    EventProviderUseDescriptorType = 3,
    MaxEventInfo                   = 4
} EVENT_INFO_CLASS;

/* Reports a change of the sessions that enable the provider. IsEnabled: EVENT_CONTROL_CODE_ENABLE_PROVIDER while one
 * session or more enable it, also where another one has just ended; DISABLE_PROVIDER when none is left; CAPTURE_STATE.
 * Level is the highest of all sessions, MatchAnyKeyword the union and MatchAllKeyword the intersection; a session that
 * states no level counts as 0xFF, one without keywords as all ones. SourceId and FilterData (its SCHEMATIZED filter,
 * valid during the call, or NULL) are those of the session that changed. A session whose filters exclude this program
 * is not reported. */
typedef VOID(NTAPI *PENABLECALLBACK)(LPCGUID SourceId, ULONG IsEnabled, UCHAR Level, ULONGLONG MatchAnyKeyword,
                                     ULONGLONG MatchAllKeyword, PEVENT_FILTER_DESCRIPTOR FilterData,
                                     PVOID CallbackContext);

/* ERROR_INVALID_PARAMETER: a NULL argument; ERROR_NO_SYSTEM_RESOURCES: over 1,024 registrations;
 * ERROR_NOT_ENOUGH_MEMORY. One provider may be registered several times. */
AUTOLOGGER_API ULONG EventRegister(LPCGUID ProviderId, PENABLECALLBACK EnableCallback, PVOID CallbackContext,
                                   PREGHANDLE RegHandle);
/* No callback runs after it has returned. Later use of the handle gives ERROR_INVALID_HANDLE. */
AUTOLOGGER_API ULONG EventUnregister(REGHANDLE RegHandle);
/* EventProviderSetTraits: the provider's name and traits; EventProviderUseDescriptorType: a BOOLEAN. Else
 * ERROR_NOT_SUPPORTED. */
AUTOLOGGER_API ULONG EventSetInformation(REGHANDLE RegHandle, EVENT_INFO_CLASS InformationClass, PVOID EventInformation,
                                         ULONG InformationLength);

/* TRUE: a session wants this event (this level and keyword). */
AUTOLOGGER_API BOOLEAN EventEnabled(REGHANDLE RegHandle, PCEVENT_DESCRIPTOR EventDescriptor);
AUTOLOGGER_API BOOLEAN EventProviderEnabled(REGHANDLE RegHandle, UCHAR Level, ULONGLONG Keyword);

/* ERROR_SUCCESS: written, or no session listens; ERROR_INVALID_HANDLE; ERROR_INVALID_PARAMETER;
 * ERROR_ARITHMETIC_OVERFLOW: over 64 KB; ERROR_MORE_DATA: over the session's buffer size; ERROR_NOT_ENOUGH_MEMORY: no
 * room. */
AUTOLOGGER_API ULONG EventWrite(REGHANDLE RegHandle, PCEVENT_DESCRIPTOR EventDescriptor, ULONG UserDataCount,
                                PEVENT_DATA_DESCRIPTOR UserData);
AUTOLOGGER_API ULONG EventWriteTransfer(REGHANDLE RegHandle, PCEVENT_DESCRIPTOR EventDescriptor, LPCGUID ActivityId,
                                        LPCGUID RelatedActivityId, ULONG UserDataCount,
                                        PEVENT_DATA_DESCRIPTOR UserData);
/* Filter: the sessions that do not get the event: the InstanceIds of their EVENT_FILTER_HEADERs, OR-ed together. Flags:
 * EVENT_WRITE_FLAG_*; NO_FAULTING has no meaning here. */
AUTOLOGGER_API ULONG EventWriteEx(REGHANDLE RegHandle, PCEVENT_DESCRIPTOR EventDescriptor, ULONG64 Filter, ULONG Flags,
                                  LPCGUID ActivityId, LPCGUID RelatedActivityId, ULONG UserDataCount,
                                  PEVENT_DATA_DESCRIPTOR UserData);
AUTOLOGGER_API ULONG EventWriteString(REGHANDLE RegHandle, UCHAR Level, ULONGLONG Keyword, PCWSTR String);

/* EVENT_ACTIVITY_CTRL_*: the activity id of this thread, which every event carries. */
AUTOLOGGER_API ULONG EventActivityIdControl(ULONG ControlCode, LPGUID ActivityId);

FORCEINLINE VOID EventDataDescCreate(PEVENT_DATA_DESCRIPTOR EventDataDescriptor, const VOID *DataPtr, ULONG DataSize)
{
    EventDataDescriptor->Ptr      = (ULONGLONG)(ULONG_PTR)DataPtr;
    EventDataDescriptor->Size     = DataSize;
    EventDataDescriptor->Reserved = 0;
}
FORCEINLINE VOID EventDescCreate(PEVENT_DESCRIPTOR EventDescriptor, USHORT Id, UCHAR Version, UCHAR Channel,
                                 UCHAR Level, USHORT Task, UCHAR Opcode, ULONGLONG Keyword)
{
    EventDescriptor->Id      = Id;
    EventDescriptor->Version = Version;
    EventDescriptor->Channel = Channel;
    EventDescriptor->Level   = Level;
    EventDescriptor->Opcode  = Opcode;
    EventDescriptor->Task    = Task;
    EventDescriptor->Keyword = Keyword;
}
FORCEINLINE VOID EventDescZero(PEVENT_DESCRIPTOR EventDescriptor)
{
    memset(EventDescriptor, 0, sizeof *EventDescriptor);
}
#define AUTOLOGGER_DESC_FIELD(type, field) \
    FORCEINLINE type EventDescGet##field(PCEVENT_DESCRIPTOR EventDescriptor) { return EventDescriptor->field; } \
    FORCEINLINE PEVENT_DESCRIPTOR EventDescSet##field(PEVENT_DESCRIPTOR EventDescriptor, type field) \
    { \
        EventDescriptor->field = field; \
        return EventDescriptor; \
    }
AUTOLOGGER_DESC_FIELD(USHORT, Id)
AUTOLOGGER_DESC_FIELD(UCHAR, Version)
AUTOLOGGER_DESC_FIELD(UCHAR, Channel)
AUTOLOGGER_DESC_FIELD(UCHAR, Level)
AUTOLOGGER_DESC_FIELD(UCHAR, Opcode)
AUTOLOGGER_DESC_FIELD(USHORT, Task)
AUTOLOGGER_DESC_FIELD(ULONGLONG, Keyword)
#undef AUTOLOGGER_DESC_FIELD
FORCEINLINE PEVENT_DESCRIPTOR EventDescOrKeyword(PEVENT_DESCRIPTOR EventDescriptor, ULONGLONG Keyword)
{
    EventDescriptor->Keyword |= Keyword;
    return EventDescriptor;
}
#endif
