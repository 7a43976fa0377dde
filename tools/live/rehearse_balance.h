/* rehearse_balance.h - checks attempted = written + lost, where attempted is counted outside the session: by the kernel
 * (kernel sessions) or by the demo program itself (user sessions).
 * Threads: one. Ownership: structs are the caller's; texts are borrowed. */
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
    /* attempted counts records, each of which may become several events: attempted = converted + (lost - lost_file) */
    bool     kernel;
    uint64_t attempted, converted;
    uint64_t written, lost; /* events in the file; EventsLost */
    /* parts of lost: events on the way to the file; records that the kernel counted and withheld */
    uint64_t lost_file, withheld;
};

/* Reads "provider={guid} attempted=N ..." lines; a missing file leaves an empty report. */
void demo_report_read(const char *path, struct demo_report *out);
/* False for rows whose session did not run. `store` has the filters of the providers. */
bool balance_of(const struct result_list *list, const struct result_row *row, const struct demo_report *demo,
                struct regstore *store, struct balance *out);
bool balance_holds(const struct balance *b);
void balance_print(const struct balance *b, FILE *to);
void balance_json(const struct balance *b, struct json *j);
#endif
