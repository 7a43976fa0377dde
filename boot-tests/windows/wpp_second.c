/* The other source of wpp_program.c. */
#include <windows.h>
#include <evntrace.h>
#include <stdio.h>
#include <wpp_trace.h>
#include <wpp_second.tmh>

#ifdef __cplusplus
extern "C"
#endif
    void
     other_source(void);
void other_source(void)
{
    FuncEntry(FLAG_IO);
    DoTraceMessage(FLAG_OTHER, "of the other GUID, %d %%", 5);
}
