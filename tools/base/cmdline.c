/* cmdline.c - see cmdline.h. */
#include "tools/base/cmdline.h"
#include "tools/base/verb.h"

static const char *named_store = CMDLINE_DEFAULT_STORE;

const char *cmdline_store(void) { return named_store; }

void cmdline_init(void) { argp_err_exit_status = VERB_USAGE; }

error_t cmdline_option(struct cmdline *c, int key, char *arg)
{
    switch (key) {
    case KEY_STORE:
        c->store       = arg;
        named_store    = arg;
        c->store_given = true;
        return 0;
    case KEY_RUNTIME_DIR: c->runtime_dir = arg; return 0;
    case KEY_JSON: c->json = true; return 0;
    case ARGP_KEY_INIT:
        if (!c->store)
            c->store = CMDLINE_DEFAULT_STORE;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static bool cmdline_parse_by(const struct argp *argp, int argc, char **argv, unsigned flags, void *input, int *code)
{
    error_t rc = argp_parse(argp, argc, argv, flags, NULL, input);
    *code      = rc ? VERB_USAGE : VERB_FINE;
    return rc == 0;
}

bool cmdline_parse(const struct argp *argp, int argc, char **argv, void *input, int *code)
{
    return cmdline_parse_by(argp, argc, argv, 0, input, code);
}

bool cmdline_parse_in_order(const struct argp *argp, int argc, char **argv, void *input, int *code)
{
    return cmdline_parse_by(argp, argc, argv, ARGP_IN_ORDER, input, code);
}
