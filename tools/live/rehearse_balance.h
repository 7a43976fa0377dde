/* rehearse_balance.h - attempted = written + lost, where attempted was counted by another program than the session: the
 * kernel (kernel sessions) or the demo program itself (user sessions).
 * Threads: one. Ownership: init/finish by the caller's array. */
#ifndef TOOLS_REHEARSE_BALANCE_H
#define TOOLS_REHEARSE_BALANCE_H
#include "autologger/boot/result.h"
#include "tools/base/json_out.h"

enum { BALANCE_PROVIDERS = 16 };

/* What the demo program counted, by provider. */
struct demo_report {
    unsigned count;
    struct {
        struct guid guid;
        uint64_t    attempted;
    } provider[BALANCE_PROVIDERS];
};
struct balance {
    const char *session;    /* borrowed from the row */
    const char *counted_by; /* "the kernel", "autologger-demo", or NULL: nobody */
    bool        filtered;   /* the session's filters keep some events out: the sum may stay below attempted */
    /* attempted are records, of which each may become several events: attempted = converted + (lost - lost_file) */
    bool     kernel;
    uint64_t attempted, converted;
    uint64_t written, lost; /* events in the file; EventsLost */
    /* parts of lost: events on the way to the file; what the kernel counted and kept back */
    uint64_t lost_file, withheld;
};

/* Reads "provider={guid} attempted=N ..." lines; a missing file leaves an empty report. */
void demo_report_read(const char *path, struct demo_report *out);
/* False for rows that ran no session. `store` tells the filters of the providers. */
bool balance_of(const struct result_list *list, const struct result_row *row, const struct demo_report *demo,
                struct regstore *store, struct balance *out);
bool balance_holds(const struct balance *b);
void balance_print(const struct balance *b, FILE *to);
void balance_json(const struct balance *b, struct json *j);
#endif
