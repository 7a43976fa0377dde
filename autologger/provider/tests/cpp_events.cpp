/* The C++ half of test_cpp.c. */
#include "autologger/provider/tests/cpp_events.h"

#include <utility>

TRACELOGGING_DEFINE_PROVIDER(g_cpp, "Cpp", (0x33333333, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));

void cpp_register() { TraceLoggingRegister(g_cpp); }
void cpp_unregister() { TraceLoggingUnregister(g_cpp); }

void cpp_inline()
{
    Worker w(1);
    w.Step("first");
    w.Value(static_cast<short>(-2));
    auto inside = [](int n) { TraceLoggingWrite(g_cpp, "Lambda", TraceLoggingInt32(n, "n")); };
    inside(5);
}

void cpp_values()
{
    const GUID       id      = {1, 2, 3, {4}};
    const FILETIME   ft      = {1, 2};
    const SYSTEMTIME st      = {2026, 1, 0, 2, 3, 4, 5, 6};
    char             text[]  = "chars";
    char16_t         wide[]  = u"wide";
    void            *nowhere = nullptr;
    TraceLoggingWrite(
        g_cpp, "Values", TraceLoggingValue(true, "bool"), TraceLoggingValue('c', "char"),
        TraceLoggingValue(u'd', "char16"), TraceLoggingValue(static_cast<signed char>(-1), "i8"),
        TraceLoggingValue(static_cast<unsigned char>(1), "u8"), TraceLoggingValue(static_cast<short>(-2), "i16"),
        TraceLoggingValue(static_cast<unsigned short>(2), "u16"), TraceLoggingValue(-3, "i32"),
        TraceLoggingValue(3u, "u32"), TraceLoggingValue(-4l, "long"), TraceLoggingValue(4ul, "ulong"),
        TraceLoggingValue(-5ll, "i64"), TraceLoggingValue(5ull, "u64"), TraceLoggingValue(1.0f, "float"),
        TraceLoggingValue(2.0, "double"), TraceLoggingValue(nowhere, "pointer"),
        TraceLoggingValue(static_cast<const void *>(nullptr), "cpointer"), TraceLoggingValue(id, "guid"),
        TraceLoggingValue(ft, "filetime"), TraceLoggingValue(st, "systemtime"), TraceLoggingValue(text, "array"),
        TraceLoggingValue(&text[1], "chars"), TraceLoggingValue("literal", "literal"),
        TraceLoggingValue(u"wide", "wliteral"), TraceLoggingValue(wide, "warray", "described", 0x0200000),
        TraceLoggingValue(&wide[2], "wchars"), TraceLoggingValue(text));
}

void cpp_activity()
{
    TraceLoggingActivity<g_cpp, 0x10, 4> outer;
    TraceLoggingWriteStart(outer, "Outer", TraceLoggingInt32(1, "n"));
    TraceLoggingActivity<g_cpp> inner;
    inner.SetRelatedActivity(outer);
    TraceLoggingWriteStart(inner, "Inner");
    TraceLoggingWriteTagged(inner, "Tagged", TraceLoggingLevel(3), TraceLoggingKeyword(0x20), TraceLoggingOpcode(10));
    auto moved = std::move(outer);
    TraceLoggingWriteTagged(moved, "Moved");
    TraceLoggingWriteStop(inner, "Inner");
    TraceLoggingWriteStop(inner, "Never"); /* it is stopped */
    TraceLoggingWriteStop(moved, "Outer");
}

void cpp_thread_activity()
{
    TraceLoggingThreadActivity<g_cpp> outer, inner;
    TraceLoggingWriteStart(outer, "Outer");
    TraceLoggingWrite(g_cpp, "InOuter");
    TraceLoggingWriteStart(inner, "Inner");
    TraceLoggingWrite(g_cpp, "InInner");
    TraceLoggingWriteStop(inner, "Inner");
    {
        TraceLoggingActivity<g_cpp> other;
        TraceLoggingWriteStart(other, "Other");
        TraceLoggingThreadActivityIdSetter setter(other);
        TraceLoggingWrite(g_cpp, "InOther");
    }
    TraceLoggingWrite(g_cpp, "InOuter");
    TraceLoggingWriteStop(outer, "Outer");
    TraceLoggingWrite(g_cpp, "After");
}

void cpp_forgotten()
{
    TraceLoggingActivity<g_cpp> a;
    TraceLoggingWriteStart(a, "Begun");
}
