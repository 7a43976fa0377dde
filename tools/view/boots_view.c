/* boots_view.c - see boots_view.h. */
#include "tools/view/boots_view.h"

#include "autologger/boot/phases.h"
#include "registry-sim/base/visible_print.h"
#include "registry-sim/win32/filetime.h"
#include "registry-sim/win32/utf16.h"
#include "tools/base/text_table.h"
#include "tools/view/result_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 48, NAME = 24 };

/* "12.3", or "-" when it is not known. */
static const char *boots_view_seconds(uint64_t ms, char out[CELL])
{
    if (ms)
        snprintf(out, CELL, "%" PRIu64 ".%" PRIu64, ms / 1000, ms % 1000 / 100);
    else
        snprintf(out, CELL, "-");
    return out;
}

static const char *milliseconds(uint64_t ns, char out[CELL])
{
    if (ns)
        snprintf(out, CELL, "%.1f", (double)ns / 1e6);
    else
        snprintf(out, CELL, "-");
    return out;
}

static const char *boots_view_number(uint64_t n, char out[CELL])
{
    snprintf(out, CELL, "%" PRIu64, n);
    return out;
}

/* ---- medians ---- */

static int boots_view_compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t boots_view_median(uint64_t *values, unsigned count)
{
    qsort(values, count, sizeof *values, boots_view_compare);
    return !count ? 0 : count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static unsigned boots_view_shown(const struct history *h, unsigned most)
{
    return most && most < h->count ? most : h->count;
}

struct boots_median boots_median(const struct history *h, unsigned most)
{
    struct boots_median m     = {0};
    unsigned            count = boots_view_shown(h, most);
    uint64_t           *v     = calloc(5 * (size_t)count + 1, sizeof *v);
    uint64_t *target = v, *done = v + count, *written = done + count, *lost = written + count, *peak = lost + count;
    bool      real = false;
    if (!v)
        return m;
    for (unsigned i = 0; i < count; i++)
        real |= !h->boots[i].list.rehearsal && h->boots[i].sessions;
    for (unsigned i = 0; i < count; i++) {
        const struct history_boot *b = &h->boots[i];
        if ((real && b->list.rehearsal) || !b->sessions)
            continue;
        written[m.boots] = b->written;
        lost[m.boots]    = b->lost;
        peak[m.boots++]  = b->peak_bytes;
        if (b->list.boot_done_ms) {
            target[m.timed] = b->list.target_ms;
            done[m.timed++] = b->list.boot_done_ms;
        }
    }
    m.target_ms    = boots_view_median(target, m.timed);
    m.boot_done_ms = boots_view_median(done, m.timed);
    m.written      = boots_view_median(written, m.boots);
    m.lost         = boots_view_median(lost, m.boots);
    m.peak_bytes   = boots_view_median(peak, m.boots);
    free(v);
    return m;
}

/* ---- the list ---- */

static const char *boot_word(const struct history_boot *b)
{
    return b->failed ? "failed" : !b->sessions ? "off" : !b->finished ? "unfinished" : b->notes ? "note" : "ok";
}

void boots_list_print(const struct history *h, unsigned most, FILE *to)
{
    static const char *const titles[] = {"BOOT", "WHEN",      "WHAT",   "RESULT", "EVENTS",
                                         "LOST", "MEMORY KB", "DONE s", NULL};
    struct boots_median      m        = boots_median(h, most);
    struct text_table        t;
    char                     a[CELL], b[CELL], c[CELL], d[CELL];
    text_table_init(&t, titles);
    t.right = 1u << 0 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 7;
    for (unsigned i = 0; i < boots_view_shown(h, most); i++) {
        const struct history_boot *boot = &h->boots[i];
        char                       when[FILETIME_TEXT_SIZE], name[CELL];
        snprintf(name, sizeof name, "%u", boot->list.number);
        filetime_format(boot->list.time, when);
        when[16] = 0; /* to the minute */
        text_table_row(&t, name, when,
                       boot->list.rehearsal ? "rehearsal"
                       : boot->baseline     ? "baseline"
                                            : "boot",
                       boot_word(boot), boots_view_number(boot->written, a), boots_view_number(boot->lost, b),
                       boots_view_number((boot->peak_bytes + 1023) / 1024, c),
                       boots_view_seconds(boot->list.boot_done_ms, d));
        if (boot->list.rehearsal && boot->baseline)
            text_table_line(&t, "    a baseline");
    }
    text_table_print(&t, to);
    text_table_finish(&t);
    fprintf(to, "\nmedian of %u: %" PRIu64 " events, %" PRIu64 " lost, %" PRIu64 " KB", m.boots, m.written, m.lost,
            (m.peak_bytes + 1023) / 1024);
    if (m.timed)
        visible_printf(to, "; default target after %s s, boot done after %s s (%u boot%s)",
                       boots_view_seconds(m.target_ms, a), boots_view_seconds(m.boot_done_ms, b), m.timed,
                       m.timed == 1 ? "" : "s");
    fputc('\n', to);
}

static void times_json(const struct result_list *l, struct json *j)
{
    char when[FILETIME_TEXT_SIZE];
    json_number(j, "number", l->number);
    json_text(j, "boot_id", l->boot_id);
    json_text(j, "time", filetime_format(l->time, when));
    json_flag(j, "rehearsal", l->rehearsal);
    json_number(j, "early_ns", l->early_ns);
    json_number(j, "held_ns", l->held_ns);
    json_number(j, "ready_ns", l->ready_ns);
    json_number(j, "armed_ns", l->armed_ns);
    json_number(j, "target_ms", l->target_ms);
    json_number(j, "boot_done_ms", l->boot_done_ms);
    json_text(j, "stop_reason", l->stop_reason);
    boots_phases_json(l, j);
}

void boots_one_json(const struct result_list *boot, struct json *j) { times_json(boot, j); }

void boots_list_json(const struct history *h, unsigned most, struct json *j)
{
    struct boots_median m = boots_median(h, most);
    json_array(j, "boots");
    for (unsigned i = 0; i < boots_view_shown(h, most); i++) {
        const struct history_boot *b = &h->boots[i];
        json_object(j, NULL);
        times_json(&b->list, j);
        json_text(j, "result", boot_word(b));
        json_flag(j, "baseline", b->baseline);
        json_flag(j, "finished", b->finished);
        json_number(j, "sessions", b->sessions);
        json_number(j, "failed", b->failed);
        json_number(j, "notes", b->notes);
        json_number(j, "kept_off", b->kept_off);
        json_number(j, "written", b->written);
        json_number(j, "lost", b->lost);
        json_number(j, "peak_bytes", b->peak_bytes);
        json_array(j, "files");
        for (unsigned k = 0; k < b->file_count; k++)
            json_text(j, NULL, b->files[k]);
        json_array_end(j);
        json_object_end(j);
    }
    json_array_end(j);
    json_object(j, "median");
    json_number(j, "boots", m.boots);
    json_number(j, "timed", m.timed);
    json_number(j, "target_ms", m.target_ms);
    json_number(j, "boot_done_ms", m.boot_done_ms);
    json_number(j, "written", m.written);
    json_number(j, "lost", m.lost);
    json_number(j, "peak_bytes", m.peak_bytes);
    json_object_end(j);
}

/* ---- one, by its phases ---- */

void boots_phases_print(const struct result_list *boot, FILE *to)
{
    static const char *const titles[] = {"PHASE", "START s", "LENGTH s", "EVENTS", NULL};
    struct text_table        t;
    char                     when[FILETIME_TEXT_SIZE], start[CELL], length[CELL], events[CELL];
    visible_printf(to, "%s %u of %.19sZ; times since the kernel began, \"-\" is not known\n\n",
                   boot->rehearsal ? "Rehearsal" : "Boot", boot->number, filetime_format(boot->time, when));
    text_table_init(&t, titles);
    t.right = 1u << 1 | 1u << 2 | 1u << 3;
    for (enum result_phase i = 0; i < RESULT_PHASES; i++) {
        const struct phase_span s = phase_span(boot, i);
        snprintf(start, sizeof start, s.begins ? "%.3f" : "-", (double)s.start_ns / 1e9);
        snprintf(length, sizeof length, s.lasts ? "%.3f" : "-", (double)s.length_ns / 1e9);
        text_table_row(&t, s.name, start, length, s.counted ? boots_view_number(s.events, events) : "-");
    }
    text_table_print(&t, to);
    text_table_finish(&t);
    if (!boot->phases.machine_asked)
        fputs("\nfirmware, boot loader: not in the trace (no kernel session said it when it stopped)\n", to);
    else if (!boot->phases.firmware_ns || !boot->phases.loader_ns)
        visible_printf(to, "\n%s: not told by this machine\n",
                       boot->phases.firmware_ns ? "boot loader"
                       : boot->phases.loader_ns ? "firmware"
                                                : "firmware, boot loader");
}

static void known_json(struct json *j, const char *name, bool known, uint64_t value)
{
    if (known)
        json_number(j, name, value);
    else
        json_text(j, name, NULL);
}

void boots_phases_json(const struct result_list *boot, struct json *j)
{
    json_array(j, "phases");
    for (enum result_phase i = 0; i < RESULT_PHASES; i++) {
        const struct phase_span s = phase_span(boot, i);
        json_object(j, NULL);
        json_text(j, "name", s.name);
        known_json(j, "start_ns", s.begins, s.start_ns);
        known_json(j, "length_ns", s.lasts, s.length_ns);
        known_json(j, "events", s.counted, s.events);
        json_object_end(j);
    }
    json_array_end(j);
}

/* ---- two side by side ---- */

static const struct result_row *row_by_key(const struct result_list *l, const char *key)
{
    for (unsigned i = 0; i < l->count; i++)
        if (name_compare(l->rows[i].key, key) == 0)
            return &l->rows[i];
    return NULL;
}

/* Calls fn for every declaration of either: those of `a` in its order, then those that only `b` has. */
typedef void (*pair_fn)(void *ctx, const struct result_row *a, const struct result_row *b);
static void each_pair(const struct result_list *a, const struct result_list *b, pair_fn fn, void *ctx)
{
    for (unsigned i = 0; i < a->count; i++)
        fn(ctx, &a->rows[i], row_by_key(b, a->rows[i].key));
    for (unsigned i = 0; i < b->count; i++)
        if (!row_by_key(a, b->rows[i].key))
            fn(ctx, NULL, &b->rows[i]);
}

/* "0 ok", "87 failed", "-" where the boot did not have it. */
static const char *status_cell(const struct result_row *r, char out[CELL])
{
    if (r)
        snprintf(out, CELL, "%u %s", r->status, result_level_name(result_level(r)));
    else
        snprintf(out, CELL, "-");
    return out;
}

static const char *events_cell(const struct result_row *r, char out[CELL])
{
    uint64_t lost = r && !*r->provider ? result_lost(r) : 0;
    if (!r)
        snprintf(out, CELL, "-");
    else if (lost)
        snprintf(out, CELL, "%" PRIu64 " -%" PRIu64, r->written, lost);
    else
        snprintf(out, CELL, "%" PRIu64, r->written);
    return out;
}

static void pair_row(void *ctx, const struct result_row *a, const struct result_row *b)
{
    const struct result_row *r = a ? a : b;
    char                     name[300], cut[CELL], sa[CELL], sb[CELL], ea[CELL], eb[CELL];
    if (*r->provider)
        snprintf(name, sizeof name, "  %s", *r->name ? r->name : r->provider);
    else
        snprintf(name, sizeof name, "%s", r->session);
    text_table_row(ctx, text_table_cut(name, NAME, cut, sizeof cut), status_cell(a, sa), status_cell(b, sb),
                   events_cell(a, ea), events_cell(b, eb));
}

static uint64_t peak_of(const struct result_list *l)
{
    uint64_t peak = 0;
    for (unsigned i = 0; i < l->count; i++)
        peak += l->rows[i].peak_bytes;
    return peak;
}

static void whole_print(const struct result_list *a, const struct result_list *b, FILE *to)
{
    const struct {
        const char *what;
        uint64_t    a, b;
        const char *(*text)(uint64_t, char[CELL]);
    } rows[] = {
        {"early program began, ms", a->early_ns, b->early_ns, milliseconds},
        {"boot held up, ms", a->held_ns, b->held_ns, milliseconds},
        {"programs could connect, ms", a->ready_ns, b->ready_ns, milliseconds},
        {"all armed, ms", a->armed_ns, b->armed_ns, milliseconds},
        {"default target, s", a->target_ms, b->target_ms, boots_view_seconds},
        {"boot done, s", a->boot_done_ms, b->boot_done_ms, boots_view_seconds},
        {"most memory, KB", (peak_of(a) + 1023) / 1024, (peak_of(b) + 1023) / 1024, boots_view_number},
    };
    char              ta[CELL], tb[CELL], ca[CELL], cb[CELL];
    const char *const titles[] = {"", ta, tb, NULL};
    struct text_table t;
    snprintf(ta, sizeof ta, "BOOT %u", a->number);
    snprintf(tb, sizeof tb, "BOOT %u", b->number);
    text_table_init(&t, titles);
    t.right = 1u << 1 | 1u << 2;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].a || rows[i].b)
            text_table_row(&t, rows[i].what, rows[i].text(rows[i].a, ca), rows[i].text(rows[i].b, cb));
    text_table_print(&t, to);
    text_table_finish(&t);
}

void boots_pair_print(const struct result_list *a, const struct result_list *b, FILE *to)
{
    char              sa[CELL], sb[CELL], ea[CELL], eb[CELL];
    const char *const titles[] = {"SESSION", sa, sb, ea, eb, NULL};
    struct text_table t;
    snprintf(sa, sizeof sa, "STATUS %u", a->number);
    snprintf(sb, sizeof sb, "STATUS %u", b->number);
    snprintf(ea, sizeof ea, "EVENTS %u", a->number);
    snprintf(eb, sizeof eb, "EVENTS %u", b->number);
    whole_print(a, b, to);
    fputc('\n', to);
    text_table_init(&t, titles);
    t.right = 1u << 3 | 1u << 4;
    each_pair(a, b, pair_row, &t);
    text_table_print(&t, to);
    text_table_finish(&t);
    fputs("\nEVENTS: in the file; behind a minus, lost. What a row says: autologger status --boot N\n", to);
}

static void side_json(struct json *j, const char *name, const struct result_row *r)
{
    if (!r) {
        json_text(j, name, NULL);
        return;
    }
    json_object(j, name);
    json_number(j, "status", r->status);
    json_text(j, "result", result_level_name(result_level(r)));
    json_number(j, "written", r->written);
    json_number(j, "overwritten", r->overwritten);
    json_number(j, "lost", *r->provider ? 0 : result_lost(r));
    json_number(j, "peak_bytes", r->peak_bytes);
    json_object_end(j);
}

static void pair_json(void *ctx, const struct result_row *a, const struct result_row *b)
{
    const struct result_row *r = a ? a : b;
    struct json             *j = ctx;
    json_object(j, NULL);
    json_text(j, "key", r->key);
    json_text(j, "session", r->session);
    json_text(j, "provider", *r->name ? r->name : r->provider);
    side_json(j, "a", a);
    side_json(j, "b", b);
    json_object_end(j);
}

void boots_pair_json(const struct result_list *a, const struct result_list *b, struct json *j)
{
    const struct {
        const char               *name;
        const struct result_list *list;
    } sides[] = {{"a", a}, {"b", b}};
    for (size_t i = 0; i < 2; i++) {
        json_object(j, sides[i].name);
        times_json(sides[i].list, j);
        json_number(j, "peak_bytes", peak_of(sides[i].list));
        json_object_end(j);
    }
    json_array(j, "rows");
    each_pair(a, b, pair_json, j);
    json_array_end(j);
}
