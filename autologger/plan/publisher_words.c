#include "autologger/plan/plan.h"
#include "autologger/plan/publishers.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct plan_publishers *publishers;

void plan_publishers_use(const struct plan_publishers *p) { publishers = p; }

/* The daemon's own providers, whose GUIDs are not hashes of their names. */
static const struct {
    const char *name;
    struct guid guid;
} publisher_words_own[] = {{"Service Control Manager", UNITS_GUID},
                           {"Microsoft-Windows-Kernel-Process", PROCESSES_GUID}};

bool publisher_guid(void *ctx, const char *name, struct guid *out)
{
    (void)ctx;
    if (publishers && publishers->guid(publishers->ctx, name, out))
        return true;
    for (unsigned i = 0; i < sizeof publisher_words_own / sizeof *publisher_words_own; i++)
        if (strcasecmp(name, publisher_words_own[i].name) == 0) {
            *out = publisher_words_own[i].guid;
            return true;
        }
    return false;
}

const char *plan_own_provider(unsigned i, struct guid *out)
{
    if (i == sizeof publisher_words_own / sizeof *publisher_words_own) {
        *out = guid_from_name("autologger-mark"); /* of autologger mark */
        return "autologger-mark";
    }
    if (i > sizeof publisher_words_own / sizeof *publisher_words_own)
        return NULL;
    *out = publisher_words_own[i].guid;
    return publisher_words_own[i].name;
}

struct guid plan_provider_guid(const char *name)
{
    struct guid guid;
    return publisher_guid(NULL, name, &guid) ? guid : guid_from_name(name);
}

static bool key_provider(const char *key, struct guid *out)
{
    char text[GUID_TEXT_SIZE];

    for (const char *at = key ? strchr(key, '{') : NULL; at; at = strchr(at + 1, '{')) {
        snprintf(text, sizeof text, "%.*s", GUID_TEXT_SIZE - 1, at);
        if (guid_parse_braced(text, out))
            return true;
    }
    return false;
}

wstatus publisher_word_value(const char *key, enum publisher_word kind, const char *word, uint64_t *value,
                             struct reason *why)
{
    static const char *const kinds[] = {"keyword", "level"};
    struct guid              guid;
    char                     near[128] = "", text[GUID_TEXT_SIZE];

    if (!publishers || !key_provider(key, &guid))
        return W_NOT_FOUND;
    switch (publishers->word(publishers->ctx, &guid, kind, word, value, near)) {
    case PUBLISHER_FOUND: return W_SUCCESS;
    case PUBLISHER_UNKNOWN:
        return reason_set(why, W_INVALID_PARAMETER, "the provider's manifest has no %s \"%s\"%s%s%s", kinds[kind], word,
                          *near ? ", did you mean " : "", near, *near ? "?" : "");
    case PUBLISHER_MISSING: break;
    }
    return reason_set(
        why, W_NOT_FOUND,
        "\"%s\" is no number, and no manifest of the provider %s is installed that could name its %ss. Do: autologger manifest install FILE.man",
        word, guid_format(&guid, text), kinds[kind]);
}

wstatus publisher_event_layout(const char *key, bool id, unsigned nth, struct payload_clause *clause, bool *more,
                               struct reason *why)
{
    struct guid guid;
    char        text[GUID_TEXT_SIZE] = "?";

    *more = false;
    if (key_provider(key, &guid)) {
        guid_format(&guid, text);
        if (publishers && publishers->layout)
            switch (publishers->layout(publishers->ctx, &guid, id, nth, clause, more, why)) {
            case PUBLISHER_FOUND: return W_SUCCESS;
            case PUBLISHER_UNKNOWN: return why && why->status ? why->status : W_INVALID_PARAMETER;
            case PUBLISHER_MISSING: break;
            }
    }
    return reason_set(
        why, W_NOT_FOUND,
        "event %.40s is known by its id, and no manifest of the provider %s is installed that says what is in it. "
        "Do: autologger manifest install FILE.man",
        clause->event, text);
}
