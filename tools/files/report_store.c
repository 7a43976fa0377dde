/* report_store.c - see report_store.h. */
#include "tools/files/report_store.h"

#include "autologger/plan/plan.h"
#include "registry-sim/text/dialect.h"
#include "registry-sim/text/winpath.h"
#include "tools/base/json_out.h"
#include "tools/base/store_access.h"
#include "tools/view/result_view.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static wstatus report_store_rows_load(struct report_store *s, const char *boot_id, struct reason *why)
{
    for (unsigned i = 0; boot_id && i < s->history.count; i++)
        if (strcmp(s->history.boots[i].list.boot_id, boot_id) == 0)
            return result_load_number(s->store, s->history.boots[i].list.number, &s->rows, why);
    return W_SUCCESS;
}

static void declared_load(struct report_store *s)
{
    struct reason why;
    size_t        size;
    if (s->rows.count && ini_export(s->store, WINPATH_WMI, plan_vocabulary(), &s->declared, &size, &why))
        s->declared = NULL;
}

wstatus report_store_open(struct report_store *s, const struct cmdline *c, const char *boot_id, struct reason *why)
{
    if (!c->store_given && access(c->store, R_OK) != 0)
        return W_SUCCESS;
    wstatus st = store_access_open(c, false, &s->store, why);
    if (!st)
        st = history_load(s->store, &s->history, why);
    if (!st)
        st = report_store_rows_load(s, boot_id, why);
    if (!st)
        declared_load(s);
    return c->store_given ? st : W_SUCCESS;
}

static void report_store_row_json(const struct result_row *r, struct json *j)
{
    char name[600];
    snprintf(name, sizeof name, "%s%s%s", r->session, *r->provider ? " / " : "",
             *r->provider ? (*r->name ? r->name : r->provider) : "");
    json_object(j, NULL);
    json_text(j, "name", name);
    json_number(j, "status", r->status);
    json_text(j, "level", result_level_name(result_level(r)));
    json_text(j, "reason", r->reason);
    json_number(j, "written", r->written);
    json_number(j, "overwritten", r->overwritten);
    json_number(j, "lost", *r->provider ? 0 : result_lost(r));
    json_number(j, "peakBytes", r->peak_bytes);
    if (!*r->provider) {
        result_view_buffers_json(j, "asked", r->asked.buffer_kb, r->asked.minimum_buffers, r->asked.maximum_buffers);
        result_view_buffers_json(j, "given", r->given.buffer_kb, r->given.minimum_buffers, r->given.maximum_buffers);
    }
    json_array(j, "conditions");
    for (unsigned i = 0; i < r->conditions.count; i++)
        json_text(j, NULL, r->conditions.items[i].reason);
    json_array_end(j);
    json_object_end(j);
}

void report_store_json(const struct report_store *s, struct yajl_gen_t *gen)
{
    struct json *j = json_within(gen);
    if (!j)
        return;
    json_object(j, NULL);
    json_number(j, "boot", s->rows.number);
    json_text(j, "stopReason", s->rows.stop_reason);
    json_array(j, "rows");
    for (unsigned i = 0; i < s->rows.count; i++)
        report_store_row_json(&s->rows.rows[i], j);
    json_array_end(j);
    json_text(j, "declared", s->declared);
    json_object_end(j);
    json_destroy(j);
}

static bool report_store_is_there(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && st.st_size > 0;
}

/* The boot's merged file, else its last existing file. NULL: no file exists. */
static const char *trace_of(const struct report_store *s, const struct history_boot *b)
{
    struct result_list rows = {0};
    struct reason      why;
    const char        *found = NULL;

    if (result_load_number(s->store, b->list.number, &rows, &why) == W_SUCCESS)
        for (unsigned i = 0; i < rows.count && !found; i++)
            for (unsigned k = 0; k < b->file_count && !found; k++)
                if (*rows.rows[i].merged_path && strcmp(rows.rows[i].merged_path, b->files[k]) == 0 &&
                    report_store_is_there(b->files[k]))
                    found = b->files[k];
    result_list_finish(&rows);
    for (unsigned k = b->file_count; k-- > 0 && !found;)
        found = report_store_is_there(b->files[k]) ? b->files[k] : NULL;
    return found;
}

unsigned report_store_files(const struct report_store *s, const char *boot_id, unsigned most, const char **out)
{
    unsigned n = 0;
    for (unsigned i = 0; i < s->history.count && n < most; i++) {
        const struct history_boot *b = &s->history.boots[i];
        if (b->list.rehearsal || (boot_id && strcmp(b->list.boot_id, boot_id) == 0))
            continue;
        if ((out[n] = trace_of(s, b)))
            n++;
    }
    return n;
}

void report_store_finish(struct report_store *s)
{
    result_list_finish(&s->rows);
    history_finish(&s->history);
    free(s->declared);
    regstore_close(s->store);
    *s = (struct report_store){0};
}
