/* boot_text.h - a boot as text for a terminal: verdict, trust, phases, critical path, the slowest units and processes.
 * Threads: one. Not for: the page (page.h). */
#ifndef AUTOLOGGER_REPORT_BOOT_TEXT_H
#define AUTOLOGGER_REPORT_BOOT_TEXT_H
#include "autologger/report/boot_json.h"

void boot_text(const struct report *r, FILE *out);
#endif
