/* ini_values.h - the values of an INI text as iniparser reads them. ini_values.c is the only file that sees iniparser.
 * Threads: one at a time in the whole process (iniparser's error callback is global).
 * Ownership: texts live until ini_values_close. */
#ifndef REGISTRY_SIM_TEXT_INI_VALUES_H
#define REGISTRY_SIM_TEXT_INI_VALUES_H
#include "registry-sim/win32/wstatus.h"

#include <stddef.h>

struct ini_values;

/* W_INVALID_DATA when iniparser refuses the text: why->text holds its message. */
wstatus     ini_values_open(const char *text, size_t size, struct ini_values **out, struct reason *why);
const char *ini_values_get(const struct ini_values *values, const char *section, const char *name); /* NULL: none */
void        ini_values_close(struct ini_values *values);
#endif
