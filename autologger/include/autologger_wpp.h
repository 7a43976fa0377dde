/* autologger_wpp.h - WPP's macros in a build without tracewpp. Instead of running it, make a NAME.tmh of one line for
 * each source:
 *
 *   for f in *.c *.cpp; do echo '#include <autologger_wpp.h>' >"${f%.*}.tmh"; done
 *
 * A program defines its WPP_CONTROL_GUIDS before the .tmh, as always. WPP_INIT_TRACING registers a provider for each
 * control GUID, WPP_CLEANUP ends it. DoTraceMessage(FLAG, ...) and TraceEvents(LEVEL, FLAG, ...) write the message as a
 * text event; the program makes the text, and only while a session wants it. The level is the message's (DoTraceMessage
 * has none), the keyword is the flag's bit, so "enable SESSION {GUID} --level L --keywords F" chooses messages. No .tmf
 * or .pdb is needed to read it. Other functions are declared to tracewpp in comments (FUNC, begin_wpp config), which a
 * compiler does not see: define them with these, as in "#define Trace(LEVEL, ...) DoTraceMessage(LEVEL, __VA_ARGS__)".
 * At most 32 flags a GUID, 2047 bytes a message. The conversions of a message: autologger_wpp_text.h. Link with
 * -lautologger. */
#ifndef AUTOLOGGER_WPP_H
#define AUTOLOGGER_WPP_H
#ifndef WPP_CONTROL_GUIDS
#error \
    "WPP_CONTROL_GUIDS is not defined. Do: include the header that defines it before the .tmh; see autologger_wpp.h for what there is of WPP"
#endif
#include "evntprov.h"
#include "evntrace.h"
#include "autologger_wpp_text.h"

typedef struct AUTOLOGGER_WPP_CONTROL {
    GUID      Guid;
    REGHANDLE Handle;
} AUTOLOGGER_WPP_CONTROL;

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

/* WPP_CONTROL_GUIDS is expanded three times: the controls' numbers, the flags (control << 16 | number from 1), the
 * controls themselves. */
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

/* One for all sources of the program, or of the library. */
#define WPP_DEFINE_BIT(name)
#define WPP_DEFINE_CONTROL_GUID(name, guid, bits) {AUTOLOGGER_WPP_GUID guid, 0},
__attribute__((weak, visibility("hidden")))
AUTOLOGGER_WPP_CONTROL WPP_CB[AUTOLOGGER_WPP_CONTROLS] = {WPP_CONTROL_GUIDS};
#undef WPP_DEFINE_BIT
#undef WPP_DEFINE_CONTROL_GUID

#define AUTOLOGGER_WPP_KEYWORD(bit) (1ULL << (((bit)&0xFFFF) - 1))

static inline void AutologgerWppBegin(void)
{
    for (int i = 0; i < AUTOLOGGER_WPP_CONTROLS; i++)
        if (!WPP_CB[i].Handle)
            EventRegister(&WPP_CB[i].Guid, NULL, NULL, &WPP_CB[i].Handle);
}

static inline void AutologgerWppEnd(void)
{
    for (int i = 0; i < AUTOLOGGER_WPP_CONTROLS; i++) {
        EventUnregister(WPP_CB[i].Handle);
        WPP_CB[i].Handle = 0;
    }
}

static inline int AutologgerWppWanted(int bit, int level)
{
    return EventProviderEnabled(WPP_CB[bit >> 16].Handle, (UCHAR)level, AUTOLOGGER_WPP_KEYWORD(bit));
}

static inline void AutologgerWppWrite(int bit, int level, const char *function, const char *file, int line,
                                      const char *format, ...)
{
    char               text[AUTOLOGGER_WPP_TEXT];
    WCHAR              wide[AUTOLOGGER_WPP_TEXT];
    AUTOLOGGER_WPP_OUT out;
    va_list            args;
    out.at       = text;
    out.end      = text + sizeof text - 1;
    out.function = function;
    out.file     = file;
    out.line     = line;
    out.level    = level;
    text[0]      = 0;
    va_start(args, format);
    AutologgerWppFormat(&out, format, &args);
    va_end(args);
    AutologgerWppWide(wide, AUTOLOGGER_WPP_TEXT, text);
    EventWriteString(WPP_CB[bit >> 16].Handle, (UCHAR)level, AUTOLOGGER_WPP_KEYWORD(bit), wide);
}

#define AUTOLOGGER_WPP_MESSAGE(bit, level, ...) \
    do { \
        if (AutologgerWppWanted((bit), (level))) \
            AutologgerWppWrite((bit), (level), __func__, __FILE__, __LINE__, __VA_ARGS__); \
    } while (0)

#define WPP_INIT_TRACING(...) AutologgerWppBegin()
#define WPP_CLEANUP(...) AutologgerWppEnd()
#define WPP_LEVEL_ENABLED(flag) AutologgerWppWanted(WPP_BIT_##flag, TRACE_LEVEL_NONE)
#define DoTraceMessage(flag, ...) AUTOLOGGER_WPP_MESSAGE(WPP_BIT_##flag, TRACE_LEVEL_NONE, __VA_ARGS__)
#define DoTraceLevelMessage(level, flag, ...) AUTOLOGGER_WPP_MESSAGE(WPP_BIT_##flag, (level), __VA_ARGS__)
#ifndef TraceEvents
#define TraceEvents(level, flag, ...) AUTOLOGGER_WPP_MESSAGE(WPP_BIT_##flag, (level), __VA_ARGS__)
#endif
#endif
