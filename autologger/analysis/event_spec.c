#include "autologger/analysis/event_spec.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *word;
    int         opcode;
} opcodes[] = {{"info", 0},  {"start", 1},  {"stop", 2},    {"dcstart", 3}, {"dcstop", 4},
               {"reply", 6}, {"resume", 7}, {"suspend", 8}, {"send", 9},    {"receive", 240}};

static bool opcode_parse(const char *text, int *out)
{
    char *end;

    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++)
        if (strcasecmp(text, opcodes[i].word) == 0) {
            *out = opcodes[i].opcode;
            return true;
        }
    unsigned long n = strtoul(text, &end, 10);
    *out            = (int)n;
    return *text && !*end && n < 256;
}

bool event_spec_parse(const char *text, struct event_spec *out)
{
    char buffer[512], *slash, *colon, *end;

    *out = (struct event_spec){.id = SPEC_ANY, .opcode = SPEC_ANY};
    if (!*text || strlen(text) >= sizeof buffer)
        return false;
    memcpy(buffer, text, strlen(text) + 1);
    slash       = strchr(buffer, '/');
    char *event = slash ? slash + 1 : NULL;
    if (slash)
        *slash = 0;
    colon = strrchr(event ? event : buffer, ':');
    if (colon) {
        *colon = 0;
        if (!opcode_parse(colon + 1, &out->opcode))
            return false;
    }
    if (strlen(buffer) >= sizeof out->provider || (event && strlen(event) >= sizeof out->event))
        return false;
    out->by_guid = *buffer == '{';
    if (out->by_guid && !guid_parse(buffer, &out->guid))
        return false;
    if (strcmp(buffer, "*") != 0)
        memcpy(out->provider, buffer, strlen(buffer) + 1);
    if (event && strcmp(event, "*") != 0) {
        memcpy(out->event, event, strlen(event) + 1);
        unsigned long id = strtoul(event, &end, 10);
        if (*event && !*end && id < 65536)
            out->id = (int)id;
    }
    return true;
}

bool event_spec_matches(const struct event_spec *s, const struct etl_event *e, const struct decoded *names)
{
    if (s->opcode != SPEC_ANY && e->opcode != s->opcode)
        return false;
    if (*s->event && fnmatch(s->event, names->event, FNM_CASEFOLD) != 0 &&
        !(s->id != SPEC_ANY && e->id == s->id && e->kind == ETL_KIND_EVENT))
        return false;
    if (s->by_guid)
        return guid_equal(&s->guid, &e->provider);
    return !*s->provider || (names->provider && fnmatch(s->provider, names->provider, FNM_CASEFOLD) == 0);
}
