/* empty_view.c - see empty_view.h. */
#include "tools/setup/empty_view.h"

#include "autologger/boot/explain.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/json_out.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/live/live_rows.h"
#include "tools/setup/untraced.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum step_state { STEP_FINE, STEP_NOTE, STEP_WRONG };
struct step {
    const char     *name; /* "declared", "Start", ... */
    enum step_state state;
    char            text[640], advice[300];
};
enum { STEPS_MAX = 8 };
struct session_steps {
    const struct result_row *row;
    const struct result_row *providers;
    unsigned                 provider_count, count;
    struct step              step[STEPS_MAX];
};

static struct step *empty_view_add(struct session_steps *s, const char *name, enum step_state state, const char *text,
                                   const char *advice)
{
    struct step *step = &s->step[s->count < STEPS_MAX ? s->count++ : STEPS_MAX - 1];
    *step             = (struct step){.name = name, .state = state};
    snprintf(step->text, sizeof step->text, "%s", text);
    snprintf(step->advice, sizeof step->advice, "%s", advice);
    return step;
}

static void step_start(struct session_steps *s)
{
    const struct result_row *r = s->row;
    char                     text[640];

    if (*r->source_file)
        snprintf(text, sizeof text, "%s:%" PRIu32, r->source_file, r->source_line);
    else
        snprintf(text, sizeof text, "%.600s", r->key);
    empty_view_add(s, "declared", STEP_FINE, text, "");
    if (r->kept_off)
        empty_view_add(s, "Start", STEP_WRONG, *r->reason ? r->reason : "the guard kept it from starting",
                       "see autologger status");
    else if (!r->start)
        empty_view_add(s, "Start", STEP_WRONG, "Start is not 1, so the boot did not start it",
                       "set Start = 1, and apply again");
    else
        empty_view_add(s, "Start", STEP_FINE, "1", "");
    if (!r->start || r->kept_off)
        return;
    snprintf(text, sizeof text, "%" PRIu32 "%s%s%s%s", r->status, r->status ? " " : "",
             r->status ? wstatus_name(r->status) : "", *r->reason ? ": " : "", r->reason);
    empty_view_add(s, "Status", r->status ? STEP_WRONG : STEP_FINE, text, r->status ? wstatus_advice(r->status) : "");
}

static void step_file(struct session_steps *s)
{
    const struct result_row *r    = s->row;
    const char              *path = *r->merged_path ? r->merged_path : r->log_path;
    struct stat              st;
    char                     text[1200];

    if (!*path) {
        empty_view_add(s, "file", STEP_NOTE, "it has no log file (real time, or in memory alone)",
                       "autologger watch shows its events as they come");
        return;
    }
    if (stat(path, &st) != 0) {
        snprintf(text, sizeof text, "%s is not there", path);
        empty_view_add(s, "file", STEP_WRONG, text,
                       r->file_created ? "it was moved or removed since" : "see the Status of the session");
        return;
    }
    snprintf(text, sizeof text, "%s, %lld bytes", path, (long long)st.st_size);
    empty_view_add(s, "file", STEP_FINE, text, "");
}

/* True: no program has registered a provider of the running session, so no event can come. */
static bool nobody_writes(const struct session_steps *s, struct condition *out)
{
    struct result_row as_ended = *s->row;
    unsigned          writers  = s->row->kernel;
    for (unsigned i = 0; i < s->provider_count; i++)
        writers += s->providers[i].registrations || s->providers[i].tracepoint;
    as_ended.stopped = true;
    return !writers && explain_empty(&as_ended, s->providers, s->provider_count, out);
}

static void step_events(struct session_steps *s)
{
    const struct result_row *r = s->row;
    struct condition         c;
    char                     text[200];

    if (r->written) {
        snprintf(text, sizeof text, "%" PRIu64 " are in its file", r->written);
        empty_view_add(s, "events", STEP_FINE, text, "");
    } else if (result_lost(r)) {
        snprintf(text, sizeof text,
                 "none is in its file, and %" PRIu64 " were lost: buffers %" PRIu64 ", memory %" PRIu64
                 ", conversion %" PRIu64 ", file %" PRIu64 ", withheld by the kernel %" PRIu64,
                 result_lost(r), r->lost_ring, r->lost_memory, r->lost_conversion, r->lost_file, r->withheld);
        empty_view_add(s, "events", STEP_WRONG, text, "raise MaximumBuffers, or make room on the disk");
    } else if (!r->stopped && nobody_writes(s, &c)) {
        empty_view_add(s, "events", STEP_WRONG, c.reason, c.advice);
    } else if (!r->stopped) {
        empty_view_add(s, "events", STEP_NOTE, "it still runs: what is in its file is not counted yet",
                       "autologger flush, or autologger stop --merge");
    } else if (explain_empty(r, s->providers, s->provider_count, &c)) {
        empty_view_add(s, "events", STEP_WRONG, c.reason, c.advice);
    } else {
        empty_view_add(s, "events", STEP_WRONG, "none is in its file", "see the rows of its providers");
    }
}

static void steps_of(const struct result_list *list, unsigned at, struct session_steps *s)
{
    unsigned n = 0;

    *s = (struct session_steps){.row = &list->rows[at], .providers = &list->rows[at + 1 < list->count ? at + 1 : at]};
    while (at + 1 + n < list->count && *list->rows[at + 1 + n].provider)
        n++;
    s->provider_count = n;
    step_start(s);
    if (s->step[s->count - 1].state == STEP_WRONG)
        return;
    step_file(s);
    step_events(s);
}

/* --- */

static void provider_words(const struct result_row *p, char *text, size_t size, char *advice, size_t advice_size)
{
    struct condition c;
    char             level[24];

    *advice = 0;
    if (!p->start) {
        snprintf(text, size, "Enabled is not 1");
        snprintf(advice, advice_size, "set Enabled = 1");
    } else if (p->status) {
        snprintf(text, size, "%" PRIu32 " %s%s%s", p->status, wstatus_name(p->status), *p->reason ? ": " : "",
                 p->reason);
        snprintf(advice, advice_size, "%s", wstatus_advice(p->status));
    } else if (explain_provider(p, &c)) {
        snprintf(text, size, "%s", c.reason);
        snprintf(advice, advice_size, "%s", c.advice);
    } else {
        snprintf(text, size, "%" PRIu64 " events; registered by %" PRIu32 " program%s; level %s, keywords 0x%" PRIx64,
                 p->written, p->registrations, plural(p->registrations), explain_level(p->level, level), p->match_any);
    }
}

static bool empty_view_print_text(const struct session_steps *s)
{
    static const char *const marks[] = {"fine ", "note ", "WRONG"};
    const struct step       *wrong   = NULL;
    char                     text[700], advice[300];

    visible_printf(stdout, "session %s\n", s->row->session);
    for (unsigned i = 0; i < s->count; i++) {
        visible_printf(stdout, "  %s  %-9s %s\n", marks[s->step[i].state], s->step[i].name, s->step[i].text);
        wrong = wrong ? wrong : s->step[i].state == STEP_WRONG ? &s->step[i] : NULL;
    }
    for (unsigned i = 0; i < s->provider_count; i++) {
        const struct result_row *p = &s->providers[i];
        provider_words(p, text, sizeof text, advice, sizeof advice);
        visible_printf(stdout, "         provider  %s: %s\n", *p->name ? p->name : p->provider, text);
        if (*advice)
            visible_printf(stdout, "                   do: %s\n", advice);
    }
    if (wrong)
        visible_printf(stdout, "It has no events because of %s: %s\n  do: %s\n", wrong->name, wrong->text,
                       *wrong->advice ? wrong->advice : "see autologger status");
    return wrong != NULL;
}

static bool empty_view_print_json(struct json *j, const struct session_steps *s)
{
    static const char *const words[] = {"fine", "note", "wrong"};
    const struct step       *wrong   = NULL;
    char                     text[700], advice[300];

    json_object(j, NULL);
    json_text(j, "session", s->row->session);
    json_number(j, "status", s->row->status);
    json_number(j, "written", s->row->written);
    json_number(j, "lost", result_lost(s->row));
    json_array(j, "steps");
    for (unsigned i = 0; i < s->count; i++) {
        json_object(j, NULL);
        json_text(j, "step", s->step[i].name);
        json_text(j, "state", words[s->step[i].state]);
        json_text(j, "text", s->step[i].text);
        json_text(j, "advice", s->step[i].advice);
        json_object_end(j);
        wrong = wrong ? wrong : s->step[i].state == STEP_WRONG ? &s->step[i] : NULL;
    }
    json_array_end(j);
    json_array(j, "providers");
    for (unsigned i = 0; i < s->provider_count; i++) {
        const struct result_row *p = &s->providers[i];
        provider_words(p, text, sizeof text, advice, sizeof advice);
        json_object(j, NULL);
        json_text(j, "provider", p->provider);
        json_text(j, "name", p->name);
        json_number(j, "status", p->status);
        json_flag(j, "enabled", p->start);
        json_number(j, "registrations", p->registrations);
        json_number(j, "written", p->written);
        json_flag(j, "kept_out_by_level", p->refused_by_level);
        json_flag(j, "kept_out_by_keywords", p->refused_by_keywords);
        json_flag(j, "kept_out_by_filter", p->refused_by_filter);
        json_text(j, "text", text);
        json_text(j, "advice", advice);
        json_object_end(j);
    }
    json_array_end(j);
    json_text(j, "because", wrong ? wrong->name : NULL);
    json_object_end(j);
    return wrong != NULL;
}

/* Returns the number of sessions shown; *wrong: of those with a failed step. */
static unsigned empty_view_show(const struct result_list *list, const char *session, struct json *j, unsigned *wrong)
{
    struct session_steps *s     = malloc(sizeof *s);
    unsigned              shown = 0;

    for (unsigned i = 0; s && i < list->count; i++) {
        const struct result_row *r = &list->rows[i];
        if (*r->provider || (session ? strcasecmp(r->session, session) != 0 : r->written != 0))
            continue;
        steps_of(list, i, s);
        if (!j && shown)
            putchar('\n');
        shown++;
        *wrong += j ? empty_view_print_json(j, s) : empty_view_print_text(s);
    }
    free(s);
    return shown;
}

/* No boot was traced: shows the obstacle of all sessions. */
static int untraced_view(const struct cmdline *common, const struct machine *m, struct regstore *store)
{
    struct untraced_facts facts;
    struct untraced       why;

    untraced_look(m, store, &facts);
    untraced_explain(&facts, &why);
    if (common->json) {
        struct json *j = json_create(stdout, true);
        if (!j)
            return VERB_REFUSED;
        json_object(j, NULL);
        json_text(j, "topic", "empty");
        json_object(j, "untraced");
        json_text(j, "reason", why.reason);
        json_text(j, "advice", why.advice);
        json_object_end(j);
        json_object_end(j);
        json_destroy(j);
    } else {
        visible_printf(stdout, "no boot was traced with this store: %s\n  do: %s\n", why.reason, why.advice);
    }
    return VERB_FAILED;
}

static int rows_view(const struct cmdline *common, const struct result_list *list, const char *session)
{
    struct json *j     = common->json ? json_create(stdout, true) : NULL;
    unsigned     wrong = 0;

    if (common->json && !j)
        return VERB_REFUSED;
    if (j) {
        json_object(j, NULL);
        json_text(j, "topic", "empty");
        json_number(j, "boot", list->number);
        json_flag(j, "rehearsal", list->rehearsal);
        json_array(j, "sessions");
    }
    unsigned shown = empty_view_show(list, session, j, &wrong);
    if (j) {
        json_array_end(j);
        json_object_end(j);
        json_destroy(j);
    } else if (!shown && !session) {
        visible_printf(stdout, "every session of the last %s has events\n", list->rehearsal ? "rehearsal" : "boot");
    }
    if (!shown && session) {
        fflush(stdout);
        visible_printf(
            stderr,
            "autologger analyse: the last %s had no session \"%s\", and no controller has started one. Do: see autologger status and autologger sessions\n",
            list->rehearsal ? "rehearsal" : "boot", session);
        return VERB_FAILED;
    }
    return wrong ? VERB_FAILED : VERB_FINE;
}

/* Adds sessions that a controller started, which are in no store: `session`, or all. None if no daemon runs. */
static void live_add(struct result_list *list, const struct cmdline *common, const char *session)
{
    struct control_client   *client = NULL;
    struct ctl_session_info *all    = NULL;
    unsigned                 count  = 0;
    if (control_open(common->runtime_dir, &client, NULL))
        return;
    if (!control_query_all(client, &all, &count, NULL))
        for (unsigned i = 0; i < count; i++) {
            const struct ctl_terms_answer *a;
            if ((!session || !strcasecmp(all[i].name, session)) &&
                !control_terms(client, all[i].name, UINT32_MAX, &a, NULL) && !*a->session.key)
                live_rows_add(list, client, &all[i], NULL);
        }
    free(all);
    control_close(client);
}

int empty_view(const struct cmdline *given, const char *session)
{
    struct cmdline     common = *given;
    struct regstore   *store  = NULL;
    struct result_list list   = {0};
    struct reason      why    = {0};
    struct machine     m;
    char               path[MACHINE_PATH];
    int                code;
    wstatus            st = store_access_machine(&common, NULL, &m, path, &why);

    st = st ? st : store_access_open(&common, false, &store, &why);
    st = st ? st : result_load(store, &list, &why);
    live_add(&list, &common, session);
    if (st == W_FILE_NOT_FOUND && store && !list.count)
        code = untraced_view(&common, &m, store);
    else if (st && !list.count)
        code = failure_print_about(ABOUT_STORE, "autologger analyse", st, &why);
    else
        code = rows_view(&common, &list, session);
    result_list_finish(&list);
    regstore_close(store);
    return code;
}
