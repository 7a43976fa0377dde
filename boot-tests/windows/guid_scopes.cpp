// DEFINE_GUID with INITGUID at all places where C++ takes a definition, and in two files that are linked together
// (SECOND_FILE).
#define INITGUID
#include <windows.h>
#include <evntrace.h>

namespace contoso
{
DEFINE_GUID(InNamespace, 0x11111111, 0x2222, 0x3333, 1, 2, 3, 4, 5, 6, 7, 8);
namespace
{
DEFINE_GUID(InUnnamed, 0x11111112, 0x2222, 0x3333, 1, 2, 3, 4, 5, 6, 7, 8);
}
} // namespace contoso
DEFINE_GUID(Outside, 0x11111113, 0x2222, 0x3333, 1, 2, 3, 4, 5, 6, 7, 8);

const GUID *second();
#ifdef SECOND_FILE
const GUID *second() { return &Outside; }
#else
int main()
{
    if (contoso::InNamespace.Data1 != 0x11111111 || contoso::InUnnamed.Data1 != 0x11111112 ||
        SystemTraceControlGuid.Data1 != 0x9e814aad)
        return 1;
    if (second() != &Outside || !IsEqualGUID(*second(), Outside) || Outside.Data4[7] != 8) // one object in the program
        return 2;
    static_assert(sizeof KERNEL_LOGGER_NAMEW[0] == sizeof(WCHAR), "the type of the W functions");
    LPCWSTR name = KERNEL_LOGGER_NAMEW;
    return name[3] == 'K' ? 0 : 3;
}
#endif
