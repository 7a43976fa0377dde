/* initguid.h - from here on DEFINE_GUID defines the GUID that it names. */
#ifndef INITGUID
#define INITGUID
#endif
#include "guiddef.h"
