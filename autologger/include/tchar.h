/* tchar.h - TCHAR and TEXT are in Windows.h. */
#include "Windows.h"
