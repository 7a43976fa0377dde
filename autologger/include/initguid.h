/* initguid.h - from here on DEFINE_GUID defines what it names. */
#ifndef INITGUID
#define INITGUID
#endif
#include "guiddef.h"
