/* autologger check: the rows that a boot with this configuration would give, without starting anything. */
#include "autologger/kernel/flags.h"
#include "autologger/plan/check.h"
#include "registry-sim/base/os.h"
#include "tools/outcome_view.h"
#include "tools/profile.h"
#include "tools/result_view.h"
#include "tools/sound_import.h"
#include "tools/store_access.h"
#include "tools/verb.h"

#include <inttypes.h>
#include <string.h>

struct check_args {
    struct cmdline common;
    const char    *file, *log_dir;
    char           path[PROFILE_PATH]; /* of file */
};
struct report {
    struct text_table table;
    struct json      *json; /* NULL: text */
    unsigned          rows, failed, conditions;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct check_args *a = state->input;
    switch (key) {
    case 'l': a->log_dir = arg; return 0;
    case ARGP_KEY_ARG:
        if (a->file)
            argp_error(state, "one FILE at a time");
        a->file = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->file == !a->common.store_given)
            argp_error(state, "name a FILE, a PROFILE or --store FILE");
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

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
                        p->asked.minimum_buffers, p->asked.maximum_buffers, p->given.buffer_kb, p->given.minimum_buffers,
                        p->given.maximum_buffers);
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

/* As configurations have it, and as TRACELOGGING_DEFINE_PROVIDER takes it. */
static void guid_line(const struct guid *g, struct text_table *t)
{
    char text[GUID_TEXT_SIZE];
    const uint8_t *e = g->data4;
    text_table_line(t, "    GUID: %s, in C: (0x%08x, 0x%04x, 0x%04x, 0x%02x, 0x%02x, 0x%02x, 0x%02x, 0x%02x, 0x%02x, 0x%02x, 0x%02x)",
                    guid_format(g, text), g->data1, g->data2, g->data3, e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7]);
}

static void row_json(const struct check_row *row, const struct outcome *o, struct json *j)
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
    struct report *r = ctx;
    struct outcome o = {result_word(row), row->status, row->reason, row->conditions, row->source_file, row->source_line};
    char           status[OUTCOME_STATUS_SIZE];
    r->rows++;
    r->failed += row->status != W_SUCCESS;
    r->conditions += row->conditions->count;
    if (r->json) {
        row_json(row, &o, r->json);
        return;
    }
    bool        provider = row->kind == CHECK_PROVIDER;
    const char *session  = provider ? row->plan->name : row->name;
    const char *who      = provider ? row->name : row->kind == CHECK_BOOT ? "(settings)" : row->plan->kernel ? "(kernel session)"
                                                                                                           : "(session)";
    text_table_row(&r->table, session, who, o.result, outcome_status(row->status, status));
    outcome_lines(&o, &r->table);
    if (provider && !guid_is_zero(&row->provider->guid))
        guid_line(&row->provider->guid, &r->table);
    if (row->kind == CHECK_SESSION && row->start && !row->status)
        plan_lines(row->plan, &r->table);
}

/* What could not even be imported: rows with 87. */
static void show_refusals(struct report *r, const struct refusal_list *refusals)
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

/* The store, or a store in memory with what is sound of FILE. */
static wstatus source_open(const struct check_args *a, struct regstore **store, struct refusal_list *refusals,
                           struct reason *why)
{
    if (!a->file)
        return store_access_open(&a->common, false, store, why);
    wstatus st = regstore_open_memory(store, why);
    return st ? st : sound_import(*store, a->file, refusals, why);
}

static wstatus walk(const struct check_args *a, struct regstore *store, struct report *r, struct reason *why)
{
    struct os         *os     = os_linux();
    uint64_t           ram    = os->ram_bytes(os);
    struct plan_limits limits = {.processors  = (unsigned)os->cpu_count(os),
                                 .ram_bytes   = ram,
                                 .memory_left = plan_memory_ceiling(ram),
                                 .log_dir     = a->log_dir};
    return plan_check(store, &limits, show_row, r, why);
}

static int show(const struct check_args *a, struct regstore *store, const struct refusal_list *refusals)
{
    static const char *const titles[] = {"SESSION", "PROVIDER", "RESULT", "STATUS", NULL};
    struct report            r        = {0};
    struct reason            why      = {0};
    text_table_init(&r.table, titles);
    if (a->common.json && (r.json = json_create(stdout, true))) {
        json_object(r.json, NULL);
        json_array(r.json, "rows");
    }
    wstatus st = walk(a, store, &r, &why);
    if (!st)
        show_refusals(&r, refusals);
    if (r.json) {
        json_array_end(r.json);
        refusal_list_mistakes_json(refusals, r.json);
        json_number(r.json, "failed", r.failed);
        json_object_end(r.json);
        json_destroy(r.json);
    } else if (!st) {
        text_table_print(&r.table, stdout);
        printf("\n%u row%s, %u failed, %u condition%s\n", r.rows, plural(r.rows), r.failed, r.conditions, plural(r.conditions));
    }
    text_table_finish(&r.table);
    if (st)
        return failure_print("autologger check", st, &why);
    if (!r.rows) {
        fprintf(stderr, "autologger check: %s declares no session. Do: see config/examples/first-boot.ini\n",
                a->file ? a->file : a->common.store);
        return VERB_FAILED;
    }
    return r.failed ? VERB_FAILED : VERB_FINE;
}

/* Not even a part of FILE could be read. */
static int unread(const struct check_args *a, wstatus status, const struct refusal_list *refusals, const struct reason *why)
{
    struct json *j = a->common.json ? json_create(stdout, true) : NULL;
    if (j) {
        json_object(j, NULL);
        json_array(j, "rows");
        json_array_end(j);
        refusal_list_mistakes_json(refusals, j);
        json_number(j, "failed", 0);
        json_object_end(j);
        json_destroy(j);
    }
    if (!refusals->mistake_count)
        return failure_print_about(a->file ? ABOUT_CONFIGURATION : ABOUT_STORE, "autologger check", status, why);
    fprintf(stderr, "autologger check: %s\n", why->text);
    return exit_of(status);
}

int cmd_check(int argc, char **argv)
{
    static const struct argp_option options[] = {
        OPT_STORE,
        {"log-dir", 'l', "DIR", 0, "where log files would go (default /var/log/autologger)", 0},
        OPT_JSON,
        {0},
    };
    static const struct argp argp = {
        options, parse, "FILE\nPROFILE\n--store FILE",
        CMDLINE_DOC("What a boot would do with a configuration: every session and provider with its Status, what it would be "
                    "given, where its file would be, and every mistake with file, line and what to do.",
                    "  autologger check config/examples/first-boot.ini"),
        NULL, NULL, NULL};
    struct check_args   a        = {.log_dir = "/var/log/autologger"};
    struct regstore    *store    = NULL;
    struct refusal_list refusals = {0};
    struct reason       why      = {0};
    int                 code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    wstatus st = a.file ? profile_resolve(a.file, a.path, &why) : W_SUCCESS;
    if (st)
        return failure_print_about(ABOUT_CONFIGURATION, "autologger check", st, &why);
    if (a.file)
        a.file = a.path;
    st = source_open(&a, &store, &refusals, &why);
    if (!a.common.json)
        refusal_list_mistakes_print(&refusals);
    code = st ? unread(&a, st, &refusals, &why) : show(&a, store, &refusals);
    refusal_list_finish(&refusals);
    regstore_close(store);
    return code;
}
