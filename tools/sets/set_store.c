/* set_store.c - see set_store.h. */
#include "tools/sets/set_store.h"
#include "registry-sim/base/nearest.h"
#include "registry-sim/text/winpath.h"
#include "registry-sim/win32/utf16.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const set_counter_names[SET_COUNTERS] = {"Processor", "Memory", "Disk", "Network", "Process"};

wstatus collector_sets(struct regstore *store, struct key_names *out, struct reason *why)
{
    *out       = (struct key_names){0};
    wstatus st = key_names_load(store, SETS_KEY, out);
    return st == W_FILE_NOT_FOUND ? W_SUCCESS : st ? reason_set(why, st, "the sets could not be listed") : st;
}

bool collector_set_name_fits(const char *name)
{
    size_t n = 0;
    for (; name[n]; n++)
        if (!isalnum((unsigned char)name[n]) && !strchr("-_.", name[n]))
            return false;
    return n && n < SET_NAME && *name != '.' && *name != '-';
}

const char *collector_set_text(const struct collector_set *s, enum value_id id)
{
    return s->values.at[id].text ? s->values.at[id].text : "";
}

bool set_word_next(const char **list, char *word, size_t size)
{
    const char *p = *list + strspn(*list, ", \t");
    size_t      n = strcspn(p, ",");
    *list         = p + n;
    while (n && isspace((unsigned char)p[n - 1]))
        n--;
    snprintf(word, size, "%.*s", (int)n, p);
    return n != 0;
}

static wstatus set_counters_read(struct collector_set *s, struct reason *why)
{
    const char *list = collector_set_text(s, VALUE_SET_COUNTERS);
    for (char word[64]; set_word_next(&list, word, sizeof word);) {
        unsigned i = 0;
        while (i < SET_COUNTERS && strcasecmp(set_counter_names[i], word) != 0)
            i++;
        if (i == SET_COUNTERS)
            return reason_set(
                why, W_INVALID_PARAMETER,
                "Counters of set \"%s\": \"%s\" is not known. Do: Processor, Memory, Disk, Network, Process", s->name,
                word);
        s->counters[i] = true;
    }
    return W_SUCCESS;
}

static wstatus set_configuration_check(const struct collector_set *s, struct reason *why)
{
    static const char *const words[]    = {"Units", "Packages", "Sysctl"};
    static const char *const prefixes[] = {"Registry:", "File:/"};
    const char              *list       = collector_set_text(s, VALUE_SET_CONFIGURATION);
    for (char word[1024]; set_word_next(&list, word, sizeof word);) {
        bool known = false;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            known = known || strcasecmp(words[i], word) == 0;
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
            known = known || strncasecmp(prefixes[i], word, strlen(prefixes[i])) == 0;
        if (!known)
            return reason_set(
                why, W_INVALID_PARAMETER,
                "Configuration of set \"%s\": \"%s\" is not known. Do: Units, Packages, Sysctl, Registry:KEY, "
                "File:/PATH",
                s->name, word);
    }
    return W_SUCCESS;
}

static wstatus set_missing(struct regstore *store, const char *name, struct reason *why)
{
    struct key_names all  = {0};
    struct nearest   near = nearest_make(name, 3);
    collector_sets(store, &all, NULL);
    for (unsigned i = 0; i < all.count; i++)
        nearest_try(&near, all.names[i]);
    const wstatus st =
        reason_set(why, W_NOT_FOUND, "there is no set \"%s\"%s%s%s. Do: autologger set list", name,
                   near.found ? ", did you mean " : "", near.found ? near.found : "", near.found ? "?" : "");
    key_names_finish(&all);
    return st;
}

bool collector_set_spelling(struct regstore *store, const char *name, char out[SET_NAME])
{
    struct key_names all = {0};
    bool             is  = false;
    collector_sets(store, &all, NULL);
    for (unsigned i = 0; i < all.count && !is; i++)
        if ((is = name_compare(all.names[i], name) == 0))
            snprintf(out, SET_NAME, "%s", all.names[i]);
    key_names_finish(&all);
    return is;
}

static wstatus set_ranges_check(const struct collector_set *s, struct reason *why)
{
    for (unsigned i = 0; i < VALUE_COUNT; i++) {
        const struct value_row  *row = &value_rows[i];
        const struct plan_value *v   = &s->values.at[i];
        if ((row->scopes & IN_SET) && v->present && row->high && (v->number < row->low || v->number > row->high))
            return reason_set(why, W_INVALID_PARAMETER, "set \"%s\": %s is %llu to %llu %s, not %llu", s->name,
                              row->name, (unsigned long long)row->low, (unsigned long long)row->high, row->unit,
                              (unsigned long long)v->number);
    }
    return W_SUCCESS;
}

/* A run has one file of each session; other modes have numbered ones, or none. */
static wstatus set_sessions_check(struct regstore *store, const struct collector_set *s, struct reason *why)
{
    for (unsigned i = 0; i < s->sessions.count; i++) {
        char     key[512];
        uint32_t number = 0, mode = 0;
        snprintf(key, sizeof key, "%s\\%s", s->key, s->sessions.names[i]);
        regstore_get_dword(store, key, "FileMax", &number, NULL);
        regstore_get_dword(store, key, "LogFileMode", &mode, NULL);
        if (strpbrk(s->sessions.names[i], "/\\") || s->sessions.names[i][0] == '.')
            return reason_set(why, W_INVALID_NAME, "set \"%s\": \"%s\" is no name of a session with a file", s->name,
                              s->sessions.names[i]);
        if (number || (mode & (MODE_NEWFILE | MODE_BUFFERING | MODE_PRIVATE_LOGGER)))
            return reason_set(
                why, W_INVALID_PARAMETER,
                "set \"%s\", session \"%s\": a run has one file of each session. Do: leave FileMax, NEWFILE, "
                "BUFFERING and PRIVATE_LOGGER out",
                s->name, s->sessions.names[i]);
    }
    return W_SUCCESS;
}

wstatus collector_set_read(struct regstore *store, const char *name, struct collector_set *out, struct reason *why)
{
    struct condition_list conditions = {0};
    enum value_id         failed     = VALUE_COUNT;
    *out                             = (struct collector_set){0};
    if (!collector_set_name_fits(name))
        return reason_set(why, W_INVALID_NAME, "\"%s\": a set's name has letters, digits, '-', '_' and '.', at most %d",
                          name, SET_NAME - 1);
    if (!collector_set_spelling(store, name, out->name))
        return set_missing(store, name, why);
    snprintf(out->key, sizeof out->key, "%s\\%s", SETS_KEY, out->name);
    wstatus st = value_set_read(store, out->key, IN_SET, &out->values, &conditions, &failed, why);
    if (st) {
        const struct reason of = *why;
        reason_set(why, st, "set \"%s\": %s", out->name, of.text);
    }
    st = st ? st : set_ranges_check(out, why);
    condition_list_finish(&conditions);
    st = st ? st : key_names_load(store, out->key, &out->sessions);
    st = st ? st : set_counters_read(out, why);
    st = st ? st : set_configuration_check(out, why);
    st = st ? st : set_sessions_check(store, out, why);
    if (!st && out->sessions.count > SET_SESSIONS)
        st = reason_set(why, W_INVALID_PARAMETER, "set \"%s\" has more than %d sessions", name, SET_SESSIONS);
    return st;
}

void collector_set_finish(struct collector_set *s)
{
    value_set_finish(&s->values);
    key_names_finish(&s->sessions);
}

struct set_copy {
    struct regstore *to;
    const char      *as;
    struct reason   *why;
};

static wstatus set_value_copy(void *ctx, const struct regvalue *value)
{
    const struct set_copy *c = ctx;
    return regstore_set(c->to, c->as, value, c->why);
}

wstatus collector_set_copy(struct regstore *from, const char *key, struct regstore *to, const char *as,
                           struct reason *why)
{
    struct key_names names = {0};
    struct set_copy  copy  = {to, as, why};
    wstatus          st    = regstore_create_key(to, as, NULL, 0, why);
    st                     = st ? st : regstore_enum_values(from, key, set_value_copy, &copy);
    st                     = st ? st : key_names_load(from, key, &names);
    for (unsigned i = 0; i < names.count && !st; i++) {
        char *below = NULL, *as_below = NULL;
        if (asprintf(&below, "%s\\%s", key, names.names[i]) < 0)
            below = NULL;
        if (asprintf(&as_below, "%s\\%s", as, names.names[i]) < 0)
            as_below = NULL;
        st = below && as_below ? collector_set_copy(from, below, to, as_below, why) : W_NOT_ENOUGH_MEMORY;
        free(below);
        free(as_below);
    }
    key_names_finish(&names);
    return st;
}
