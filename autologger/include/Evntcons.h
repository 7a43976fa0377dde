/* Evntcons.h - evntcons.h, by its other spelling. */
#include "evntcons.h"
