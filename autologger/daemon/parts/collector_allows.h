/* collector_allows.h - whether the collector may carry out a request of the server (the service and its helpers,
 * collector.h). The answer depends on the request and on fixed tables and limits only.
 * Threads: any. Ownership: none. Not for: doing it (collector_run.c). */
#ifndef AUTOLOGGER_DAEMON_COLLECTOR_ALLOWS_H
#define AUTOLOGGER_DAEMON_COLLECTOR_ALLOWS_H
#include "autologger/kernel/source/reach.h"

enum { COLLECTOR_CPUS = 1 << 16 };
/* The request may hold any bytes. */
bool collector_allows(const struct reach_request *q);
#endif
