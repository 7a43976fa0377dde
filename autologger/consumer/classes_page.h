/* classes_page.h - the reference page of every class of events that we write (docs/reference/classes.md), from
 * kernel/tables/written.def and classic.def. Threads: one. Not for: decoding. */
#ifndef AUTOLOGGER_CONSUMER_CLASSES_PAGE_H
#define AUTOLOGGER_CONSUMER_CLASSES_PAGE_H
#include <stdio.h>

void classes_page(FILE *out);
#endif
