/* served.h - a report of a server by its role: transactions (start and stop events of an activity) with their times,
 * use of resources, and what stands out, by the rules of served_rules.def.
 * Invariant: every start of a transaction has one stop, or is open. Memory: open transactions, distinct kinds of
 * transactions (30 KB each, SERVED_KINDS at most), and that of resources.h. Threads: one. Ownership: create/destroy.
 * Not for: boots (boot.h). */
#ifndef AUTOLOGGER_ANALYSIS_SERVED_H
#define AUTOLOGGER_ANALYSIS_SERVED_H
#include "autologger/analysis/histogram.h"
#include "autologger/analysis/resources.h"

enum { SERVED_KINDS = 512, SERVED_NAME = 200 };
enum served_role { SERVED_GENERAL, SERVED_WEB, SERVED_DATABASE, SERVED_FILE, SERVED_ROLES };
extern const char *const served_roles[SERVED_ROLES]; /* "general", "web", "database", "file" */
struct served_kind {
    char             name[SERVED_NAME]; /* "Provider/Event" */
    uint64_t         open;              /* that did not end */
    struct histogram time;              /* 100 ns, of those that ended */
};
struct served_finding {
    double      value, limit;
    const char *unit, *advice;
    char        text[SERVED_NAME + 160];
};
struct served {
    enum served_role       role;
    struct resources      *resources;
    struct served_kind   **kind; /* most time first */
    size_t                 kinds;
    uint64_t               kinds_left_out; /* transactions of further kinds */
    struct served_finding *finding;
    size_t                 findings;
    double                 seconds;
    bool                   has_transactions;
};
/* Reads the files twice. `set` describes events; borrowed, NULL: each file's own. Status of trace_open. */
wstatus served_create(const char *const *files, unsigned count, enum served_role role, struct schema_set *set,
                      struct served **out, struct reason *why);
void    served_destroy(struct served *s); /* NULL is fine */
#endif
