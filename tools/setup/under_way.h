/* under_way.h - is this machine's present boot being traced right now, and how does that end?
 * A boot is under way from its first session until the last one has stopped and the files are merged. Until the daemon
 * has saved the boot's rows the guard file tells, afterwards the rows tell.
 * Threads: one. Ownership: values. Not for: why a boot was not traced (untraced.h), its results (boot/result.h). */
#ifndef TOOLS_UNDER_WAY_H
#define TOOLS_UNDER_WAY_H
#include "autologger/boot/result.h"
#include "autologger/plan/boot_settings.h"
#include "tools/base/machine.h"

struct under_way {
    bool     now;
    uint32_t number;    /* of the boot */
    char     ends[200]; /* "it ends by itself when the machine has been calm for 10 s" */
};
/* `rows`: of the last boot in `store`, NULL: there are none. */
void under_way_look(const struct machine *m, struct regstore *store, const struct result_list *rows,
                    struct under_way *out);
/* True: the boot of `rows` is complete. Its sessions have ended, and its files are merged, or a condition says why
 * not. */
bool under_way_over(const struct machine *m, const struct result_list *rows);
/* When the sessions of a boot with these settings end, as the end of a sentence. Pure. */
void under_way_ends(const struct boot_settings *settings, char *out, size_t size);
/* The id of the machine's present boot; "" when it cannot be read. */
void under_way_boot_id(const struct machine *m, char out[64]);
#endif
