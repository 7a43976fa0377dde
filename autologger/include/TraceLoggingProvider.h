/* TraceLoggingProvider.h - typed events that decode without any manifest: names and types travel with the event.
 *
 *   TRACELOGGING_DEFINE_PROVIDER(g_provider, "Contoso-Web",
 *       (0x12345678, 0x1234, 0x1234, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0));
 *   TraceLoggingRegister(g_provider);
 *   TraceLoggingWrite(g_provider, "Request", TraceLoggingLevel(4), TraceLoggingKeyword(0x40),
 *                     TraceLoggingString(url, "url"), TraceLoggingUInt32(status, "status"));
 *   TraceLoggingUnregister(g_provider);
 *
 * While nobody listens, TraceLoggingWrite is one compare and one branch not taken; its arguments are not evaluated. The
 * metadata is constant and lies in the ELF section "autologger_tlg".
 * Arguments of TraceLoggingWrite after the name, in any order, at most 62: options (Level, Keyword, Opcode, EventTag,
 * Channel, Description) once each, and fields: TraceLoggingTYPE(value, "name", "description", tag), where all but the value
 * may be left out; descriptions are ignored. Level is 5 and Keyword 0 unless given.
 * C99 and later, C++14 and later (GCC and Clang). Not for: names that are not literals. */
#ifndef AUTOLOGGER_TRACELOGGINGPROVIDER_H
#define AUTOLOGGER_TRACELOGGINGPROVIDER_H
#include "evntprov.h"

/* A provider; use the macros. */
struct _tlgProvider_t {
    ULONG           LevelPlus1; /* 0 = nobody listens, 256 = all levels */
    ULONG           Reserved;
    ULONGLONG       KeywordAny;
    ULONGLONG       KeywordAll;
    REGHANDLE       RegHandle;
    const UINT16   *ProviderMetadataPtr; /* u16 size, name */
    GUID            ProviderId;
};
typedef struct _tlgProvider_t *TraceLoggingHProvider;

AUTOLOGGER_API ULONG _tlgRegister(struct _tlgProvider_t *provider, PENABLECALLBACK callback, PVOID context);
AUTOLOGGER_API VOID  _tlgUnregister(struct _tlgProvider_t *provider);

/* The provider of another source file of the same program or library. */
#define TRACELOGGING_DECLARE_PROVIDER(handleVariable) \
    AUTOLOGGER_EXTERN __attribute__((visibility("hidden"))) const TraceLoggingHProvider handleVariable
/* providerId: eleven numbers in parentheses, as in GUID initialisers without the inner braces. */
#define TRACELOGGING_DEFINE_PROVIDER(handleVariable, providerName, providerId, ...)                              \
    static const struct {                                                                                        \
        UINT16 _tlg_size;                                                                                        \
        char   _tlg_name[sizeof(providerName)];                                                                  \
    } handleVariable##_tlgMeta __attribute__((section("autologger_tlg"))) = {2 + sizeof(providerName), providerName}; \
    static struct _tlgProvider_t handleVariable##_tlgStorage = {                                                 \
        0, 0, 0, 0, 0, &handleVariable##_tlgMeta._tlg_size, _TLG_GUID providerId};                               \
    TRACELOGGING_DECLARE_PROVIDER(handleVariable);                                                               \
    const TraceLoggingHProvider handleVariable = &handleVariable##_tlgStorage
#define _TLG_GUID(a, b, c, d, e, f, g, h, i, j, k) {a, b, c, {d, e, f, g, h, i, j, k}}

#define TraceLoggingRegister(hProvider) _tlgRegister(hProvider, NULL, NULL)
#define TraceLoggingRegisterEx(hProvider, callback, context) _tlgRegister(hProvider, callback, context)
#define TraceLoggingUnregister(hProvider) _tlgUnregister(hProvider)
#define TraceLoggingProviderId(hProvider) ((hProvider)->ProviderId)
#define TraceLoggingProviderEnabled(hProvider, level, keyword) \
    (_TLG_LOAD((hProvider)->LevelPlus1) > (ULONG)(level) && _tlgKeywordOn(hProvider, keyword))

/* Another thread may write what the inline check reads: any value it ever had is right. Plain loads, because an atomic one costs
 * an instruction more; ThreadSanitizer is told. */
#if defined(__SANITIZE_THREAD__)
#define _TLG_LOAD(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define _TLG_LOAD(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#endif
#endif
#ifndef _TLG_LOAD
#define _TLG_LOAD(x) (x)
#endif
FORCEINLINE BOOLEAN _tlgKeywordOn(const struct _tlgProvider_t *provider, ULONGLONG keyword)
{
    ULONGLONG all;
    if (keyword == 0)
        return TRUE;
    all = _TLG_LOAD(provider->KeywordAll);
    return (keyword & _TLG_LOAD(provider->KeywordAny)) != 0 && (keyword & all) == all;
}

#define TraceLoggingWrite(hProvider, ...) \
    _TLG_WRITE(hProvider, NULL, NULL, _TLG_FIRST(__VA_ARGS__, 0), __VA_ARGS__)
#define TraceLoggingWriteActivity(hProvider, eventName, pActivityId, ...) \
    _TLG_WRITE(hProvider, pActivityId, _TLG_FIRST(__VA_ARGS__, 0), eventName, __VA_ARGS__)

/* ---- options ---- */
#define TraceLoggingLevel(level) (OPTION, 256 | (level), 0, 0, 0, 0)
#define TraceLoggingKeyword(keyword) (OPTION, 0, keyword, 0, 0, 0)
#define TraceLoggingOpcode(opcode) (OPTION, 0, 0, opcode, 0, 0)
#define TraceLoggingEventTag(tag) (OPTION, 0, 0, 0, tag, 0)
#define TraceLoggingChannel(channel) (OPTION, 0, 0, 0, 0, 256 | (channel))
#define TraceLoggingDescription(text) (OPTION, 0, 0, 0, 0, 0)
#define TraceLoggingCustomAttribute(key, value) (OPTION, 0, 0, 0, 0, 0)

/* ---- fields: (FIELD, how the value is taken, its type, value, count, name, in-type, out-type, tag) ---- */
#define TraceLoggingInt8(...) _TLG_FIELD(VALUE, INT8, 3, 0, __VA_ARGS__)
#define TraceLoggingUInt8(...) _TLG_FIELD(VALUE, UINT8, 4, 0, __VA_ARGS__)
#define TraceLoggingInt16(...) _TLG_FIELD(VALUE, INT16, 5, 0, __VA_ARGS__)
#define TraceLoggingUInt16(...) _TLG_FIELD(VALUE, UINT16, 6, 0, __VA_ARGS__)
#define TraceLoggingInt32(...) _TLG_FIELD(VALUE, INT32, 7, 0, __VA_ARGS__)
#define TraceLoggingUInt32(...) _TLG_FIELD(VALUE, UINT32, 8, 0, __VA_ARGS__)
#define TraceLoggingInt64(...) _TLG_FIELD(VALUE, INT64, 9, 0, __VA_ARGS__)
#define TraceLoggingUInt64(...) _TLG_FIELD(VALUE, UINT64, 10, 0, __VA_ARGS__)
#define TraceLoggingHexInt8(...) _TLG_FIELD(VALUE, INT8, 4, 4, __VA_ARGS__)
#define TraceLoggingHexUInt8(...) _TLG_FIELD(VALUE, UINT8, 4, 4, __VA_ARGS__)
#define TraceLoggingHexInt16(...) _TLG_FIELD(VALUE, INT16, 6, 4, __VA_ARGS__)
#define TraceLoggingHexUInt16(...) _TLG_FIELD(VALUE, UINT16, 6, 4, __VA_ARGS__)
#define TraceLoggingHexInt32(...) _TLG_FIELD(VALUE, INT32, 20, 0, __VA_ARGS__)
#define TraceLoggingHexUInt32(...) _TLG_FIELD(VALUE, UINT32, 20, 0, __VA_ARGS__)
#define TraceLoggingHexInt64(...) _TLG_FIELD(VALUE, INT64, 21, 0, __VA_ARGS__)
#define TraceLoggingHexUInt64(...) _TLG_FIELD(VALUE, UINT64, 21, 0, __VA_ARGS__)
#define TraceLoggingFloat32(...) _TLG_FIELD(VALUE, float, 11, 0, __VA_ARGS__)
#define TraceLoggingFloat64(...) _TLG_FIELD(VALUE, double, 12, 0, __VA_ARGS__)
#define TraceLoggingBoolean(...) _TLG_FIELD(VALUE, BOOLEAN, 4, 3, __VA_ARGS__)
#define TraceLoggingBool(...) _TLG_FIELD(VALUE, INT32, 13, 0, __VA_ARGS__)
#define TraceLoggingChar(...) _TLG_FIELD(VALUE, char, 4, 2, __VA_ARGS__)
#define TraceLoggingChar16(...) _TLG_FIELD(VALUE, WCHAR, 6, 2, __VA_ARGS__)
#define TraceLoggingWChar(...) _TLG_FIELD(VALUE, WCHAR, 6, 2, __VA_ARGS__)
#define TraceLoggingLong(...) _TLG_FIELD(VALUE, INT32, 7, 0, __VA_ARGS__)
#define TraceLoggingULong(...) _TLG_FIELD(VALUE, UINT32, 8, 0, __VA_ARGS__)
#define TraceLoggingIntPtr(...) _TLG_FIELD(VALUE, INT_PTR, _TLG_PTR(7, 9), 0, __VA_ARGS__)
#define TraceLoggingUIntPtr(...) _TLG_FIELD(VALUE, UINT_PTR, _TLG_PTR(8, 10), 0, __VA_ARGS__)
#define TraceLoggingPointer(...) _TLG_FIELD(VALUE, const void *, _TLG_PTR(20, 21), 0, __VA_ARGS__)
#define TraceLoggingCodePointer(...) _TLG_FIELD(VALUE, const void *, _TLG_PTR(20, 21), 37, __VA_ARGS__)
#define TraceLoggingPid(...) _TLG_FIELD(VALUE, UINT32, 8, 5, __VA_ARGS__)
#define TraceLoggingTid(...) _TLG_FIELD(VALUE, UINT32, 8, 6, __VA_ARGS__)
#define TraceLoggingPort(...) _TLG_FIELD(VALUE, UINT16, 6, 7, __VA_ARGS__)
#define TraceLoggingIPv4Address(...) _TLG_FIELD(VALUE, UINT32, 8, 8, __VA_ARGS__)
#define TraceLoggingWinError(...) _TLG_FIELD(VALUE, UINT32, 8, 13, __VA_ARGS__)
#define TraceLoggingNTStatus(...) _TLG_FIELD(VALUE, INT32, 8, 14, __VA_ARGS__)
#define TraceLoggingHResult(...) _TLG_FIELD(VALUE, INT32, 7, 15, __VA_ARGS__)
#define TraceLoggingGuid(...) _TLG_FIELD(VALUE, GUID, 15, 0, __VA_ARGS__)
#define TraceLoggingFileTime(...) _TLG_FIELD(VALUE, FILETIME, 17, 0, __VA_ARGS__)
#define TraceLoggingFileTimeUtc(...) _TLG_FIELD(VALUE, FILETIME, 17, 38, __VA_ARGS__)
#define TraceLoggingSystemTime(...) _TLG_FIELD(VALUE, SYSTEMTIME, 18, 0, __VA_ARGS__)
#define TraceLoggingSystemTimeUtc(...) _TLG_FIELD(VALUE, SYSTEMTIME, 18, 38, __VA_ARGS__)
#define TraceLoggingString(...) _TLG_FIELD(STRING, char, 2, 0, __VA_ARGS__)
#define TraceLoggingUtf8String(...) _TLG_FIELD(STRING, char, 2, 35, __VA_ARGS__)
#define TraceLoggingWideString(...) _TLG_FIELD(WSTRING, WCHAR, 1, 0, __VA_ARGS__)
#define TraceLoggingString16(...) _TLG_FIELD(WSTRING, WCHAR, 1, 0, __VA_ARGS__)
#define TraceLoggingSid(...) _TLG_FIELD(SID, BYTE, 19, 0, __VA_ARGS__)
/* (pointer, number of characters or bytes, name...) */
#define TraceLoggingCountedString(pointer, count, ...) _TLG_MANY(BYTES, char, 23, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingCountedUtf8String(pointer, count, ...) _TLG_MANY(BYTES, char, 23, 35, pointer, count, __VA_ARGS__)
#define TraceLoggingCountedWideString(pointer, count, ...) _TLG_MANY(BYTES, WCHAR, 22, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingCountedString16(pointer, count, ...) _TLG_MANY(BYTES, WCHAR, 22, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingBinary(pointer, count, ...) _TLG_MANY(BYTES, BYTE, 14, 0, pointer, count, __VA_ARGS__)
/* 16 bytes / a struct sockaddr of `count` bytes */
#define TraceLoggingIPv6Address(pointer, ...) _TLG_MANY(BYTES, BYTE, 14, 9, pointer, 16, __VA_ARGS__)
#define TraceLoggingSocketAddress(pointer, count, ...) _TLG_MANY(BYTES, BYTE, 14, 10, pointer, count, __VA_ARGS__)
/* The next `fieldCount` (1..127) fields belong to it. */
#define TraceLoggingStruct(fieldCount, name) (FIELD, NOTHING, BYTE, 0, 0, name, 24, fieldCount, 0)
/* (pointer, number of elements, name...): the number goes into the event; Fixed: a constant, in the metadata only */
#define TraceLoggingInt8Array(pointer, count, ...) _TLG_MANY(ELEMENTS, INT8, 0x40 | 3, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingInt8FixedArray(pointer, count, ...) \
    _TLG_MANY(FIXED, INT8, 0x20 | 3, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingUInt8Array(pointer, count, ...) _TLG_MANY(ELEMENTS, UINT8, 0x40 | 4, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingUInt8FixedArray(pointer, count, ...) \
    _TLG_MANY(FIXED, UINT8, 0x20 | 4, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingInt16Array(pointer, count, ...) _TLG_MANY(ELEMENTS, INT16, 0x40 | 5, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingInt16FixedArray(pointer, count, ...) \
    _TLG_MANY(FIXED, INT16, 0x20 | 5, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingUInt16Array(pointer, count, ...) _TLG_MANY(ELEMENTS, UINT16, 0x40 | 6, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingUInt16FixedArray(pointer, count, ...) \
    _TLG_MANY(FIXED, UINT16, 0x20 | 6, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingInt32Array(pointer, count, ...) _TLG_MANY(ELEMENTS, INT32, 0x40 | 7, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingInt32FixedArray(pointer, count, ...) \
    _TLG_MANY(FIXED, INT32, 0x20 | 7, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingUInt32Array(pointer, count, ...) _TLG_MANY(ELEMENTS, UINT32, 0x40 | 8, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingUInt32FixedArray(pointer, count, ...) \
    _TLG_MANY(FIXED, UINT32, 0x20 | 8, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingInt64Array(pointer, count, ...) _TLG_MANY(ELEMENTS, INT64, 0x40 | 9, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingInt64FixedArray(pointer, count, ...) \
    _TLG_MANY(FIXED, INT64, 0x20 | 9, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingUInt64Array(pointer, count, ...) _TLG_MANY(ELEMENTS, UINT64, 0x40 | 10, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingUInt64FixedArray(pointer, count, ...) \
    _TLG_MANY(FIXED, UINT64, 0x20 | 10, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingHexInt8Array(pointer, count, ...) _TLG_MANY(ELEMENTS, INT8, 0x40 | 4, 4, pointer, count, __VA_ARGS__)
#define TraceLoggingHexInt8FixedArray(pointer, count, ...) \
    _TLG_MANY(FIXED, INT8, 0x20 | 4, 4, pointer, count, __VA_ARGS__)
#define TraceLoggingHexUInt8Array(pointer, count, ...) _TLG_MANY(ELEMENTS, UINT8, 0x40 | 4, 4, pointer, count, __VA_ARGS__)
#define TraceLoggingHexUInt8FixedArray(pointer, count, ...) \
    _TLG_MANY(FIXED, UINT8, 0x20 | 4, 4, pointer, count, __VA_ARGS__)
#define TraceLoggingHexInt16Array(pointer, count, ...) _TLG_MANY(ELEMENTS, INT16, 0x40 | 6, 4, pointer, count, __VA_ARGS__)
#define TraceLoggingHexInt16FixedArray(pointer, count, ...) \
    _TLG_MANY(FIXED, INT16, 0x20 | 6, 4, pointer, count, __VA_ARGS__)
#define TraceLoggingHexUInt16Array(pointer, count, ...) _TLG_MANY(ELEMENTS, UINT16, 0x40 | 6, 4, pointer, count, __VA_ARGS__)
#define TraceLoggingHexUInt16FixedArray(pointer, count, ...) \
    _TLG_MANY(FIXED, UINT16, 0x20 | 6, 4, pointer, count, __VA_ARGS__)
#define TraceLoggingHexInt32Array(pointer, count, ...) _TLG_MANY(ELEMENTS, INT32, 0x40 | 20, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingHexInt32FixedArray(pointer, count, ...) \
    _TLG_MANY(FIXED, INT32, 0x20 | 20, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingHexUInt32Array(pointer, count, ...) _TLG_MANY(ELEMENTS, UINT32, 0x40 | 20, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingHexUInt32FixedArray(pointer, count, ...) \
    _TLG_MANY(FIXED, UINT32, 0x20 | 20, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingHexInt64Array(pointer, count, ...) _TLG_MANY(ELEMENTS, INT64, 0x40 | 21, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingHexInt64FixedArray(pointer, count, ...) \
    _TLG_MANY(FIXED, INT64, 0x20 | 21, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingHexUInt64Array(pointer, count, ...) _TLG_MANY(ELEMENTS, UINT64, 0x40 | 21, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingHexUInt64FixedArray(pointer, count, ...) \
    _TLG_MANY(FIXED, UINT64, 0x20 | 21, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingFloat32Array(pointer, count, ...) _TLG_MANY(ELEMENTS, float, 0x40 | 11, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingFloat32FixedArray(pointer, count, ...) \
    _TLG_MANY(FIXED, float, 0x20 | 11, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingFloat64Array(pointer, count, ...) _TLG_MANY(ELEMENTS, double, 0x40 | 12, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingFloat64FixedArray(pointer, count, ...) \
    _TLG_MANY(FIXED, double, 0x20 | 12, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingBooleanArray(pointer, count, ...) _TLG_MANY(ELEMENTS, BOOLEAN, 0x40 | 4, 3, pointer, count, __VA_ARGS__)
#define TraceLoggingBooleanFixedArray(pointer, count, ...) \
    _TLG_MANY(FIXED, BOOLEAN, 0x20 | 4, 3, pointer, count, __VA_ARGS__)
#define TraceLoggingBoolArray(pointer, count, ...) _TLG_MANY(ELEMENTS, INT32, 0x40 | 13, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingBoolFixedArray(pointer, count, ...) \
    _TLG_MANY(FIXED, INT32, 0x20 | 13, 0, pointer, count, __VA_ARGS__)
#define TraceLoggingCharArray(pointer, count, ...) _TLG_MANY(ELEMENTS, char, 0x40 | 4, 2, pointer, count, __VA_ARGS__)
#define TraceLoggingCharFixedArray(pointer, count, ...) \
    _TLG_MANY(FIXED, char, 0x20 | 4, 2, pointer, count, __VA_ARGS__)
#define TraceLoggingIntPtrArray(pointer, count, ...) _TLG_MANY(ELEMENTS, INT_PTR, 0x40 | _TLG_PTR(7, 9), 0, pointer, count, __VA_ARGS__)
#define TraceLoggingIntPtrFixedArray(pointer, count, ...) \
    _TLG_MANY(FIXED, INT_PTR, 0x20 | _TLG_PTR(7, 9), 0, pointer, count, __VA_ARGS__)
#define TraceLoggingUIntPtrArray(pointer, count, ...) _TLG_MANY(ELEMENTS, UINT_PTR, 0x40 | _TLG_PTR(8, 10), 0, pointer, count, __VA_ARGS__)
#define TraceLoggingUIntPtrFixedArray(pointer, count, ...) \
    _TLG_MANY(FIXED, UINT_PTR, 0x20 | _TLG_PTR(8, 10), 0, pointer, count, __VA_ARGS__)

/* ---- below: how it is done ---- */
#if __SIZEOF_POINTER__ == 8
#define _TLG_PTR(narrow, wide) wide
#else
#define _TLG_PTR(narrow, wide) narrow
#endif

#define _TLG_CAT(a, b) _TLG_CAT_(a, b)
#define _TLG_CAT_(a, b) a##b
#define _TLG_FIRST(first, ...) first
#define _TLG_STRIP(...) __VA_ARGS__

/* (value, name, description, tag): by the number of arguments */
#define _TLG_FIELD(how, ctype, in, out, ...) _TLG_CAT(_TLG_FIELD_, _TLG_N(__VA_ARGS__))(how, ctype, in, out, __VA_ARGS__)
#define _TLG_FIELD_1(how, ctype, in, out, value) (FIELD, how, ctype, value, 0, #value, in, out, 0)
#define _TLG_FIELD_2(how, ctype, in, out, value, name) (FIELD, how, ctype, value, 0, name, in, out, 0)
#define _TLG_FIELD_3(how, ctype, in, out, value, name, text) (FIELD, how, ctype, value, 0, name, in, out, 0)
#define _TLG_FIELD_4(how, ctype, in, out, value, name, text, tag) (FIELD, how, ctype, value, 0, name, in, out, tag)
#define _TLG_MANY(how, ctype, in, out, pointer, count, ...) \
    _TLG_CAT(_TLG_MANY_, _TLG_N(__VA_ARGS__))(how, ctype, in, out, pointer, count, __VA_ARGS__)
#define _TLG_MANY_1(how, ctype, in, out, pointer, count, name) (FIELD, how, ctype, pointer, count, name, in, out, 0)
#define _TLG_MANY_2(how, ctype, in, out, pointer, count, name, text) (FIELD, how, ctype, pointer, count, name, in, out, 0)
#define _TLG_MANY_3(how, ctype, in, out, pointer, count, name, text, tag) \
    (FIELD, how, ctype, pointer, count, name, in, out, tag)

/* What each argument contributes to the options: OR-ed together. */
#define _TLG_DISPATCH(prefix, i, ...) _TLG_DISPATCH_(prefix, i, __VA_ARGS__)
#define _TLG_DISPATCH_(prefix, i, kind, ...) prefix##kind(i, __VA_ARGS__)
#define _TLG_LEVEL(i, t) _TLG_DISPATCH(_TLG_LEVEL_, i, _TLG_STRIP t)
#define _TLG_LEVEL_OPTION(i, level, keyword, opcode, tag, channel) | (level)
#define _TLG_LEVEL_FIELD(i, ...)
#define _TLG_KEYWORD(i, t) _TLG_DISPATCH(_TLG_KEYWORD_, i, _TLG_STRIP t)
#define _TLG_KEYWORD_OPTION(i, level, keyword, opcode, tag, channel) | (ULONGLONG)(keyword)
#define _TLG_KEYWORD_FIELD(i, ...)
#define _TLG_OPCODE(i, t) _TLG_DISPATCH(_TLG_OPCODE_, i, _TLG_STRIP t)
#define _TLG_OPCODE_OPTION(i, level, keyword, opcode, tag, channel) | (opcode)
#define _TLG_OPCODE_FIELD(i, ...)
#define _TLG_TAG(i, t) _TLG_DISPATCH(_TLG_TAG_, i, _TLG_STRIP t)
#define _TLG_TAG_OPTION(i, level, keyword, opcode, tag, channel) | (ULONGLONG)(tag)
#define _TLG_TAG_FIELD(i, ...)
#define _TLG_CHANNEL(i, t) _TLG_DISPATCH(_TLG_CHANNEL_, i, _TLG_STRIP t)
#define _TLG_CHANNEL_OPTION(i, level, keyword, opcode, tag, channel) | (channel)
#define _TLG_CHANNEL_FIELD(i, ...)
/* 256 | n where given, else the default */
#define _TLG_GIVEN(x, otherwise) ((x) & 256 ? (x) & 255 : (otherwise))

/* Tags: 7 bits a byte, the highest first, as many as there are up to the last that is not 0. As one little-endian number. */
#define _TLG_TAG_SIZE(t) ((t) & 0x7F ? 4 : (t) & 0x3FFF ? 3 : (t) & 0x1FFFFF ? 2 : 1)
#define _TLG_TAG_BYTE(t, n) (((ULONGLONG)(t) >> (21 - 7 * (n)) & 0x7F) | (_TLG_TAG_SIZE(t) > (n) + 1 ? 0x80 : 0))
#define _TLG_TAG_BYTES(t)                                                                                \
    (_TLG_TAG_BYTE(t, 0) | (_TLG_TAG_SIZE(t) > 1 ? _TLG_TAG_BYTE(t, 1) << 8 : 0) |                       \
     (_TLG_TAG_SIZE(t) > 2 ? _TLG_TAG_BYTE(t, 2) << 16 : 0) | (_TLG_TAG_SIZE(t) > 3 ? _TLG_TAG_BYTE(t, 3) << 24 : 0))

/* A field's metadata: name, then in, out, tag and constant count as one number of exactly their bytes (a packed bit-field). */
#define _TLG_HAS_OUT(out, tag) ((out) != 0 || (tag) != 0)
#define _TLG_TYPE_SIZE(in, out, tag) (1 + _TLG_HAS_OUT(out, tag) + ((tag) != 0 ? _TLG_TAG_SIZE(tag) : 0))
#define _TLG_TYPE_BYTES(in, out, tag)                                                                    \
    ((ULONGLONG)(in) | (_TLG_HAS_OUT(out, tag) ? (ULONGLONG)(0x80 | (out) << 8) : 0) |                   \
     ((tag) != 0 ? UINT64_C(0x8000) | _TLG_TAG_BYTES(tag) << 16 : 0))
#define _TLG_IS_FIXED(in) (((in) & 0x60) == 0x20)
#define _TLG_MEMBER(i, t) _TLG_DISPATCH(_TLG_MEMBER_, i, _TLG_STRIP t)
#define _TLG_MEMBER_OPTION(i, ...)
#define _TLG_MEMBER_FIELD(i, how, ctype, value, count, name, in, out, tag) \
    char      _tlg_n##i[sizeof(name)];                                     \
    ULONGLONG _tlg_t##i : 8 * (_TLG_TYPE_SIZE(in, out, tag) + (_TLG_IS_FIXED(in) ? 2 : 0));
#define _TLG_INIT(i, t) _TLG_DISPATCH(_TLG_INIT_, i, _TLG_STRIP t)
#define _TLG_INIT_OPTION(i, ...)
#define _TLG_INIT_FIELD(i, how, ctype, value, count, name, in, out, tag) \
    , name, _TLG_TYPE_BYTES(in, out, tag) _TLG_COUNT_##how(in, out, tag, count)
#define _TLG_COUNT_FIXED(in, out, tag, count) | (ULONGLONG)(UINT16)(count) << 8 * _TLG_TYPE_SIZE(in, out, tag)
#define _TLG_COUNT_VALUE(in, out, tag, count)
#define _TLG_COUNT_STRING(in, out, tag, count)
#define _TLG_COUNT_WSTRING(in, out, tag, count)
#define _TLG_COUNT_SID(in, out, tag, count)
#define _TLG_COUNT_BYTES(in, out, tag, count)
#define _TLG_COUNT_ELEMENTS(in, out, tag, count)
#define _TLG_COUNT_NOTHING(in, out, tag, count)

/* A field's payload: one or two data descriptors. */
#define _TLG_DATA(i, t) _TLG_DISPATCH(_TLG_DATA_, i, _TLG_STRIP t)
#define _TLG_DATA_OPTION(i, ...)
#define _TLG_DATA_FIELD(i, how, ctype, value, count, name, in, out, tag) _TLG_DATA_##how(i, ctype, value, count)
#define _TLG_DATA_NOTHING(i, ctype, value, count)
#define _TLG_DATA_VALUE(i, ctype, value, count) \
    ctype _tlg_v##i = (value);                  \
    EventDataDescCreate(&_tlg_d[_tlg_n++], &_tlg_v##i, sizeof _tlg_v##i);
#define _TLG_DATA_STRING(i, ctype, value, count) _tlgString(&_tlg_d[_tlg_n++], (value));
#define _TLG_DATA_WSTRING(i, ctype, value, count) _tlgWideString(&_tlg_d[_tlg_n++], (value));
#define _TLG_DATA_SID(i, ctype, value, count) _tlgSid(&_tlg_d[_tlg_n++], (value));
#define _TLG_DATA_BYTES(i, ctype, value, count)                                   \
    const ctype *_tlg_v##i = (const ctype *)(value);                              \
    UINT16       _tlg_c##i = (UINT16)((count) * sizeof(ctype));                   \
    EventDataDescCreate(&_tlg_d[_tlg_n++], &_tlg_c##i, sizeof _tlg_c##i);         \
    EventDataDescCreate(&_tlg_d[_tlg_n++], _tlg_v##i, _tlg_c##i);
#define _TLG_DATA_ELEMENTS(i, ctype, value, count)                                \
    const ctype *_tlg_v##i = (value);                                             \
    UINT16       _tlg_c##i = (UINT16)(count);                                     \
    EventDataDescCreate(&_tlg_d[_tlg_n++], &_tlg_c##i, sizeof _tlg_c##i);         \
    EventDataDescCreate(&_tlg_d[_tlg_n++], _tlg_v##i, (ULONG)(_tlg_c##i * sizeof(ctype)));
#define _TLG_DATA_FIXED(i, ctype, value, count) \
    const ctype *_tlg_v##i = (value);           \
    EventDataDescCreate(&_tlg_d[_tlg_n++], _tlg_v##i, (ULONG)((count) * sizeof(ctype)));

FORCEINLINE VOID _tlgString(PEVENT_DATA_DESCRIPTOR d, const char *s)
{
    s = s ? s : "";
    EventDataDescCreate(d, s, (ULONG)strlen(s) + 1);
}
FORCEINLINE VOID _tlgWideString(PEVENT_DATA_DESCRIPTOR d, PCWSTR s)
{
    static const WCHAR none[1] = {0};
    ULONG              n       = 0;
    s                          = s ? s : none;
    while (s[n])
        n++;
    EventDataDescCreate(d, s, (n + 1) * (ULONG)sizeof *s);
}
FORCEINLINE VOID _tlgSid(PEVENT_DATA_DESCRIPTOR d, const VOID *sid)
{
    EventDataDescCreate(d, sid, 8u + 4u * ((const BYTE *)sid)[1]);
}

#define _TLG_EVENT_LEVEL(...) _TLG_GIVEN((0 _TLG_FOR(_TLG_LEVEL, __VA_ARGS__)), 5)
#define _TLG_EVENT_KEYWORD(...) (UINT64_C(0) _TLG_FOR(_TLG_KEYWORD, __VA_ARGS__))
#define _TLG_EVENT_TAG(...) (UINT64_C(0) _TLG_FOR(_TLG_TAG, __VA_ARGS__))
/* The list's first element is no argument (the name, or the related activity): so it is never empty. */
#define _TLG_WRITE(hProvider, activity, related, name, ...)                                                          \
    do {                                                                                                             \
        if (__builtin_expect(_TLG_LOAD((hProvider)->LevelPlus1) > _TLG_EVENT_LEVEL(__VA_ARGS__), 0) &&                \
            _tlgKeywordOn(hProvider, _TLG_EVENT_KEYWORD(__VA_ARGS__))) {                                              \
            static const struct __attribute__((packed)) {                                                            \
                UINT16    _tlg_size;                                                                                 \
                ULONGLONG _tlg_tag : 8 * _TLG_TAG_SIZE(_TLG_EVENT_TAG(__VA_ARGS__));                                  \
                char      _tlg_name[sizeof(name)];                                                                   \
                _TLG_FOR(_TLG_MEMBER, __VA_ARGS__)                                                                   \
            } _tlg_meta __attribute__((section("autologger_tlg"), aligned(1))) = {                                   \
                sizeof(_tlg_meta), _TLG_TAG_BYTES(_TLG_EVENT_TAG(__VA_ARGS__)),                                       \
                name _TLG_FOR(_TLG_INIT, __VA_ARGS__)};                                                              \
            static const EVENT_DESCRIPTOR _tlg_event = {                                                             \
                0, 0, _TLG_GIVEN((0 _TLG_FOR(_TLG_CHANNEL, __VA_ARGS__)), 11), _TLG_EVENT_LEVEL(__VA_ARGS__),         \
                (0 _TLG_FOR(_TLG_OPCODE, __VA_ARGS__)), 0, _TLG_EVENT_KEYWORD(__VA_ARGS__)};                          \
            EVENT_DATA_DESCRIPTOR _tlg_d[2 + 2 * _TLG_N(__VA_ARGS__)];                                               \
            ULONG                 _tlg_n = 2;                                                                        \
            EventDataDescCreate(&_tlg_d[0], (hProvider)->ProviderMetadataPtr, *(hProvider)->ProviderMetadataPtr);    \
            EventDataDescCreate(&_tlg_d[1], &_tlg_meta, sizeof _tlg_meta);                                           \
            _tlg_d[0].Type = EVENT_DATA_DESCRIPTOR_TYPE_PROVIDER_METADATA;                                           \
            _tlg_d[1].Type = EVENT_DATA_DESCRIPTOR_TYPE_EVENT_METADATA;                                              \
            _TLG_FOR(_TLG_DATA, __VA_ARGS__)                                                                         \
            EventWriteTransfer((hProvider)->RegHandle, &_tlg_event, activity, related, _tlg_n, _tlg_d);              \
        }                                                                                                            \
    } while (0)

/* M(i, argument) for all but the first, in order; i differs for each. */
#define _TLG_FOR(M, ...) _TLG_CAT(_TLG_FOR_, _TLG_N(__VA_ARGS__))(M, __VA_ARGS__)
#define _TLG_FOR_1(M, x)
#define _TLG_FOR_2(M, x, a) M(2, a)
#define _TLG_FOR_3(M, x, a, ...) M(3, a) _TLG_FOR_2(M, x, __VA_ARGS__)
#define _TLG_FOR_4(M, x, a, ...) M(4, a) _TLG_FOR_3(M, x, __VA_ARGS__)
#define _TLG_FOR_5(M, x, a, ...) M(5, a) _TLG_FOR_4(M, x, __VA_ARGS__)
#define _TLG_FOR_6(M, x, a, ...) M(6, a) _TLG_FOR_5(M, x, __VA_ARGS__)
#define _TLG_FOR_7(M, x, a, ...) M(7, a) _TLG_FOR_6(M, x, __VA_ARGS__)
#define _TLG_FOR_8(M, x, a, ...) M(8, a) _TLG_FOR_7(M, x, __VA_ARGS__)
#define _TLG_FOR_9(M, x, a, ...) M(9, a) _TLG_FOR_8(M, x, __VA_ARGS__)
#define _TLG_FOR_10(M, x, a, ...) M(10, a) _TLG_FOR_9(M, x, __VA_ARGS__)
#define _TLG_FOR_11(M, x, a, ...) M(11, a) _TLG_FOR_10(M, x, __VA_ARGS__)
#define _TLG_FOR_12(M, x, a, ...) M(12, a) _TLG_FOR_11(M, x, __VA_ARGS__)
#define _TLG_FOR_13(M, x, a, ...) M(13, a) _TLG_FOR_12(M, x, __VA_ARGS__)
#define _TLG_FOR_14(M, x, a, ...) M(14, a) _TLG_FOR_13(M, x, __VA_ARGS__)
#define _TLG_FOR_15(M, x, a, ...) M(15, a) _TLG_FOR_14(M, x, __VA_ARGS__)
#define _TLG_FOR_16(M, x, a, ...) M(16, a) _TLG_FOR_15(M, x, __VA_ARGS__)
#define _TLG_FOR_17(M, x, a, ...) M(17, a) _TLG_FOR_16(M, x, __VA_ARGS__)
#define _TLG_FOR_18(M, x, a, ...) M(18, a) _TLG_FOR_17(M, x, __VA_ARGS__)
#define _TLG_FOR_19(M, x, a, ...) M(19, a) _TLG_FOR_18(M, x, __VA_ARGS__)
#define _TLG_FOR_20(M, x, a, ...) M(20, a) _TLG_FOR_19(M, x, __VA_ARGS__)
#define _TLG_FOR_21(M, x, a, ...) M(21, a) _TLG_FOR_20(M, x, __VA_ARGS__)
#define _TLG_FOR_22(M, x, a, ...) M(22, a) _TLG_FOR_21(M, x, __VA_ARGS__)
#define _TLG_FOR_23(M, x, a, ...) M(23, a) _TLG_FOR_22(M, x, __VA_ARGS__)
#define _TLG_FOR_24(M, x, a, ...) M(24, a) _TLG_FOR_23(M, x, __VA_ARGS__)
#define _TLG_FOR_25(M, x, a, ...) M(25, a) _TLG_FOR_24(M, x, __VA_ARGS__)
#define _TLG_FOR_26(M, x, a, ...) M(26, a) _TLG_FOR_25(M, x, __VA_ARGS__)
#define _TLG_FOR_27(M, x, a, ...) M(27, a) _TLG_FOR_26(M, x, __VA_ARGS__)
#define _TLG_FOR_28(M, x, a, ...) M(28, a) _TLG_FOR_27(M, x, __VA_ARGS__)
#define _TLG_FOR_29(M, x, a, ...) M(29, a) _TLG_FOR_28(M, x, __VA_ARGS__)
#define _TLG_FOR_30(M, x, a, ...) M(30, a) _TLG_FOR_29(M, x, __VA_ARGS__)
#define _TLG_FOR_31(M, x, a, ...) M(31, a) _TLG_FOR_30(M, x, __VA_ARGS__)
#define _TLG_FOR_32(M, x, a, ...) M(32, a) _TLG_FOR_31(M, x, __VA_ARGS__)
#define _TLG_FOR_33(M, x, a, ...) M(33, a) _TLG_FOR_32(M, x, __VA_ARGS__)
#define _TLG_FOR_34(M, x, a, ...) M(34, a) _TLG_FOR_33(M, x, __VA_ARGS__)
#define _TLG_FOR_35(M, x, a, ...) M(35, a) _TLG_FOR_34(M, x, __VA_ARGS__)
#define _TLG_FOR_36(M, x, a, ...) M(36, a) _TLG_FOR_35(M, x, __VA_ARGS__)
#define _TLG_FOR_37(M, x, a, ...) M(37, a) _TLG_FOR_36(M, x, __VA_ARGS__)
#define _TLG_FOR_38(M, x, a, ...) M(38, a) _TLG_FOR_37(M, x, __VA_ARGS__)
#define _TLG_FOR_39(M, x, a, ...) M(39, a) _TLG_FOR_38(M, x, __VA_ARGS__)
#define _TLG_FOR_40(M, x, a, ...) M(40, a) _TLG_FOR_39(M, x, __VA_ARGS__)
#define _TLG_FOR_41(M, x, a, ...) M(41, a) _TLG_FOR_40(M, x, __VA_ARGS__)
#define _TLG_FOR_42(M, x, a, ...) M(42, a) _TLG_FOR_41(M, x, __VA_ARGS__)
#define _TLG_FOR_43(M, x, a, ...) M(43, a) _TLG_FOR_42(M, x, __VA_ARGS__)
#define _TLG_FOR_44(M, x, a, ...) M(44, a) _TLG_FOR_43(M, x, __VA_ARGS__)
#define _TLG_FOR_45(M, x, a, ...) M(45, a) _TLG_FOR_44(M, x, __VA_ARGS__)
#define _TLG_FOR_46(M, x, a, ...) M(46, a) _TLG_FOR_45(M, x, __VA_ARGS__)
#define _TLG_FOR_47(M, x, a, ...) M(47, a) _TLG_FOR_46(M, x, __VA_ARGS__)
#define _TLG_FOR_48(M, x, a, ...) M(48, a) _TLG_FOR_47(M, x, __VA_ARGS__)
#define _TLG_FOR_49(M, x, a, ...) M(49, a) _TLG_FOR_48(M, x, __VA_ARGS__)
#define _TLG_FOR_50(M, x, a, ...) M(50, a) _TLG_FOR_49(M, x, __VA_ARGS__)
#define _TLG_FOR_51(M, x, a, ...) M(51, a) _TLG_FOR_50(M, x, __VA_ARGS__)
#define _TLG_FOR_52(M, x, a, ...) M(52, a) _TLG_FOR_51(M, x, __VA_ARGS__)
#define _TLG_FOR_53(M, x, a, ...) M(53, a) _TLG_FOR_52(M, x, __VA_ARGS__)
#define _TLG_FOR_54(M, x, a, ...) M(54, a) _TLG_FOR_53(M, x, __VA_ARGS__)
#define _TLG_FOR_55(M, x, a, ...) M(55, a) _TLG_FOR_54(M, x, __VA_ARGS__)
#define _TLG_FOR_56(M, x, a, ...) M(56, a) _TLG_FOR_55(M, x, __VA_ARGS__)
#define _TLG_FOR_57(M, x, a, ...) M(57, a) _TLG_FOR_56(M, x, __VA_ARGS__)
#define _TLG_FOR_58(M, x, a, ...) M(58, a) _TLG_FOR_57(M, x, __VA_ARGS__)
#define _TLG_FOR_59(M, x, a, ...) M(59, a) _TLG_FOR_58(M, x, __VA_ARGS__)
#define _TLG_FOR_60(M, x, a, ...) M(60, a) _TLG_FOR_59(M, x, __VA_ARGS__)
#define _TLG_FOR_61(M, x, a, ...) M(61, a) _TLG_FOR_60(M, x, __VA_ARGS__)
#define _TLG_FOR_62(M, x, a, ...) M(62, a) _TLG_FOR_61(M, x, __VA_ARGS__)
#define _TLG_FOR_63(M, x, a, ...) M(63, a) _TLG_FOR_62(M, x, __VA_ARGS__)
#define _TLG_N(...) \
    _TLG_N_(__VA_ARGS__, 63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, \
            41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, \
            16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define _TLG_N_(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, _18, _19, _20, _21, _22, \
                _23, _24, _25, _26, _27, _28, _29, _30, _31, _32, _33, _34, _35, _36, _37, _38, _39, _40, _41, _42, \
                _43, _44, _45, _46, _47, _48, _49, _50, _51, _52, _53, _54, _55, _56, _57, _58, _59, _60, _61, _62, \
                _63, n, ...) n
#endif
