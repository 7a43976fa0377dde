/* collector_allows.h - what the collector does for a server: decided by tables alone, from nothing but the request.
 * Threads: any. Ownership: none. Not for: doing it (collector_run.c). */
#ifndef AUTOLOGGER_DAEMON_COLLECTOR_ALLOWS_H
#define AUTOLOGGER_DAEMON_COLLECTOR_ALLOWS_H
#include "autologger/kernel/source/reach.h"

enum { COLLECTOR_CPUS = 1 << 16 };
/* The request may hold any bytes. */
bool collector_allows(const struct reach_request *q);
#endif
