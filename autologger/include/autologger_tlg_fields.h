/* autologger_tlg_fields.h - the field types of TraceLoggingProvider.h, which includes it.
 *   TraceLoggingTYPE(value, name, description, tag)               one value; all but the value may be left out
 *   TraceLoggingTYPEArray(pointer, count, name, ...)              the count goes into each event
 *   TraceLoggingTYPEFixedArray(pointer, count, name, ...)         a constant count, in the metadata only
 * name, description and tag may be left out: then the name is the text of the value or pointer. Not for: being included
 * alone. */
#ifndef AUTOLOGGER_TLG_FIELDS_H
#define AUTOLOGGER_TLG_FIELDS_H

/* A field in the metadata: its type, with the kind of its count, and how a value is shown. */
enum TlgIn_t {
    TlgInNULL              = 0,
    TlgInUNICODESTRING     = 1,
    TlgInANSISTRING        = 2,
    TlgInINT8              = 3,
    TlgInUINT8             = 4,
    TlgInINT16             = 5,
    TlgInUINT16            = 6,
    TlgInINT32             = 7,
    TlgInUINT32            = 8,
    TlgInINT64             = 9,
    TlgInUINT64            = 10,
    TlgInFLOAT             = 11,
    TlgInDOUBLE            = 12,
    TlgInBOOL32            = 13,
    TlgInBINARY            = 14,
    TlgInGUID              = 15,
    TlgInFILETIME          = 17,
    TlgInSYSTEMTIME        = 18,
    TlgInSID               = 19,
    TlgInHEXINT32          = 20,
    TlgInHEXINT64          = 21,
    TlgInCOUNTEDSTRING     = 22,
    TlgInCOUNTEDANSISTRING = 23,
    _TlgInSTRUCT           = 24,
    TlgInCOUNTEDBINARY     = 25,
#if __SIZEOF_POINTER__ == 8
    TlgInINTPTR  = TlgInINT64,
    TlgInUINTPTR = TlgInUINT64,
    TlgInPOINTER = TlgInHEXINT64,
#else
    TlgInINTPTR  = TlgInINT32,
    TlgInUINTPTR = TlgInUINT32,
    TlgInPOINTER = TlgInHEXINT32,
#endif
    TlgInTypeMask  = 31,
    TlgInCcount    = 0x20,
    TlgInVcount    = 0x40,
    TlgInCustom    = 0x60,
    TlgInCountMask = 0x60,
    TlgInChain     = 0x80
};
enum TlgOut_t {
    TlgOutNULL                         = 0,
    TlgOutNOPRINT                      = 1,
    TlgOutSTRING                       = 2,
    TlgOutBOOLEAN                      = 3,
    TlgOutHEX                          = 4,
    TlgOutPID                          = 5,
    TlgOutTID                          = 6,
    TlgOutPORT                         = 7,
    TlgOutIPV4                         = 8,
    TlgOutIPV6                         = 9,
    TlgOutSOCKETADDRESS                = 10,
    TlgOutXML                          = 11,
    TlgOutJSON                         = 12,
    TlgOutWIN32ERROR                   = 13,
    TlgOutNTSTATUS                     = 14,
    TlgOutHRESULT                      = 15,
    TlgOutFILETIME                     = 16,
    TlgOutSIGNED                       = 17,
    TlgOutUNSIGNED                     = 18,
    TlgOutDATETIME_CULTURE_INSENSITIVE = 33,
    TlgOutUTF8                         = 35,
    TlgOutPKCS7_WITH_TYPE_INFO         = 36,
    TlgOutCODE_POINTER                 = 37,
    TlgOutDATETIME_UTC                 = 38,
    TlgOutTypeMask                     = 127,
    TlgOutChain                        = 128
};

/* ---- one value ---- */
#define TraceLoggingInt8(...) _TLG_FIELD(VALUE, INT8, TlgInINT8, 0, __VA_ARGS__)
#define TraceLoggingUInt8(...) _TLG_FIELD(VALUE, UINT8, TlgInUINT8, 0, __VA_ARGS__)
#define TraceLoggingInt16(...) _TLG_FIELD(VALUE, INT16, TlgInINT16, 0, __VA_ARGS__)
#define TraceLoggingUInt16(...) _TLG_FIELD(VALUE, UINT16, TlgInUINT16, 0, __VA_ARGS__)
#define TraceLoggingInt32(...) _TLG_FIELD(VALUE, INT32, TlgInINT32, 0, __VA_ARGS__)
#define TraceLoggingUInt32(...) _TLG_FIELD(VALUE, UINT32, TlgInUINT32, 0, __VA_ARGS__)
#define TraceLoggingInt64(...) _TLG_FIELD(VALUE, INT64, TlgInINT64, 0, __VA_ARGS__)
#define TraceLoggingUInt64(...) _TLG_FIELD(VALUE, UINT64, TlgInUINT64, 0, __VA_ARGS__)
#define TraceLoggingHexInt8(...) _TLG_FIELD(VALUE, INT8, TlgInUINT8, TlgOutHEX, __VA_ARGS__)
#define TraceLoggingHexUInt8(...) _TLG_FIELD(VALUE, UINT8, TlgInUINT8, TlgOutHEX, __VA_ARGS__)
#define TraceLoggingHexInt16(...) _TLG_FIELD(VALUE, INT16, TlgInUINT16, TlgOutHEX, __VA_ARGS__)
#define TraceLoggingHexUInt16(...) _TLG_FIELD(VALUE, UINT16, TlgInUINT16, TlgOutHEX, __VA_ARGS__)
#define TraceLoggingHexInt32(...) _TLG_FIELD(VALUE, INT32, TlgInHEXINT32, 0, __VA_ARGS__)
#define TraceLoggingHexUInt32(...) _TLG_FIELD(VALUE, UINT32, TlgInHEXINT32, 0, __VA_ARGS__)
#define TraceLoggingHexInt64(...) _TLG_FIELD(VALUE, INT64, TlgInHEXINT64, 0, __VA_ARGS__)
#define TraceLoggingHexUInt64(...) _TLG_FIELD(VALUE, UINT64, TlgInHEXINT64, 0, __VA_ARGS__)
#define TraceLoggingLong(...) _TLG_FIELD(VALUE, LONG, TlgInINT32, 0, __VA_ARGS__)
#define TraceLoggingULong(...) _TLG_FIELD(VALUE, ULONG, TlgInUINT32, 0, __VA_ARGS__)
#define TraceLoggingHexLong(...) _TLG_FIELD(VALUE, LONG, TlgInHEXINT32, 0, __VA_ARGS__)
#define TraceLoggingHexULong(...) _TLG_FIELD(VALUE, ULONG, TlgInHEXINT32, 0, __VA_ARGS__)
#define TraceLoggingIntPtr(...) _TLG_FIELD(VALUE, INT_PTR, TlgInINTPTR, 0, __VA_ARGS__)
#define TraceLoggingUIntPtr(...) _TLG_FIELD(VALUE, UINT_PTR, TlgInUINTPTR, 0, __VA_ARGS__)
#define TraceLoggingHexIntPtr(...) _TLG_FIELD(VALUE, INT_PTR, TlgInPOINTER, 0, __VA_ARGS__)
#define TraceLoggingHexUIntPtr(...) _TLG_FIELD(VALUE, UINT_PTR, TlgInPOINTER, 0, __VA_ARGS__)
#define TraceLoggingLongPtr(...) _TLG_FIELD(VALUE, LONG_PTR, TlgInINTPTR, 0, __VA_ARGS__)
#define TraceLoggingULongPtr(...) _TLG_FIELD(VALUE, ULONG_PTR, TlgInUINTPTR, 0, __VA_ARGS__)
#define TraceLoggingHexLongPtr(...) _TLG_FIELD(VALUE, LONG_PTR, TlgInPOINTER, 0, __VA_ARGS__)
#define TraceLoggingHexULongPtr(...) _TLG_FIELD(VALUE, ULONG_PTR, TlgInPOINTER, 0, __VA_ARGS__)
#define TraceLoggingFloat32(...) _TLG_FIELD(VALUE, float, TlgInFLOAT, 0, __VA_ARGS__)
#define TraceLoggingFloat64(...) _TLG_FIELD(VALUE, double, TlgInDOUBLE, 0, __VA_ARGS__)
#define TraceLoggingBoolean(...) _TLG_FIELD(VALUE, BOOLEAN, TlgInUINT8, TlgOutBOOLEAN, __VA_ARGS__)
#define TraceLoggingBool(...) _TLG_FIELD(VALUE, INT32, TlgInBOOL32, 0, __VA_ARGS__)
#define TraceLoggingChar(...) _TLG_FIELD(VALUE, char, TlgInUINT8, TlgOutSTRING, __VA_ARGS__)
#define TraceLoggingChar16(...) _TLG_FIELD(VALUE, WCHAR, TlgInUINT16, TlgOutSTRING, __VA_ARGS__)
#define TraceLoggingWChar(...) _TLG_FIELD(VALUE, WCHAR, TlgInUINT16, TlgOutSTRING, __VA_ARGS__)
#define TraceLoggingPointer(...) _TLG_FIELD(VALUE, const void *, TlgInPOINTER, 0, __VA_ARGS__)
#define TraceLoggingCodePointer(...) _TLG_FIELD(VALUE, const void *, TlgInPOINTER, TlgOutCODE_POINTER, __VA_ARGS__)
#define TraceLoggingPid(...) _TLG_FIELD(VALUE, UINT32, TlgInUINT32, TlgOutPID, __VA_ARGS__)
#define TraceLoggingTid(...) _TLG_FIELD(VALUE, UINT32, TlgInUINT32, TlgOutTID, __VA_ARGS__)
#define TraceLoggingPort(...) _TLG_FIELD(VALUE, UINT16, TlgInUINT16, TlgOutPORT, __VA_ARGS__)
#define TraceLoggingIPv4Address(...) _TLG_FIELD(VALUE, UINT32, TlgInUINT32, TlgOutIPV4, __VA_ARGS__)
#define TraceLoggingWinError(...) _TLG_FIELD(VALUE, UINT32, TlgInUINT32, TlgOutWIN32ERROR, __VA_ARGS__)
#define TraceLoggingNTStatus(...) _TLG_FIELD(VALUE, INT32, TlgInUINT32, TlgOutNTSTATUS, __VA_ARGS__)
#define TraceLoggingHResult(...) _TLG_FIELD(VALUE, INT32, TlgInINT32, TlgOutHRESULT, __VA_ARGS__)
#define TraceLoggingGuid(...) _TLG_FIELD(VALUE, GUID, TlgInGUID, 0, __VA_ARGS__)
#define TraceLoggingFileTime(...) _TLG_FIELD(VALUE, FILETIME, TlgInFILETIME, 0, __VA_ARGS__)
#define TraceLoggingFileTimeUtc(...) _TLG_FIELD(VALUE, FILETIME, TlgInFILETIME, TlgOutDATETIME_UTC, __VA_ARGS__)
#define TraceLoggingSystemTime(...) _TLG_FIELD(VALUE, SYSTEMTIME, TlgInSYSTEMTIME, 0, __VA_ARGS__)
#define TraceLoggingSystemTimeUtc(...) _TLG_FIELD(VALUE, SYSTEMTIME, TlgInSYSTEMTIME, TlgOutDATETIME_UTC, __VA_ARGS__)
#define TraceLoggingString(...) _TLG_FIELD(STRING, char, TlgInANSISTRING, 0, __VA_ARGS__)
#define TraceLoggingUtf8String(...) _TLG_FIELD(STRING, char, TlgInANSISTRING, TlgOutUTF8, __VA_ARGS__)
#define TraceLoggingWideString(...) _TLG_FIELD(WSTRING, WCHAR, TlgInUNICODESTRING, 0, __VA_ARGS__)
#define TraceLoggingString16(...) _TLG_FIELD(WSTRING, WCHAR, TlgInUNICODESTRING, 0, __VA_ARGS__)
#define TraceLoggingSid(...) _TLG_FIELD(SID, BYTE, TlgInSID, 0, __VA_ARGS__)
/* a pointer to {USHORT Length; USHORT MaximumLength; Buffer}; Length is in bytes */
#define TraceLoggingUnicodeString(...) _TLG_FIELD(COUNTED, WCHAR, TlgInCOUNTEDSTRING, 0, __VA_ARGS__)
#define TraceLoggingAnsiString(...) _TLG_FIELD(COUNTED, char, TlgInCOUNTEDANSISTRING, 0, __VA_ARGS__)
#ifdef __cplusplus
/* the field's type is the value's: numbers, bool, char, pointers to void, GUID, FILETIME, SYSTEMTIME, const char *,
 * const WCHAR * */
#define TraceLoggingValue(...) _TLG_CAT(_TLG_AUTO_, _TLG_N(__VA_ARGS__))(__VA_ARGS__)
#endif

/* ---- (pointer, number of characters or bytes, name, description, tag); the last three may be left out ---- */
#define TraceLoggingCountedString(pointer, ...) _TLG_MANY(BYTES, char, TlgInCOUNTEDANSISTRING, 0, pointer, __VA_ARGS__)
#define TraceLoggingCountedUtf8String(pointer, ...) \
    _TLG_MANY(BYTES, char, TlgInCOUNTEDANSISTRING, TlgOutUTF8, pointer, __VA_ARGS__)
#define TraceLoggingCountedWideString(pointer, ...) _TLG_MANY(BYTES, WCHAR, TlgInCOUNTEDSTRING, 0, pointer, __VA_ARGS__)
#define TraceLoggingCountedString16(pointer, ...) _TLG_MANY(BYTES, WCHAR, TlgInCOUNTEDSTRING, 0, pointer, __VA_ARGS__)
#define TraceLoggingBinary(pointer, ...) _TLG_MANY(BYTES, BYTE, TlgInBINARY, 0, pointer, __VA_ARGS__)
#define TraceLoggingBinaryEx(pointer, size, ...) _TLG_SHOWN(BYTES, BYTE, TlgInBINARY, pointer, size, __VA_ARGS__)
#define TraceLoggingCountedBinary(pointer, ...) _TLG_MANY(BYTES, BYTE, TlgInCOUNTEDBINARY, 0, pointer, __VA_ARGS__)
#define TraceLoggingCountedBinaryEx(pointer, size, ...) \
    _TLG_SHOWN(BYTES, BYTE, TlgInCOUNTEDBINARY, pointer, size, __VA_ARGS__)
/* 16 bytes / a struct sockaddr of `size` bytes */
#define TraceLoggingIPv6Address(...) _TLG_CAT(_TLG_IPV6_, _TLG_N(__VA_ARGS__))(__VA_ARGS__)
#define TraceLoggingSocketAddress(pointer, ...) \
    _TLG_MANY(BYTES, BYTE, TlgInBINARY, TlgOutSOCKETADDRESS, pointer, __VA_ARGS__)

/* ---- structs: the next `fieldCount` (1..127) fields belong to it; a struct among them counts as one ---- */
#define TraceLoggingStruct(fieldCount, ...) _TLG_MANY(NOTHING, BYTE, _TlgInSTRUCT, fieldCount, 0, 0, __VA_ARGS__)
/* Metadata without a value, and bytes without metadata, for data that the program packs itself. An array of structs is
 * a UINT16 count and then the values, one struct after the other. */
#define TraceLoggingPackedStruct(fieldCount, ...) _TLG_MANY(NOTHING, BYTE, _TlgInSTRUCT, fieldCount, 0, 0, __VA_ARGS__)
#define TraceLoggingPackedStructArray(fieldCount, ...) \
    _TLG_MANY(NOTHING, BYTE, _TlgInSTRUCT | TlgInVcount, fieldCount, 0, 0, __VA_ARGS__)
#define TraceLoggingPackedMetadata(inType, ...) _TLG_MANY(NOTHING, BYTE, inType, 0, 0, 0, __VA_ARGS__)
#define TraceLoggingPackedMetadataEx(inType, outType, ...) _TLG_MANY(NOTHING, BYTE, inType, outType, 0, 0, __VA_ARGS__)
#define TraceLoggingPackedData(pointer, size) (DATA, pointer, size)
/* both: the bytes of one field, in the exact layout of its type */
#define TraceLoggingPackedField(pointer, size, ...) \
    _TLG_CAT(_TLG_PACKED_, _TLG_N(__VA_ARGS__))(pointer, size, __VA_ARGS__)
#define TraceLoggingPackedFieldEx(pointer, size, inType, ...) _TLG_SHOWN(RAW, BYTE, inType, pointer, size, __VA_ARGS__)
/* of the program's own serializer, which `protocol` (5 to 31) names; schema is a list of schemaSize bytes in
 * parentheses */
#define TraceLoggingCustom(pointer, size, protocol, schema, schemaSize, ...) \
    _TLG_MANY(CUSTOM, (schemaSize, schema), TlgInBINARY | TlgInCustom, protocol, pointer, size, __VA_ARGS__)

/* ---- arrays ---- */
#define TraceLoggingInt8Array(pointer, ...) _TLG_MANY(ELEMENTS, INT8, TlgInINT8 | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingInt8FixedArray(pointer, ...) \
    _TLG_MANY(FIXED, INT8, TlgInINT8 | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingUInt8Array(pointer, ...) \
    _TLG_MANY(ELEMENTS, UINT8, TlgInUINT8 | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingUInt8FixedArray(pointer, ...) \
    _TLG_MANY(FIXED, UINT8, TlgInUINT8 | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingInt16Array(pointer, ...) \
    _TLG_MANY(ELEMENTS, INT16, TlgInINT16 | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingInt16FixedArray(pointer, ...) \
    _TLG_MANY(FIXED, INT16, TlgInINT16 | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingUInt16Array(pointer, ...) \
    _TLG_MANY(ELEMENTS, UINT16, TlgInUINT16 | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingUInt16FixedArray(pointer, ...) \
    _TLG_MANY(FIXED, UINT16, TlgInUINT16 | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingInt32Array(pointer, ...) \
    _TLG_MANY(ELEMENTS, INT32, TlgInINT32 | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingInt32FixedArray(pointer, ...) \
    _TLG_MANY(FIXED, INT32, TlgInINT32 | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingUInt32Array(pointer, ...) \
    _TLG_MANY(ELEMENTS, UINT32, TlgInUINT32 | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingUInt32FixedArray(pointer, ...) \
    _TLG_MANY(FIXED, UINT32, TlgInUINT32 | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingInt64Array(pointer, ...) \
    _TLG_MANY(ELEMENTS, INT64, TlgInINT64 | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingInt64FixedArray(pointer, ...) \
    _TLG_MANY(FIXED, INT64, TlgInINT64 | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingUInt64Array(pointer, ...) \
    _TLG_MANY(ELEMENTS, UINT64, TlgInUINT64 | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingUInt64FixedArray(pointer, ...) \
    _TLG_MANY(FIXED, UINT64, TlgInUINT64 | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingHexInt8Array(pointer, ...) \
    _TLG_MANY(ELEMENTS, INT8, TlgInUINT8 | TlgInVcount, TlgOutHEX, pointer, __VA_ARGS__)
#define TraceLoggingHexInt8FixedArray(pointer, ...) \
    _TLG_MANY(FIXED, INT8, TlgInUINT8 | TlgInCcount, TlgOutHEX, pointer, __VA_ARGS__)
#define TraceLoggingHexUInt8Array(pointer, ...) \
    _TLG_MANY(ELEMENTS, UINT8, TlgInUINT8 | TlgInVcount, TlgOutHEX, pointer, __VA_ARGS__)
#define TraceLoggingHexUInt8FixedArray(pointer, ...) \
    _TLG_MANY(FIXED, UINT8, TlgInUINT8 | TlgInCcount, TlgOutHEX, pointer, __VA_ARGS__)
#define TraceLoggingHexInt16Array(pointer, ...) \
    _TLG_MANY(ELEMENTS, INT16, TlgInUINT16 | TlgInVcount, TlgOutHEX, pointer, __VA_ARGS__)
#define TraceLoggingHexInt16FixedArray(pointer, ...) \
    _TLG_MANY(FIXED, INT16, TlgInUINT16 | TlgInCcount, TlgOutHEX, pointer, __VA_ARGS__)
#define TraceLoggingHexUInt16Array(pointer, ...) \
    _TLG_MANY(ELEMENTS, UINT16, TlgInUINT16 | TlgInVcount, TlgOutHEX, pointer, __VA_ARGS__)
#define TraceLoggingHexUInt16FixedArray(pointer, ...) \
    _TLG_MANY(FIXED, UINT16, TlgInUINT16 | TlgInCcount, TlgOutHEX, pointer, __VA_ARGS__)
#define TraceLoggingHexInt32Array(pointer, ...) \
    _TLG_MANY(ELEMENTS, INT32, TlgInHEXINT32 | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingHexInt32FixedArray(pointer, ...) \
    _TLG_MANY(FIXED, INT32, TlgInHEXINT32 | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingHexUInt32Array(pointer, ...) \
    _TLG_MANY(ELEMENTS, UINT32, TlgInHEXINT32 | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingHexUInt32FixedArray(pointer, ...) \
    _TLG_MANY(FIXED, UINT32, TlgInHEXINT32 | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingHexInt64Array(pointer, ...) \
    _TLG_MANY(ELEMENTS, INT64, TlgInHEXINT64 | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingHexInt64FixedArray(pointer, ...) \
    _TLG_MANY(FIXED, INT64, TlgInHEXINT64 | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingHexUInt64Array(pointer, ...) \
    _TLG_MANY(ELEMENTS, UINT64, TlgInHEXINT64 | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingHexUInt64FixedArray(pointer, ...) \
    _TLG_MANY(FIXED, UINT64, TlgInHEXINT64 | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingLongArray(pointer, ...) _TLG_MANY(ELEMENTS, LONG, TlgInINT32 | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingLongFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, LONG, TlgInINT32 | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingULongArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, ULONG, TlgInUINT32 | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingULongFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, ULONG, TlgInUINT32 | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingHexLongArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, LONG, TlgInHEXINT32 | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingHexLongFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, LONG, TlgInHEXINT32 | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingHexULongArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, ULONG, TlgInHEXINT32 | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingHexULongFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, ULONG, TlgInHEXINT32 | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingIntPtrArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, INT_PTR, TlgInINTPTR | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingIntPtrFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, INT_PTR, TlgInINTPTR | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingUIntPtrArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, UINT_PTR, TlgInUINTPTR | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingUIntPtrFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, UINT_PTR, TlgInUINTPTR | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingHexIntPtrArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, INT_PTR, TlgInPOINTER | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingHexIntPtrFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, INT_PTR, TlgInPOINTER | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingHexUIntPtrArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, UINT_PTR, TlgInPOINTER | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingHexUIntPtrFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, UINT_PTR, TlgInPOINTER | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingLongPtrArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, LONG_PTR, TlgInINTPTR | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingLongPtrFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, LONG_PTR, TlgInINTPTR | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingULongPtrArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, ULONG_PTR, TlgInUINTPTR | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingULongPtrFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, ULONG_PTR, TlgInUINTPTR | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingHexLongPtrArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, LONG_PTR, TlgInPOINTER | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingHexLongPtrFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, LONG_PTR, TlgInPOINTER | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingHexULongPtrArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, ULONG_PTR, TlgInPOINTER | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingHexULongPtrFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, ULONG_PTR, TlgInPOINTER | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingFloat32Array(pointer, ...) \
    _TLG_MANY(ELEMENTS, float, TlgInFLOAT | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingFloat32FixedArray(pointer, ...) \
    _TLG_MANY(FIXED, float, TlgInFLOAT | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingFloat64Array(pointer, ...) \
    _TLG_MANY(ELEMENTS, double, TlgInDOUBLE | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingFloat64FixedArray(pointer, ...) \
    _TLG_MANY(FIXED, double, TlgInDOUBLE | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingBooleanArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, BOOLEAN, TlgInUINT8 | TlgInVcount, TlgOutBOOLEAN, pointer, __VA_ARGS__)
#define TraceLoggingBooleanFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, BOOLEAN, TlgInUINT8 | TlgInCcount, TlgOutBOOLEAN, pointer, __VA_ARGS__)
#define TraceLoggingBoolArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, INT32, TlgInBOOL32 | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingBoolFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, INT32, TlgInBOOL32 | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingCharArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, char, TlgInUINT8 | TlgInVcount, TlgOutSTRING, pointer, __VA_ARGS__)
#define TraceLoggingCharFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, char, TlgInUINT8 | TlgInCcount, TlgOutSTRING, pointer, __VA_ARGS__)
#define TraceLoggingChar16Array(pointer, ...) \
    _TLG_MANY(ELEMENTS, WCHAR, TlgInUINT16 | TlgInVcount, TlgOutSTRING, pointer, __VA_ARGS__)
#define TraceLoggingChar16FixedArray(pointer, ...) \
    _TLG_MANY(FIXED, WCHAR, TlgInUINT16 | TlgInCcount, TlgOutSTRING, pointer, __VA_ARGS__)
#define TraceLoggingWCharArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, WCHAR, TlgInUINT16 | TlgInVcount, TlgOutSTRING, pointer, __VA_ARGS__)
#define TraceLoggingWCharFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, WCHAR, TlgInUINT16 | TlgInCcount, TlgOutSTRING, pointer, __VA_ARGS__)
#define TraceLoggingPointerArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, const void *, TlgInPOINTER | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingPointerFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, const void *, TlgInPOINTER | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingCodePointerArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, const void *, TlgInPOINTER | TlgInVcount, TlgOutCODE_POINTER, pointer, __VA_ARGS__)
#define TraceLoggingCodePointerFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, const void *, TlgInPOINTER | TlgInCcount, TlgOutCODE_POINTER, pointer, __VA_ARGS__)
#define TraceLoggingPidArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, UINT32, TlgInUINT32 | TlgInVcount, TlgOutPID, pointer, __VA_ARGS__)
#define TraceLoggingPidFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, UINT32, TlgInUINT32 | TlgInCcount, TlgOutPID, pointer, __VA_ARGS__)
#define TraceLoggingTidArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, UINT32, TlgInUINT32 | TlgInVcount, TlgOutTID, pointer, __VA_ARGS__)
#define TraceLoggingTidFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, UINT32, TlgInUINT32 | TlgInCcount, TlgOutTID, pointer, __VA_ARGS__)
#define TraceLoggingPortArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, UINT16, TlgInUINT16 | TlgInVcount, TlgOutPORT, pointer, __VA_ARGS__)
#define TraceLoggingPortFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, UINT16, TlgInUINT16 | TlgInCcount, TlgOutPORT, pointer, __VA_ARGS__)
#define TraceLoggingIPv4AddressArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, UINT32, TlgInUINT32 | TlgInVcount, TlgOutIPV4, pointer, __VA_ARGS__)
#define TraceLoggingIPv4AddressFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, UINT32, TlgInUINT32 | TlgInCcount, TlgOutIPV4, pointer, __VA_ARGS__)
#define TraceLoggingWinErrorArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, UINT32, TlgInUINT32 | TlgInVcount, TlgOutWIN32ERROR, pointer, __VA_ARGS__)
#define TraceLoggingWinErrorFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, UINT32, TlgInUINT32 | TlgInCcount, TlgOutWIN32ERROR, pointer, __VA_ARGS__)
#define TraceLoggingNTStatusArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, INT32, TlgInUINT32 | TlgInVcount, TlgOutNTSTATUS, pointer, __VA_ARGS__)
#define TraceLoggingNTStatusFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, INT32, TlgInUINT32 | TlgInCcount, TlgOutNTSTATUS, pointer, __VA_ARGS__)
#define TraceLoggingHResultArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, INT32, TlgInINT32 | TlgInVcount, TlgOutHRESULT, pointer, __VA_ARGS__)
#define TraceLoggingHResultFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, INT32, TlgInINT32 | TlgInCcount, TlgOutHRESULT, pointer, __VA_ARGS__)
#define TraceLoggingGuidArray(pointer, ...) _TLG_MANY(ELEMENTS, GUID, TlgInGUID | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingGuidFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, GUID, TlgInGUID | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingFileTimeArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, FILETIME, TlgInFILETIME | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingFileTimeFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, FILETIME, TlgInFILETIME | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingFileTimeUtcArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, FILETIME, TlgInFILETIME | TlgInVcount, TlgOutDATETIME_UTC, pointer, __VA_ARGS__)
#define TraceLoggingFileTimeUtcFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, FILETIME, TlgInFILETIME | TlgInCcount, TlgOutDATETIME_UTC, pointer, __VA_ARGS__)
#define TraceLoggingSystemTimeArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, SYSTEMTIME, TlgInSYSTEMTIME | TlgInVcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingSystemTimeFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, SYSTEMTIME, TlgInSYSTEMTIME | TlgInCcount, 0, pointer, __VA_ARGS__)
#define TraceLoggingSystemTimeUtcArray(pointer, ...) \
    _TLG_MANY(ELEMENTS, SYSTEMTIME, TlgInSYSTEMTIME | TlgInVcount, TlgOutDATETIME_UTC, pointer, __VA_ARGS__)
#define TraceLoggingSystemTimeUtcFixedArray(pointer, ...) \
    _TLG_MANY(FIXED, SYSTEMTIME, TlgInSYSTEMTIME | TlgInCcount, TlgOutDATETIME_UTC, pointer, __VA_ARGS__)
#endif
