/* tdh.h - what an event means: its names, its properties and their values, with the SDK's names, types and layouts.
 *
 *   TdhGetEventInformation   everything that is known of an event, as one block (TRACE_EVENT_INFO)
 *   TdhGetProperty           one value out of an event, by name
 *   TdhFormatProperty        the text of a value that the caller has found
 *   TdhLoadManifest          loads a manifest into this process
 *   TdhCreatePayloadFilter   chooses events by their payload, for EnableTraceEx2
 *
 * In the callback of ProcessTrace: TdhGetEventInformation(record, 0, NULL, buffer, &size), with a larger buffer after
 * ERROR_INSUFFICIENT_BUFFER. The description of an event is looked up in this order: the event itself (TraceLogging),
 * manifests, metadata of the file that ProcessTrace reads, the kernel's classes. An event without a description gives
 * ERROR_NOT_FOUND; its payload is in EVENT_RECORD.UserData.
 * Texts are UTF-16. Contexts (TDH_CONTEXT) are not used. Threads: any. Link with -lautologger-trace. */
#ifndef __TDH_H__
#define __TDH_H__
#include "evntcons.h"

typedef ULONG TDHSTATUS;

typedef struct _EVENT_MAP_ENTRY {
    ULONG OutputOffset; /* its text */
    __extension__ union {
        ULONG Value;
        ULONG InputOffset;
    };
} EVENT_MAP_ENTRY, *PEVENT_MAP_ENTRY;

typedef enum _MAP_FLAGS {
    EVENTMAP_INFO_FLAG_MANIFEST_VALUEMAP   = 0x1,
    EVENTMAP_INFO_FLAG_MANIFEST_BITMAP     = 0x2,
    EVENTMAP_INFO_FLAG_MANIFEST_PATTERNMAP = 0x4,
    EVENTMAP_INFO_FLAG_WBEM_VALUEMAP       = 0x8,
    EVENTMAP_INFO_FLAG_WBEM_BITMAP         = 0x10,
    EVENTMAP_INFO_FLAG_WBEM_FLAG           = 0x20,
    EVENTMAP_INFO_FLAG_WBEM_NO_MAP         = 0x40
} MAP_FLAGS;

typedef enum _MAP_VALUETYPE { EVENTMAP_ENTRY_VALUETYPE_ULONG, EVENTMAP_ENTRY_VALUETYPE_STRING } MAP_VALUETYPE;

typedef struct _EVENT_MAP_INFO {
    ULONG     NameOffset;
    MAP_FLAGS Flag;
    ULONG     EntryCount;
    __extension__ union {
        MAP_VALUETYPE MapEntryValueType;
        ULONG         FormatStringOffset;
    };
    EVENT_MAP_ENTRY MapEntryArray[1]; /* EntryCount of them */
} EVENT_MAP_INFO, *PEVENT_MAP_INFO;

#define EMI_MAP_NAME(MapInfo) (((MapInfo)->NameOffset == 0) ? NULL : (PWSTR)((PBYTE)(MapInfo) + (MapInfo)->NameOffset))
#define EMI_MAP_OUTPUT(MapInfo, Map) \
    (((Map)->OutputOffset == 0) ? NULL : (PWSTR)((PBYTE)(MapInfo) + (Map)->OutputOffset))

/* How a payload holds a value. */
enum _TDH_IN_TYPE {
    TDH_INTYPE_NULL,
    TDH_INTYPE_UNICODESTRING,
    TDH_INTYPE_ANSISTRING,
    TDH_INTYPE_INT8,
    TDH_INTYPE_UINT8,
    TDH_INTYPE_INT16,
    TDH_INTYPE_UINT16,
    TDH_INTYPE_INT32,
    TDH_INTYPE_UINT32,
    TDH_INTYPE_INT64,
    TDH_INTYPE_UINT64,
    TDH_INTYPE_FLOAT,
    TDH_INTYPE_DOUBLE,
    TDH_INTYPE_BOOLEAN,
    TDH_INTYPE_BINARY,
    TDH_INTYPE_GUID,
    TDH_INTYPE_POINTER,
    TDH_INTYPE_FILETIME,
    TDH_INTYPE_SYSTEMTIME,
    TDH_INTYPE_SID,
    TDH_INTYPE_HEXINT32,
    TDH_INTYPE_HEXINT64,
    TDH_INTYPE_MANIFEST_COUNTEDSTRING,
    TDH_INTYPE_MANIFEST_COUNTEDANSISTRING,
    TDH_INTYPE_RESERVED24,
    TDH_INTYPE_MANIFEST_COUNTEDBINARY,
    TDH_INTYPE_COUNTEDSTRING = 300,
    TDH_INTYPE_COUNTEDANSISTRING,
    TDH_INTYPE_REVERSEDCOUNTEDSTRING,
    TDH_INTYPE_REVERSEDCOUNTEDANSISTRING,
    TDH_INTYPE_NONNULLTERMINATEDSTRING,
    TDH_INTYPE_NONNULLTERMINATEDANSISTRING,
    TDH_INTYPE_UNICODECHAR,
    TDH_INTYPE_ANSICHAR,
    TDH_INTYPE_SIZET,
    TDH_INTYPE_HEXDUMP,
    TDH_INTYPE_WBEMSID
};

/* How it is shown. */
enum _TDH_OUT_TYPE {
    TDH_OUTTYPE_NULL,
    TDH_OUTTYPE_STRING,
    TDH_OUTTYPE_DATETIME,
    TDH_OUTTYPE_BYTE,
    TDH_OUTTYPE_UNSIGNEDBYTE,
    TDH_OUTTYPE_SHORT,
    TDH_OUTTYPE_UNSIGNEDSHORT,
    TDH_OUTTYPE_INT,
    TDH_OUTTYPE_UNSIGNEDINT,
    TDH_OUTTYPE_LONG,
    TDH_OUTTYPE_UNSIGNEDLONG,
    TDH_OUTTYPE_FLOAT,
    TDH_OUTTYPE_DOUBLE,
    TDH_OUTTYPE_BOOLEAN,
    TDH_OUTTYPE_GUID,
    TDH_OUTTYPE_HEXBINARY,
    TDH_OUTTYPE_HEXINT8,
    TDH_OUTTYPE_HEXINT16,
    TDH_OUTTYPE_HEXINT32,
    TDH_OUTTYPE_HEXINT64,
    TDH_OUTTYPE_PID,
    TDH_OUTTYPE_TID,
    TDH_OUTTYPE_PORT,
    TDH_OUTTYPE_IPV4,
    TDH_OUTTYPE_IPV6,
    TDH_OUTTYPE_SOCKETADDRESS,
    TDH_OUTTYPE_CIMDATETIME,
    TDH_OUTTYPE_ETWTIME,
    TDH_OUTTYPE_XML,
    TDH_OUTTYPE_ERRORCODE,
    TDH_OUTTYPE_WIN32ERROR,
    TDH_OUTTYPE_NTSTATUS,
    TDH_OUTTYPE_HRESULT,
    TDH_OUTTYPE_CULTURE_INSENSITIVE_DATETIME,
    TDH_OUTTYPE_JSON,
    TDH_OUTTYPE_UTF8,
    TDH_OUTTYPE_PKCS7_WITH_TYPE_INFO,
    TDH_OUTTYPE_CODE_POINTER,
    TDH_OUTTYPE_DATETIME_UTC,
    TDH_OUTTYPE_REDUCEDSTRING = 300,
    TDH_OUTTYPE_NOPRINT
};

typedef enum _PROPERTY_FLAGS {
    PropertyStruct           = 0x1,
    PropertyParamLength      = 0x2, /* its length is the value of another property */
    PropertyParamCount       = 0x4, /* the number of its elements is the value of another property */
    PropertyWBEMXmlFragment  = 0x8,
    PropertyParamFixedCount  = 0x10, /* an array, of `count` elements */
    PropertyParamFixedLength = 0x20,
    PropertyHasTags          = 0x40,
    PropertyHasCustomSchema  = 0x80
} PROPERTY_FLAGS;

/* The SDK has these three within EVENT_PROPERTY_INFO; C++ wants them outside. */
struct _nonStructType {
    USHORT InType;
    USHORT OutType;
    ULONG  MapNameOffset;
};
struct _structType {
    USHORT StructStartIndex;
    USHORT NumOfStructMembers;
    ULONG  padding;
};
struct _customSchemaType {
    USHORT InType;
    USHORT OutType;
    ULONG  CustomSchemaOffset;
};

typedef struct _EVENT_PROPERTY_INFO {
    PROPERTY_FLAGS Flags;
    ULONG          NameOffset;
    __extension__ union {
        struct _nonStructType    nonStructType;
        struct _structType       structType;
        struct _customSchemaType customSchemaType;
    };
    __extension__ union {
        USHORT count;
        USHORT countPropertyIndex; /* PropertyParamCount */
    };
    __extension__ union {
        USHORT length;
        USHORT lengthPropertyIndex; /* PropertyParamLength */
    };
    __extension__ union {
        ULONG Reserved;
        __extension__ struct {
            ULONG Tags : 28;
        };
    };
} EVENT_PROPERTY_INFO, *PEVENT_PROPERTY_INFO;

typedef enum _DECODING_SOURCE {
    DecodingSourceXMLFile, /* a manifest, or metadata of the file */
    DecodingSourceWbem,    /* the kernel's classes */
    DecodingSourceWPP,     /* a message of WPP: a TMF file, or the program that wrote it */
    DecodingSourceTlg,
    DecodingSourceMax
} DECODING_SOURCE;

typedef enum _TEMPLATE_FLAGS {
    TEMPLATE_EVENT_DATA   = 1,
    TEMPLATE_USER_DATA    = 2,
    TEMPLATE_CONTROL_GUID = 4
} TEMPLATE_FLAGS;

/* Offsets are from its beginning; 0: none. */
typedef struct _TRACE_EVENT_INFO {
    GUID             ProviderGuid;
    GUID             EventGuid; /* of the kernel's classes */
    EVENT_DESCRIPTOR EventDescriptor;
    DECODING_SOURCE  DecodingSource;
    ULONG            ProviderNameOffset;
    ULONG            LevelNameOffset;
    ULONG            ChannelNameOffset;
    ULONG            KeywordsNameOffset; /* names one after another, an empty one at the end */
    ULONG            TaskNameOffset;
    ULONG            OpcodeNameOffset;
    ULONG            EventMessageOffset;
    ULONG            ProviderMessageOffset;
    ULONG            BinaryXMLOffset;
    ULONG            BinaryXMLSize;
    __extension__ union {
        ULONG EventNameOffset;
        ULONG ActivityIDNameOffset;
    };
    __extension__ union {
        ULONG EventAttributesOffset;
        ULONG RelatedActivityIDNameOffset;
    };
    ULONG PropertyCount;
    ULONG TopLevelPropertyCount;
    __extension__ union {
        TEMPLATE_FLAGS Flags;
        __extension__ struct {
            ULONG Reserved : 4;
            ULONG Tags : 28;
        };
    };
    EVENT_PROPERTY_INFO EventPropertyInfoArray[1]; /* PropertyCount of them: the event's own first */
} TRACE_EVENT_INFO, *PTRACE_EVENT_INFO;

#define AUTOLOGGER_TEI_TEXT(EventInfo, Offset) ((Offset) == 0 ? NULL : (PWSTR)((PBYTE)(EventInfo) + (Offset)))
#define TEI_PROVIDER_NAME(EventInfo) AUTOLOGGER_TEI_TEXT(EventInfo, (EventInfo)->ProviderNameOffset)
#define TEI_LEVEL_NAME(EventInfo) AUTOLOGGER_TEI_TEXT(EventInfo, (EventInfo)->LevelNameOffset)
#define TEI_CHANNEL_NAME(EventInfo) AUTOLOGGER_TEI_TEXT(EventInfo, (EventInfo)->ChannelNameOffset)
#define TEI_KEYWORDS_NAME(EventInfo) AUTOLOGGER_TEI_TEXT(EventInfo, (EventInfo)->KeywordsNameOffset)
#define TEI_TASK_NAME(EventInfo) AUTOLOGGER_TEI_TEXT(EventInfo, (EventInfo)->TaskNameOffset)
#define TEI_OPCODE_NAME(EventInfo) AUTOLOGGER_TEI_TEXT(EventInfo, (EventInfo)->OpcodeNameOffset)
#define TEI_EVENT_MESSAGE(EventInfo) AUTOLOGGER_TEI_TEXT(EventInfo, (EventInfo)->EventMessageOffset)
#define TEI_PROVIDER_MESSAGE(EventInfo) AUTOLOGGER_TEI_TEXT(EventInfo, (EventInfo)->ProviderMessageOffset)
#define TEI_EVENT_NAME(EventInfo) AUTOLOGGER_TEI_TEXT(EventInfo, (EventInfo)->EventNameOffset)
#define TEI_PROPERTY_NAME(EventInfo, Property) AUTOLOGGER_TEI_TEXT(EventInfo, (Property)->NameOffset)
#define TEI_MAP_NAME(EventInfo, Property) AUTOLOGGER_TEI_TEXT(EventInfo, (Property)->nonStructType.MapNameOffset)

/* Names a property; a struct's member takes two of these, the struct first. */
typedef struct _PROPERTY_DATA_DESCRIPTOR {
    ULONGLONG PropertyName; /* a WCHAR pointer */
    ULONG     ArrayIndex;   /* ULONG_MAX (0xFFFFFFFF): the whole array, or not an array */
    ULONG     Reserved;
} PROPERTY_DATA_DESCRIPTOR, *PPROPERTY_DATA_DESCRIPTOR;

typedef enum _TDH_CONTEXT_TYPE {
    TDH_CONTEXT_WPP_TMFFILE,
    TDH_CONTEXT_WPP_TMFSEARCHPATH,
    TDH_CONTEXT_WPP_GMT,
    TDH_CONTEXT_POINTERSIZE,
    TDH_CONTEXT_PDB_PATH,
    TDH_CONTEXT_MAXIMUM
} TDH_CONTEXT_TYPE;
typedef struct _TDH_CONTEXT {
    ULONGLONG        ParameterValue; /* of the texts: a PWSTR */
    TDH_CONTEXT_TYPE ParameterType;
    ULONG            ParameterSize;
} TDH_CONTEXT, *PTDH_CONTEXT;

typedef struct _TRACE_PROVIDER_INFO {
    GUID  ProviderGuid;
    ULONG SchemaSource; /* 0: a manifest; 1: the kernel's classes */
    ULONG ProviderNameOffset;
} TRACE_PROVIDER_INFO;
typedef struct _PROVIDER_ENUMERATION_INFO {
    ULONG               NumberOfProviders;
    ULONG               Reserved;
    TRACE_PROVIDER_INFO TraceProviderInfoArray[1];
} PROVIDER_ENUMERATION_INFO, *PPROVIDER_ENUMERATION_INFO;

typedef enum _EVENT_FIELD_TYPE {
    EventKeywordInformation,
    EventLevelInformation,
    EventChannelInformation,
    EventTaskInformation,
    EventOpcodeInformation,
    EventInformationMax
} EVENT_FIELD_TYPE;
typedef struct _PROVIDER_FIELD_INFO {
    ULONG NameOffset;        /* from the beginning of the array */
    ULONG DescriptionOffset; /* its message; 0: it has none */
    /* of an opcode: the task in bits 0 to 15 (0: of all tasks), the opcode in bits 16 to 23 */
    ULONGLONG Value;
} PROVIDER_FIELD_INFO, *PPROVIDER_FIELD_INFO;
typedef struct _PROVIDER_FIELD_INFOARRAY {
    ULONG               NumberOfElements;
    EVENT_FIELD_TYPE    FieldType;
    PROVIDER_FIELD_INFO FieldInfoArray[1];
} PROVIDER_FIELD_INFOARRAY, *PPROVIDER_FIELD_INFOARRAY;
typedef struct _PROVIDER_EVENT_INFO {
    ULONG            NumberOfEvents;
    ULONG            Reserved;
    EVENT_DESCRIPTOR EventDescriptorsArray[1];
} PROVIDER_EVENT_INFO, *PPROVIDER_EVENT_INFO;

/* ---- payload filters: choose a session's events by their payload ---- */
typedef enum _PAYLOAD_OPERATOR {
    PAYLOADFIELD_EQ,
    PAYLOADFIELD_NE,
    PAYLOADFIELD_LE,
    PAYLOADFIELD_GT,
    PAYLOADFIELD_LT,
    PAYLOADFIELD_GE,
    PAYLOADFIELD_BETWEEN, /* both ends included: L"5,10" */
    PAYLOADFIELD_NOTBETWEEN,
    PAYLOADFIELD_MODULO, /* divisible without remainder */
    PAYLOADFIELD_CONTAINS = 20,
    PAYLOADFIELD_DOESNTCONTAIN,
    PAYLOADFIELD_IS = 30,
    PAYLOADFIELD_ISNOT,
    PAYLOADFIELD_INVALID
} PAYLOAD_OPERATOR;

#define MAX_PAYLOAD_PREDICATES 8

typedef struct _PAYLOAD_FILTER_PREDICATE {
    LPWSTR FieldName; /* a field of the event itself: not in a struct, no array */
    USHORT CompareOp; /* PAYLOAD_OPERATOR */
    /* a number (0x.. is one), true, false, a GUID or a text, by the field's type. Texts are compared as they are
     * written */
    LPWSTR Value;
} PAYLOAD_FILTER_PREDICATE, *PPAYLOAD_FILTER_PREDICATE;

/* *BufferSize: the bytes of Buffer; gets the bytes used or, with ERROR_INSUFFICIENT_BUFFER (Buffer may be NULL then),
 * the bytes needed. ERROR_NOT_FOUND: the event has no description; ERROR_INVALID_PARAMETER; ERROR_NOT_ENOUGH_MEMORY. A
 * text event (EventWriteString) has the one property Message. */
AUTOLOGGER_API TDHSTATUS TdhGetEventInformation(PEVENT_RECORD Event, ULONG TdhContextCount, PTDH_CONTEXT TdhContext,
                                                PTRACE_EVENT_INFO Buffer, PULONG BufferSize);
/* The map that a property of the event names (EVENT_PROPERTY_INFO.MapNameOffset). The same errors; ERROR_NOT_FOUND
 * also: no such map. */
AUTOLOGGER_API TDHSTATUS TdhGetEventMapInformation(PEVENT_RECORD Event, LPWSTR MapName, PEVENT_MAP_INFO Buffer,
                                                   PULONG BufferSize);
/* The bytes of a property, as the payload has them: texts with their NUL, arrays and structs whole. ERROR_NOT_FOUND: no
 * such property, element or description; ERROR_EVT_INVALID_EVENT_DATA: the payload ends before it. */
AUTOLOGGER_API TDHSTATUS TdhGetPropertySize(PEVENT_RECORD Event, ULONG TdhContextCount, PTDH_CONTEXT TdhContext,
                                            ULONG PropertyDataCount, PPROPERTY_DATA_DESCRIPTOR PropertyData,
                                            PULONG PropertySize);
/* The same; ERROR_INSUFFICIENT_BUFFER: BufferSize is too small. */
AUTOLOGGER_API TDHSTATUS TdhGetProperty(PEVENT_RECORD Event, ULONG TdhContextCount, PTDH_CONTEXT TdhContext,
                                        ULONG PropertyDataCount, PPROPERTY_DATA_DESCRIPTOR PropertyData,
                                        ULONG BufferSize, PBYTE Buffer);
/* The text of the value at UserData, with its NUL. PropertyLength: 0 where the type or the payload has the length.
 * *BufferSize is in bytes; it gets the size that the text needs. *UserDataConsumed: the bytes of the value. MapInfo may
 * be NULL. ERROR_INSUFFICIENT_BUFFER; ERROR_INVALID_PARAMETER: no such type; ERROR_EVT_INVALID_EVENT_DATA: the value is
 * cut. */
AUTOLOGGER_API TDHSTATUS TdhFormatProperty(PTRACE_EVENT_INFO EventInfo, PEVENT_MAP_INFO MapInfo, ULONG PointerSize,
                                           USHORT PropertyInType, USHORT PropertyOutType, USHORT PropertyLength,
                                           USHORT UserDataLength, PBYTE UserData, PULONG BufferSize, PWCHAR Buffer,
                                           PUSHORT UserDataConsumed);
/* A fact of a message of WPP: Version, TraceGuid, GuidName, GuidTypeName, ThreadId, SystemTime, UserTime, KernelTime,
 * SequenceNum, ProcessId, CpuNumber, Indent, FlagsName, LevelName, FunctionName, ComponentName, SubComponentName,
 * FormattedString, RawSystemTime, ProviderGuid (this one is the message GUID, too). Texts are WCHAR with their NUL; Indent
 * and Version are 0. The formats come from installed descriptions, from those in the trace, from the TMF files of the
 * contexts TDH_CONTEXT_WPP_TMFFILE, TDH_CONTEXT_WPP_TMFSEARCHPATH, from $TRACE_FORMAT_SEARCH_PATH, and from a program
 * itself by TDH_CONTEXT_PDB_PATH. Times are UTC. ERROR_NOT_FOUND: no such property, or no format for the message;
 * ERROR_INSUFFICIENT_BUFFER; ERROR_INVALID_PARAMETER. */
AUTOLOGGER_API TDHSTATUS TdhGetWppProperty(PEVENT_RECORD Event, ULONG TdhContextCount, PTDH_CONTEXT TdhContext,
                                           PWSTR PropertyName, PULONG BufferSize, PBYTE Buffer);
/* The property FormattedString. */
AUTOLOGGER_API TDHSTATUS TdhGetWppMessage(PEVENT_RECORD Event, ULONG TdhContextCount, PTDH_CONTEXT TdhContext,
                                          PULONG BufferSize, PBYTE Buffer);
/* The known providers: of manifests that are loaded or installed, and the kernel's classes. ERROR_INSUFFICIENT_BUFFER;
 * ERROR_INVALID_PARAMETER. */
AUTOLOGGER_API TDHSTATUS TdhEnumerateProviders(PPROVIDER_ENUMERATION_INFO Buffer, PULONG BufferSize);
/* The providers of one source: DecodingSourceXMLFile, DecodingSourceWbem; ERROR_NOT_SUPPORTED: another one.
 * *BufferRequired gets the bytes used or, with ERROR_INSUFFICIENT_BUFFER, needed. */
AUTOLOGGER_API TDHSTATUS TdhEnumerateProvidersForDecodingSource(DECODING_SOURCE            Filter,
                                                                PPROVIDER_ENUMERATION_INFO Buffer, ULONG BufferSize,
                                                                PULONG BufferRequired);
/* The keywords, levels, channels, tasks or opcodes that the provider's manifest declares. ERROR_NOT_FOUND: the provider
 * has no description, or declares none of them; ERROR_NOT_SUPPORTED: no such type; ERROR_INSUFFICIENT_BUFFER;
 * ERROR_INVALID_PARAMETER. */
AUTOLOGGER_API TDHSTATUS TdhEnumerateProviderFieldInformation(LPGUID Guid, EVENT_FIELD_TYPE EventFieldType,
                                                              PPROVIDER_FIELD_INFOARRAY Buffer, PULONG BufferSize);
/* Of these, the one with the value; of keywords, all whose bits are in EventFieldValue. ERROR_NOT_FOUND also: there is
 * none. */
AUTOLOGGER_API TDHSTATUS TdhQueryProviderFieldInformation(LPGUID Guid, ULONGLONG EventFieldValue,
                                                          EVENT_FIELD_TYPE          EventFieldType,
                                                          PPROVIDER_FIELD_INFOARRAY Buffer, PULONG BufferSize);
/* The events of a provider with a manifest, in its order. ERROR_NOT_FOUND: the provider has no description;
 * ERROR_EMPTY: it has no events; ERROR_INSUFFICIENT_BUFFER; ERROR_INVALID_PARAMETER. */
AUTOLOGGER_API TDHSTATUS TdhEnumerateManifestProviderEvents(LPGUID ProviderGuid, PPROVIDER_EVENT_INFO Buffer,
                                                            PULONG BufferSize);
/* The description of one event in its manifest, found by Id and Version. The same errors; ERROR_NOT_FOUND also: no such
 * event. */
AUTOLOGGER_API TDHSTATUS TdhGetManifestEventInformation(LPGUID ProviderGuid, PEVENT_DESCRIPTOR EventDescriptor,
                                                        PTRACE_EVENT_INFO Buffer, PULONG BufferSize);
/* Loads a manifest, for this process. ERROR_FILE_NOT_FOUND, ERROR_PATH_NOT_FOUND, ERROR_ACCESS_DENIED: the file;
 * ERROR_INVALID_DATA: no manifest, or one with mistakes; ERROR_NOT_SUPPORTED: the library is built without
 * manifests. */
AUTOLOGGER_API TDHSTATUS TdhLoadManifest(PWSTR Manifest);
AUTOLOGGER_API TDHSTATUS TdhLoadManifestFromMemory(LPCVOID Data, ULONG Size);
/* Loads what mc compiled: a program or library that holds a manifest, or the .bin file. ERROR_NOT_FOUND: a program
 * without one; ERROR_INVALID_DATA: anything else, XML and Windows' programs too. */
AUTOLOGGER_API TDHSTATUS TdhLoadManifestFromBinary(PWSTR BinaryPath);
/* Unloads what was loaded from that path. ERROR_NOT_FOUND: nothing was. */
AUTOLOGGER_API TDHSTATUS TdhUnloadManifest(PWSTR Manifest);
/* A filter that the event of that Id and Version passes when all predicates hold, or (EventMatchANY) one of them. The
 * event's manifest must be loaded or installed. ERROR_NOT_FOUND: there is none; ERROR_INVALID_PARAMETER: no such field,
 * an operator or a value that does not fit its type, over 8 predicates; ERROR_NOT_SUPPORTED: the fields before it
 * cannot be skipped (an array of structs). TdhDeletePayloadFilter frees it, also when it was aggregated. */
AUTOLOGGER_API TDHSTATUS TdhCreatePayloadFilter(LPCGUID ProviderGuid, PCEVENT_DESCRIPTOR EventDescriptor,
                                                BOOLEAN EventMatchANY, ULONG PayloadPredicateCount,
                                                PPAYLOAD_FILTER_PREDICATE PayloadPredicates, PVOID *PayloadFilter);
AUTOLOGGER_API TDHSTATUS TdhDeletePayloadFilter(PVOID *PayloadFilter);
/* Makes one descriptor for EnableTraceEx2 of the filters of one provider. Of several filters for one event those with
 * EventMatchALLFlags (may be NULL) must all hold, and of the others one. Events without a filter pass.
 * ERROR_INVALID_PARAMETER: two providers, or over 4096 bytes. TdhCleanupPayloadEventFilterDescriptor frees what the
 * descriptor points to. */
AUTOLOGGER_API TDHSTATUS TdhAggregatePayloadFilters(ULONG PayloadFilterCount, PVOID *PayloadFilterPtrs,
                                                    PBOOLEAN                 EventMatchALLFlags,
                                                    PEVENT_FILTER_DESCRIPTOR EventFilterDescriptor);
AUTOLOGGER_API TDHSTATUS TdhCleanupPayloadEventFilterDescriptor(PEVENT_FILTER_DESCRIPTOR EventFilterDescriptor);
#endif
