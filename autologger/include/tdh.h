/* tdh.h - what an event means: its names, its properties and their values, with the SDK's names, types and layouts.
 *
 *   TdhGetEventInformation   everything that is known of an event, as one block (TRACE_EVENT_INFO)
 *   TdhGetProperty           one value out of an event, by name
 *   TdhFormatProperty        the text of a value that the caller has found
 *   TdhLoadManifest          makes a manifest known to this process
 *   TdhCreatePayloadFilter   chooses events by what is in them, for EnableTraceEx2
 *
 * In the callback of ProcessTrace: TdhGetEventInformation(record, 0, NULL, buffer, &size), with a larger buffer after
 * 122. What describes an event is asked in this order: the event itself (TraceLogging), manifests, metadata of the file
 * that ProcessTrace reads, the kernel's classes. An event that nothing describes gives 1168; its payload is in
 * EVENT_RECORD.UserData.
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
    PropertyParamCount       = 0x4, /* so is the number of its elements */
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
    DecodingSourceWPP,     /* never */
    DecodingSourceTlg,
    DecodingSourceMax
} DECODING_SOURCE;

typedef enum _TEMPLATE_FLAGS {
    TEMPLATE_EVENT_DATA   = 1,
    TEMPLATE_USER_DATA    = 2,
    TEMPLATE_CONTROL_GUID = 4
} TEMPLATE_FLAGS;

/* Offsets are from its beginning; 0: there is none. */
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

/* Which property: of a struct's member two of these, the struct first. */
typedef struct _PROPERTY_DATA_DESCRIPTOR {
    ULONGLONG PropertyName; /* a WCHAR pointer */
    ULONG     ArrayIndex;   /* ULONG_MAX (0xFFFFFFFF): the whole array, or what is no array */
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
    ULONGLONG        ParameterValue;
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

/* ---- payload filters: which events a session gets, by what is in them ---- */
typedef enum _PAYLOAD_OPERATOR {
    PAYLOADFIELD_EQ,
    PAYLOADFIELD_NE,
    PAYLOADFIELD_LE,
    PAYLOADFIELD_GT,
    PAYLOADFIELD_LT,
    PAYLOADFIELD_GE,
    PAYLOADFIELD_BETWEEN, /* both ends belong to it: L"5,10" */
    PAYLOADFIELD_NOTBETWEEN,
    PAYLOADFIELD_MODULO, /* divides without a rest */
    PAYLOADFIELD_CONTAINS = 20,
    PAYLOADFIELD_DOESNTCONTAIN,
    PAYLOADFIELD_IS = 30,
    PAYLOADFIELD_ISNOT,
    PAYLOADFIELD_INVALID
} PAYLOAD_OPERATOR;

#define MAX_PAYLOAD_PREDICATES 8

typedef struct _PAYLOAD_FILTER_PREDICATE {
    LPWSTR FieldName; /* one of the event's own: not in a struct, no array */
    USHORT CompareOp; /* PAYLOAD_OPERATOR */
    /* a number (0x.. is one), true, false, a GUID or a text, as the field is. Texts are compared as they are written */
    LPWSTR Value;
} PAYLOAD_FILTER_PREDICATE, *PPAYLOAD_FILTER_PREDICATE;

/* *BufferSize: the bytes of Buffer; gets what is used or, with 122 (Buffer may be NULL then), what is needed. 1168
 * nothing describes the event; 87; 8. A text event (EventWriteString) has the one property Message. */
AUTOLOGGER_API TDHSTATUS TdhGetEventInformation(PEVENT_RECORD Event, ULONG TdhContextCount, PTDH_CONTEXT TdhContext,
                                                PTRACE_EVENT_INFO Buffer, PULONG BufferSize);
/* The map that a property of the event names (EVENT_PROPERTY_INFO.MapNameOffset). The same numbers; 1168 also for a map
 * that is not there. */
AUTOLOGGER_API TDHSTATUS TdhGetEventMapInformation(PEVENT_RECORD Event, LPWSTR MapName, PEVENT_MAP_INFO Buffer,
                                                   PULONG BufferSize);
/* The bytes of a property, as the payload has them: texts with their NUL, arrays and structs whole. 1168 no such
 * property, element or description; 15005 the payload ends before it. */
AUTOLOGGER_API TDHSTATUS TdhGetPropertySize(PEVENT_RECORD Event, ULONG TdhContextCount, PTDH_CONTEXT TdhContext,
                                            ULONG PropertyDataCount, PPROPERTY_DATA_DESCRIPTOR PropertyData,
                                            PULONG PropertySize);
/* The same; 122 when BufferSize is too small. */
AUTOLOGGER_API TDHSTATUS TdhGetProperty(PEVENT_RECORD Event, ULONG TdhContextCount, PTDH_CONTEXT TdhContext,
                                        ULONG PropertyDataCount, PPROPERTY_DATA_DESCRIPTOR PropertyData,
                                        ULONG BufferSize, PBYTE Buffer);
/* The text of the value at UserData, with its NUL. PropertyLength: 0 where the type or the payload says it. *BufferSize
 * in bytes; gets what the text needs. *UserDataConsumed: the bytes of the value. MapInfo may be NULL. 122; 87 no such
 * type; 15005 the value is cut. */
AUTOLOGGER_API TDHSTATUS TdhFormatProperty(PTRACE_EVENT_INFO EventInfo, PEVENT_MAP_INFO MapInfo, ULONG PointerSize,
                                           USHORT PropertyInType, USHORT PropertyOutType, USHORT PropertyLength,
                                           USHORT UserDataLength, PBYTE UserData, PULONG BufferSize, PWCHAR Buffer,
                                           PUSHORT UserDataConsumed);
/* The providers that are known here: manifests that are loaded or installed, and the kernel's classes. 122; 87. */
AUTOLOGGER_API TDHSTATUS TdhEnumerateProviders(PPROVIDER_ENUMERATION_INFO Buffer, PULONG BufferSize);
/* The providers of one source: DecodingSourceXMLFile, DecodingSourceWbem; 50 another one. *BufferRequired gets what is
 * used, or needed with 122. */
AUTOLOGGER_API TDHSTATUS TdhEnumerateProvidersForDecodingSource(DECODING_SOURCE            Filter,
                                                                PPROVIDER_ENUMERATION_INFO Buffer, ULONG BufferSize,
                                                                PULONG BufferRequired);
/* The keywords, levels, channels, tasks or opcodes that the provider's manifest declares. 1168 nothing describes the
 * provider, or it declares none of them; 50 no such type; 122; 87. */
AUTOLOGGER_API TDHSTATUS TdhEnumerateProviderFieldInformation(LPGUID Guid, EVENT_FIELD_TYPE EventFieldType,
                                                              PPROVIDER_FIELD_INFOARRAY Buffer, PULONG BufferSize);
/* Of these, the one with the value; of keywords, all whose bits are in EventFieldValue. 1168 also when there is
 * none. */
AUTOLOGGER_API TDHSTATUS TdhQueryProviderFieldInformation(LPGUID Guid, ULONGLONG EventFieldValue,
                                                          EVENT_FIELD_TYPE          EventFieldType,
                                                          PPROVIDER_FIELD_INFOARRAY Buffer, PULONG BufferSize);
/* The events of a provider with a manifest, in its order. 1168 nothing describes the provider; 4306 it has no events;
 * 122; 87. */
AUTOLOGGER_API TDHSTATUS TdhEnumerateManifestProviderEvents(LPGUID ProviderGuid, PPROVIDER_EVENT_INFO Buffer,
                                                            PULONG BufferSize);
/* What its manifest tells of one event, found by Id and Version. The same numbers; 1168 also: no such event. */
AUTOLOGGER_API TDHSTATUS TdhGetManifestEventInformation(LPGUID ProviderGuid, PEVENT_DESCRIPTOR EventDescriptor,
                                                        PTRACE_EVENT_INFO Buffer, PULONG BufferSize);
/* Reads a manifest, for this process. 2, 3, 5 the file; 13 it is no manifest, or a mistaken one; 50 the library is
 * built without manifests. */
AUTOLOGGER_API TDHSTATUS TdhLoadManifest(PWSTR Manifest);
AUTOLOGGER_API TDHSTATUS TdhLoadManifestFromMemory(LPCVOID Data, ULONG Size);
/* Reads what mc compiled: a program or library that holds a manifest, or the .bin file. 1168 a program
 * without one; 13 for all else, XML and Windows' programs too. */
AUTOLOGGER_API TDHSTATUS TdhLoadManifestFromBinary(PWSTR BinaryPath);
/* Forgets what was read from that path. 1168: nothing was. */
AUTOLOGGER_API TDHSTATUS TdhUnloadManifest(PWSTR Manifest);
/* What the event of that Id and Version must say: all predicates, or (EventMatchANY) one of them. Of the event's
 * manifest, loaded or installed. 1168: there is none; 87 no such field, an operator that its type has not, a value that
 * is none of it, over 8 predicates; 50 what stands before the field cannot be passed over (an array of structs).
 * TdhDeletePayloadFilter frees it, also when it was aggregated. */
AUTOLOGGER_API TDHSTATUS TdhCreatePayloadFilter(LPCGUID ProviderGuid, PCEVENT_DESCRIPTOR EventDescriptor,
                                                BOOLEAN EventMatchANY, ULONG PayloadPredicateCount,
                                                PPAYLOAD_FILTER_PREDICATE PayloadPredicates, PVOID *PayloadFilter);
AUTOLOGGER_API TDHSTATUS TdhDeletePayloadFilter(PVOID *PayloadFilter);
/* Makes one descriptor for EnableTraceEx2 of the filters of one provider. Of several for one event those with
 * EventMatchALLFlags (may be NULL) must all hold, and of the others one. Events that none names pass. 87: two
 * providers, or over 4096 bytes. TdhCleanupPayloadEventFilterDescriptor frees what the descriptor points to. */
AUTOLOGGER_API TDHSTATUS TdhAggregatePayloadFilters(ULONG PayloadFilterCount, PVOID *PayloadFilterPtrs,
                                                    PBOOLEAN                 EventMatchALLFlags,
                                                    PEVENT_FILTER_DESCRIPTOR EventFilterDescriptor);
AUTOLOGGER_API TDHSTATUS TdhCleanupPayloadEventFilterDescriptor(PEVENT_FILTER_DESCRIPTOR EventFilterDescriptor);
#endif
