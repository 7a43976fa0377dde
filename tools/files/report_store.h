/* report_store.h - the store's data about a report's boot: its rows with Status and effective values, the declarations,
 * and the files of earlier boots.
 * Threads: one. Ownership: zero it first; finish frees it. Not for: reading traces (report_run.c). */
#ifndef TOOLS_REPORT_STORE_H
#define TOOLS_REPORT_STORE_H
#include "autologger/boot/history.h"
#include "tools/base/cmdline.h"

struct report_store {
    struct regstore   *store; /* NULL: there is none */
    struct history     history;
    struct result_list rows;     /* of the boot; none when the store does not know it */
    char              *declared; /* INI text of what is declared now; NULL */
};
/* Without --store, an unreadable store counts as none. */
wstatus report_store_open(struct report_store *s, const struct cmdline *c, const char *boot_id, struct reason *why);
/* One JSON value. */
struct yajl_gen_t;
void report_store_json(const struct report_store *s, struct yajl_gen_t *gen);
/* Merged files of at most `most` real boots, newest first, without that of `boot_id`; borrowed. */
unsigned report_store_files(const struct report_store *s, const char *boot_id, unsigned most, const char **out);
void     report_store_finish(struct report_store *s);
#endif
