/* autologger_wpp.h - the run time of WPP's messages. No source includes it by itself: "autologger wpp SOURCES" reads
 * the messages of each source and makes its NAME.tmh, which includes this header and has a macro for each message.
 *
 * A program defines its WPP_CONTROL_GUIDS before the .tmh, as always. WPP_INIT_TRACING registers each control GUID as a
 * provider of the older API (evntrace.h), WPP_CLEANUP ends that. So one session at a time has it, and a SECURE session
 * never does. A message stores its values with the number of its text; the text itself is in the program's file
 * (section .autologger.tmf) and in the TMF file that autologger wpp makes. "autologger manifest install PROGRAM" lets
 * this machine read the program's messages by name; a merge on the machine adds them to the file.
 *
 * WPP_CONTROL(WPP_BIT_x).Level, .Flags[0] and .Logger, WPP_LEVEL_ENABLED(x) and WPP_LEVEL_LOGGER(x) are there for
 * macros such as WPP_LEVEL_FLAGS_ENABLED; those of the usual names of conditions are defined here unless the program
 * has its own. At most 32 flags a control GUID. Threads: any. Link with -lautologger. */
#ifndef AUTOLOGGER_WPP_H
#define AUTOLOGGER_WPP_H
#ifndef WPP_CONTROL_GUIDS
#error \
    "WPP_CONTROL_GUIDS is not defined. Do: include the header that defines it before the .tmh; see autologger_wpp.h for what there is of WPP"
#endif
#include "evntprov.h"
#include "evntrace.h"
#include <string.h>

typedef struct AUTOLOGGER_WPP_CONTROL {
    GUID                 Guid;
    TRACEHANDLE          Registration;
    volatile TRACEHANDLE Logger; /* 0: no session */
    volatile UCHAR       Level;
    volatile ULONG       Flags[1];
} AUTOLOGGER_WPP_CONTROL;
/* The value of %!HEXDUMP!: AutologgerWppBytes(data, bytes). */
typedef struct AUTOLOGGER_WPP_BYTES {
    const void *Data;
    USHORT      Size;
} AUTOLOGGER_WPP_BYTES;

/* "(12345678,1234,1234,1234,123456789abc)": five numbers without 0x */
#define AUTOLOGGER_WPP_GUID(a, b, c, d, e) \
    { \
        0x##a, 0x##b, 0x##c, \
        { \
            (UCHAR)(0x##d >> 8), (UCHAR)(0x##d & 0xFF), (UCHAR)(0x##e##ULL >> 40), (UCHAR)(0x##e##ULL >> 32), \
                (UCHAR)(0x##e##ULL >> 24), (UCHAR)(0x##e##ULL >> 16), (UCHAR)(0x##e##ULL >> 8), \
                (UCHAR)(0x##e##ULL & 0xFF) \
        } \
    }
#define AUTOLOGGER_WPP_TEXT(a, b, c, d, e) #a "-" #b "-" #c "-" #d "-" #e
/* Texts for readers of traces; nothing in the program refers to them. */
#if defined(__has_attribute)
#if __has_attribute(retain)
#define AUTOLOGGER_WPP_SECTION __attribute__((section(".autologger.tmf"), used, retain))
#endif
#endif
#ifndef AUTOLOGGER_WPP_SECTION
#define AUTOLOGGER_WPP_SECTION __attribute__((section(".autologger.tmf"), used))
#endif

/* WPP_CONTROL_GUIDS is expanded for the controls' numbers, the flags (control << 16 | number from 1) and a check of their
 * number, the controls themselves and their label, and the names for readers. */
#define WPP_DEFINE_BIT(name)
#define WPP_DEFINE_CONTROL_GUID(name, guid, bits) AUTOLOGGER_WPP_NUMBER_##name,
enum { WPP_CONTROL_GUIDS AUTOLOGGER_WPP_CONTROLS };
#undef WPP_DEFINE_BIT
#undef WPP_DEFINE_CONTROL_GUID

#define WPP_DEFINE_BIT(name) WPP_BIT_##name,
#define WPP_DEFINE_CONTROL_GUID(name, guid, bits) AUTOLOGGER_WPP_FIRST_##name = AUTOLOGGER_WPP_NUMBER_##name << 16, bits
enum AUTOLOGGER_WPP_BITS { WPP_CONTROL_GUIDS AUTOLOGGER_WPP_END };
#undef WPP_DEFINE_BIT
#undef WPP_DEFINE_CONTROL_GUID

#define WPP_DEFINE_BIT(name) typedef char AUTOLOGGER_WPP_HAS_32_FLAGS_##name[(WPP_BIT_##name & 0xFFFF) <= 32 ? 1 : -1];
#define WPP_DEFINE_CONTROL_GUID(name, guid, bits) bits
WPP_CONTROL_GUIDS
#undef WPP_DEFINE_BIT
#undef WPP_DEFINE_CONTROL_GUID

/* One for all sources with these control GUIDs, of the program or of the library: its label has their names. */
#define AUTOLOGGER_WPP_LABEL(a, b, c, d, e) "_" #a #b #c #d #e
#define WPP_DEFINE_BIT(name) "_" #name
#define WPP_DEFINE_CONTROL_GUID(name, guid, bits) "_" #name AUTOLOGGER_WPP_LABEL guid bits
extern AUTOLOGGER_WPP_CONTROL WPP_CB[AUTOLOGGER_WPP_CONTROLS] __asm__("AUTOLOGGER_WPP" WPP_CONTROL_GUIDS);
#undef WPP_DEFINE_BIT
#undef WPP_DEFINE_CONTROL_GUID

#define WPP_DEFINE_BIT(name)
#define WPP_DEFINE_CONTROL_GUID(name, guid, bits) {AUTOLOGGER_WPP_GUID guid, 0, 0, 0, {0}},
__attribute__((weak, visibility("hidden")))
AUTOLOGGER_WPP_CONTROL WPP_CB[AUTOLOGGER_WPP_CONTROLS] = {WPP_CONTROL_GUIDS};
#undef WPP_DEFINE_BIT
#undef WPP_DEFINE_CONTROL_GUID

#define WPP_DEFINE_BIT(name) "#flag " #name "\n"
#define WPP_DEFINE_CONTROL_GUID(name, guid, bits) "#control " #name " " AUTOLOGGER_WPP_TEXT guid "\n" bits
AUTOLOGGER_WPP_SECTION static const char AUTOLOGGER_WPP_NAMES[] = WPP_CONTROL_GUIDS;
#undef WPP_DEFINE_BIT
#undef WPP_DEFINE_CONTROL_GUID

#define WPP_CONTROL(bit) (WPP_CB[(bit) >> 16])
#define WPP_FLAG_MASK(bit) (1UL << (((bit)&0xFFFF) - 1))
#define WPP_LEVEL_ENABLED(flag) ((WPP_CONTROL(WPP_BIT_##flag).Flags[0] & WPP_FLAG_MASK(WPP_BIT_##flag)) != 0)
#define WPP_LEVEL_LOGGER(flag) (WPP_CONTROL(WPP_BIT_##flag).Logger),
#define AUTOLOGGER_WPP_REACHES(level, flag) (WPP_CONTROL(WPP_BIT_##flag).Level >= (level))

/* The conditions that programs usually name. */
#ifndef WPP_FLAGS_ENABLED
#define WPP_FLAGS_ENABLED(flags) WPP_LEVEL_ENABLED(flags)
#define WPP_FLAGS_LOGGER(flags) WPP_LEVEL_LOGGER(flags)
#endif
#ifndef WPP_FLAG_ENABLED
#define WPP_FLAG_ENABLED(flag) WPP_LEVEL_ENABLED(flag)
#define WPP_FLAG_LOGGER(flag) WPP_LEVEL_LOGGER(flag)
#endif
#ifndef WPP_LEVEL_FLAGS_ENABLED
#define WPP_LEVEL_FLAGS_ENABLED(level, flags) (WPP_LEVEL_ENABLED(flags) && AUTOLOGGER_WPP_REACHES(level, flags))
#define WPP_LEVEL_FLAGS_LOGGER(level, flags) WPP_LEVEL_LOGGER(flags)
#endif
#ifndef WPP_FLAGS_LEVEL_ENABLED
#define WPP_FLAGS_LEVEL_ENABLED(flags, level) (WPP_LEVEL_ENABLED(flags) && AUTOLOGGER_WPP_REACHES(level, flags))
#define WPP_FLAGS_LEVEL_LOGGER(flags, level) WPP_LEVEL_LOGGER(flags)
#endif
#ifndef WPP_LEVEL_FLAG_ENABLED
#define WPP_LEVEL_FLAG_ENABLED(level, flag) (WPP_LEVEL_ENABLED(flag) && AUTOLOGGER_WPP_REACHES(level, flag))
#define WPP_LEVEL_FLAG_LOGGER(level, flag) WPP_LEVEL_LOGGER(flag)
#endif
#ifndef WPP_FLAG_LEVEL_ENABLED
#define WPP_FLAG_LEVEL_ENABLED(flag, level) (WPP_LEVEL_ENABLED(flag) && AUTOLOGGER_WPP_REACHES(level, flag))
#define WPP_FLAG_LEVEL_LOGGER(flag, level) WPP_LEVEL_LOGGER(flag)
#endif

static inline ULONG WINAPI AutologgerWppChange(WMIDPREQUESTCODE code, PVOID context, ULONG *size, PVOID buffer)
{
    AUTOLOGGER_WPP_CONTROL *control = (AUTOLOGGER_WPP_CONTROL *)context;
    const TRACEHANDLE       logger  = code == WMI_ENABLE_EVENTS ? GetTraceLoggerHandle(buffer) : 0;
    (void)size;
    if (logger) {
        control->Logger   = logger;
        control->Level    = GetTraceEnableLevel(logger);
        control->Flags[0] = GetTraceEnableFlags(logger);
    } else {
        control->Flags[0] = 0;
        control->Level    = 0;
        control->Logger   = 0;
    }
    return ERROR_SUCCESS;
}

static inline void AutologgerWppBegin(void)
{
    for (int i = 0; i < AUTOLOGGER_WPP_CONTROLS; i++)
        if (!WPP_CB[i].Registration)
            RegisterTraceGuidsA(AutologgerWppChange, &WPP_CB[i], &WPP_CB[i].Guid, 0, NULL, NULL, NULL,
                                &WPP_CB[i].Registration);
}

static inline void AutologgerWppEnd(void)
{
    for (int i = 0; i < AUTOLOGGER_WPP_CONTROLS; i++) {
        const TRACEHANDLE registration = WPP_CB[i].Registration;
        WPP_CB[i].Registration         = 0;
        if (registration)
            UnregisterTraceGuids(registration);
        WPP_CB[i].Flags[0] = 0;
        WPP_CB[i].Level    = 0;
        WPP_CB[i].Logger   = 0;
    }
}
#define WPP_INIT_TRACING(...) AutologgerWppBegin()
#define WPP_CLEANUP(...) AutologgerWppEnd()

/* ---- what the macros of a .tmh use ---- */

#define WPP_CALL_AT(file, line) WPP_CALL_AT_LINE(file, line)
#define WPP_CALL_AT_LINE(file, line) WPP_CALL_##file##_##line
#define AUTOLOGGER_WPP_FLAGS \
    (TRACE_MESSAGE_SEQUENCE | TRACE_MESSAGE_GUID | TRACE_MESSAGE_TIMESTAMP | TRACE_MESSAGE_SYSTEMINFO)
/* %lu and %lx: an unsigned long, or a number of 32 bits, as a long of Windows is. */
#define AUTOLOGGER_WPP_UNSIGNED(value) \
    (sizeof(value) < sizeof(unsigned long long) ? (unsigned long long)(unsigned)(value) : (unsigned long long)(value))

static inline AUTOLOGGER_WPP_BYTES AutologgerWppBytes(const void *data, size_t size)
{
    AUTOLOGGER_WPP_BYTES bytes;
    bytes.Data = data ? data : "";
    bytes.Size = (USHORT)(!data ? 0 : size < 0xFFFF ? size : 0xFFFF);
    return bytes;
}
static inline const char  *AutologgerWppString(const char *text) { return text ? text : "(null)"; }
static inline const WCHAR *AutologgerWppWide(const WCHAR *text)
{
    static const WCHAR none[] = {'(', 'n', 'u', 'l', 'l', ')', 0};
    return text ? text : none;
}
static inline size_t AutologgerWppWideSize(const WCHAR *text)
{
    size_t n = 0;
    while (AutologgerWppWide(text)[n])
        n++;
    return (n + 1) * sizeof *text;
}
/* STRING and UNICODE_STRING have one layout. */
typedef struct AUTOLOGGER_WPP_COUNTED {
    USHORT      Length, MaximumLength;
    const void *Buffer;
} AUTOLOGGER_WPP_COUNTED;
static inline const AUTOLOGGER_WPP_COUNTED *AutologgerWppCounted(const void *text)
{
    static const AUTOLOGGER_WPP_COUNTED none    = {0, 0, ""};
    const AUTOLOGGER_WPP_COUNTED       *counted = (const AUTOLOGGER_WPP_COUNTED *)text;
    return counted && counted->Buffer ? counted : &none;
}
static inline const GUID *AutologgerWppGuidOf(const GUID *guid)
{
    static const GUID none = {0, 0, 0, {0}};
    return guid ? guid : &none;
}
static inline const UCHAR *AutologgerWppSid(const void *sid)
{
    static const UCHAR none[8] = {1};
    return sid ? (const UCHAR *)sid : none;
}

/* Pairs of data and bytes for TraceMessage; the letters: autologger/wpp/wpp_kinds.def. */
#define AUTOLOGGER_WPP_PUT_c(a) &(a), sizeof(a)
#define AUTOLOGGER_WPP_PUT_C(a) &(a), sizeof(a)
#define AUTOLOGGER_WPP_PUT_h(a) &(a), sizeof(a)
#define AUTOLOGGER_WPP_PUT_H(a) &(a), sizeof(a)
#define AUTOLOGGER_WPP_PUT_d(a) &(a), sizeof(a)
#define AUTOLOGGER_WPP_PUT_u(a) &(a), sizeof(a)
#define AUTOLOGGER_WPP_PUT_q(a) &(a), sizeof(a)
#define AUTOLOGGER_WPP_PUT_Q(a) &(a), sizeof(a)
#define AUTOLOGGER_WPP_PUT_g(a) &(a), sizeof(a)
#define AUTOLOGGER_WPP_PUT_p(a) &(a), sizeof(a)
#define AUTOLOGGER_WPP_PUT_s(a) AutologgerWppString(a), strlen(AutologgerWppString(a)) + 1
#define AUTOLOGGER_WPP_PUT_S(a) AutologgerWppWide(a), AutologgerWppWideSize(a)
#define AUTOLOGGER_WPP_PUT_z(a) \
    &AutologgerWppCounted(a)->Length, sizeof(USHORT), AutologgerWppCounted(a)->Buffer, \
        (size_t)AutologgerWppCounted(a)->Length
#define AUTOLOGGER_WPP_PUT_Z(a) AUTOLOGGER_WPP_PUT_z(a)
#define AUTOLOGGER_WPP_PUT_G(a) AutologgerWppGuidOf(a), sizeof(GUID)
#define AUTOLOGGER_WPP_PUT_i(a) AutologgerWppSid(a), (size_t)8 + 4 * (size_t)AutologgerWppSid(a)[1]
#define AUTOLOGGER_WPP_PUT_x(a) &(a).Size, sizeof((a).Size), (a).Data, (size_t)(a).Size
#endif
