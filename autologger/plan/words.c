/* words.c - the INI vocabulary: human text -> typed value and back, by the `words` column of values.def. */
#include "autologger/plan/id_words.h"
#include "autologger/plan/publishers.h"
#include "autologger/plan/words_parts.h"
#include "registry-sim/text/dialect.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const struct {
    parse_fn *parse;
    print_fn *print;
} by_words[] = {
    [WORDS_BOOL]         = {words_parse_bool, words_print_bool},
    [WORDS_NUMBER]       = {words_parse_number, words_print_number},
    [WORDS_BITS]         = {words_parse_bits, words_print_bits},
    [WORDS_KILOBYTES]    = {words_parse_kilobytes, words_print_kilobytes},
    [WORDS_MEGABYTES]    = {words_parse_megabytes, words_print_number}, /* the unit depends on LogFileMode */
    [WORDS_SECONDS]      = {words_parse_seconds, words_print_number},
    [WORDS_TIME]         = {words_parse_seconds, words_print_time},
    [WORDS_CLOCK]        = {words_parse_clock, words_print_clock},
    [WORDS_MODE]         = {words_parse_mode, words_print_mode},
    [WORDS_LEVEL]        = {words_parse_level, words_print_level},
    [WORDS_PROPERTY]     = {words_parse_property, words_print_property},
    [WORDS_KERNEL_FLAGS] = {words_parse_kernel_flags, words_print_kernel_flags},
    [WORDS_HOOKS]        = {words_parse_hooks, words_print_hooks},
    [WORDS_GUID]         = {words_parse_guid, words_print_text},
    [WORDS_PATH]         = {words_parse_text, words_print_text},
    [WORDS_TEXT]         = {words_parse_text, words_print_text},
    [WORDS_DWORD_LIST]   = {words_parse_dwords, words_print_dwords},
    [WORDS_HEX]          = {words_parse_hex, NULL},
    [WORDS_STOP_AFTER]   = {words_parse_stop_after, words_print_text},
    [WORDS_KEEP]         = {words_parse_keep, words_print_text},
    [WORDS_USER_STACKS]  = {words_parse_user_stacks, words_print_user_stacks},
    [WORDS_ID_LIST]      = {words_parse_ids, words_print_ids},
    [WORDS_PAYLOAD]      = {words_parse_payload, words_print_payload},
    [WORDS_NAME_LIST]    = {words_parse_names, words_print_names},
};

static wstatus vocabulary_parse(void *ctx, const char *key, const char *name, const char *text, const char *base_dir,
                                struct regvalue *out, struct reason *why)
{
    unsigned                scope = value_scope_of(key);
    const struct value_row *row   = value_find(scope, name);
    struct asked            asked = {row, text, base_dir, key};

    (void)ctx;
    if (!scope)
        return reason_set(why, W_BAD_PATHNAME,
                          "no words are known for values of this key; write a literal, as in dword:00000001");
    if (!row) {
        const char *near = value_suggest(scope, name);
        return reason_set(why, W_INVALID_PARAMETER, "no value of this name is known here%s%s%s",
                          near ? ", did you mean " : "", near ? near : "", near ? "?" : "");
    }
    wstatus st = by_words[row->words].parse(&asked, out, why);
    if (st == W_NOT_ENOUGH_MEMORY)
        return st;
    if (st != W_SUCCESS) {
        if (why) /* any error in a text is a mistake of the declaration */
            why->status = W_INVALID_PARAMETER;
        return W_INVALID_PARAMETER;
    }
    out->name = row->name;
    return W_SUCCESS;
}

/* True: INI can hold the text as it is: one line, and nothing that the dialect reads as something else. */
static bool plain_text(const char *text)
{
    static const char *const literals[] = {"dword:", "hex:", "hex(", "qword:"};
    size_t                   n          = strlen(text);

    if (n == 0 || isspace((unsigned char)text[0]) || isspace((unsigned char)text[n - 1]) || text[0] == '@')
        return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == '"' || text[i] == 0x7f)
            return false;
    for (size_t i = 0; i < COUNT(literals); i++)
        if (strncasecmp(text, literals[i], strlen(literals[i])) == 0)
            return false;
    return true;
}

static char *vocabulary_print(void *ctx, const char *key, const struct regvalue *value)
{
    const struct value_row *row  = value_find(value_scope_of(key), value->name);
    struct regvalue         back = {0};
    char                   *text = NULL;

    (void)ctx;
    if (row && row->type == value->type && by_words[row->words].print)
        text = by_words[row->words].print(value);
    /* read back: a text that does not give the same bytes is left to a literal */
    if (text && !(plain_text(text) && vocabulary_parse(NULL, key, value->name, text, NULL, &back, NULL) == W_SUCCESS &&
                  back.type == value->type && back.size == value->size &&
                  (value->size == 0 || memcmp(back.data, value->data, value->size) == 0))) {
        free(text);
        text = NULL;
    }
    free((void *)(uintptr_t)back.data);
    return text;
}

/* A filter section in INI, also one of a part, implies Enabled = 1. An id list implies FilterIn = 1, or 0 when it
 * begins with "not". */
static const char *implies(void *ctx, const char *key, const char *name, const char *text, uint32_t *number)
{
    uint16_t ids[FILTER_IDS];
    unsigned count;
    bool     in;
    (void)ctx;
    *number              = 1;
    const unsigned scope = value_scope_of(key);
    if (scope == IN_FILTER_PART && !name)
        return INI_ABOVE "Enabled";
    if (scope != IN_FILTERS)
        return NULL;
    const struct value_row *row = name ? value_find(IN_FILTERS, name) : NULL;
    if (!name)
        return value_rows[VALUE_FILTER_ENABLED].name;
    if (!row || row->words != WORDS_ID_LIST || (text && id_words_parse(text, ids, &count, &in, NULL)))
        return NULL;
    *number = !text || in;
    return value_rows[row == &value_rows[VALUE_EVENT_IDS] ? VALUE_EVENT_ID_FILTER_IN : VALUE_STACK_WALK_FILTER_IN].name;
}

const struct ini_vocabulary *plan_vocabulary(void)
{
    static const struct ini_vocabulary words = {NULL, vocabulary_parse, vocabulary_print, publisher_guid, implies};
    return &words;
}
