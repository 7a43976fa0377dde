/* Evntrace.h - evntrace.h, by its other spelling. */
#include "evntrace.h"
