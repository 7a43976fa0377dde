/* enablement.c - see enablement.h. */
#include "tools/live/enablement.h"

#include "autologger/plan/plan.h"
#include "autologger/wire/private_providers.h"
#include "registry-sim/base/visible_print.h"
#include "registry-sim/text/winpath.h"
#include "tools/base/json_out.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/live/filter_words.h"
#include "tools/live/provider_names.h"
#include "tools/live/session_start.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parses `text` like the value `value` in a declaration of the provider, whose manifest, if installed, has words of its
 * own. */
static uint64_t enablement_words(struct argp_state *state, const struct guid *provider, const char *value,
                                 const char *text)
{
    char                         key[128], guid[GUID_TEXT_SIZE];
    const struct ini_vocabulary *v   = plan_vocabulary();
    struct regvalue              out = {0};
    struct reason                why = {0};
    uint64_t                     n   = 0;
    uint32_t                     n32 = 0;
    snprintf(key, sizeof key, WINPATH_WMI "\\Autologger\\x\\%s", guid_format(provider, guid));
    wstatus st = v->parse(v->ctx, key, value, text, NULL, &out, &why);
    if (!st && out.type == REG_TYPE_QWORD)
        st = regvalue_get_qword(&out, &n, &why);
    else if (!st && !(st = regvalue_get_dword(&out, &n32, &why)))
        n = n32;
    free((void *)(uintptr_t)out.data);
    if (st)
        argp_error(state, "%s", why.text);
    return n;
}

static const char *verb_name(const struct enablement *a)
{
    return a->request.code == CTL_CODE_DISABLE ? "autologger disable" : "autologger enable";
}

error_t enablement_option(int key, char *arg, struct argp_state *state)
{
    struct enablement *a   = state->input;
    struct reason      why = {0};
    char              *end;
    switch (key) {
    case 'l': a->level = arg; return 0;
    case 'k': a->any = arg; return 0;
    case ENABLEMENT_ALL: a->all = arg; return 0;
    case ENABLEMENT_PROPERTY: a->property = arg; return 0;
    case ENABLEMENT_FILTER:
        if (a->pairs == ENABLEMENT_PAIRS)
            argp_error(state, "more than %d values of filters", ENABLEMENT_PAIRS);
        a->pair[a->pairs++] = arg;
        return 0;
    case ENABLEMENT_PID: a->pids = arg; return 0;
    case ENABLEMENT_CAPTURE: a->request.code = CTL_CODE_CAPTURE_STATE; return 0;
    case KEY_PUBLISHER: publisher_option_add(&a->manifests, arg, state); return 0;
    case ENABLEMENT_WAIT:
        errno              = 0;
        unsigned long wait = strtoul(arg, &end, 10);
        if (errno || end == arg || *end || *arg == '-' || wait > 600000)
            argp_error(state, "--wait takes 0 to 600000 ms, not \"%s\"", arg);
        a->wait_ms = (unsigned)wait;
        return 0;
    case ARGP_KEY_ARG:
        if (a->provider)
            argp_error(state, "one provider at a time: \"%s\"", arg);
        *(a->session ? &a->provider : &a->session) = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->provider)
            argp_error(state, "SESSION and PROVIDER are needed. Do: autologger sessions");
        if (!publisher_option_open(&a->manifests, verb_name(a), &a->code)) /* may have the words used below */
            return EINVAL;
        if (provider_guid(a->provider, &a->request.provider, &why))
            argp_error(state, "%s", why.text);
        if (a->level)
            a->request.level = (uint8_t)enablement_words(state, &a->request.provider, "EnableLevel", a->level);
        if (a->any)
            a->request.any = enablement_words(state, &a->request.provider, "MatchAnyKeyword", a->any);
        if (a->all)
            a->request.all = enablement_words(state, &a->request.provider, "MatchAllKeyword", a->all);
        if (a->property)
            a->request.property =
                (uint32_t)enablement_words(state, &a->request.provider, "EnableProperty", a->property);
        if ((a->pairs || a->pids) && filter_words(&a->request.provider, a->pair, a->pairs, a->pids, &a->filter, &why))
            argp_error(state, "%s", why.text);
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

static const char *const done_words[] = {"disabled", "enabled", "asked for the state of"};

static void enablement_report(const struct enablement *a)
{
    char         guid[GUID_TEXT_SIZE];
    struct json *j = a->common.json ? json_create(stdout, true) : NULL;
    guid_format(&a->request.provider, guid);
    if (!j) {
        visible_printf(stdout, "%s %s in \"%s\"\n", done_words[a->request.code], a->provider, a->session);
        return;
    }
    json_object(j, NULL);
    json_text(j, "session", a->session);
    json_text(j, "provider", guid);
    json_text(j, "done", done_words[a->request.code]);
    json_number(j, "level", a->request.level);
    json_number(j, "match_any", a->request.any);
    json_number(j, "match_all", a->request.all);
    json_object_end(j);
    json_destroy(j);
}

/* Names the sessions that have the provider, when it is in too many. */
static void places_explain(const struct enablement *a, struct control_client *client, struct reason *why)
{
    const struct ctl_provider_answer *p;
    char                              names[CTL_PROVIDER_ENABLES * CTL_NAME] = "";
    if (control_provider(client, &a->request.provider, &p, NULL) || p->enable_count < CTL_PROVIDER_ENABLES)
        return;
    for (uint32_t i = 0; i < p->enable_count; i++) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", p->enable[i].session);
    }
    reason_set(
        why, W_NO_SYSTEM_RESOURCES,
        "%s is enabled in %d sessions, and a provider cannot be in more: %.300s. Do: autologger disable SESSION %s in one of them",
        a->provider, CTL_PROVIDER_ENABLES, names, a->provider);
}

int enablement_run(const struct argp *argp, int argc, char **argv, struct enablement *a)
{
    const char            *verb   = verb_name(a);
    struct control_client *client = NULL;
    struct reason          why    = {0};
    int                    code;
    if (!cmdline_parse(argp, argc, argv, a, &code))
        return a->code ? a->code : code;
    wstatus st = control_open(a->common.runtime_dir, &client, &why);
    if (st)
        return failure_print_about(ABOUT_DAEMON, verb, st, &why);
    st = control_enable_filtered(client, &a->request, a->filter, a->session, a->wait_ms, &why);
    if (st == W_NO_SYSTEM_RESOURCES)
        places_explain(a, client, &why);
    if (st == W_NOT_SUPPORTED)
        private_provider_refuse(&a->request.provider, &why);
    if (!st && a->request.code == CTL_CODE_ENABLE) {
        struct names_of_providers names;
        provider_names_load(&names, client);
        provider_names_warn(&names, verb, a->provider);
        provider_names_finish(&names);
    }
    control_close(client);
    free(a->filter);
    if (st)
        return failure_print(verb, st, &why);
    enablement_report(a);
    return VERB_FINE;
}
