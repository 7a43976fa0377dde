/* check_view.c - see check_view.h. */
#include "tools/setup/check_view.h"
#include "autologger/kernel/tables/flags.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/store_access.h"
#include "tools/setup/system_check.h"
#include "tools/view/outcome_view.h"
#include "tools/view/result_view.h"

#include <string.h>

static const char *result_word(const struct check_row *row)
{
    if (row->status)
        return "failed";
    if (row->kind != CHECK_BOOT && !row->start)
        return "off";
    return row->conditions->count ? "note" : "ok";
}

static void plan_lines(const struct plan *p, struct text_table *t)
{
    char events[1024], stacks[2048];
    if (p->asked.buffer_kb != p->given.buffer_kb || p->asked.minimum_buffers != p->given.minimum_buffers ||
        p->asked.maximum_buffers != p->given.maximum_buffers)
        text_table_line(t, "    buffers: asked %u KB x %u..%u, given %u KB x %u..%u", p->asked.buffer_kb,
                        p->asked.minimum_buffers, p->asked.maximum_buffers, p->given.buffer_kb,
                        p->given.minimum_buffers, p->given.maximum_buffers);
    else
        text_table_line(t, "    buffers: %u KB x %u..%u", p->given.buffer_kb, p->given.minimum_buffers,
                        p->given.maximum_buffers);
    if (p->log_path)
        text_table_line(t, "    file: %s -> %s", p->file_name, p->log_path);
    if (group_mask_format(p->group_mask, events, sizeof events))
        text_table_line(t, "    kernel events: %s", events);
    if (p->hook_count && hooks_format(p->hooks, p->hook_count, stacks, sizeof stacks))
        text_table_line(t, "    stacks on: %s", stacks);
}

static void plan_json(const struct plan *p, struct json *j)
{
    char guid[GUID_TEXT_SIZE], events[1024], stacks[4096];
    json_text(j, "guid", guid_format(&p->guid, guid));
    json_flag(j, "kernel", p->kernel);
    result_view_buffers_json(j, "asked", p->asked.buffer_kb, p->asked.minimum_buffers, p->asked.maximum_buffers);
    result_view_buffers_json(j, "given", p->given.buffer_kb, p->given.minimum_buffers, p->given.maximum_buffers);
    json_number(j, "memory_bytes", p->memory_bytes);
    json_text(j, "file_name", p->file_name);
    json_text(j, "log_path", p->log_path);
    group_mask_format(p->group_mask, events, sizeof events);
    hooks_format(p->hooks, p->hook_count, stacks, sizeof stacks);
    json_text(j, "kernel_events", events);
    json_text(j, "stacks", p->hook_count ? stacks : "");
}

/* The GUID as in configurations, and as TRACELOGGING_DEFINE_PROVIDER takes it. */
static void guid_line(const struct guid *g, struct text_table *t)
{
    char           text[GUID_TEXT_SIZE];
    const uint8_t *e = g->data4;
    text_table_line(
        t,
        "    GUID: %s, in C: (0x%08x, 0x%04x, 0x%04x, 0x%02x, 0x%02x, 0x%02x, 0x%02x, 0x%02x, 0x%02x, 0x%02x, 0x%02x)",
        guid_format(g, text), g->data1, g->data2, g->data3, e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7]);
}

static void check_view_row_json(const struct check_row *row, const struct outcome *o, struct json *j)
{
    static const char *const kinds[] = {"boot", "session", "provider"};
    char                     guid[GUID_TEXT_SIZE];
    json_object(j, NULL);
    json_text(j, "kind", kinds[row->kind]);
    json_text(j, "name", row->name);
    json_text(j, "key", row->key);
    json_flag(j, row->kind == CHECK_PROVIDER ? "enabled" : "start", row->start);
    outcome_json(o, j);
    if (row->kind == CHECK_PROVIDER) {
        json_text(j, "session", row->plan->name);
        json_text(j, "guid", guid_format(&row->provider->guid, guid));
    }
    if (row->kind == CHECK_SESSION && row->start && !row->status)
        plan_json(row->plan, j);
    json_object_end(j);
}

static void show_row(void *ctx, const struct check_row *row)
{
    struct check_view *r = ctx;
    struct outcome     o = {result_word(row), row->status,      row->reason,
                            row->conditions,  row->source_file, row->source_line};
    char               status[OUTCOME_STATUS_SIZE];
    r->rows++;
    r->failed += row->status != W_SUCCESS;
    r->conditions += row->conditions->count;
    if (r->json) {
        check_view_row_json(row, &o, r->json);
        return;
    }
    if (r->failed_only && !row->status)
        return;
    bool        provider = row->kind == CHECK_PROVIDER;
    const char *session  = provider ? row->plan->name : row->name;
    const char *who      = provider                  ? row->name
                           : row->kind == CHECK_BOOT ? "(settings)"
                           : row->plan->kernel       ? "(kernel session)"
                                                     : "(session)";
    text_table_row(&r->table, session, who, o.result, outcome_status(row->status, status));
    outcome_lines(&o, &r->table);
    if (provider && !guid_is_zero(&row->provider->guid))
        guid_line(&row->provider->guid, &r->table);
    if (row->kind == CHECK_SESSION && row->start && !row->status)
        plan_lines(row->plan, &r->table);
}

/* Shows plan_check()'s row together with what this machine lacks. */
static void look_here(void *ctx, const struct check_row *row)
{
    struct check_view    *v     = ctx;
    struct condition_list found = {0};
    struct check_row      more  = *row;
    for (unsigned i = 0; i < row->conditions->count; i++) {
        const struct condition *c = &row->conditions->items[i];
        condition_add(&found, c->number, c->note, c->item, c->source_file, c->source_line, c->advice, "%s", c->reason);
    }
    found.dropped += row->conditions->dropped;
    if (row->kind == CHECK_PROVIDER && !v->elsewhere &&
        (more.status = check_here_provider(&v->here, row->provider, &found)))
        more.reason = v->here.why.text;
    if (!more.status)
        more.status = row->status;
    more.conditions = &found;
    show_row(v, &more);
    condition_list_finish(&found);
}

/* Rows with W_INVALID_PARAMETER for the refused declarations. */
static void show_refusals(struct check_view *r, const struct refusal_list *refusals)
{
    static const struct condition_list none = {0};
    for (unsigned i = 0; i < refusals->count; i++) {
        const struct refusal *f = &refusals->items[i];
        struct outcome        o = {"failed", W_INVALID_PARAMETER, f->reason, &none, f->file, f->line};
        char                  status[OUTCOME_STATUS_SIZE], guid[GUID_TEXT_SIZE];
        r->rows++;
        r->failed++;
        if (r->json) {
            json_object(r->json, NULL);
            json_text(r->json, "kind", f->provider[0] ? "provider" : "session");
            json_text(r->json, "name", f->provider[0] ? f->provider : f->session);
            json_text(r->json, "key", f->key);
            outcome_json(&o, r->json);
            if (f->provider[0]) {
                json_text(r->json, "session", f->session);
                json_text(r->json, "guid", guid_format(&f->guid, guid));
            }
            json_object_end(r->json);
            continue;
        }
        text_table_row(&r->table, f->session, f->provider[0] ? f->provider : "(session)", "failed",
                       outcome_status(W_INVALID_PARAMETER, status));
        outcome_lines(&o, &r->table);
    }
}

void check_view_begin(struct check_view *v, struct json *json)
{
    static const char *const titles[] = {"SESSION", "PROVIDER", "RESULT", "STATUS", NULL};
    *v                                = (struct check_view){.json = json};
    text_table_init(&v->table, titles);
}

wstatus check_view_rows(struct check_view *v, struct regstore *store, const char *log_dir,
                        const struct refusal_list *refusals, struct reason *why)
{
    struct plan_limits limits = system_limits(log_dir);
    if (v->json)
        json_array(v->json, "rows");
    check_here_begin(&v->here);
    wstatus st = plan_check(store, &limits, look_here, v, why);
    check_here_finish(&v->here);
    if (!st && refusals)
        show_refusals(v, refusals);
    if (v->json)
        json_array_end(v->json);
    return st;
}

void check_view_print(const struct check_view *v, FILE *to)
{
    if (v->rows)
        text_table_print(&v->table, to);
    if (v->rows)
        fputc('\n', to);
    visible_printf(to, "%u row%s, %u failed, %u condition%s\n", v->rows, plural(v->rows), v->failed, v->conditions,
                   plural(v->conditions));
}

void check_view_finish(struct check_view *v) { text_table_finish(&v->table); }
