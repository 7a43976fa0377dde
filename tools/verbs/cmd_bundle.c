/* autologger bundle: one .tar with all that another person needs to look at a boot. */
#include "tools/files/bundle.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/json_out.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/files/redact_option.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct bundle_args {
    struct cmdline       common;
    const char          *out;
    bool                 without_traces;
    struct redact_option redact;
};
enum { KEY_NO_TRACES = 0x600 };

static error_t bundle_parse(int key, char *arg, struct argp_state *state)
{
    struct bundle_args *a = state->input;
    switch (key) {
    case 'o': a->out = arg; return 0;
    case KEY_NO_TRACES: a->without_traces = true; return 0;
    case ARGP_KEY_ARG: argp_error(state, "\"%s\": bundle takes no FILE. Do: name the result with -o", arg); return 0;
    default: {
        error_t e = redact_option_parse(&a->redact, key, arg, state);
        return e == ARGP_ERR_UNKNOWN ? cmdline_option(&a->common, key, arg) : e;
    }
    }
}

/* autologger-HOST-20260102T030405Z.tar in this folder. */
static void name_make(bool redacted, char *out, size_t size)
{
    char      host[65] = "machine", when[32];
    time_t    now      = time(NULL);
    struct tm utc;
    if (!redacted && gethostname(host, sizeof host - 1) == 0)
        host[strcspn(host, "./")] = 0;
    strftime(when, sizeof when, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
    snprintf(out, size, "autologger-%s-%s.tar", host, when);
}

static void bundle_collect(struct bundle *b, const struct bundle_args *a, const struct result_list *rows, bool booted)
{
    const char *store = a->common.store;
    if (booted) {
        bundle_command(b, "status.txt", (const char *[]){"status", "--wide", "--store", store, NULL}, 1, true);
        bundle_command(b, "status.json", (const char *[]){"status", "--json", "--store", store, NULL}, 1, true);
    }
    bundle_command(b, "configuration.reg", (const char *[]){"export", "--format", "reg", "--store", store, NULL}, 0,
                   true);
    bundle_command(b, "configuration.ini", (const char *[]){"export", "--format", "ini", "--store", store, NULL}, 0,
                   false);
    bundle_command(b, "check.txt", (const char *[]){"check", "--store", store, NULL}, 1, false);
    bundle_command(b, "system.txt", (const char *[]){"check", "--system", "--store", store, NULL}, 1, false);
    bundle_command(b, "sessions.json", (const char *[]){"sessions", "--json", NULL}, 0, false);
    bundle_versions(b, AL_VERSION);
    if (!a->without_traces)
        bundle_traces(b, rows);
}

static void bundle_text_print(const struct bundle *b, const char *path)
{
    for (unsigned i = 0; i < b->count; i++) {
        const struct bundle_part *p = &b->parts[i];
        if (p->without[0])
            visible_printf(stdout, "  %-24s left out: %s\n", p->name, p->without);
        else
            visible_printf(stdout, "  %-24s %" PRIu64 " KB\n", p->name, (p->bytes + 1023) / 1024);
    }
    visible_printf(stdout, "bundle: %s\n", path);
}

static void bundle_json_print(const struct bundle *b, const char *path)
{
    struct json *j = json_create(stdout, true);
    if (!j)
        return;
    json_object(j, NULL);
    json_text(j, "bundle", path);
    json_number(j, "lacks", bundle_lacks(b));
    json_array(j, "parts");
    for (unsigned i = 0; i < b->count; i++) {
        const struct bundle_part *p = &b->parts[i];
        json_object(j, NULL);
        json_text(j, "name", p->name);
        json_text(j, "from", p->what);
        json_number(j, "bytes", p->without[0] ? 0 : p->bytes);
        json_text(j, "without", p->without[0] ? p->without : NULL);
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
    json_destroy(j);
}

static int bundle(struct bundle_args *a, const struct result_list *rows, bool booted)
{
    static struct bundle b;
    struct reason        why = {0};
    char                 path[256];

    name_make(a->redact.what != 0, path, sizeof path);
    wstatus st = bundle_init(&b, &why);
    if (!st) {
        bundle_collect(&b, a, rows, booted);
        int code = VERB_FINE;
        if (!bundle_redact(&b, &a->redact, &code)) {
            redact_option_close(&a->redact);
            bundle_finish(&b);
            return code;
        }
        st = bundle_write(&b, a->out ? a->out : path, &why);
    }
    bundle_finish(&b);
    if (st)
        return failure_print_about(ABOUT_RESULT, "autologger bundle", st, &why);
    if (a->common.json)
        bundle_json_print(&b, a->out ? a->out : path);
    else
        bundle_text_print(&b, a->out ? a->out : path);
    if (!a->common.json)
        redact_option_print(&a->redact);
    redact_option_close(&a->redact);
    if (!booted)
        visible_printf(stderr, "autologger bundle: nothing was booted yet with %s: the bundle has no trace\n",
                       a->common.store);
    return bundle_lacks(&b) ? VERB_FAILED : VERB_FINE;
}

int cmd_bundle(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"output", 'o', "FILE", 0, "the archive (default autologger-HOST-TIME.tar in this folder)", 0},
        {"no-traces", KEY_NO_TRACES, NULL, 0, "the texts alone", 0},
        OPT_REDACT,
        OPT_STORE,
        OPT_JSON,
        {0}};
    static const struct argp argp = {
        options,
        bundle_parse,
        "",
        CMDLINE_DOC(
            "One .tar with all that somebody else needs to look at a boot: the trace files, the Status table as text and JSON, the "
            "configuration, what check says about it, versions of kernel and distribution. It holds what was traced: names of "
            "programs and files, command lines; --redact replaces what is private. What could not be had is named.",
            "  autologger bundle -o /mnt/boot.tar"),
        NULL,
        NULL,
        NULL};
    struct bundle_args a     = {0};
    struct regstore   *store = NULL;
    struct result_list rows  = {0};
    struct reason      why   = {0};
    int                code;

    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    wstatus st     = store_access_open(&a.common, false, &store, &why);
    bool    booted = false;
    if (!st) {
        st     = result_load(store, &rows, &why);
        booted = st == W_SUCCESS;
        if (st == W_FILE_NOT_FOUND)
            st = W_SUCCESS;
    }
    regstore_close(store);
    code = st ? failure_print_about(ABOUT_STORE, "autologger bundle", st, &why) : bundle(&a, &rows, booted);
    result_list_finish(&rows);
    return code;
}
