/* Tdh.h - tdh.h, by its other spelling. */
#include "tdh.h"
