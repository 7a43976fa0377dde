/* autologger boots: the boots in the store's history, two of them side by side, and marking one as a baseline. */
#include "tools/view/boots_view.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_MARK = 0x700, KEY_UNMARK, PAIR = 2 };

struct boots_args {
    struct cmdline common;
    const char    *boot[PAIR], *mark, *unmark;
    unsigned       boots, most;
};

static error_t boots_parse(int key, char *arg, struct argp_state *state)
{
    struct boots_args *a = state->input;
    char              *end;
    switch (key) {
    case 'n':
        a->most = (unsigned)strtoul(arg, &end, 10);
        if (end == arg || *end || !a->most || *arg == '-')
            argp_error(state, "--last takes a number of boots, not \"%s\"", arg);
        return 0;
    case KEY_MARK: a->mark = arg; return 0;
    case KEY_UNMARK: a->unmark = arg; return 0;
    case ARGP_KEY_ARG:
        if (a->boots == PAIR)
            argp_error(state, "two boots at a time");
        a->boot[a->boots++] = arg;
        return 0;
    case ARGP_KEY_END:
        if ((a->boots != 0) + (a->mark != NULL) + (a->unmark != NULL) > 1)
            argp_error(state, "boots, --mark or --unmark: one of these");
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

/* A boot by its number, or "last", or "baseline" for the newest one that is marked. */
static wstatus boot_find(const struct history *h, const char *word, uint32_t *out, struct reason *why)
{
    for (unsigned i = 0; i < h->count; i++) {
        const struct history_boot *b = &h->boots[i];
        if (!strcmp(word, "last") || (!strcmp(word, "baseline") && b->baseline) ||
            result_number(word) == b->list.number) {
            *out = b->list.number;
            return W_SUCCESS;
        }
    }
    return reason_set(why, W_FILE_NOT_FOUND, "there is no boot \"%s\" in the store. Do: autologger boots lists them",
                      word);
}

static wstatus pair_show(struct regstore *store, const struct history *h, const struct boots_args *a, struct json *j,
                         struct reason *why)
{
    struct result_list boot[PAIR] = {0};
    wstatus            st         = W_SUCCESS;
    for (unsigned i = 0; i < a->boots && !st; i++) {
        uint32_t number;
        st = boot_find(h, a->boot[i], &number, why);
        st = st ? st : result_load_number(store, number, &boot[i], why);
    }
    if (!st && a->boots == 1 && j)
        boots_one_json(&boot[0], j);
    else if (!st && a->boots == 1)
        boots_phases_print(&boot[0], stdout);
    else if (!st && j)
        boots_pair_json(&boot[0], &boot[1], j);
    else if (!st)
        boots_pair_print(&boot[0], &boot[1], stdout);
    for (unsigned i = 0; i < PAIR; i++)
        result_list_finish(&boot[i]);
    return st;
}

static wstatus boots_mark(struct regstore *store, const struct history *h, const struct boots_args *a, struct json *j,
                          struct reason *why)
{
    uint32_t number = 0;
    wstatus  st     = boot_find(h, a->mark ? a->mark : a->unmark, &number, why);
    st              = st ? st : history_mark(store, number, a->mark != NULL, why);
    if (!st && j) {
        json_number(j, "number", number);
        json_flag(j, "baseline", a->mark != NULL);
    } else if (!st) {
        visible_printf(stdout, "boot %u is %s\n", number,
                       a->mark ? "a baseline: it is kept, and \"baseline\" names it" : "a baseline no longer");
    }
    return st;
}

static wstatus boots_act(const struct boots_args *a, struct json *j, struct reason *why)
{
    struct regstore *store  = NULL;
    struct history   h      = {0};
    wstatus          st     = store_access_open(&a->common, a->mark || a->unmark, &store, why);
    st                      = st ? st : history_load(store, &h, why);
    struct result_list last = {0};
    if (!st && !h.count && (st = result_load(store, &last, why)) == W_FILE_NOT_FOUND) /* else of an older version */
        st = reason_set(why, W_FILE_NOT_FOUND,
                        "no boot and no rehearsal was run with this store yet. Do: autologger apply boot, then reboot");
    if (st)
        goto out;
    if (a->mark || a->unmark)
        st = boots_mark(store, &h, a, j, why);
    else if (a->boots)
        st = pair_show(store, &h, a, j, why);
    else if (j)
        boots_list_json(&h, a->most, j);
    else
        boots_list_print(&h, a->most, stdout);
out:
    result_list_finish(&last);
    history_finish(&h);
    regstore_close(store);
    return st;
}

int cmd_boots(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"last", 'n', "N", 0, "only the newest N boots, and their medians", 0},
        {"mark", KEY_MARK, "BOOT", 0, "make it a baseline: never given up, named \"baseline\"", 0},
        {"unmark", KEY_UNMARK, "BOOT", 0, "a baseline no longer", 0},
        OPT_STORE,
        OPT_JSON,
        {0},
    };
    static const struct argp argp = {
        options,
        boots_parse,
        "\nBOOT\nBOOT BOOT",
        CMDLINE_DOC(
            "The boots that the store remembers, newest first, with events, losses, memory and when boot was done; medians. "
            "One boot by its phases (firmware, boot loader, kernel, initramfs, user space, settling) with the events of each. Two boots side by side: times, and the Status of every session and provider. BOOT is a number, \"last\" or "
            "\"baseline\".",
            "  autologger boots --mark last\n  autologger boots baseline last"),
        NULL,
        NULL,
        NULL};
    struct boots_args a   = {.most = 0};
    struct reason     why = {0};
    int               code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    struct json *j = a.common.json ? json_create(stdout, true) : NULL;
    if (j)
        json_object(j, NULL);
    wstatus st = boots_act(&a, j, &why);
    if (j) {
        json_object_end(j);
        json_destroy(j);
    }
    return st ? failure_print_about(ABOUT_STORE, "autologger boots", st, &why) : VERB_FINE;
}
