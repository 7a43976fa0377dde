/* autologger write: a typed event from a shell or a script. */
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/live/typed_event.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct write_args {
    struct cmdline            common;
    struct typed_event_target to;
    const char               *event;
    unsigned                  words;
    struct typed_event        data;
};

static uint8_t level_parse(const char *arg, struct argp_state *state)
{
    static const char *const names[] = {"LogAlways", "Critical", "Error", "Warning", "Informational", "Verbose"};
    char                    *end;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcasecmp(arg, names[i]))
            return (uint8_t)i;
    unsigned long level = strtoul(arg, &end, 0);
    if (end == arg || *end || level > 255 || *arg == '-')
        argp_error(state, "--level takes Critical, Error, Warning, Informational, Verbose or 0 to 255, not \"%s\"",
                   arg);
    return (uint8_t)level;
}

static error_t write_parse(int key, char *arg, struct argp_state *state)
{
    struct write_args *a   = state->input;
    struct reason      why = {0};
    char              *end;
    switch (key) {
    case 'l': a->to.level = level_parse(arg, state); return 0;
    case 'k':
        errno         = 0;
        a->to.keyword = strtoull(arg, &end, 0);
        if (end == arg || *end || errno || *arg == '-')
            argp_error(state, "--keyword takes a 64-bit number such as 0x40, not \"%s\"", arg);
        return 0;
    case ARGP_KEY_ARG:
        a->words++;
        if (a->words == 1)
            a->to.provider = arg;
        else if (a->words == 2 ? typed_event_init(&a->data, arg, &why) : typed_event_add(&a->data, arg, &why))
            argp_error(state, "%s", why.text);
        return 0;
    case ARGP_KEY_END:
        if (a->words < 2)
            argp_error(state, "PROVIDER and EVENT are needed");
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

int cmd_write(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"level", 'l', "LEVEL", 0, "Critical, Error, Warning, Informational (the default), Verbose or a number", 0},
        {"keyword", 'k', "BITS", 0, "the event's keyword bits, such as 0x40 (default 0)", 0},
        OPT_RUNTIME_DIR,
        {0},
    };
    static const struct argp argp = {
        options,
        write_parse,
        "PROVIDER EVENT [KEY=VALUE...]",
        CMDLINE_DOC(
            "Write a typed event. PROVIDER is a name (its GUID is that of its installed manifest, else the hash of the name) or a {GUID}. Whole numbers, 0x "
            "numbers, decimals, true and false keep their type; everything else is a string, and so is what begins "
            "with ' (a single quote). Exit code 1 when no session takes it, or filters keep it out.",
            "  autologger write Contoso-Web Started port=80 host=www.contoso.com secure=true"),
        NULL,
        NULL,
        NULL};
    static struct write_args a;
    struct reason            why = {0};
    int                      code;
    a.to.level = 4;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    a.to.runtime_dir = a.common.runtime_dir;
    wstatus st       = typed_event_write(&a.data, &a.to, &why);
    return st ? failure_print_about(ABOUT_DAEMON, "autologger write", st, &why) : VERB_FINE;
}
