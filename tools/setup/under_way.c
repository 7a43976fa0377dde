/* under_way.c - see under_way.h. */
#include "tools/setup/under_way.h"

#include "autologger/daemon/early/guard.h"
#include "autologger/daemon/end/boot_done.h"
#include "autologger/daemon/end/boot_end.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void under_way_boot_id(const struct machine *m, char out[64])
{
    char *text = machine_read(m, "/proc/sys/kernel/random/boot_id", NULL);
    snprintf(out, 64, "%.*s", text ? (int)strcspn(text, "\n") : 0, text ? text : "");
    free(text);
}

void under_way_ends(const struct boot_settings *s, char *out, size_t size)
{
    char after[32], most[32];
    if (!s->stops)
        snprintf(out, size, "it goes on until it is stopped: autologger stop --merge");
    else if (!s->after_boot_done)
        snprintf(out, size, "it ends by itself %s after its start", boot_time_text(s->stop_after_ms, after));
    else
        snprintf(out, size, "it ends by itself when the machine has been calm for %d s%s%s%s%s%s", BOOT_IDLE_MS / 1000,
                 s->stop_after_ms ? ", and then " : "", s->stop_after_ms ? boot_time_text(s->stop_after_ms, after) : "",
                 s->stop_after_ms ? " later" : "", s->max_wait_ms ? "; at the latest after " : "",
                 s->max_wait_ms ? boot_time_text(s->max_wait_ms, most) : "");
}

/* A file that was removed will not be merged any more. */
bool under_way_over(const struct machine *m, const struct result_list *rows)
{
    bool said = false, files = false;
    for (unsigned i = 0; i < rows->count; i++) {
        const struct result_row *r = &rows->rows[i];
        files |= r->file_created && !*r->merged_path && machine_has(m, r->log_path);
        for (unsigned c = 0; c < r->conditions.count; c++)
            said |= !strcmp(r->conditions.items[c].item, "merge");
    }
    return result_list_final(rows) && (said || !files);
}

/* Sessions that were stopped one by one are merged only on request, so their merge is not waited for. */
static bool rows_wait(const struct machine *m, const struct result_list *rows)
{
    return !result_list_final(rows) || (strcmp(rows->stop_reason, "asked") != 0 && !under_way_over(m, rows));
}

/* False: all sessions were kept off or failed, so the boot is not traced. */
static bool any_started(const struct result_list *rows)
{
    bool any = false;
    for (unsigned i = 0; i < rows->count; i++)
        any |= !*rows->rows[i].provider && rows->rows[i].start && !rows->rows[i].status;
    return any;
}

void under_way_look(const struct machine *m, struct regstore *store, const struct result_list *rows,
                    struct under_way *out)
{
    struct boot_settings settings;
    struct guard         g;
    char                 boot_id[64], path[MACHINE_PATH];
    *out = (struct under_way){0};
    under_way_boot_id(m, boot_id);
    if (!*boot_id || !machine_has(m, "/run/autologger/control"))
        return;
    bool own = rows && !rows->rehearsal && strcmp(rows->boot_id, boot_id) == 0;
    guard_read(AT_FDCWD, machine_path(m, "/" GUARD_PATH, path), &g);
    out->now = own ? any_started(rows) && rows_wait(m, rows) : guard_open(&g, boot_id);
    if (!out->now)
        return;
    out->number = own ? rows->number : 0;
    if (!own)
        result_number_of(store, boot_id, &out->number, NULL);
    boot_settings_read(store, &settings, NULL);
    under_way_ends(&settings, out->ends, sizeof out->ends);
    boot_settings_finish(&settings);
}
