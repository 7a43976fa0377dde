/* windows.h - Windows.h, by its other spelling. */
#include "Windows.h"
