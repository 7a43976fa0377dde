// TraceLogging from C++, as it is written for Windows: values by their type, an activity, a class's methods.
#include <windows.h>
#include <TraceLoggingProvider.h>
#include <TraceLoggingActivity.h>
#include <winmeta.h>

TRACELOGGING_DEFINE_PROVIDER(g_hMyComponentProvider, "Contoso.Sample.Cpp",
                             // {5EA7C0DE-0003-4A5B-8C6D-111111111111}
                             (0x5ea7c0de, 0x0003, 0x4a5b, 0x8c, 0x6d, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11),
                             TraceLoggingOptionGroup(0x5ea7c0de, 0xffff, 0x4a5b, 0x8c, 0x6d, 0x11, 0x11, 0x11, 0x11,
                                                     0x11, 0x11));

class CRequest
{
  public:
    explicit CRequest(ULONG id) : m_id(id)
    {
        TraceLoggingWriteStart(m_activity, "Request", TraceLoggingValue(m_id, "id"));
    }
    ~CRequest() { TraceLoggingWriteStop(m_activity, "Request", TraceLoggingValue(m_id, "id")); }
    template <class T> void Step(T const &value)
    {
        TraceLoggingWriteTagged(m_activity, "Step", TraceLoggingValue(value, "value"));
    }

  private:
    ULONG                                                                  m_id;
    TraceLoggingActivity<g_hMyComponentProvider, 0x4, WINEVENT_LEVEL_INFO> m_activity;
};

int __cdecl main()
{
    if (FAILED(HRESULT_FROM_WIN32(TraceLoggingRegister(g_hMyComponentProvider))))
        return 1;
    for (DWORD waited = 0; !TraceLoggingProviderEnabled(g_hMyComponentProvider) && waited < 5000; waited += 10)
        Sleep(10);
    // the event of the article
    TraceLoggingWrite(g_hMyComponentProvider, "My1stEvent", TraceLoggingInt32(42, "MyIntField"),
                      TraceLoggingString("some values", "MyStrField"));
    {
        CRequest request(7);
        request.Step(1.5);
        request.Step("text");
    }
    TraceLoggingUnregister(g_hMyComponentProvider);
    return 0;
}
