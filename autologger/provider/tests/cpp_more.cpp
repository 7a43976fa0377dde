#include "autologger/provider/tests/cpp_events.h"

void cpp_inline_more()
{
    Worker w(2);
    w.Step("more");
    w.Value(2.5);
    w.Value(static_cast<unsigned char>(7));
    TraceLoggingWrite(g_cpp, "Outside", TraceLoggingUInt8(9, "x"));
}
