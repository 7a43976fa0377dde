/* result_view.c - see result_view.h. `Start` is checked before Status 0 counts as good: a session that was not asked to
 * start is "off", not "ok". */
#include "tools/view/result_view.h"
#include "registry-sim/base/visible_print.h"
#include "registry-sim/win32/filetime.h"
#include "tools/view/outcome_view.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static bool is_session(const struct result_row *r) { return r->provider[0] == 0; }

unsigned result_view_failed(const struct result_list *list)
{
    unsigned n = 0;
    for (unsigned i = 0; i < list->count; i++)
        n += result_level(&list->rows[i]) == RESULT_FAILED;
    return n;
}

unsigned result_view_undone(const struct result_list *list)
{
    unsigned n = 0;
    for (unsigned i = 0; i < list->count; i++)
        n += result_undone(&list->rows[i]);
    return n;
}

unsigned result_view_in_part(const struct result_list *list)
{
    unsigned n = 0;
    for (unsigned i = 0; i < list->count; i++)
        n += result_in_part(&list->rows[i]);
    return n;
}

const char *result_view_merged(const struct result_list *list)
{
    for (unsigned i = 0; i < list->count; i++)
        if (list->rows[i].merged_path[0])
            return list->rows[i].merged_path;
    return "";
}

/* Started, and not known to be stopped. */
static bool result_view_is_open(const struct result_row *r)
{
    return is_session(r) && r->start && !r->status && !r->concluded;
}

/* Where events can get lost, and what helps. */
static const struct loss {
    size_t      offset; /* of its count in a row */
    const char *where, *advice;
    bool        explained; /* usually by a condition: explain_lost() */
} losses[] = {
    {offsetof(struct result_row, lost_ring), "before the logger came to read them",
     "record fewer kinds of events at once", true},
    {offsetof(struct result_row, lost_memory), "at the memory bound", "raise MaximumBuffers", true},
    {offsetof(struct result_row, lost_conversion), "in the conversion of kernel records",
     "keep the store and the log, this is a mistake of autologger", false},
    {offsetof(struct result_row, lost_file), "on the way to the file", "free some space, or raise MaxFileSize", false},
    {offsetof(struct result_row, withheld), "withheld: this kernel keeps the events of some tasks from every tracer",
     NULL, false},
};

static uint64_t loss_of(const struct result_row *r, const struct loss *loss)
{
    uint64_t n;
    memcpy(&n, (const char *)r + loss->offset, sizeof n);
    return n;
}

/* True: a condition of the row has the advice. */
static bool advised(const struct result_row *r)
{
    bool yes = false;
    for (unsigned i = 0; i < r->conditions.count; i++)
        yes |= r->conditions.items[i].number == W_NOT_ENOUGH_MEMORY && !r->conditions.items[i].note;
    return yes;
}

/* A session that failed while it ran has numbers too. */
static bool has_numbers(const struct result_row *r) { return r->start && (!r->status || r->stopped); }

static void numbers_line(struct text_table *t, const struct result_row *r)
{
    if (!has_numbers(r))
        return;
    bool differ = r->asked.buffer_kb != r->given.buffer_kb || r->asked.minimum_buffers != r->given.minimum_buffers ||
                  r->asked.maximum_buffers != r->given.maximum_buffers;
    if (differ)
        text_table_line(t, "    buffers: asked %u KB x %u..%u, given %u KB x %u..%u", r->asked.buffer_kb,
                        r->asked.minimum_buffers, r->asked.maximum_buffers, r->given.buffer_kb,
                        r->given.minimum_buffers, r->given.maximum_buffers);
    else if (r->given.buffer_kb)
        text_table_line(t, "    buffers: %u KB x %u..%u", r->given.buffer_kb, r->given.minimum_buffers,
                        r->given.maximum_buffers);
    if (r->peak_bytes && r->suggested_minimum)
        text_table_line(t, "    most memory in use: %" PRIu64 " KB; suggested: MinimumBuffers %u, MaximumBuffers %u",
                        (r->peak_bytes + 1023) / 1024, r->suggested_minimum, r->suggested_maximum);
    if (r->overwritten)
        text_table_line(t, OVERWRITTEN_TEXT, r->overwritten, r->written);
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++)
        if (loss_of(r, &losses[i])) {
            const char *advice = losses[i].explained && advised(r) ? NULL : losses[i].advice;
            text_table_line(t, "    lost: %" PRIu64 " %s%s%s", loss_of(r, &losses[i]), losses[i].where,
                            advice ? ". Do: " : "", advice ? advice : "");
        }
    const char *file = r->merged_path[0] ? r->merged_path : r->file_created ? r->log_path : "";
    if (*file)
        text_table_line(t, "    file: %s%s", file, access(file, F_OK) == 0 ? "" : " (not there any more)");
    else if (r->stopped && r->log_path[0])
        text_table_line(t, "    file: none was made");
}

static struct outcome outcome_of(const struct result_row *r)
{
    return (struct outcome){result_row_word(r), r->status, r->reason, &r->conditions, r->source_file, r->source_line};
}

enum { SESSION_WIDTH = 16, PROVIDER_WIDTH = 18, NARROW = 80, CELL_SIZE = 300 };

static void open_line(struct text_table *t, const struct result_row *r, const struct result_view *how)
{
    if (live_losses_has(how->live, r))
        text_table_line(
            t,
            "    it runs: losses are those of now, the other numbers those of the last save. Now: autologger sessions");
    else if (how->alive)
        text_table_line(t, "    it runs: the numbers are those of the last save. Now: autologger sessions");
    else
        text_table_line(
            t,
            "    it was never stopped: the machine or the daemon ended before it. What had reached the disk by then is in the file; what "
            "was held in memory is lost. Do: autologger dump shows what there is");
}

static void result_view_row_print(struct text_table *t, const struct result_row *r, const struct result_view *how)
{
    const bool     wide = how->wide;
    char           status[OUTCOME_STATUS_SIZE], events[24] = "", lost[24] = "", buffers[32] = "";
    char           session[CELL_SIZE], provider[CELL_SIZE];
    struct outcome o   = outcome_of(r);
    const char    *who = is_session(r) ? (r->kernel ? "(kernel session)" : "(session)")
                         : r->name[0]  ? r->name
                                       : r->provider;
    if (has_numbers(r))
        snprintf(events, sizeof events, "%" PRIu64, r->written);
    if (has_numbers(r) && is_session(r)) {
        snprintf(lost, sizeof lost, "%" PRIu64, result_lost(r));
        if (r->given.buffer_kb)
            snprintf(buffers, sizeof buffers, "%" PRIu64 "/%u",
                     (r->peak_bytes + r->given.buffer_kb * UINT64_C(1024) - 1) / (r->given.buffer_kb * UINT64_C(1024)),
                     r->given.maximum_buffers);
    }
    snprintf(status, sizeof status, "%u", r->status);
    text_table_row(t, wide ? r->session : text_table_cut(r->session, SESSION_WIDTH, session, sizeof session),
                   wide ? who : text_table_cut(who, PROVIDER_WIDTH, provider, sizeof provider), events, lost, buffers,
                   wide ? outcome_status(r->status, status) : status,
                   !result_view_is_open(r) ? o.result
                   : how->alive            ? "running"
                                           : "cut off");
    if (result_view_is_open(r))
        open_line(t, r, how);
    if (wide)
        outcome_lines(&o, t);
    else
        outcome_lines_named(&o, t);
    if (is_session(r))
        numbers_line(t, r);
}

/* A line of facts with "; " between them, broken between two facts where it would become too wide. */
struct fact_line {
    FILE       *to;
    const char *title;
    bool        wide;   /* not broken */
    size_t      column; /* 0: no fact yet */
};

__attribute__((format(printf, 2, 3))) static void fact(struct fact_line *l, const char *format, ...)
{
    char    text[160];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t length = n < 0 ? 0 : strlen(text);
    if (!l->column)
        l->column = (size_t)visible_printf(l->to, "%s", l->title);
    else if (l->wide || l->column + 2 + length < NARROW)
        l->column += (size_t)fprintf(l->to, "; ");
    else
        l->column = (size_t)visible_printf(l->to, ";\n%*s", (int)strlen(l->title), "") - 2;
    visible_puts(l->to, text);
    l->column += length;
}

/* Times of a boot count from the kernel's begin; those of a rehearsal, which is independent of the machine's boot, from
 * the start of its sessions. */
static void first_print(struct fact_line *l, const struct result_list *list, const char *what, uint64_t ns)
{
    const uint64_t zero = list->rehearsal ? list->start_ns : 0;
    if (ns)
        fact(l, list->rehearsal ? "first %s %.1f ms after the start" : "first %s at %.1f ms", what,
             (double)(ns > zero ? ns - zero : 0) / 1e6);
}

/* The cost of the tracing itself, as far as it is known. */
static void cost_print(const struct result_list *list, bool wide, FILE *to)
{
    uint64_t         peak = 0, error = 0;
    struct fact_line l = {to, "cost: ", wide, 0};
    for (unsigned i = 0; i < list->count; i++) {
        peak += list->rows[i].peak_bytes;
        error = list->rows[i].clock_error_ns > error ? list->rows[i].clock_error_ns : error;
    }
    if (list->early_ns && list->armed_ns > list->early_ns)
        fact(&l, "all armed %.1f ms after the early program began", (double)(list->armed_ns - list->early_ns) / 1e6);
    if (list->held_ns)
        fact(&l, "boot held up %.1f ms", (double)list->held_ns / 1e6);
    first_print(&l, list, "kernel event", list->first_kernel_ns);
    first_print(&l, list, "event of a program", list->first_user_ns);
    if (peak)
        fact(&l, "at most %" PRIu64 " KB held in memory", (peak + 1023) / 1024);
    if (error)
        fact(&l, "clocks of kernel and programs agree to %" PRIu64 " ns", error);
    if (l.column)
        fputc('\n', to);
}

static void head_print(const struct result_list *list, FILE *to)
{
    char when[FILETIME_TEXT_SIZE];
    visible_printf(to, "%s", list->rehearsal ? "Rehearsal" : "Boot");
    if (list->number)
        fprintf(to, " %u", list->number);
    visible_printf(to, " of %.19sZ, boot %s\n", filetime_format(list->time, when),
                   list->boot_id[0] ? list->boot_id : "(no id)");
    if (list->boot_done_ms)
        visible_printf(to, "default target after %.1f s, boot done after %.1f s%s%s\n", (double)list->target_ms / 1e3,
                       (double)list->boot_done_ms / 1e3, *list->stop_reason ? "; stopped: " : "", list->stop_reason);
    else if (*list->stop_reason)
        visible_printf(to, "stopped: %s\n", list->stop_reason);
    fputc('\n', to);
}

void result_view_print(const struct result_list *list, const struct result_view *how, FILE *to)
{
    static const char *const titles[] = {"SESSION", "PROVIDER", "EVENTS", "LOST", "PEAK/MAX", "STATUS", "RESULT", NULL};
    struct text_table        t;
    unsigned undone = result_view_undone(list), in_part = result_view_in_part(list), levels[RESULT_LEVELS] = {0};
    text_table_init(&t, titles);
    t.right = how->wide ? 1u << 2 | 1u << 3 | 1u << 4 : 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5;
    t.width = how->wide ? 0 : NARROW;
    for (unsigned i = 0; i < list->count; i++) {
        levels[result_level(&list->rows[i])]++;
        if (!how->failed_only || result_undone(&list->rows[i]))
            result_view_row_print(&t, &list->rows[i], how);
    }
    head_print(list, to);
    text_table_print(&t, to);
    fputc('\n', to);
    cost_print(list, how->wide, to);
    fprintf(to, "%u ok, %u with a note, %u failed", levels[RESULT_OK], levels[RESULT_NOTE] - in_part,
            levels[RESULT_FAILED]);
    if (in_part)
        fprintf(to, ", %u done in part", in_part);
    if (levels[RESULT_OFF])
        fprintf(to, ", %u off", levels[RESULT_OFF]);
    fputs(undone ? "\n" : !list->count ? ": nothing was declared\n" : ": everything that was asked for was done\n", to);
    text_table_finish(&t);
}

static void result_view_row_json(const struct result_row *r, struct json *j)
{
    struct outcome o = outcome_of(r);
    json_text(j, "key", r->key);
    json_flag(j, is_session(r) ? "start" : "enabled", r->start);
    outcome_json(&o, j);
}

static void provider_json(const struct result_row *r, struct json *j)
{
    json_object(j, NULL);
    json_text(j, "guid", r->provider);
    json_text(j, "name", r->name);
    result_view_row_json(r, j);
    json_number(j, "registrations", r->registrations);
    if (r->tracepoint)
        json_number(j, "tracepoints", r->tracepoints);
    json_number(j, "written", r->written);
    json_number(j, "level", r->level);
    json_number(j, "match_any", r->match_any);
    json_number(j, "match_all", r->match_all);
    json_flag(j, "refused_by_level", r->refused_by_level);
    json_number(j, "refused_level", r->refused_level);
    json_flag(j, "refused_by_keywords", r->refused_by_keywords);
    json_number(j, "refused_keywords", r->refused_keywords);
    json_flag(j, "refused_by_filter", r->refused_by_filter);
    json_object_end(j);
}

void result_view_buffers_json(struct json *j, const char *name, uint32_t buffer_kb, uint32_t minimum, uint32_t maximum)
{
    json_object(j, name);
    json_number(j, "buffer_kb", buffer_kb);
    json_number(j, "minimum_buffers", minimum);
    json_number(j, "maximum_buffers", maximum);
    json_object_end(j);
}

static void session_numbers_json(const struct result_row *r, struct json *j)
{
    json_flag(j, "kernel", r->kernel);
    result_view_buffers_json(j, "asked", r->asked.buffer_kb, r->asked.minimum_buffers, r->asked.maximum_buffers);
    result_view_buffers_json(j, "given", r->given.buffer_kb, r->given.minimum_buffers, r->given.maximum_buffers);
    json_text(j, "log_path", r->log_path);
    json_text(j, "merged_path", r->merged_path);
    json_flag(j, "stopped", r->stopped);
    json_flag(j, "concluded", r->concluded);
    json_number(j, "attempted", r->attempted);
    json_number(j, "converted", r->converted);
    json_number(j, "written", r->written);
    json_number(j, "overwritten", r->overwritten);
    json_object(j, "lost");
    json_number(j, "total", result_lost(r));
    json_number(j, "ring", r->lost_ring);
    json_number(j, "memory", r->lost_memory);
    json_number(j, "conversion", r->lost_conversion);
    json_number(j, "file", r->lost_file);
    json_number(j, "withheld", r->withheld);
    json_object_end(j);
    json_number(j, "filtered", r->filtered);
    json_number(j, "peak_bytes", r->peak_bytes);
    json_number(j, "suggested_minimum", r->suggested_minimum);
    json_number(j, "suggested_maximum", r->suggested_maximum);
    json_number(j, "late_events", r->late_events);
    json_number(j, "clock_error_ns", r->clock_error_ns);
}

void result_view_json(const struct result_list *list, const struct live_user_losses *live, struct json *j)
{
    char when[FILETIME_TEXT_SIZE];
    json_text(j, "boot_id", list->boot_id);
    json_text(j, "time", filetime_format(list->time, when));
    json_flag(j, "rehearsal", list->rehearsal);
    json_number(j, "number", list->number);
    json_number(j, "early_ns", list->early_ns);
    json_number(j, "held_ns", list->held_ns);
    json_number(j, "ready_ns", list->ready_ns);
    json_number(j, "armed_ns", list->armed_ns);
    json_number(j, "first_kernel_ns", list->first_kernel_ns);
    json_number(j, "first_user_ns", list->first_user_ns);
    json_number(j, "target_ms", list->target_ms);
    json_number(j, "boot_done_ms", list->boot_done_ms);
    json_text(j, "stop_reason", list->stop_reason);
    json_flag(j, "kernel_phase", list->kernel_phase);
    json_text(j, "merged", result_view_merged(list));
    json_number(j, "failed", result_view_failed(list));
    json_number(j, "in_part", result_view_in_part(list));
    json_number(j, "kept_off", result_view_undone(list) - result_view_failed(list) - result_view_in_part(list));
    json_array(j, "sessions");
    for (unsigned i = 0; i < list->count; i++) {
        const struct result_row *r = &list->rows[i];
        if (!is_session(r))
            continue;
        json_object(j, NULL);
        json_text(j, "name", r->session);
        result_view_row_json(r, j);
        session_numbers_json(r, j);
        live_losses_json(live, r, j);
        json_array(j, "providers");
        for (unsigned k = 0; k < list->count; k++)
            if (!is_session(&list->rows[k]) && !strcmp(list->rows[k].session, r->session))
                provider_json(&list->rows[k], j);
        json_array_end(j);
        json_object_end(j);
    }
    json_array_end(j);
}
