// A provider in C++17: the registration is an object's, an activity is a scope's.
//     c++ -std=c++17 -Iautologger/include docs/examples/provider.cpp -Lbuild/release -lautologger -Wl,-rpath,$PWD/build/release -o provider
//     ./provider [EVENTS]
#include <TraceLoggingActivity.h>
#include <TraceLoggingProvider.h>

#include <charconv>
#include <string>
#include <string_view>

TRACELOGGING_DEFINE_PROVIDER(g_provider, "Contoso-Sample-Cpp",
                             (0xc0e50002, 0x5a3b, 0x4f61, 0x8a, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x02));

namespace
{
class Registered
{
  public:
    Registered() { TraceLoggingRegister(g_provider); }
    ~Registered() { TraceLoggingUnregister(g_provider); }
    Registered(const Registered &)            = delete;
    Registered &operator=(const Registered &) = delete;
};

void request(int number, const std::string &url)
{
    TraceLoggingActivity<g_provider> activity;
    TraceLoggingWriteStart(activity, "Request", TraceLoggingInt32(number, "number"),
                           TraceLoggingString(url.c_str(), "url"));
    TraceLoggingWriteStop(activity, "Request", TraceLoggingBool(true, "ok"));
}
} // namespace

int main(int argc, char **argv)
{
    int events = 3;
    if (argc > 1)
        if (const std::string_view word = argv[1];
            std::from_chars(word.data(), word.data() + word.size(), events).ec != std::errc())
            return 100;
    const Registered registered;
    for (int i = 0; i < events; i++)
        request(i, "/page/" + std::to_string(i));
}
