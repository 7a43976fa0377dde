/* filter_words.c - see filter_words.h. The pairs are imported as a configuration of one provider, so that they mean the
 * same as there. */
#include "tools/live/filter_words.h"

#include "autologger/plan/plan.h"
#include "registry-sim/text/dialect.h"
#include "registry-sim/text/winpath.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTION "Autologger/x/p"

/* "PART/VALUE=TEXT" or "VALUE=TEXT": false when it is neither. */
static bool pair_parse(const char *pair, char part[64], const char **rest)
{
    const char *equals = strchr(pair, '='), *slash = strchr(pair, '/');
    *part = 0;
    *rest = pair;
    if (!equals || equals == pair || strpbrk(pair, "\n\r[]"))
        return false;
    if (slash && slash < equals) {
        snprintf(part, 64, "/%.*s", (int)(slash - pair), pair);
        *rest = slash + 1;
    }
    return **rest != '=' && equals[1 + strspn(equals + 1, " \t")];
}

static wstatus write_configuration(FILE *f, const struct guid *provider, char *const *pairs, unsigned count,
                                   struct reason *why)
{
    char        guid[GUID_TEXT_SIZE], part[64];
    const char *rest;

    fprintf(f, "[Autologger/x]\nFileName = x.etl\n[" SECTION "]\nGuid = %s\n[" SECTION "/Filters]\n",
            guid_format(provider, guid));
    for (unsigned i = 0; i < count; i++) {
        if (!pair_parse(pairs[i], part, &rest))
            return reason_set(why, W_INVALID_PARAMETER,
                              "--filter takes VALUE=TEXT, such as \"EventIds=not 17, 100-120\", not \"%s\"", pairs[i]);
        fprintf(f, "[" SECTION "/Filters%s]\n%s\n", part, rest);
    }
    return W_SUCCESS;
}

/* Keeps the first mistake, without its place, which would be in a file that nobody wrote. */
static void first_mistake(void *ctx, const struct diag *d)
{
    struct reason *why = ctx;
    if (d->kind == DIAG_ERROR && !*why->text)
        reason_set(why, W_INVALID_PARAMETER, "--filter: %s", d->what);
}

static wstatus filter_words_declared(struct regstore *store, const struct guid *provider, char *const *pairs,
                                     unsigned count, struct reason *why)
{
    struct reason    mistake = {0};
    struct diag_sink sink    = {.fn = first_mistake, .ctx = &mistake};
    char            *text    = NULL;
    size_t           size    = 0;
    FILE            *f       = open_memstream(&text, &size);

    if (!f)
        return reason_set(why, W_OUTOFMEMORY, "no memory for the filters");
    wstatus st = write_configuration(f, provider, pairs, count, why);
    if (fclose(f) && !st)
        st = reason_set(why, W_OUTOFMEMORY, "no memory for the filters");
    if (!st && (st = ini_import(store, text, size, "--filter", plan_vocabulary(), &sink, why)) && *mistake.text)
        *why = mistake;
    free(text);
    return st;
}

static wstatus pids_add(struct filter_block **block, const char *text, struct reason *why)
{
    uint32_t pid[FILTER_PIDS];
    unsigned n = 0;

    for (const char *at = text; text; at++) {
        char         *end;
        unsigned long id = strtoul(at, &end, 10);
        if (end == at || *at < '0' || *at > '9' || !id || id > INT32_MAX || (*end && *end != ','))
            return reason_set(why, W_INVALID_PARAMETER, "--pid takes ids joined by ',', not \"%s\"", text);
        if (n == FILTER_PIDS)
            return reason_set(why, W_INVALID_PARAMETER, "--pid takes at most %d ids", FILTER_PIDS);
        pid[n++] = (uint32_t)id;
        if (!*end)
            break;
        at = end;
    }
    return n ? filter_add(block, FILTER_PID, pid, n * sizeof *pid, why) : W_SUCCESS;
}

/* What a configuration only notes, since others wrote it: names that are not read. Who types them has made a mistake. */
static wstatus filter_strangers(const struct plan_provider *p, struct reason *why)
{
    for (unsigned i = 0; i < p->conditions.count; i++) {
        const struct condition *c = &p->conditions.items[i];
        if (c->number == W_INVALID_PARAMETER && strcmp(c->item, "EnableProperty") != 0)
            return reason_set(why, W_INVALID_PARAMETER, "--filter: %s: no filter of that name is read. Do: %s", c->item,
                              c->advice);
    }
    return W_SUCCESS;
}

wstatus filter_words(const struct guid *provider, char *const *pairs, unsigned count, const char *pids,
                     struct filter_block **out, struct reason *why)
{
    const struct plan_limits limits = {
        .processors = 1, .ram_bytes = 1u << 30, .memory_left = 1u << 27, .log_dir = "/", .now = true};
    struct regstore *store = NULL;
    struct plan      plan  = {0};

    *out       = NULL;
    wstatus st = regstore_open_memory(&store, why);
    st         = st ? st : filter_words_declared(store, provider, pairs, count, why);
    if (!st && !(st = plan_from_key(store, WINPATH_WMI "\\Autologger\\x", &limits, &plan, why)) &&
        plan.provider_count == 1) {
        struct plan_provider *p = &plan.providers[0];
        if (p->status)
            st = reason_set(why, p->status, "--filter: %s", p->reason.text);
        else
            st = filter_strangers(p, why);
        *out      = p->filter;
        p->filter = NULL;
    }
    plan_finish(&plan);
    regstore_close(store);
    st = st ? st : pids_add(out, pids, why);
    if (st) {
        free(*out);
        *out = NULL;
    }
    return st;
}
