/* summary_view.c - see summary_view.h. */
#include "tools/files/describe.h"
#include "tools/files/summary_view.h"
#include "autologger/consumer/summary.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/json_out.h"
#include "tools/base/progress.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/files/mapped.h"
#include "tools/view/provenance_view.h"
#include "tools/view/quality_view.h"
#include "tools/view/unit_view.h"

#include <inttypes.h>
#include <stdlib.h>

enum { DAMAGE_SHOWN = 10, FRAMES_MAX = 1024 };

bool damage_print(const char *verb, const char *path, const struct etl_reader *reader)
{
    unsigned                 count  = 0;
    const struct etl_damage *damage = etl_reader_damage(reader, &count);
    fflush(stdout);
    for (unsigned i = 0; i < count && i < DAMAGE_SHOWN; i++)
        visible_printf(stderr, "%s: %s: offset %" PRIu64 ": %s\n", verb, path, damage[i].offset, damage[i].text);
    if (count)
        visible_printf(
            stderr,
            "%s: %s is damaged in %u place%s; what lies between was read. Do: copy the file again from where it was "
            "written\n",
            verb, path, count, plural(count));
    return count != 0;
}

void lacks_print(const char *verb, const char *path, uint64_t events, uint64_t buffers, const char *analyse)
{
    if (!events && !buffers)
        return;
    fflush(stdout);
    visible_printf(stderr,
                   "%s: %s lacks %" PRIu64 " event%s and %" PRIu64
                   " buffer%s that were lost when it was recorded. Do: autologger analyse losses %s\n",
                   verb, path, events, plural(events), buffers, plural(buffers), analyse);
}

bool losses_banner(const char *verb, const char *path, const struct etl_reader *reader)
{
    const struct etl_file_header *h = etl_reader_header(reader);
    lacks_print(verb, path, h->raw.events_lost, h->raw.buffers_lost, path);
    return h->raw.events_lost || h->raw.buffers_lost;
}

struct watcher {
    struct symbols        *symbols;
    struct frame_name     *frames; /* NULL: names are not asked for */
    struct unit_table      units;
    struct provenance      provenance;
    const struct unit_row *rows; /* set after the last event */
    unsigned               row_count;
};

static void summary_view_see(void *ctx, const struct etl_event *e, const struct decoded *names)
{
    struct watcher *w = ctx;
    unit_table_see(&w->units, e, names);
    provenance_see(&w->provenance, e);
    if (w->frames) {
        struct frame_namer namer = symbols_namer(w->symbols);
        namer.stack(namer.ctx, e, w->frames, FRAMES_MAX);
    } else {
        symbols_judge(w->symbols, e);
    }
}

static void members(void *ctx, struct yajl_gen_t *within)
{
    struct watcher       *w = ctx;
    struct json          *j = json_within(within);
    struct symbols_counts n;
    if (j && symbols_counts(w->symbols, &n))
        quality_json(&n, w->frames != NULL, j);
    if (j && w->provenance.sessions)
        provenance_view_json(&w->provenance, j);
    if (j)
        unit_view_json(w->rows, w->row_count, j);
    json_destroy(j);
}

static wstatus watcher_open(struct watcher *w, const char *path, const struct summary_view *how, struct reason *why)
{
    wstatus st = symbols_open(
        path, &(struct symbols_options){.folders = how->folders, .folder_count = how->folder_count}, &w->symbols, why);
    if (!st && how->symbols && !(w->frames = malloc(FRAMES_MAX * sizeof *w->frames)))
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for frames");
    return st;
}

int summary_view_file(const char *verb, const char *path, const struct summary_view *how)
{
    struct etl_reader  *reader  = NULL;
    struct summary     *summary = NULL;
    struct reason       why     = {0};
    struct watcher      w       = {0};
    struct describe     d       = {.traces = &path, .trace_count = 1};
    struct progress     bar     = progress_start("reading");
    struct summary_more more    = {
           .see = summary_view_see, .json = members, .ctx = &w, .progress = progress_tell, .progress_ctx = &bar};
    int     code = VERB_FINE;
    wstatus st   = etl_reader_open(path, &reader, &why);
    if (!st)
        st = watcher_open(&w, path, how, &why);
    if (!st && !describe_open(&d, verb, &code)) {
        symbols_close(w.symbols);
        etl_reader_close(reader);
        return code;
    }
    more.schemas = d.set;
    if (!st)
        mapped_reader(verb, path, reader);
    if (!st)
        st = summary_create_with(reader, &more, &summary, &why);
    progress_end(&bar);
    if (!st)
        w.row_count = unit_table_end(&w.units, &w.rows);
    if (!st && (w.units.failed || w.units.units.failed || w.units.actors.failed || w.provenance.failed))
        st = reason_set(&why, W_NOT_ENOUGH_MEMORY, "no memory for a table of units");
    if (!st && how->json) {
        st = summary_print_json_with(summary, &more, stdout);
    } else if (!st) {
        struct symbols_counts n;
        summary_print(summary, stdout);
        provenance_view_print(&w.provenance, stdout);
        if (symbols_counts(w.symbols, &n))
            quality_print(&n, how->symbols, stdout);
        unit_view_print(w.rows, w.row_count, stdout);
    }
    if (st)
        code = failure_print_about(reader ? ABOUT_ANY : ABOUT_TRACE, verb, st, &why);
    else if (damage_print(verb, path, reader))
        code = VERB_FAILED;
    describe_report(&d, verb);
    describe_close(&d);
    free(w.frames);
    unit_table_finish(&w.units);
    provenance_finish(&w.provenance);
    symbols_close(w.symbols);
    summary_destroy(summary);
    etl_reader_close(reader);
    return code;
}
