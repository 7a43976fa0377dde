/* TraceLoggingProvider.h - typed events that decode without any manifest: names and types travel with the event.
 *
 *   TRACELOGGING_DEFINE_PROVIDER(g_provider, "Contoso-Web",
 *       (0x12345678, 0x1234, 0x1234, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0));
 *   TraceLoggingRegister(g_provider);
 *   TraceLoggingWrite(g_provider, "Request", TraceLoggingLevel(4), TraceLoggingKeyword(0x40),
 *                     TraceLoggingString(url, "url"), TraceLoggingUInt32(status, "status"));
 *   TraceLoggingUnregister(g_provider);
 *
 * While no session listens, TraceLoggingWrite is one compare and one branch not taken; its arguments are not evaluated.
 * The metadata is constant and lies in the ELF section "autologger_tlg" (GCC leaves that of templates among the other
 * constants). Arguments of TraceLoggingWrite after the name, in any order, at most 99: options (Level, Keyword, Opcode,
 * EventTag, Channel, Description, CustomAttribute), Keyword as often as wanted, the others once; and fields, see
 * autologger_tlg_fields.h. Together they may have 126 values, of which a counted field takes two. Level is 5 and
 * Keyword 0 unless given; descriptions are ignored.
 * C99 and later, C++14 and later (GCC and Clang). Activities: TraceLoggingActivity.h. Not for: names that are not
 * literals. */
#ifndef AUTOLOGGER_TRACELOGGINGPROVIDER_H
#define AUTOLOGGER_TRACELOGGINGPROVIDER_H
#include "evntprov.h"
#include "autologger_tlg_list.h"
#include "autologger_tlg_fields.h"
#ifdef __cplusplus
#include <type_traits>
#endif

/* A provider; use the macros. */
struct _tlgProvider_t {
    ULONG         LevelPlus1; /* 0 = no session listens, 256 = all levels */
    ULONG         Reserved;
    ULONGLONG     KeywordAny;
    ULONGLONG     KeywordAll;
    REGHANDLE     RegHandle;
    const UINT16 *ProviderMetadataPtr; /* u16 size, name, traits */
    GUID          ProviderId;
};
typedef struct _tlgProvider_t *TraceLoggingHProvider;
typedef PENABLECALLBACK        TLG_PENABLECALLBACK;

/* ERROR_INVALID_PARAMETER: the provider is registered already; else as EventRegister. */
AUTOLOGGER_API ULONG _tlgRegister(struct _tlgProvider_t *provider, PENABLECALLBACK callback, PVOID context);
AUTOLOGGER_API VOID  _tlgUnregister(struct _tlgProvider_t *provider);

/* Declares the provider of another source file of the same program or library. (It is hidden, except in programs of
 * g++, which warns of classes that have a member with a hidden template argument. In libraries "protected" would cost
 * an instruction.) */
#define TRACELOGGING_DECLARE_PROVIDER(handleVariable) \
    AUTOLOGGER_EXTERN __attribute__((visibility(_TLG_VISIBILITY))) const TraceLoggingHProvider handleVariable
#if defined(__cplusplus) && !defined(__clang__) && (!defined(__PIC__) || defined(__PIE__))
#define _TLG_VISIBILITY "protected"
#else
#define _TLG_VISIBILITY "hidden"
#endif
/* (handle variable, "name", (GUID), options...). The GUID: eleven numbers in parentheses, as in GUID initialisers
 * without the inner braces. An option: TraceLoggingOptionGroup(eleven numbers), the provider group that it belongs to;
 * an empty option is ignored. */
#define TRACELOGGING_DEFINE_PROVIDER(handleVariable, providerName, ...) \
    TRACELOGGING_DEFINE_PROVIDER_STORAGE(handleVariable##_tlgStorage, providerName, __VA_ARGS__); \
    TRACELOGGING_DECLARE_PROVIDER(handleVariable); \
    const TraceLoggingHProvider handleVariable = &handleVariable##_tlgStorage
/* Without a handle variable: &storageVariable is the handle. */
#define TRACELOGGING_DEFINE_PROVIDER_STORAGE(storageVariable, providerName, ...) \
    static const struct { \
        UINT16 _tlg_size; \
        char   _tlg_name[sizeof(providerName)]; \
        _TLG_FOR(_TLG_TRAIT_MEMBER, __VA_ARGS__) \
    } storageVariable##_tlgMeta \
        __attribute__((section("autologger_tlg"))) = {2 + sizeof(providerName) _TLG_FOR(_TLG_TRAIT_SIZE, __VA_ARGS__), \
                                                      providerName _TLG_FOR(_TLG_TRAIT_INIT, __VA_ARGS__)}; \
    static struct _tlgProvider_t storageVariable   = { \
          0, 0, 0, 0, 0, &storageVariable##_tlgMeta._tlg_size, _TLG_GUID_OF(_TLG_FIRST(__VA_ARGS__, 0))}
#define TraceLoggingOptionGroup(...) (__VA_ARGS__)
/* Open programs define this option as nothing; it stands for Microsoft's own group. */
#ifndef TraceLoggingOptionMicrosoftTelemetry
#define TraceLoggingOptionMicrosoftTelemetry()
#endif
#define _TLG_GUID(a, b, c, d, e, f, g, h, i, j, k) \
    { \
        a, b, c, { d, e, f, g, h, i, j, k } \
    }
#define _TLG_GUID_OF(list) _TLG_GUID_OF_(list)
#define _TLG_GUID_OF_(list) _TLG_GUID list
/* An option is a group's GUID in parentheses, or nothing at all. */
#define _TLG_SECOND(...) _TLG_SECOND_(__VA_ARGS__, 0, 0)
#define _TLG_SECOND_(first, second, ...) second
#define _TLG_PROBE(...) ~, 1
#define _TLG_IF_GROUP(prefix, i, group) _TLG_CAT(prefix, _TLG_SECOND(_TLG_PROBE group))(i, group)
#define _TLG_TRAIT_MEMBER(i, group) _TLG_IF_GROUP(_TLG_TRAIT_MEMBER_, i, group)
#define _TLG_TRAIT_MEMBER_0(i, nothing)
#define _TLG_TRAIT_MEMBER_1(i, group) \
    UINT16 _tlg_s##i __attribute__((packed)); \
    UINT8  _tlg_t##i; \
    GUID   _tlg_g##i __attribute__((packed));
#define _TLG_TRAIT_SIZE(i, group) _TLG_IF_GROUP(_TLG_TRAIT_SIZE_, i, group)
#define _TLG_TRAIT_SIZE_0(i, nothing)
#define _TLG_TRAIT_SIZE_1(i, group) +3 + sizeof(GUID)
#define _TLG_TRAIT_INIT(i, group) _TLG_IF_GROUP(_TLG_TRAIT_INIT_, i, group)
#define _TLG_TRAIT_INIT_0(i, nothing)
#define _TLG_TRAIT_INIT_1(i, group) , 3 + sizeof(GUID), 1, _TLG_GUID group

#define TraceLoggingRegister(hProvider) _tlgRegister(hProvider, NULL, NULL)
#define TraceLoggingRegisterEx(hProvider, callback, context) _tlgRegister(hProvider, callback, context)
#define TraceLoggingUnregister(hProvider) _tlgUnregister(hProvider)
#define TraceLoggingProviderId(hProvider) ((hProvider)->ProviderId)
#define TraceLoggingSetInformation(hProvider, informationClass, information, length) \
    EventSetInformation((hProvider)->RegHandle, informationClass, information, length)
/* (hProvider, level, keyword), of which the last two may be left out: 0 */
#define TraceLoggingProviderEnabled(...) _TLG_CAT(_TLG_ENABLED_, _TLG_N(__VA_ARGS__))(__VA_ARGS__)
#define _TLG_ENABLED_1(hProvider) _TLG_ENABLED_3(hProvider, 0, 0)
#define _TLG_ENABLED_2(hProvider, level) _TLG_ENABLED_3(hProvider, level, 0)
#define _TLG_ENABLED_3(hProvider, level, keyword) \
    (_TLG_LOAD((hProvider)->LevelPlus1) > (ULONG)(level) && _tlgKeywordOn(hProvider, keyword))

/* Another thread may write what the inline check reads; any value that it ever had is right. The loads are plain,
 * because an atomic one costs an instruction more; with ThreadSanitizer they are atomic. */
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

/* (hProvider, "name", options and fields...) */
#define TraceLoggingWrite(hProvider, ...) \
    _TLG_WRITE(hProvider, 5, 0, 0, EventWriteTransfer(_tlg_r, &_tlg_event, NULL, NULL, _tlg_n, _tlg_d), \
               _TLG_FIRST(__VA_ARGS__, 0), __VA_ARGS__)
/* (hProvider, "name", activity id, related activity id, options and fields...): a NULL activity is the thread's, a NULL
 * related activity is none. */
#define TraceLoggingWriteActivity(hProvider, eventName, pActivityId, ...) \
    _TLG_WRITE(hProvider, 5, 0, 0, \
               EventWriteTransfer(_tlg_r, &_tlg_event, pActivityId, _TLG_FIRST(__VA_ARGS__, 0), _tlg_n, _tlg_d), \
               eventName, __VA_ARGS__)
/* (hProvider, "name", filter, flags, activity id, related activity id, options and fields...): see EventWriteEx. */
#define TraceLoggingWriteEx(hProvider, eventName, filter, flags, pActivityId, ...) \
    _TLG_WRITE( \
        hProvider, 5, 0, 0, \
        EventWriteEx(_tlg_r, &_tlg_event, filter, flags, pActivityId, _TLG_FIRST(__VA_ARGS__, 0), _tlg_n, _tlg_d), \
        eventName, __VA_ARGS__)
/* The same with the caller's own function, of EventWriteTransfer's or EventWriteEx's type. */
#define TraceLoggingWrite_EventWriteTransfer(function, hProvider, ...) \
    _TLG_WRITE(hProvider, 5, 0, 0, function(_tlg_r, &_tlg_event, NULL, NULL, _tlg_n, _tlg_d), \
               _TLG_FIRST(__VA_ARGS__, 0), __VA_ARGS__)
#define TraceLoggingWriteActivity_EventWriteTransfer(function, hProvider, eventName, pActivityId, ...) \
    _TLG_WRITE(hProvider, 5, 0, 0, \
               function(_tlg_r, &_tlg_event, pActivityId, _TLG_FIRST(__VA_ARGS__, 0), _tlg_n, _tlg_d), eventName, \
               __VA_ARGS__)
#define TraceLoggingWriteEx_EventWriteEx(function, hProvider, eventName, filter, flags, pActivityId, ...) \
    _TLG_WRITE(hProvider, 5, 0, 0, \
               function(_tlg_r, &_tlg_event, filter, flags, pActivityId, _TLG_FIRST(__VA_ARGS__, 0), _tlg_n, _tlg_d), \
               eventName, __VA_ARGS__)

/* ---- options ---- */
#define TraceLoggingLevel(level) (OPTION, 256 | (level), 0, 0, 0, 0)
#define TraceLoggingKeyword(keyword) (OPTION, 0, keyword, 0, 0, 0)
#define TraceLoggingOpcode(opcode) (OPTION, 0, 0, opcode, 0, 0)
#define TraceLoggingEventTag(tag) (OPTION, 0, 0, 0, tag, 0)
#define TraceLoggingChannel(channel) (OPTION, 0, 0, 0, 0, 256 | (channel))
#define TraceLoggingDescription(text) (OPTION, 0, 0, 0, 0, 0)
#define TraceLoggingCustomAttribute(key, value) (OPTION, 0, 0, 0, 0, 0)

/* ---- implementation ---- */

/* Fields are (FIELD, how the value is taken, its type, value, count, name, in-type, out-type, tag), bytes alone (DATA,
 * pointer, size). (value, name, description, tag): by the number of arguments */
#define _TLG_FIELD(how, ctype, in, out, ...) \
    _TLG_CAT(_TLG_FIELD_, _TLG_N(__VA_ARGS__))(how, ctype, in, out, __VA_ARGS__)
#define _TLG_FIELD_1(how, ctype, in, out, value) (FIELD, how, ctype, value, 0, #value, in, out, 0)
#define _TLG_FIELD_2(how, ctype, in, out, value, name) (FIELD, how, ctype, value, 0, name, in, out, 0)
#define _TLG_FIELD_3(how, ctype, in, out, value, name, text) (FIELD, how, ctype, value, 0, name, in, out, 0)
#define _TLG_FIELD_4(how, ctype, in, out, value, name, text, tag) (FIELD, how, ctype, value, 0, name, in, out, tag)
/* (pointer, count, name, description, tag): the same */
#define _TLG_MANY(how, ctype, in, out, pointer, ...) \
    _TLG_CAT(_TLG_MANY_, _TLG_N(__VA_ARGS__))(how, ctype, in, out, pointer, __VA_ARGS__)
#define _TLG_MANY_1(how, ctype, in, out, pointer, count) (FIELD, how, ctype, pointer, count, #pointer, in, out, 0)
#define _TLG_MANY_2(how, ctype, in, out, pointer, count, name) (FIELD, how, ctype, pointer, count, name, in, out, 0)
#define _TLG_MANY_3(how, ctype, in, out, pointer, count, name, text) \
    (FIELD, how, ctype, pointer, count, name, in, out, 0)
#define _TLG_MANY_4(how, ctype, in, out, pointer, count, name, text, tag) \
    (FIELD, how, ctype, pointer, count, name, in, out, tag)
/* (pointer, count, out-type, name, description, tag) */
#define _TLG_SHOWN(how, ctype, in, pointer, count, ...) \
    _TLG_CAT(_TLG_SHOWN_, _TLG_N(__VA_ARGS__))(how, ctype, in, pointer, count, __VA_ARGS__)
#define _TLG_SHOWN_1(how, ctype, in, pointer, count, out) (FIELD, how, ctype, pointer, count, #pointer, in, out, 0)
#define _TLG_SHOWN_2(how, ctype, in, pointer, count, out, name) (FIELD, how, ctype, pointer, count, name, in, out, 0)
#define _TLG_SHOWN_3(how, ctype, in, pointer, count, out, name, text) \
    (FIELD, how, ctype, pointer, count, name, in, out, 0)
#define _TLG_SHOWN_4(how, ctype, in, pointer, count, out, name, text, tag) \
    (FIELD, how, ctype, pointer, count, name, in, out, tag)
#define _TLG_PACKED_1(pointer, size, in) (FIELD, RAW, BYTE, pointer, size, #pointer, in, 0, 0)
#define _TLG_PACKED_2(pointer, size, in, name) (FIELD, RAW, BYTE, pointer, size, name, in, 0, 0)
#define _TLG_PACKED_3(pointer, size, in, name, text) (FIELD, RAW, BYTE, pointer, size, name, in, 0, 0)
#define _TLG_PACKED_4(pointer, size, in, name, text, tag) (FIELD, RAW, BYTE, pointer, size, name, in, 0, tag)
#define _TLG_IPV6_1(pointer) (FIELD, BYTES, BYTE, pointer, 16, #pointer, TlgInBINARY, TlgOutIPV6, 0)
#define _TLG_IPV6_2(pointer, name) (FIELD, BYTES, BYTE, pointer, 16, name, TlgInBINARY, TlgOutIPV6, 0)
#define _TLG_IPV6_3(pointer, name, text) (FIELD, BYTES, BYTE, pointer, 16, name, TlgInBINARY, TlgOutIPV6, 0)
#define _TLG_IPV6_4(pointer, name, text, tag) (FIELD, BYTES, BYTE, pointer, 16, name, TlgInBINARY, TlgOutIPV6, tag)

/* What each argument contributes to the options: OR-ed together. */
#define _TLG_DISPATCH(prefix, i, ...) _TLG_DISPATCH_(prefix, i, __VA_ARGS__)
#define _TLG_DISPATCH_(prefix, i, kind, ...) prefix##kind(i, __VA_ARGS__)
#define _TLG_LEVEL(i, t) _TLG_DISPATCH(_TLG_LEVEL_, i, _TLG_STRIP t)
#define _TLG_LEVEL_OPTION(i, level, keyword, opcode, tag, channel) | (level)
#define _TLG_LEVEL_FIELD(i, ...)
#define _TLG_LEVEL_DATA(i, ...)
#define _TLG_KEYWORD(i, t) _TLG_DISPATCH(_TLG_KEYWORD_, i, _TLG_STRIP t)
#define _TLG_KEYWORD_OPTION(i, level, keyword, opcode, tag, channel) | (ULONGLONG)(keyword)
#define _TLG_KEYWORD_FIELD(i, ...)
#define _TLG_KEYWORD_DATA(i, ...)
#define _TLG_OPCODE(i, t) _TLG_DISPATCH(_TLG_OPCODE_, i, _TLG_STRIP t)
#define _TLG_OPCODE_OPTION(i, level, keyword, opcode, tag, channel) | (opcode)
#define _TLG_OPCODE_FIELD(i, ...)
#define _TLG_OPCODE_DATA(i, ...)
#define _TLG_TAG(i, t) _TLG_DISPATCH(_TLG_TAG_, i, _TLG_STRIP t)
#define _TLG_TAG_OPTION(i, level, keyword, opcode, tag, channel) | (ULONGLONG)(tag)
#define _TLG_TAG_FIELD(i, ...)
#define _TLG_TAG_DATA(i, ...)
#define _TLG_CHANNEL(i, t) _TLG_DISPATCH(_TLG_CHANNEL_, i, _TLG_STRIP t)
#define _TLG_CHANNEL_OPTION(i, level, keyword, opcode, tag, channel) | (channel)
#define _TLG_CHANNEL_FIELD(i, ...)
#define _TLG_CHANNEL_DATA(i, ...)
/* 256 | n where given, else the default */
#define _TLG_GIVEN(x, otherwise) ((x)&256 ? (x)&255 : (otherwise))

/* Tags: 7 bits a byte, the highest first, up to the last byte that is not 0, as one little-endian number. */
#define _TLG_TAG_SIZE(t) ((t)&0x7F ? 4 : (t)&0x3FFF ? 3 : (t)&0x1FFFFF ? 2 : 1)
#define _TLG_TAG_BYTE(t, n) (((ULONGLONG)(t) >> (21 - 7 * (n)) & 0x7F) | (_TLG_TAG_SIZE(t) > (n) + 1 ? 0x80 : 0))
#define _TLG_TAG_BYTES(t) \
    (_TLG_TAG_BYTE(t, 0) | (_TLG_TAG_SIZE(t) > 1 ? _TLG_TAG_BYTE(t, 1) << 8 : 0) | \
     (_TLG_TAG_SIZE(t) > 2 ? _TLG_TAG_BYTE(t, 2) << 16 : 0) | (_TLG_TAG_SIZE(t) > 3 ? _TLG_TAG_BYTE(t, 3) << 24 : 0))

/* A field's metadata: name, then in, out, tag and count as one number of exactly their bytes (a packed bit-field), then
 * a schema. */
#define _TLG_HAS_OUT(out, tag) ((out) != 0 || (tag) != 0)
#define _TLG_TYPE_SIZE(in, out, tag) (1 + _TLG_HAS_OUT(out, tag) + ((tag) != 0 ? _TLG_TAG_SIZE(tag) : 0))
#define _TLG_TYPE_BYTES(in, out, tag) \
    ((ULONGLONG)(in) | (_TLG_HAS_OUT(out, tag) ? (ULONGLONG)(0x80 | (out) << 8) : 0) | \
     ((tag) != 0 ? UINT64_C(0x8000) | _TLG_TAG_BYTES(tag) << 16 : 0))
#define _TLG_HAS_COUNT(in) (((int)(in) & (int)TlgInCcount) != 0)
#define _TLG_MEMBER(i, t) _TLG_DISPATCH(_TLG_MEMBER_, i, _TLG_STRIP t)
#define _TLG_MEMBER_OPTION(i, ...)
#define _TLG_MEMBER_DATA(i, ...)
#define _TLG_MEMBER_FIELD(i, how, ctype, value, count, name, in, out, tag) \
    char      _tlg_n##i[sizeof(name)]; \
    ULONGLONG _tlg_t##i : 8 * (_TLG_TYPE_SIZE(in, out, tag) + (_TLG_HAS_COUNT(in) ? 2 : 0)); \
    _TLG_SCHEMA_MEMBER_##how(i, ctype)
#define _TLG_INIT(i, t) _TLG_DISPATCH(_TLG_INIT_, i, _TLG_STRIP t)
#define _TLG_INIT_OPTION(i, ...)
#define _TLG_INIT_DATA(i, ...)
#define _TLG_INIT_FIELD(i, how, ctype, value, count, name, in, out, tag) \
    , name, \
        _TLG_TYPE_BYTES(in, out, tag) | _TLG_COUNT_##how(ctype, count) \
                                            << 8 * _TLG_TYPE_SIZE(in, out, tag) % 64 _TLG_SCHEMA_INIT_##how(ctype)

/* A field's payload: the data descriptors that it takes, and the code that fills them. */
#define _TLG_SLOTS(i, t) _TLG_DISPATCH(_TLG_SLOTS_, i, _TLG_STRIP t)
#define _TLG_SLOTS_OPTION(i, ...)
#define _TLG_SLOTS_DATA(i, ...) +1
#define _TLG_SLOTS_FIELD(i, how, ctype, value, count, name, in, out, tag) +_TLG_SLOTS_OF_##how
#define _TLG_DATA(i, t) _TLG_DISPATCH(_TLG_DATA_, i, _TLG_STRIP t)
#define _TLG_DATA_OPTION(i, ...)
#define _TLG_DATA_DATA(i, pointer, size) EventDataDescCreate(&_tlg_d[_tlg_n++], pointer, (ULONG)(size));
#define _TLG_DATA_FIELD(i, how, ctype, value, count, name, in, out, tag) _TLG_DATA_##how(i, ctype, value, count)
#define _TLG_SLOTS_OF_NOTHING 0
#define _TLG_SLOTS_OF_VALUE 1
#define _TLG_SLOTS_OF_AUTO 1
#define _TLG_SLOTS_OF_STRING 1
#define _TLG_SLOTS_OF_WSTRING 1
#define _TLG_SLOTS_OF_SID 1
#define _TLG_SLOTS_OF_RAW 1
#define _TLG_SLOTS_OF_FIXED 1
#define _TLG_SLOTS_OF_BYTES 2
#define _TLG_SLOTS_OF_CUSTOM 2
#define _TLG_SLOTS_OF_COUNTED 2
#define _TLG_SLOTS_OF_ELEMENTS 2
#define _TLG_COUNT_NOTHING(ctype, count) UINT64_C(0)
#define _TLG_COUNT_VALUE(ctype, count) UINT64_C(0)
#define _TLG_COUNT_AUTO(ctype, count) UINT64_C(0)
#define _TLG_COUNT_STRING(ctype, count) UINT64_C(0)
#define _TLG_COUNT_WSTRING(ctype, count) UINT64_C(0)
#define _TLG_COUNT_SID(ctype, count) UINT64_C(0)
#define _TLG_COUNT_RAW(ctype, count) UINT64_C(0)
#define _TLG_COUNT_FIXED(ctype, count) (ULONGLONG)(UINT16)(count)
#define _TLG_COUNT_BYTES(ctype, count) UINT64_C(0)
#define _TLG_COUNT_CUSTOM(ctype, count) (ULONGLONG)(UINT16) _TLG_SCHEMA_SIZE ctype
#define _TLG_COUNT_COUNTED(ctype, count) UINT64_C(0)
#define _TLG_COUNT_ELEMENTS(ctype, count) UINT64_C(0)
/* a type is a single word; the type of a custom field is (size, (bytes)) */
#define _TLG_SCHEMA_MEMBER_NOTHING(i, ctype)
#define _TLG_SCHEMA_INIT_NOTHING(ctype)
#define _TLG_SCHEMA_MEMBER_VALUE(i, ctype)
#define _TLG_SCHEMA_INIT_VALUE(ctype)
#define _TLG_SCHEMA_MEMBER_AUTO(i, ctype)
#define _TLG_SCHEMA_INIT_AUTO(ctype)
#define _TLG_SCHEMA_MEMBER_STRING(i, ctype)
#define _TLG_SCHEMA_INIT_STRING(ctype)
#define _TLG_SCHEMA_MEMBER_WSTRING(i, ctype)
#define _TLG_SCHEMA_INIT_WSTRING(ctype)
#define _TLG_SCHEMA_MEMBER_SID(i, ctype)
#define _TLG_SCHEMA_INIT_SID(ctype)
#define _TLG_SCHEMA_MEMBER_RAW(i, ctype)
#define _TLG_SCHEMA_INIT_RAW(ctype)
#define _TLG_SCHEMA_MEMBER_FIXED(i, ctype)
#define _TLG_SCHEMA_INIT_FIXED(ctype)
#define _TLG_SCHEMA_MEMBER_BYTES(i, ctype)
#define _TLG_SCHEMA_INIT_BYTES(ctype)
#define _TLG_SCHEMA_MEMBER_CUSTOM(i, ctype) UINT8 _tlg_s##i[_TLG_SCHEMA_SIZE ctype];
#define _TLG_SCHEMA_INIT_CUSTOM(ctype) \
    , { _TLG_SCHEMA_BYTES ctype }
#define _TLG_SCHEMA_SIZE(size, bytes) size
#define _TLG_SCHEMA_BYTES(size, bytes) _TLG_SCHEMA_LIST bytes
#define _TLG_SCHEMA_LIST(...) __VA_ARGS__
#define _TLG_SCHEMA_MEMBER_COUNTED(i, ctype)
#define _TLG_SCHEMA_INIT_COUNTED(ctype)
#define _TLG_SCHEMA_MEMBER_ELEMENTS(i, ctype)
#define _TLG_SCHEMA_INIT_ELEMENTS(ctype)
#define _TLG_DATA_NOTHING(i, ctype, value, count)
#define _TLG_DATA_VALUE(i, ctype, value, count) \
    ctype _tlg_v##i = (value); \
    EventDataDescCreate(&_tlg_d[_tlg_n++], &_tlg_v##i, sizeof _tlg_v##i);
#define _TLG_DATA_AUTO(i, ctype, value, count) \
    const auto &_tlg_v##i = (value); \
    _tlgAuto(&_tlg_d[_tlg_n++], _tlg_v##i);
#define _TLG_DATA_STRING(i, ctype, value, count) _tlgString(&_tlg_d[_tlg_n++], (value));
#define _TLG_DATA_WSTRING(i, ctype, value, count) _tlgWideString(&_tlg_d[_tlg_n++], (value));
#define _TLG_DATA_SID(i, ctype, value, count) _tlgSid(&_tlg_d[_tlg_n++], (value));
#define _TLG_DATA_RAW(i, ctype, value, count) EventDataDescCreate(&_tlg_d[_tlg_n++], (value), (ULONG)(count));
#define _TLG_DATA_FIXED(i, ctype, value, count) \
    ctype const *_tlg_v##i = (value); \
    EventDataDescCreate(&_tlg_d[_tlg_n++], _tlg_v##i, (ULONG)((count) * sizeof(ctype)));
#define _TLG_DATA_BYTES(i, ctype, value, count) \
    ctype const *_tlg_v##i = (ctype const *)(value); \
    UINT16       _tlg_c##i = (UINT16)((count) * sizeof(ctype)); \
    EventDataDescCreate(&_tlg_d[_tlg_n++], &_tlg_c##i, sizeof _tlg_c##i); \
    EventDataDescCreate(&_tlg_d[_tlg_n++], _tlg_v##i, _tlg_c##i);
#define _TLG_DATA_CUSTOM(i, ctype, value, count) _TLG_DATA_BYTES(i, UINT8, value, count)
#define _TLG_DATA_COUNTED(i, ctype, value, count) \
    const __typeof__(*(value)) *_tlg_v##i = (value); \
    UINT16                      _tlg_c##i = _tlg_v##i->Length; \
    EventDataDescCreate(&_tlg_d[_tlg_n++], &_tlg_c##i, sizeof _tlg_c##i); \
    EventDataDescCreate(&_tlg_d[_tlg_n++], _tlg_v##i->Buffer, _tlg_c##i);
#define _TLG_DATA_ELEMENTS(i, ctype, value, count) \
    ctype const *_tlg_v##i = (value); \
    UINT16       _tlg_c##i = (UINT16)(count); \
    EventDataDescCreate(&_tlg_d[_tlg_n++], &_tlg_c##i, sizeof _tlg_c##i); \
    EventDataDescCreate(&_tlg_d[_tlg_n++], _tlg_v##i, (ULONG)(_tlg_c##i * sizeof(ctype)));

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

#ifdef __cplusplus
/* TraceLoggingValue: the field type of a C++ type. */
#define _TLG_AUTO_IN(value) (_tlgTypeOf<typename std::decay<decltype(value)>::type>::in)
#define _TLG_AUTO_OUT(value) (_tlgTypeOf<typename std::decay<decltype(value)>::type>::out)
#define _TLG_AUTO_1(value) (FIELD, AUTO, auto, value, 0, #value, _TLG_AUTO_IN(value), _TLG_AUTO_OUT(value), 0)
#define _TLG_AUTO_2(value, name) (FIELD, AUTO, auto, value, 0, name, _TLG_AUTO_IN(value), _TLG_AUTO_OUT(value), 0)
#define _TLG_AUTO_3(value, name, text) _TLG_AUTO_2(value, name)
#define _TLG_AUTO_4(value, name, text, tag) \
    (FIELD, AUTO, auto, value, 0, name, _TLG_AUTO_IN(value), _TLG_AUTO_OUT(value), tag)
template <typename T> struct _tlgTypeOf; /* other types than those below cannot be fields */
#define _TLG_TYPE_OF(type, inType, outType) \
    template <> struct _tlgTypeOf<type> { \
        enum { in = inType, out = outType }; \
    };
#define _TLG_BY_SIZE(type, narrow, wide) (sizeof(type) == 8 ? (int)(wide) : (int)(narrow))
_TLG_TYPE_OF(bool, TlgInUINT8, TlgOutBOOLEAN)
_TLG_TYPE_OF(char, TlgInUINT8, TlgOutSTRING)
_TLG_TYPE_OF(char16_t, TlgInUINT16, TlgOutSTRING)
_TLG_TYPE_OF(signed char, TlgInINT8, 0)
_TLG_TYPE_OF(unsigned char, TlgInUINT8, 0)
_TLG_TYPE_OF(short, TlgInINT16, 0)
_TLG_TYPE_OF(unsigned short, TlgInUINT16, 0)
_TLG_TYPE_OF(int, TlgInINT32, 0)
_TLG_TYPE_OF(unsigned int, TlgInUINT32, 0)
_TLG_TYPE_OF(long, _TLG_BY_SIZE(long, TlgInINT32, TlgInINT64), 0)
_TLG_TYPE_OF(unsigned long, _TLG_BY_SIZE(long, TlgInUINT32, TlgInUINT64), 0)
_TLG_TYPE_OF(long long, TlgInINT64, 0)
_TLG_TYPE_OF(unsigned long long, TlgInUINT64, 0)
_TLG_TYPE_OF(float, TlgInFLOAT, 0)
_TLG_TYPE_OF(double, TlgInDOUBLE, 0)
_TLG_TYPE_OF(void *, TlgInPOINTER, 0)
_TLG_TYPE_OF(const void *, TlgInPOINTER, 0)
_TLG_TYPE_OF(char *, TlgInANSISTRING, 0)
_TLG_TYPE_OF(const char *, TlgInANSISTRING, 0)
_TLG_TYPE_OF(PWSTR, TlgInUNICODESTRING, 0)
_TLG_TYPE_OF(PCWSTR, TlgInUNICODESTRING, 0)
_TLG_TYPE_OF(GUID, TlgInGUID, 0)
_TLG_TYPE_OF(FILETIME, TlgInFILETIME, 0)
_TLG_TYPE_OF(SYSTEMTIME, TlgInSYSTEMTIME, 0)
template <typename T>
inline typename std::enable_if<!std::is_array<T>::value, void>::type _tlgAuto(PEVENT_DATA_DESCRIPTOR d, const T &value)
{
    EventDataDescCreate(d, &value, sizeof value);
}
inline void                     _tlgAuto(PEVENT_DATA_DESCRIPTOR d, const char *const &text) { _tlgString(d, text); }
inline void                     _tlgAuto(PEVENT_DATA_DESCRIPTOR d, char *const &text) { _tlgString(d, text); }
inline void                     _tlgAuto(PEVENT_DATA_DESCRIPTOR d, PCWSTR const &text) { _tlgWideString(d, text); }
inline void                     _tlgAuto(PEVENT_DATA_DESCRIPTOR d, PWSTR const &text) { _tlgWideString(d, text); }
template <size_t N> inline void _tlgAuto(PEVENT_DATA_DESCRIPTOR d, const char (&text)[N]) { _tlgString(d, text); }
template <size_t N> inline void _tlgAuto(PEVENT_DATA_DESCRIPTOR d, const WCHAR (&text)[N]) { _tlgWideString(d, text); }
#endif

/* GCC refuses one section for both statics of inline functions, each of which is in a group of its own, and other
 * statics. So each static gets a section name that is unique to GCC, but the same to the assembler, which takes the
 * rest for a comment. */
#if defined(__cplusplus) && !defined(__clang__)
#define _TLG_SECTION __attribute__((section("autologger_tlg/*" _TLG_TEXT(__COUNTER__) "*/"), aligned(1)))
#define _TLG_TEXT(x) _TLG_TEXT_(x)
#define _TLG_TEXT_(x) #x
#else
#define _TLG_SECTION __attribute__((section("autologger_tlg"), aligned(1)))
#endif

#define _TLG_EVENT_LEVEL(otherwise, ...) _TLG_GIVEN((0 _TLG_FOR(_TLG_LEVEL, __VA_ARGS__)), otherwise)
#define _TLG_EVENT_KEYWORD(more, ...) ((ULONGLONG)(more)_TLG_FOR(_TLG_KEYWORD, __VA_ARGS__))
#define _TLG_EVENT_TAG(...) (UINT64_C(0) _TLG_FOR(_TLG_TAG, __VA_ARGS__))
/* Descriptors of traits, metadata and payload; too many do not compile. */
#define _TLG_EVENT_SLOTS(...) (2 _TLG_FOR(_TLG_SLOTS, __VA_ARGS__))
#define _TLG_ARRAY_SIZE(n) ((n) <= MAX_EVENT_DATA_DESCRIPTORS ? (n) : -1)
/* `write` is the call, which uses the names below. The list's first element is no argument (the name, or the related
 * activity), so that the list is never empty. */
#define _TLG_WRITE(hProvider, level, keyword, opcode, write, name, ...) \
    do { \
        if (__builtin_expect(_TLG_LOAD((hProvider)->LevelPlus1) > _TLG_EVENT_LEVEL(level, __VA_ARGS__), 0) && \
            _tlgKeywordOn(hProvider, _TLG_EVENT_KEYWORD(keyword, __VA_ARGS__))) { \
            static const struct __attribute__((packed)) { \
                UINT16    _tlg_size; \
                ULONGLONG _tlg_tag : 8 * _TLG_TAG_SIZE(_TLG_EVENT_TAG(__VA_ARGS__)); \
                char      _tlg_name[sizeof(name)]; \
                _TLG_FOR(_TLG_MEMBER, __VA_ARGS__) \
            } _tlg_meta _TLG_SECTION                 = {sizeof(_tlg_meta), _TLG_TAG_BYTES(_TLG_EVENT_TAG(__VA_ARGS__)), \
                                                        name _TLG_FOR(_TLG_INIT, __VA_ARGS__)}; \
            static const EVENT_DESCRIPTOR _tlg_event = {0, \
                                                        0, \
                                                        _TLG_GIVEN((0 _TLG_FOR(_TLG_CHANNEL, __VA_ARGS__)), 11), \
                                                        _TLG_EVENT_LEVEL(level, __VA_ARGS__), \
                                                        ((opcode)_TLG_FOR(_TLG_OPCODE, __VA_ARGS__)), \
                                                        0, \
                                                        _TLG_EVENT_KEYWORD(keyword, __VA_ARGS__)}; \
            EVENT_DATA_DESCRIPTOR         _tlg_d[_TLG_ARRAY_SIZE(_TLG_EVENT_SLOTS(__VA_ARGS__))]; \
            const REGHANDLE               _tlg_r = (hProvider)->RegHandle; \
            ULONG                         _tlg_n = 2; \
            EventDataDescCreate(&_tlg_d[0], (hProvider)->ProviderMetadataPtr, *(hProvider)->ProviderMetadataPtr); \
            EventDataDescCreate(&_tlg_d[1], &_tlg_meta, sizeof _tlg_meta); \
            _tlg_d[0].Type = EVENT_DATA_DESCRIPTOR_TYPE_PROVIDER_METADATA; \
            _tlg_d[1].Type = EVENT_DATA_DESCRIPTOR_TYPE_EVENT_METADATA; \
            _TLG_FOR(_TLG_DATA, __VA_ARGS__) \
            (void)(write); \
        } \
    } while (0)
#endif
