/* values.h - the tables of registry values (values.def), of LogFileMode bits (modes.def) and of EnableProperty bits
 * (properties.def), and reading a key by them. All code that parses, checks, prints or documents a value uses these.
 * Invariants: within one scope no name appears twice. Threads: constant data, any. Ownership: value_set_read fills a
 * caller's set, value_set_finish frees what it holds. Not for: combinations of values (plan.c, modes.c). */
#ifndef AUTOLOGGER_PLAN_VALUES_H
#define AUTOLOGGER_PLAN_VALUES_H
#include "autologger/plan/plan.h"

/* The kinds of key. A value belongs to one or more of them. */
enum value_scope {
    IN_WMI           = 1,   /* ...\Control\WMI */
    IN_GLOBAL_LOGGER = 2,   /* WMI\GlobalLogger */
    IN_WPP           = 4,   /* WMI\GlobalLogger\<guid> */
    IN_BOOT          = 8,   /* WMI\Autologger itself; [Boot] in INI */
    IN_AUTOLOGGER    = 16,  /* WMI\Autologger\<session> */
    IN_PROVIDER      = 32,  /* ...\<session>\{guid} */
    IN_FILTERS       = 64,  /* ...\{guid}\Filters */
    IN_FILTER_PART   = 128, /* ...\Filters\<part> */
    IN_SETS          = 256, /* WMI\CollectorSet; it has no values */
    IN_SET           = 512, /* WMI\CollectorSet\<set>; below it are sessions, as below WMI\Autologger */
};
enum value_words {
    WORDS_BOOL,
    WORDS_NUMBER,
    WORDS_BITS,
    WORDS_KILOBYTES,
    WORDS_MEGABYTES,
    WORDS_SECONDS,
    WORDS_TIME,
    WORDS_CLOCK,
    WORDS_MODE,
    WORDS_LEVEL,
    WORDS_PROPERTY,
    WORDS_KERNEL_FLAGS,
    WORDS_HOOKS,
    WORDS_GUID,
    WORDS_PATH,
    WORDS_TEXT,
    WORDS_DWORD_LIST,
    WORDS_ID_LIST,
    WORDS_NAME_LIST,
    WORDS_HEX,
    WORDS_STOP_AFTER,
    WORDS_KEEP,
    WORDS_USER_STACKS,
    WORDS_PAYLOAD,
};
enum value_state { STATE_NOW, STATE_KEPT, STATE_IGNORED, STATE_WRITTEN };
enum value_id {
#define V(id, name, type, scopes, words, fallback, low, high, unit, state, absent, help) VALUE_##id,
#include "autologger/plan/values.def"
#undef V
    VALUE_COUNT
};
struct value_row {
    const char      *name;
    uint32_t         type;   /* REG_TYPE_... */
    unsigned         scopes; /* enum value_scope, ored */
    enum value_words words;
    uint64_t         fallback, low, high; /* high 0 = no limit */
    const char      *unit;
    enum value_state state;
    const char      *absent, *help; /* "" in the early program */
};
extern const struct value_row value_rows[VALUE_COUNT];

/* The kind of `key`, 0 for other keys; any control set, and prefixes of mounted hives, are accepted. */
unsigned value_scope_of(const char *key);
/* Row by name (any case) in a scope, or NULL. */
const struct value_row *value_find(unsigned scope, const char *name);
/* The nearest name of that scope, at most two letters off, or NULL. */
const char *value_suggest(unsigned scope, const char *name);
const char *value_type_name(uint32_t type); /* "REG_DWORD", never NULL */
const char *value_scope_name(unsigned scope);
const char *value_state_text(enum value_state state);

/* A bit with a name: LogFileMode and EnableProperty. */
struct value_bit {
    const char      *name;
    uint32_t         bit;
    enum value_state state;
    const char      *help;
};
const struct value_bit *mode_bits(size_t *count);
const struct value_bit *property_bits(size_t *count);
enum {
#define M(id, bit, state, help) MODE_##id = (int)(bit),
#include "autologger/plan/modes.def"
#undef M
};

/* One value as found. Of number, text and bytes the one that fits the row's type is set. */
struct plan_value {
    bool     present;
    uint64_t number; /* the row's default when not present */
    char    *text;
    uint8_t *bytes;
    uint32_t size;
    char    *source_file; /* or NULL */
    uint32_t source_line;
};
struct value_set {
    struct plan_value at[VALUE_COUNT];
};
/* Reads one value into set->at[id]. Wrong type: W_INVALID_PARAMETER with name and both types, and the place is kept in
 * set->at[id]. A number that is too short is ignored with a condition, an empty binary is absent. */
wstatus value_read(struct regstore *store, const char *key, enum value_id id, struct value_set *set,
                   struct condition_list *conditions, struct reason *why);
/* Reads every value of the scope that is NOW or KEPT; KEPT ones that are set to something give condition
 * W_NOT_SUPPORTED. On failure *failed is the wrong value. */
wstatus value_set_read(struct regstore *store, const char *key, unsigned scope, struct value_set *set,
                       struct condition_list *conditions, enum value_id *failed, struct reason *why);
void    value_set_finish(struct value_set *set);
/* Each unknown name in the key that resembles a known one becomes a note with a suggestion. */
void value_report_strangers(struct regstore *store, const char *key, unsigned scope, struct condition_list *conditions);
#endif
