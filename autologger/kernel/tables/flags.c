#include "autologger/kernel/tables/flags.h"

#include "autologger/wire/hooks.h"
#include "registry-sim/base/cursor.h"
#include "registry-sim/base/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MASK_BYTES_MAX = 40, HOOK_BYTES_MAX = HOOK_MAX * 4, WORD_MAX = 64, SUGGEST_DISTANCE = 3 };

static const struct kernel_flag flags[] = {
#define F(word, bits, symbol, keyword, offer, source, what) \
    {symbol, keyword, word, bits, what, KERNEL_OFFER_##offer, source},
#include "autologger/kernel/tables/flags.def"
#undef F
};
static const struct kernel_keyword keywords[] = {
#define K(name, word, bits) {name, word, bits},
#include "autologger/kernel/tables/keywords.def"
#undef K
};
static const struct kernel_group flags_groups[] = {
#define G(name, word0, word1, word4) {name, {word0, word1, 0, 0, word4, 0, 0, 0}},
#include "autologger/kernel/tables/groups.def"
#undef G
};
static const struct kernel_hook flags_hook_table[] = {
#define H(name, hook, enabled_by) {name, hook, enabled_by},
#include "autologger/kernel/tables/stack_names.def"
#undef H
};
/* Public flags of word 0 that alias events of another word. */
static const struct {
    uint32_t alias;
    uint8_t  word;
    uint32_t bits;
} aliases[] = {
    {0x00000010, 1, 0x00000004}, {0x00000020, 1, 0x00000080}, {0x00000040, 1, 0x00004000}, {0x00000080, 2, 0x00000040},
    {0x00000800, 1, 0x00000200}, {0x00004000, 1, 0x00008000}, {0x00800000, 1, 0x00000010}, {0x01000000, 1, 0x00000002},
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

const struct kernel_flag *kernel_flags(size_t *count)
{
    *count = COUNT(flags);
    return flags;
}

const struct kernel_keyword *kernel_keywords(size_t *count)
{
    *count = COUNT(keywords);
    return keywords;
}

const struct kernel_group *kernel_groups(size_t *count)
{
    *count = COUNT(flags_groups);
    return flags_groups;
}

const struct kernel_hook *kernel_hooks(size_t *count)
{
    *count = COUNT(flags_hook_table);
    return flags_hook_table;
}

static void move_aliases(uint32_t mask[GROUP_MASK_WORDS])
{
    for (size_t i = 0; i < COUNT(aliases); i++)
        if (mask[0] & aliases[i].alias) {
            mask[0] &= ~aliases[i].alias;
            mask[aliases[i].word] |= aliases[i].bits;
        }
}

/* Ors what `word` names into the mask: a keyword, a group, a symbol, or MASKn:0x... */
static bool mask_add_word(const char *word, uint32_t mask[GROUP_MASK_WORDS])
{
    for (size_t i = 0; i < COUNT(keywords); i++)
        if (strcasecmp(keywords[i].name, word) == 0) {
            mask[keywords[i].word] |= keywords[i].bits;
            return true;
        }
    for (size_t i = 0; i < COUNT(flags_groups); i++)
        if (strcasecmp(flags_groups[i].name, word) == 0) {
            for (unsigned w = 0; w < GROUP_MASK_WORDS; w++)
                mask[w] |= flags_groups[i].mask[w];
            return true;
        }
    for (size_t i = 0; i < COUNT(flags); i++)
        if (strcasecmp(flags[i].symbol, word) == 0) {
            mask[flags[i].word] |= flags[i].bits;
            return true;
        }
    if (strncasecmp(word, "MASK", 4) == 0 && word[4] >= '0' && word[4] < '0' + GROUP_MASK_WORDS &&
        strncasecmp(word + 5, ":0x", 3) == 0 && isxdigit((unsigned char)word[8]) && strlen(word + 8) <= 8) {
        char         *end;
        unsigned long bits = strtoul(word + 8, &end, 16);
        mask[word[4] - '0'] |= (uint32_t)bits;
        return *end == '\0';
    }
    return false;
}

/* Copies the next word of a list into `word`; separators are '+' and, if `spaces`, white space. False at the end. */
static bool next_word(const char **text, bool spaces, char word[WORD_MAX], bool *bad)
{
    const char *p = *text;
    size_t      n;

    while (isspace((unsigned char)*p))
        p++;
    if (!*p) {
        *text = p;
        return false;
    }
    for (n = 0; p[n] && p[n] != '+' && !(spaces && isspace((unsigned char)p[n])); n++)
        ;
    size_t used = n;
    while (used > 0 && isspace((unsigned char)p[used - 1]))
        used--;
    *bad = used == 0 || used >= WORD_MAX;
    snprintf(word, WORD_MAX, "%.*s", (int)(used < WORD_MAX ? used : WORD_MAX - 1), p);
    p += n;
    while (isspace((unsigned char)*p))
        p++;
    if (*p == '+') {
        p++;
        *bad = *bad || !p[strspn(p, " \t\r\n")]; /* a '+' with nothing after it */
    }
    *text = p;
    return true;
}

static const char *flags_suggest(const char *word, bool kernel, bool hooks)
{
    struct nearest n = nearest_make(word, SUGGEST_DISTANCE);

    for (size_t i = 0; kernel && i < COUNT(keywords); i++)
        nearest_try(&n, keywords[i].name);
    for (size_t i = 0; kernel && i < COUNT(flags_groups); i++)
        nearest_try(&n, flags_groups[i].name);
    for (size_t i = 0; kernel && i < COUNT(flags); i++)
        nearest_try(&n, flags[i].symbol);
    for (size_t i = 0; hooks && i < COUNT(flags_hook_table); i++)
        nearest_try(&n, flags_hook_table[i].name);
    return n.found;
}

const char *flag_suggest(const char *word) { return flags_suggest(word, true, true); }

static wstatus unknown_word(struct reason *why, const char *kind, const char *word, const char *suggestion)
{
    if (!*word)
        return reason_set(why, W_INVALID_PARAMETER, "a %s is missing between two '+' or after the last one", kind);
    if (suggestion)
        return reason_set(why, W_INVALID_PARAMETER, "unknown %s '%s', did you mean %s?", kind, word, suggestion);
    return reason_set(why, W_INVALID_PARAMETER, "unknown %s '%s'", kind, word);
}

wstatus group_mask_parse(const char *text, uint32_t mask[GROUP_MASK_WORDS], struct reason *why)
{
    char     word[WORD_MAX];
    bool     bad                      = false;
    unsigned words                    = 0;
    uint32_t result[GROUP_MASK_WORDS] = {0};

    for (; next_word(&text, false, word, &bad); words++) {
        if (!mask_add_word(word, result))
            return unknown_word(why, "kernel flag", word, flags_suggest(word, true, false));
        if (bad)
            return unknown_word(why, "kernel flag", "", NULL);
    }
    if (words == 0)
        return reason_set(why, W_INVALID_PARAMETER, "no kernel flag is named");
    move_aliases(result);
    memcpy(mask, result, sizeof result);
    return W_SUCCESS;
}

wstatus group_mask_from_bytes(const uint8_t *data, size_t size, uint32_t mask[GROUP_MASK_WORDS], struct reason *why)
{
    struct cursor c = cur_make(data, size);

    if (size > MASK_BYTES_MAX)
        return reason_set(why, W_INVALID_USER_BUFFER, "EnableKernelFlags has %zu bytes, at most %d are possible", size,
                          MASK_BYTES_MAX);
    memset(mask, 0, GROUP_MASK_WORDS * sizeof *mask);
    for (unsigned w = 0; w < GROUP_MASK_WORDS && cur_left(&c) >= 4; w++) /* an incomplete word is ignored */
        mask[w] = cur_u32(&c);
    move_aliases(mask);
    return W_SUCCESS;
}

struct text_out {
    char  *out;
    size_t capacity, length;
};

static void flags_text_add(struct text_out *t, const char *word)
{
    size_t room = t->length < t->capacity ? t->capacity - t->length : 0;
    int    n    = snprintf(room ? t->out + t->length : NULL, room, "%s%s", t->length ? "+" : "", word);
    t->length += (size_t)n;
}

size_t group_mask_format(const uint32_t mask[GROUP_MASK_WORDS], char *out, size_t capacity)
{
    struct text_out t = {out, capacity, 0};
    uint32_t        left[GROUP_MASK_WORDS];

    memcpy(left, mask, sizeof left);
    move_aliases(left);
    if (capacity)
        *out = '\0';
    for (size_t i = 0; i < COUNT(keywords); i++)
        if ((left[keywords[i].word] & keywords[i].bits) == keywords[i].bits) {
            flags_text_add(&t, keywords[i].name);
            left[keywords[i].word] &= ~keywords[i].bits;
        }
    for (size_t i = 0; i < COUNT(flags); i++) {
        uint32_t same[GROUP_MASK_WORDS] = {0}, only[GROUP_MASK_WORDS] = {0};
        if (!(left[flags[i].word] & flags[i].bits))
            continue;
        only[flags[i].word] = flags[i].bits;
        mask_add_word(flags[i].symbol, same); /* a symbol that is also a wider keyword can't be used for one bit */
        if (memcmp(same, only, sizeof only) == 0) {
            flags_text_add(&t, flags[i].symbol);
            left[flags[i].word] &= ~flags[i].bits;
        }
    }
    for (unsigned w = 0; w < GROUP_MASK_WORDS; w++)
        if (left[w]) {
            char word[24];
            snprintf(word, sizeof word, "MASK%u:0x%08x", w, left[w]);
            flags_text_add(&t, word);
        }
    return t.length;
}

bool group_mask_has(const uint32_t mask[GROUP_MASK_WORDS], const char *keyword)
{
    uint32_t named[GROUP_MASK_WORDS] = {0}, real[GROUP_MASK_WORDS];

    if (!mask_add_word(keyword, named))
        return false;
    move_aliases(named);
    memcpy(real, mask, sizeof real);
    move_aliases(real);
    for (unsigned w = 0; w < GROUP_MASK_WORDS; w++)
        if (real[w] & named[w])
            return true;
    return false;
}

static const struct {
    const char *guid;
    uint8_t     group;
} flags_classes[] = {
#define C(guid, group) {guid, group},
#include "autologger/kernel/tables/classes.def"
#undef C
};

/* "{3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c}:36": a class and a type, as in Windows' functions. */
static bool hook_from_class(const char *word, uint16_t *hook)
{
    enum { GROUP_PROCESS = 0x03, GROUP_IMAGE = 0x14, TYPE_IMAGE_LOAD = 10 };
    char        text[GUID_TEXT_SIZE + 2] = "", *end;
    const char *colon                    = strchr(word, ':');
    struct guid guid, known;
    if (!colon || (size_t)(colon - word) >= sizeof text || !isdigit((unsigned char)colon[1]))
        return false;
    memcpy(text, word, (size_t)(colon - word));
    unsigned long type = strtoul(colon + 1, &end, 0);
    if (!guid_parse(text, &guid) || *end || type > UINT8_MAX)
        return false;
    for (size_t i = 0; i < COUNT(flags_classes); i++)
        if (guid_parse(flags_classes[i].guid, &known) && guid_equal(&guid, &known)) {
            /* Image/Load (type 10) is the only type whose hook has another group than its class: that of processes */
            bool load = flags_classes[i].group == GROUP_IMAGE && type == TYPE_IMAGE_LOAD;
            *hook     = (uint16_t)((load ? GROUP_PROCESS : flags_classes[i].group) << 8 | type);
            return true;
        }
    return false;
}

bool hook_class(uint16_t hook, struct guid *out, uint8_t *type)
{
    char     text[GUID_TEXT_SIZE + 5], guid[GUID_TEXT_SIZE];
    uint16_t back;
    *type = (uint8_t)hook;
    for (size_t i = 0; i < COUNT(flags_classes); i++) {
        struct guid known;
        if (!guid_parse(flags_classes[i].guid, &known))
            continue;
        snprintf(text, sizeof text, "%s:%u", guid_format(&known, guid), *type);
        if (hook_from_class(text, &back) && back == hook) {
            *out = known;
            return true;
        }
    }
    return false;
}

static bool hook_from_word(const char *word, uint16_t *hook)
{
    if (hook_from_class(word, hook))
        return true;
    if (strncasecmp(word, "0x", 2) == 0 && isxdigit((unsigned char)word[2]) && strlen(word + 2) <= 4) {
        char *end;
        *hook = (uint16_t)strtoul(word + 2, &end, 16);
        return *end == '\0';
    }
    for (size_t i = 0; i < COUNT(flags_hook_table); i++)
        if (strcasecmp(flags_hook_table[i].name, word) == 0) {
            *hook = flags_hook_table[i].hook;
            return true;
        }
    return false;
}

wstatus hooks_parse(const char *text, uint16_t hooks[HOOK_MAX], unsigned *count, struct reason *why)
{
    char     word[WORD_MAX];
    bool     bad = false;
    unsigned n   = 0;

    for (; next_word(&text, true, word, &bad); n++) {
        uint16_t hook;
        if (!hook_from_word(word, &hook))
            return unknown_word(why, "stack name", word, flags_suggest(word, false, true));
        if (bad)
            return unknown_word(why, "stack name", "", NULL);
        if (n == HOOK_MAX)
            return reason_set(why, W_INVALID_USER_BUFFER, "more than %d stack names", HOOK_MAX);
        hooks[n] = hook;
    }
    if (n == 0)
        return reason_set(why, W_INVALID_PARAMETER, "no stack name is given");
    *count = n;
    return W_SUCCESS;
}

wstatus hooks_from_bytes(const uint8_t *data, size_t size, uint16_t hooks[HOOK_MAX], unsigned *count,
                         struct reason *why)
{
    struct cursor c = cur_make(data, size);
    unsigned      n = 0;

    *count = 0;
    if (size > HOOK_BYTES_MAX)
        return reason_set(why, W_INVALID_USER_BUFFER, "StackWalkingFilter has %zu bytes, at most %d are possible", size,
                          HOOK_BYTES_MAX);
    while (cur_left(&c) > 0) {
        uint8_t  bytes[4] = {0}; /* an incomplete word is filled with zeros */
        uint32_t word;
        cur_copy(&c, bytes, cur_left(&c) < 4 ? cur_left(&c) : 4);
        word = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
        if (word > UINT16_MAX)
            return reason_set(why, W_INVALID_PARAMETER,
                              "StackWalkingFilter: entry %u is 0x%08x, but a hook id has 16 bits", n + 1, word);
        hooks[n++] = (uint16_t)word;
    }
    *count = n;
    return W_SUCCESS;
}

const char *hook_name(uint16_t hook)
{
    for (size_t i = 0; i < COUNT(flags_hook_table); i++)
        if (flags_hook_table[i].hook == hook)
            return flags_hook_table[i].name;
    return NULL;
}

size_t hooks_format(const uint16_t *hooks, unsigned count, char *out, size_t capacity)
{
    struct text_out t = {out, capacity, 0};

    if (capacity)
        *out = '\0';
    for (unsigned i = 0; i < count; i++) {
        char        raw[8];
        const char *name = hook_name(hooks[i]);
        snprintf(raw, sizeof raw, "0x%04x", hooks[i]);
        flags_text_add(&t, name ? name : raw);
    }
    return t.length;
}
