/* redact_option.c - see redact_option.h. */
#include "tools/files/redact_option.h"

#include "tools/base/json_out.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"

#include <inttypes.h>
#include <stdio.h>

error_t redact_option_parse(struct redact_option *o, int key, char *arg, struct argp_state *state)
{
    switch (key) {
    case KEY_REDACT:
        if (!arg)
            o->what = REDACT_USUAL;
        else if (!redact_parse(arg, &o->what))
            argp_error(state, "--redact takes arguments, names, addresses, paths or all, joined by commas, not \"%s\"",
                       arg);
        return 0;
    case KEY_REDACT_WORD:
        if (o->words == REDACT_WORDS)
            argp_error(state, "at most %d words", REDACT_WORDS);
        o->word[o->words++] = arg;
        o->what             = o->what ? o->what : REDACT_USUAL;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

void redact_option_prepare(struct redact_option *o)
{
    if (o->what)
        o->redactor = redactor_create(o->what);
}

bool redact_option_open(struct redact_option *o, const char *verb, const char *const *files, unsigned count, int *code)
{
    struct reason why = {0};
    wstatus       st  = W_SUCCESS;

    if (!o->what)
        return true;
    o->describe.traces      = files;
    o->describe.trace_count = count;
    if (!describe_open(&o->describe, verb, code))
        return false;
    if (!o->redactor && !(o->redactor = redactor_create(o->what)))
        st = reason_set(&why, W_NOT_ENOUGH_MEMORY, "no memory, or no random numbers, to redact with");
    if (!st)
        redactor_describe(o->redactor, o->describe.set);
    for (unsigned i = 0; i < o->words && !st; i++)
        st = redactor_word(o->redactor, o->word[i]) ? W_SUCCESS
                                                    : reason_set(&why, W_NOT_ENOUGH_MEMORY, "no memory for words");
    for (unsigned i = 0; i < count && !st; i++)
        st = redactor_learn_file(o->redactor, files[i], &why);
    if (st)
        *code = failure_print_about(ABOUT_TRACE, verb, st, &why);
    return !st;
}

void redact_option_print(const struct redact_option *o)
{
    if (!o->redactor)
        return;
    const struct redact_counts *n = redactor_counts(o->redactor);
    printf("redacted: %" PRIu64 " arguments, %" PRIu64 " names, %" PRIu64 " addresses, %" PRIu64
           " values of variables, %" PRIu64 " parts of paths; %" PRIu64 " payloads without a description were zeroed\n",
           n->arguments, n->names, n->addresses, n->environment, n->paths, n->zeroed);
}

void redact_option_json(const struct redact_option *o, struct json *j)
{
    if (!o->redactor)
        return;
    const struct redact_counts *n = redactor_counts(o->redactor);
    json_object(j, "redacted");
    json_number(j, "arguments", n->arguments);
    json_number(j, "names", n->names);
    json_number(j, "addresses", n->addresses);
    json_number(j, "environment", n->environment);
    json_number(j, "paths", n->paths);
    json_number(j, "zeroed", n->zeroed);
    json_object_end(j);
}

void redact_option_close(struct redact_option *o)
{
    redactor_destroy(o->redactor);
    o->redactor = NULL;
    describe_close(&o->describe);
}
