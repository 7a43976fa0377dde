/* reference.h - the reference page of all registry values, made from the tables. Threads: any. */
#ifndef AUTOLOGGER_PLAN_REFERENCE_H
#define AUTOLOGGER_PLAN_REFERENCE_H
#include <stdio.h>

/* Writes docs/reference/values.md to `out`. */
void plan_reference(FILE *out);
#endif
