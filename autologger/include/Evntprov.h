/* Evntprov.h - evntprov.h, by its other spelling. */
#include "evntprov.h"
