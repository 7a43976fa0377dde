/* session_asked.c - see session_asked.h. */
#include "tools/windows/session_asked.h"
#include "autologger/kernel/tables/flags.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct kernel_word {
    const char *name;
    uint32_t    bit;
} kernel_words[] = {
#define K(name, bit) {name, bit},
#include "tools/windows/kernel_words.def"
#undef K
};

void asked_set(struct session_asked *s, const char *value, const char *text, struct translation *t)
{
    unsigned i = 0;
    while (i < s->settings && strcmp(s->setting[i].value, value) != 0)
        i++;
    if (i == ASKED_SETTINGS) {
        translation_fault(t, "more than %d values", ASKED_SETTINGS);
        return;
    }
    s->setting[i].value = value;
    s->setting[i].text  = text;
    s->settings += i == s->settings;
}

void asked_join(const char **list, const char *more, struct translation *t)
{
    *list = *list ? translation_text(t, "%s+%s", *list, more) : more;
}

void asked_mode(struct session_asked *s, const char *name, struct translation *t)
{
    const size_t n = strlen(name);
    for (const char *p = s->mode; p; p = strchr(p, '+') ? strchr(p, '+') + 1 : NULL)
        if (strncasecmp(p, name, n) == 0 && (!p[n] || p[n] == '+'))
            return; /* "-mode Circular -f bincirc" */
    asked_join(&s->mode, name, t);
}

struct provider_asked *asked_provider(struct session_asked *s, const char *name, struct translation *t)
{
    if (s->providers == ASKED_PROVIDERS) {
        translation_fault(t, "more than %d providers", ASKED_PROVIDERS);
        return &s->provider[0];
    }
    s->provider[s->providers] = (struct provider_asked){.name = name};
    return &s->provider[s->providers++];
}

bool asked_is_kernel_provider(const char *name)
{
    static const char *const names[] = {"Windows Kernel Trace", ASKED_KERNEL_LOGGER,
                                        "{9e814aad-3204-11d2-9a82-006008a86939}"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Adds the bit of a name; other words are keywords of autologger and stay. */
static void kernel_word_add(const char *word, uint32_t *bits, const char **others, struct translation *t)
{
    for (unsigned i = 0; i < sizeof kernel_words / sizeof *kernel_words; i++)
        if (strcasecmp(word, kernel_words[i].name) == 0) {
            *bits |= kernel_words[i].bit;
            return;
        }
    asked_join(others, word, t);
}

/* The keywords of these bits. */
static const char *kernel_bits_words(uint32_t bits, struct translation *t)
{
    uint32_t      mask[GROUP_MASK_WORDS];
    const uint8_t bytes[] = {(uint8_t)bits, (uint8_t)(bits >> 8), (uint8_t)(bits >> 16), (uint8_t)(bits >> 24)};
    struct reason why     = {0};
    if (group_mask_from_bytes(bytes, sizeof bytes, mask, &why)) {
        translation_fault(t, "%s", why.text);
        return "";
    }
    char *text = translation_text(t, "%*s", (int)group_mask_format(mask, NULL, 0), "");
    group_mask_format(mask, text, strlen(text) + 1);
    return text;
}

const char *asked_kernel_words(const char *text, struct translation *t)
{
    const char *others = NULL, *result = NULL;
    char       *end;
    uint32_t    bits                = 0;
    errno                           = 0;
    const unsigned long long number = strtoull(text, &end, 0);
    if (isdigit((unsigned char)*text) && !*end) {
        if (errno || number > UINT32_MAX)
            translation_fault(t, "the kernel's flags have 32 bits, not %s", text);
        bits = (uint32_t)number;
    } else
        for (char *word = strtok(translation_text(t, "%s", text), "(),+ "); word; word = strtok(NULL, "(),+ "))
            kernel_word_add(word, &bits, &others, t);
    if (bits)
        result = kernel_bits_words(bits, t);
    if (others)
        asked_join(&result, others, t);
    return result;
}

/* "PROVIDER[:LEVEL[:KEYWORDS]]" */
static const char *provider_text(const struct provider_asked *p, struct translation *t)
{
    if (p->keywords)
        return translation_text(t, "%s:%s:%s", p->name, p->level ? p->level : "", p->keywords);
    return p->level ? translation_text(t, "%s:%s", p->name, p->level) : p->name;
}

static void provider_enable(const struct session_asked *s, const struct provider_asked *p, struct translation *t)
{
    line_begin(t, "autologger");
    line_word(t, "%s", p->off ? "disable" : "enable");
    line_word(t, "%s", s->name ? s->name : ASKED_KERNEL_LOGGER);
    line_word(t, "%s", p->name);
    if (p->off)
        return;
    line_option(t, "--level", p->level);
    line_option(t, "--keywords", p->keywords);
    line_option(t, "--property", p->property);
}

static void settings_add(const struct session_asked *s, struct translation *t)
{
    if (s->mode)
        line_option(t, "--set", translation_text(t, "LogFileMode=%s", s->mode));
    for (unsigned i = 0; i < s->settings; i++)
        line_option(t, "--set", translation_text(t, "%s=%s", s->setting[i].value, s->setting[i].text));
}

void asked_start(const struct session_asked *s, struct translation *t)
{
    line_begin(t, "autologger");
    line_word(t, "start");
    const bool in_memory = s->mode && strcasestr(s->mode, "BUFFERING");
    if (s->name)
        line_word(t, "%s", s->name);
    else if (in_memory)
        line_word(t, "%s", ASKED_KERNEL_LOGGER); /* without a name `start` chooses a file, too */
    line_option(t, "--flags", s->flags);
    line_option(t, "--stacks", s->stacks);
    for (unsigned i = 0; i < s->providers; i++)
        if (!s->provider[i].property) /* `start` knows no property */
            line_option(t, "--provider", provider_text(&s->provider[i], t));
    line_option(t, "--output", s->file);
    if (s->real_time)
        line_word(t, "--real-time");
    settings_add(s, t);
    line_undo(t, "autologger", "stop", s->name ? s->name : ASKED_KERNEL_LOGGER);
    for (unsigned i = 0; i < s->providers; i++)
        if (s->provider[i].property)
            provider_enable(s, &s->provider[i], t);
}

const char *asked_sections(const struct session_asked *s, const char *section, struct translation *t)
{
    const char *mode = s->mode, *text = translation_text(t, "\n[%s]\n", section);
    if (s->real_time)
        asked_join(&mode, "REAL_TIME", t);
    if (s->flags) {
        asked_join(&mode, "SYSTEM_LOGGER", t);
        text = translation_text(t, "%sEnableKernelFlags = %s\n", text, s->flags);
    }
    if (mode)
        text = translation_text(t, "%sLogFileMode = %s\n", text, mode);
    for (unsigned i = 0; i < s->settings; i++)
        text = translation_text(t, "%s%s = %s\n", text, s->setting[i].value, s->setting[i].text);
    for (unsigned i = 0; i < s->providers; i++) {
        const struct provider_asked *p = &s->provider[i];
        text                           = translation_text(t, "%s\n[%s/%s]\n", text, section, p->name);
        if (p->level)
            text = translation_text(t, "%sEnableLevel = %s\n", text, p->level);
        if (p->keywords)
            text = translation_text(t, "%sMatchAnyKeyword = %s\n", text, p->keywords);
    }
    return text;
}

/* The option of `autologger update` for a value of a declaration, or NULL: it cannot change while a session runs. */
static const char *update_option(const char *value)
{
    static const char *const can[][2] = {{"FlushTimer", "--flush-timer"}, {"MaximumBuffers", "--maximum-buffers"}};
    for (unsigned i = 0; i < sizeof can / sizeof *can; i++)
        if (strcmp(can[i][0], value) == 0)
            return can[i][1];
    return NULL;
}

void asked_update(const struct session_asked *s, struct translation *t)
{
    if (s->mode)
        translation_fault(t, "the mode of a running session stays. Do: stop it, and start it with the other mode");
    if (s->flags || s->stacks || s->file || s->real_time || s->real_time_off || s->settings) {
        line_begin(t, "autologger");
        line_word(t, "update");
        line_word(t, "%s", s->name ? s->name : ASKED_KERNEL_LOGGER);
        line_option(t, "--flags", s->flags);
        line_option(t, "--stacks", s->stacks);
        line_option(t, "--output", s->file);
        if (s->real_time || s->real_time_off)
            line_option(t, "--real-time", s->real_time ? "on" : "off");
        for (unsigned i = 0; i < s->settings; i++)
            if (strcmp(s->setting[i].value, "MinimumBuffers") == 0)
                continue; /* -nb has both, and the minimum of a running session stays */
            else if (update_option(s->setting[i].value))
                line_option(t, update_option(s->setting[i].value), s->setting[i].text);
            else
                translation_fault(t, "%s of a running session stays. Do: stop it, and start it with the other value",
                                  s->setting[i].value);
    }
    for (unsigned i = 0; i < s->providers; i++)
        provider_enable(s, &s->provider[i], t);
    if (!t->lines)
        translation_fault(t, "nothing to change was named. Do: see autologger windows %s --help", t->personality);
}
