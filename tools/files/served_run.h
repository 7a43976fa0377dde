/* served_run.h - `report --server ROLE`: the report of a server, for people and as JSON. Threads: one. */
#ifndef TOOLS_SERVED_RUN_H
#define TOOLS_SERVED_RUN_H
#include "autologger/analysis/served.h"

/* True: the role of that name. */
bool served_role_find(const char *word, enum served_role *role);
/* Exit code. */
int served_run(const char *file, enum served_role role, bool json);
#endif
