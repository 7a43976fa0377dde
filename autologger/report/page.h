/* page.h - a boot as one page that needs nothing else: no network, no other file. What is asked first (verdict, trust,
 * phases) stands in the page as text, so that it is there at once, without scripts, and on paper; all else is the JSON
 * of boot_json.h, compressed (gzip, base64), which the page's scripts (page/) unpack and draw.
 * Threads: one. Not for: what the figures mean (analysis). */
#ifndef AUTOLOGGER_REPORT_PAGE_H
#define AUTOLOGGER_REPORT_PAGE_H
#include "autologger/report/boot_json.h"

/* W_DISK_FULL and others when `out` fails; W_NOT_ENOUGH_MEMORY. */
wstatus page_write(const struct report *r, FILE *out, struct reason *why);
#endif
