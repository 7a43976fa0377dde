/* page.h - a boot as one self-contained page: no network, no other file. Verdict, trust and phases are text in the
 * page, visible at once, without scripts, and on paper; the rest is the JSON of boot_json.h, compressed (gzip, base64),
 * which the page's scripts (page/) unpack and draw.
 * Threads: one. Not for: the meaning of the figures (analysis). */
#ifndef AUTOLOGGER_REPORT_PAGE_H
#define AUTOLOGGER_REPORT_PAGE_H
#include "autologger/report/boot_json.h"

/* W_DISK_FULL and others when `out` fails; W_NOT_ENOUGH_MEMORY. */
wstatus page_write(const struct report *r, FILE *out, struct reason *why);
#endif
