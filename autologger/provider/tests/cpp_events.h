/* cpp_events.h - C++ that writes events, for test_cpp.c: inline methods and templates in a header that two files
 * include, where the metadata of one event has several copies. */
#ifndef PROVIDER_TESTS_CPP_EVENTS_H
#define PROVIDER_TESTS_CPP_EVENTS_H
#ifdef __cplusplus
#include "autologger/include/TraceLoggingActivity.h"

TRACELOGGING_DECLARE_PROVIDER(g_cpp);

class Worker
{
  public:
    explicit Worker(int number) : number_(number) {}
    void Step(const char *what) const
    {
        TraceLoggingWrite(g_cpp, "Step", TraceLoggingValue(number_, "number"), TraceLoggingValue(what, "what"));
    }
    template <typename T> void Value(const T &value) const
    {
        TraceLoggingWrite(g_cpp, "Value", TraceLoggingValue(value, "value"));
    }

  private:
    int number_;
};
extern "C" {
#endif
void cpp_register(void);
void cpp_unregister(void);
void cpp_inline(void);      /* Step and Value, in one file */
void cpp_inline_more(void); /* and in the other file */
void cpp_values(void);
void cpp_activity(void);
void cpp_thread_activity(void);
void cpp_forgotten(void);
#ifdef __cplusplus
}
#endif
#endif
