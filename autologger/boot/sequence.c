#include "autologger/boot/sequence.h"

#include "autologger/boot/explain.h"
#include "autologger/plan/boot_settings.h"
#include "autologger/wire/state.h"
#include "registry-sim/text/winpath.h"
#include "registry-sim/win32/utf16.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)PLAN_UNITS == (int)STATE_UNITS, "a plan holds what an enablement keeps");
_Static_assert(sizeof((struct result_row *)0)->key == STATE_KEY &&
                   sizeof((struct result_row *)0)->session == STATE_NAME,
               "what a session's state holds fits into its row");

struct sequence_boot {
    struct session_table *table;
    const char           *log_dir;
    struct regstore      *store;
    struct journal       *journal;
    struct result_list   *rows;
    const struct reason  *off;   /* NULL, or why nothing is started */
    bool                  units; /* a session has a provider of systemd's units */
};

/* Text that is too long is cut between two characters. */
static void sequence_copy_text(char *out, size_t size, const char *text)
{
    size_t n = text ? strlen(text) : 0;
    if (n >= size)
        for (n = size - 1; n && ((unsigned char)text[n] & 0xC0) == 0x80;)
            n--;
    memcpy(out, text ? text : "", n);
    out[n] = 0;
}

static void copy_conditions(struct condition_list *out, const struct condition_list *in)
{
    for (unsigned i = 0; i < in->count; i++) {
        const struct condition *c = &in->items[i];
        condition_add(out, c->number, c->note, c->item, c->source_file, c->source_line, c->advice, "%s", c->reason);
    }
}

static const char *last_part(const char *key)
{
    const char *slash = strrchr(key, '\\');
    return slash ? slash + 1 : key;
}

/* A Status that the journal can't take does not stop a boot; the row still has it. */
static void note_status(struct sequence_boot *b, const char *key, wstatus status)
{
    struct reason why;
    if (journal_dword(b->journal, key, "Status", status, &why) != W_SUCCESS && b->rows->count)
        condition_add(&b->rows->rows[b->rows->count - 1].conditions, why.status, false, "Status", "", 0,
                      "lower the number of declared sessions", "Status could not be noted: %s", why.text);
}

static void provider_row(struct sequence_boot *b, const struct plan *plan, const struct plan_provider *p,
                         struct session *s)
{
    struct result_row *row = result_add(b->rows);
    struct reason      why = {0};

    if (!row)
        return;
    sequence_copy_text(row->session, sizeof row->session, plan->name);
    if (p->status)
        sequence_copy_text(row->provider, sizeof row->provider,
                           last_part(p->key)); /* the key's name is not a GUID: shown as it is */
    else
        guid_format(&p->guid, row->provider);
    sequence_copy_text(row->name, sizeof row->name, p->name);
    sequence_copy_text(row->key, sizeof row->key, p->key);
    sequence_copy_text(row->source_file, sizeof row->source_file, p->source_file);
    row->source_line = p->source_line;
    row->start       = p->enabled;
    row->level       = p->level;
    row->match_any   = p->match_any;
    row->match_all   = p->match_all;
    row->tracepoint  = p->tracepoint != NULL;
    row->status      = p->status;
    sequence_copy_text(row->reason, sizeof row->reason, p->status ? p->reason.text : "");
    copy_conditions(&row->conditions, &p->conditions);
    if (s && p->enabled && !p->status) {
        struct enable_terms terms = {.level  = p->level,
                                     .any    = p->match_any,
                                     .all    = p->match_all,
                                     .flags  = directory_flags(p->enable_property),
                                     .units  = p->units,
                                     .filter = p->filter};
        unsigned            slot, entry;
        row->status = session_enable(s, &p->guid, p->key, &terms, &slot, &entry, &why);
        sequence_copy_text(row->reason, sizeof row->reason, row->status ? why.text : "");
    }
    note_status(b, p->key, row->status);
}

static void session_row(struct sequence_boot *b, const struct plan *plan, const char *key, wstatus status,
                        const struct reason *why)
{
    struct result_row *row = result_add(b->rows);

    if (!row)
        return;
    sequence_copy_text(row->session, sizeof row->session, plan->name ? plan->name : last_part(key));
    sequence_copy_text(row->key, sizeof row->key, key);
    sequence_copy_text(row->source_file, sizeof row->source_file, plan->source_file);
    sequence_copy_text(row->log_path, sizeof row->log_path, plan->log_path);
    row->source_line = plan->source_line;
    row->start       = plan->start;
    row->status      = status;
    row->kernel      = plan->kernel;
    sequence_copy_text(row->reason, sizeof row->reason, status ? why->text : "");
    memcpy(&row->asked, &plan->asked, sizeof row->asked);
    memcpy(&row->given, &plan->given, sizeof row->given);
    copy_conditions(&row->conditions, &plan->conditions);
    note_status(b, key, status);
}

/* A plan can fail before it has the place of its declaration: take it from the key. */
static void place_from_store(struct sequence_boot *b, const char *key, struct plan *plan)
{
    struct regkey_info info;
    if (!plan->source_file && regstore_key_info(b->store, key, &info) == W_SUCCESS && info.source_file) {
        plan->source_file = strdup(info.source_file);
        plan->source_line = info.source_line;
    }
}

/* The row that a condition's item means: a GUID or the name of a tracepoint means its provider's row, any other item
 * `own`. */
static struct result_row *sequence_row_of(const struct session *s, struct result_list *rows, struct result_row *own,
                                          const char *item)
{
    for (unsigned i = 0; i < STATE_ENABLES; i++) {
        const struct state_enable *e = &s->state->enable[i];
        char                       guid[GUID_TEXT_SIZE];
        if (*e->key && strcmp(item, guid_format(&e->guid, guid)) == 0) {
            struct result_row *row = result_find_key(rows, e->key);
            return row ? row : own;
        }
        for (unsigned k = 0; *e->key && k < s->state->tracepoint_count; k++)
            if (guid_equal(&e->guid, &s->state->tracepoint[k].guid) &&
                strcmp(item, s->state->tracepoint[k].name) == 0) {
                struct result_row *row = result_find_key(rows, e->key);
                return row ? row : own;
            }
    }
    return own;
}

/* A provider without any opened tracepoint has failed: the condition that was found becomes its Status. */
static void tracepoints_failed(struct sequence_boot *b, struct session *s)
{
    for (unsigned i = 0; i < s->conditions.count; i++) {
        const struct condition       *c   = &s->conditions.items[i];
        struct result_row            *row = sequence_row_of(s, b->rows, NULL, c->item);
        const struct tracepoint_wish *w   = NULL;
        for (unsigned k = 0; k < s->state->tracepoint_count; k++)
            if (strcmp(s->state->tracepoint[k].name, c->item) == 0)
                w = &s->state->tracepoint[k];
        if (!row || !w || w->opened || row->status || c->note)
            continue;
        row->status = c->number;
        snprintf(row->reason, sizeof row->reason, "%s. Do: %s", c->reason, c->advice);
        note_status(b, row->key, row->status);
    }
}

/* A created session does not start: sets the Status of its row, and removes the session. */
static void start_failed(struct sequence_boot *b, struct session *s, const struct reason *why)
{
    const char        *key = s->state->key;
    struct result_row *row = result_find_key(b->rows, key);
    if (row) {
        row->status = why->status;
        sequence_copy_text(row->reason, sizeof row->reason, why->text);
    }
    note_status(b, key, why->status);
    table_remove(b->table, s);
}

/* The row of a session that would start, but is off. With Status 0 (a used-up configuration) it shows as "off", like
 * Start 0. */
static void off_row(struct sequence_boot *b, struct plan *plan, const char *key)
{
    plan->start = b->off->status != W_SUCCESS;
    session_row(b, plan, key, b->off->status, b->off);
    struct result_row *row = result_find_key(b->rows, key);
    if (!row)
        return;
    sequence_copy_text(row->reason, sizeof row->reason, b->off->text);
    row->kept_off = plan->start;
}

/* later[]: the keys of the sessions after this one. */
static void boot_session(struct sequence_boot *b, const char *key, char *const *later, unsigned later_count)
{
    struct session_env *env    = b->table->env;
    struct plan_limits  limits = {
         .processors = env->cpus, .ram_bytes = env->os->ram_bytes(env->os), .log_dir = b->log_dir};
    struct plan     plan;
    struct session *s   = NULL;
    struct reason   why = {0};

    limits.memory_left = b->table->ceiling > b->table->memory_used ? b->table->ceiling - b->table->memory_used : 0;
    limits.memory_left = plan_memory_share(b->store, later, later_count, env->cpus, limits.memory_left);
    memset(&plan, 0, sizeof plan);
    wstatus st = plan_from_key(b->store, key, &limits, &plan, &why);
    place_from_store(b, key, &plan);
    plan.units = b->units;
    if (b->off && !st && plan.start) {
        off_row(b, &plan, key);
        plan_finish(&plan);
        return;
    }
    /* before the start: FileCounter advances even when there is no plan or the start then fails */
    wstatus counted = plan.start && plan.file_counter
                          ? journal_dword(b->journal, key, "FileCounter", plan.file_counter, st ? NULL : &why)
                          : W_SUCCESS;
    st              = st ? st : counted;
    if (!st && plan.start)
        st = table_add(b->table, &plan, &s, &why);
    session_row(b, &plan, key, st, &why);
    for (unsigned i = 0; !st && plan.start && i < plan.provider_count; i++)
        provider_row(b, &plan, &plan.providers[i], s);
    if (s && !(session_wants_kernel(s) && env->kernel_later) && (st = session_start(s, &why)))
        start_failed(b, s, &why);
    else if (s && !st)
        tracepoints_failed(b, s);
    plan_finish(&plan);
}

wstatus boot_kernel_start(struct session_table *table, struct session *s, struct klog *klog,
                          struct condition_list *found, struct result_list *rows, struct journal *journal,
                          struct reason *why)
{
    struct sequence_boot b  = {.table = table, .journal = journal, .rows = rows};
    wstatus              st = klog || !s->state->kernel ? session_kernel_start(s, klog, found, why) : why->status;
    if (st)
        start_failed(&b, s, why);
    else {
        tracepoints_failed(&b, s);
        boot_update(table, s, rows);
    }
    return st;
}

struct key_list {
    char   **items;
    unsigned count;
};

static wstatus sequence_key_add(void *ctx, const struct regkey_info *info)
{
    struct key_list *l     = ctx;
    char           **items = realloc(l->items, (l->count + 1) * sizeof *items);
    if (!items)
        return W_NOT_ENOUGH_MEMORY;
    l->items = items;
    if (asprintf(&items[l->count], "%s\\Autologger\\%s", WINPATH_WMI, info->name) < 0)
        return W_NOT_ENOUGH_MEMORY;
    l->count++;
    return W_SUCCESS;
}

static wstatus sequence_run(struct sequence_boot *b, struct reason *why)
{
    struct session_table *table = b->table;
    struct regstore      *store = b->store;
    struct result_list   *rows  = b->rows;
    struct boot_settings  settings;
    struct reason         refused;
    struct key_list       keys = {0};
    wstatus               st   = W_SUCCESS;

    /* mistakes in these settings do not prevent tracing: the defaults hold, and the first row says so */
    wstatus read = boot_settings_read(store, &settings, &refused);
    if (read)
        condition_add(&settings.conditions, read, false, "[Boot]", "", 0, wstatus_advice(read), "%s", refused.text);
    else {
        table->ceiling = table->env->os->ram_bytes(table->env->os) * settings.memory_percent / 100;
        table->most    = settings.sessions_most;
    }
    if (regstore_key_exists(store, WINPATH_WMI "\\Autologger"))
        st = regstore_enum_keys(store, WINPATH_WMI "\\Autologger", sequence_key_add, &keys); /* in name order */
    b->units = plan_units_wanted(store, keys.items, keys.count);
    if (regstore_key_exists(store, WINPATH_WMI "\\GlobalLogger"))
        boot_session(b, WINPATH_WMI "\\GlobalLogger", keys.items, keys.count);
    for (unsigned i = 0; i < keys.count; i++) {
        if (!st)
            boot_session(b, keys.items[i], keys.items + i + 1, keys.count - i - 1);
        free(keys.items[i]);
    }
    free(keys.items);
    if (rows->count)
        copy_conditions(&rows->rows[0].conditions, &settings.conditions);
    boot_settings_finish(&settings);
    if (st)
        return reason_set(why, st, "the declared sessions could not be listed");
    if (keys.count)
        journal_dword(b->journal, WINPATH_WMI "\\Autologger", "Status", 0, NULL);
    return W_SUCCESS;
}

wstatus boot_run(struct session_table *table, const char *log_dir, struct regstore *store, struct journal *journal,
                 struct result_list *rows, struct reason *why)
{
    struct sequence_boot b = {table, log_dir, store, journal, rows, NULL, false};
    return sequence_run(&b, why);
}

wstatus boot_off(struct session_table *table, const char *log_dir, struct regstore *store, struct journal *journal,
                 struct result_list *rows, const struct reason *off, struct reason *why)
{
    struct sequence_boot b = {table, log_dir, store, journal, rows, off, false};
    return sequence_run(&b, why);
}

/* ---- while and after ---- */

static void update_providers(struct session *s, struct result_list *rows)
{
    struct session_provider p;
    for (unsigned i = 0; session_provider(s, i, &p); i++) {
        struct result_row *row = result_find_key(rows, p.key);
        if (!row)
            continue;
        row->registrations       = p.registrations;
        row->tracepoints         = p.tracepoints;
        row->written             = p.events;
        row->refused_by_level    = p.refused.by_level;
        row->refused_by_keywords = p.refused.by_keywords;
        row->refused_by_filter   = p.refused.by_filter;
        row->refused_level       = p.refused.level;
        row->refused_keywords    = p.refused.keywords;
    }
}

/* Adds the conditions that the running session found, except those that the row already has for the same item. */
static void add_new_conditions(struct session *s, struct result_list *rows, struct result_row *own,
                               const struct condition_list *found)
{
    for (unsigned i = 0; i < found->count; i++) {
        const struct condition *c     = &found->items[i];
        struct result_row      *row   = sequence_row_of(s, rows, own, c->item);
        bool                    known = row->status != W_SUCCESS && row != own; /* it is the row's own Status */
        for (unsigned k = 0; k < row->conditions.count; k++)
            known |=
                row->conditions.items[k].number == c->number && strcmp(row->conditions.items[k].item, c->item) == 0;
        if (!known)
            condition_add(&row->conditions, c->number, c->note, c->item,
                          *c->source_file ? c->source_file : row->source_file,
                          c->source_line ? c->source_line : row->source_line, c->advice, "%s", c->reason);
    }
}

/* A kernel session that begins with the kernel's own trace buffer has a source named "kernel phase". */
static void phase_seen(void *ctx, const char *name, uint64_t attempted, uint64_t drained, uint64_t lost)
{
    struct result_list *rows = ctx;
    (void)attempted, (void)drained, (void)lost;
    if (strcmp(name, "kernel phase") == 0)
        rows->kernel_phase = true;
}

/* Notes a backup file that the session found under its Guid, and did not take over. */
static void note_kept(struct session *s)
{
    struct reason why;

    pthread_mutex_lock(&s->lock);
    why = s->realtime_kept;
    pthread_mutex_unlock(&s->lock);
    if (!why.status || s->realtime_kept_noted)
        return;
    s->realtime_kept_noted = true;
    condition_add(&s->conditions, why.status, true, "RtBackup", "", 0,
                  "as root, read the file with autologger dump, then remove it", "%s", why.text);
}

/* Notes dropped real-time buffers. */
static void note_realtime(struct session *s)
{
    struct reason why;

    pthread_mutex_lock(&s->lock);
    why = s->realtime_reason;
    pthread_mutex_unlock(&s->lock);
    if (!why.status || s->realtime_noted)
        return;
    s->realtime_noted = true;
    condition_add(
        &s->conditions, why.status, true, "RealTime", "", 0,
        "read the session while it runs (autologger watch), or raise MaxFileSize; how many buffers: autologger query",
        "real-time buffers were dropped: %s", why.text);
}

void boot_update(struct session_table *table, struct session *s, struct result_list *rows)
{
    struct result_row      *row = result_find_key(rows, s->state->key);
    struct ctl_session_info info;
    struct reason           why;

    (void)table;
    if (!row)
        return;
    session_info(s, &info);
    if (session_file_status(s, &why) != W_SUCCESS) {
        row->status = why.status;
        sequence_copy_text(row->reason, sizeof row->reason, why.text);
    }
    sequence_copy_text(row->log_path, sizeof row->log_path, session_log_path(s->state));
    row->stopped         = info.state == SESSION_STOPPED || info.state == SESSION_FAILED;
    row->file_created    = s->state->file_created != 0;
    row->written         = info.events_written;
    row->overwritten     = info.overwritten;
    row->attempted       = info.attempted_kernel;
    row->lost_ring       = info.lost_ring;
    row->lost_memory     = info.lost_memory;
    row->lost_conversion = info.lost_conversion;
    row->lost_file       = info.lost_file;
    row->withheld        = info.withheld;
    row->filtered        = info.filtered;
    row->peak_bytes      = info.peak_bytes;
    row->user_peak_bytes = s->state->user_peak_bytes;
    row->users_most      = s->state->users_most;
    row->bytes_written   = info.bytes_written;
    row->late_events     = info.late_events;
    row->clock_error_ns  = info.clock_error_ns;
    if (s->klog) {
        struct klog_counters k;
        klog_counters(s->klog, &k);
        row->converted = k.converted;
        klog_sources(s->klog, phase_seen, rows);
    }
    note_kept(s);
    note_realtime(s);
    session_drain_look(s);
    session_invariant_look(s);
    session_users_look(s);
    add_new_conditions(s, rows, row, &s->conditions);
    update_providers(s, rows);
}

static uint64_t buffers_for(uint64_t bytes, uint64_t buffer) { return (bytes + buffer - 1) / buffer; }

/* Users share the memory in equal parts, so each part must hold twice the largest burst of one user, for the next may
 * be larger; and each processor may hold a partly filled buffer. Lost events count as one burst of one user. Peaks are
 * those of a machine as busy as this one was: what is small is held whole, so that a busier one loses nothing either. */
static uint64_t programs_need(const struct result_row *row, uint64_t buffer, unsigned cpus)
{
    enum { HELD_WHOLE = 4 << 20 };
    const uint64_t event = row->written ? row->bytes_written / row->written + 1 : buffer / 8;
    const uint64_t burst = row->user_peak_bytes + row->lost_ring * event, users = row->users_most ? row->users_most : 1;
    const uint64_t parts = users * buffers_for(2 * burst, buffer), all = buffers_for(2 * row->peak_bytes, buffer);
    const uint64_t whole = (row->bytes_written + row->lost_ring * event) * 3 / 2,
                   least = whole <= HELD_WHOLE ? buffers_for(whole, buffer) : 0, most = parts > all ? parts : all;
    return (most > least ? most : least) + cpus;
}

/* Kernel records wait in memory of their own. After a loss their rate is known only from the number of lost records. */
static uint64_t kernel_needs(const struct result_row *row, uint64_t buffer, unsigned cpus)
{
    enum { LEAST_AFTER_LOSS = 8 << 20 /* a processor */ };
    const uint64_t most = row->peak_bytes * 3 / 2;
    if (!row->lost_memory)
        return buffers_for(most, buffer) + 1;
    const uint64_t more  = most + most / (row->written + 1) * row->lost_memory * 2,
                   least = (uint64_t)LEAST_AFTER_LOSS * cpus;
    return buffers_for(more > least ? more : least, buffer);
}

static void sequence_suggest(struct result_row *row, unsigned cpus)
{
    const uint64_t floor = 2 * cpus, buffer = row->given.buffer_kb * UINT64_C(1024); /* fewer buffers are never given */
    if (!buffer || !row->peak_bytes)
        return;
    uint64_t maximum = row->kernel ? kernel_needs(row, buffer, cpus) : programs_need(row, buffer, cpus);
    if (row->lost_ring + row->lost_memory && maximum < 2 * (uint64_t)row->given.maximum_buffers)
        maximum = 2 * (uint64_t)row->given.maximum_buffers;
    if (maximum < floor + 2)
        maximum = floor + 2;
    row->suggested_minimum = (uint32_t)floor;
    row->suggested_maximum = (uint32_t)(maximum < UINT16_MAX ? maximum : UINT16_MAX);
}

static void add_explanation(struct result_row *row, const struct condition *c)
{
    condition_add(&row->conditions, c->number, c->note, c->item, row->source_file, row->source_line, c->advice, "%s",
                  c->reason);
}

/* A condition already says why there are no units, or that a user may not register the provider. */
static bool sequence_explained(const struct result_row *p)
{
    for (unsigned i = 0; i < p->conditions.count; i++)
        if (p->conditions.items[i].number == W_ACCESS_DENIED && !p->registrations)
            return true;
        else if (p->conditions.items[i].number == W_NOT_SUPPORTED &&
                 strcmp(p->conditions.items[i].item, UNITS_ITEM) == 0)
            return true;
    return false;
}

static void explain(struct result_row *row, struct result_row *end)
{
    struct result_row *first = row + 1, *p = first; /* its providers come right after it */
    struct condition   c;

    for (; p < end && *p->provider; p++)
        if (!row->status && !sequence_explained(p) && explain_provider(p, &c))
            add_explanation(p, &c);
    if (explain_lost(row, &c))
        add_explanation(row, &c);
    if (explain_empty(row, first, (unsigned)(p - first), &c))
        add_explanation(row, &c);
}

void boot_conclude(struct result_list *rows, const char *key, unsigned cpus)
{
    struct result_row *row = result_find_key(rows, key);

    if (!row || row->concluded)
        return;
    struct result_row *end = rows->rows + rows->count;
    row->concluded         = true;
    sequence_suggest(row, cpus);
    explain(row, end);
}
