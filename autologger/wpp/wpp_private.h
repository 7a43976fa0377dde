/* wpp_private.h - shared by the steps of wpp.h: wpp_config.c reads the configuration, wpp_lex.c cuts a source into
 * tokens, wpp_scan.c finds the messages, wpp_text.c takes their texts apart, wpp_write.c writes. No other file includes
 * it.
 * Threads: one per struct. */
#ifndef AUTOLOGGER_WPP_WPP_PRIVATE_H
#define AUTOLOGGER_WPP_WPP_PRIVATE_H
#include "autologger/wpp/wpp.h"

enum { WPP_NAME = 128, WPP_ARGUMENTS = 32, WPP_FIXED_MAX = 8, WPP_TEXT_MAX = 8192 };

/* ---- configuration ---- */

/* How a value is stored: a letter of wpp_kinds.def, and the type in TMF files. */
struct wpp_type {
    const char *name; /* of %!NAME! */
    const char *item; /* "ItemLong", "ItemListLong(a, b)" */
    char        kind;
    const char *format; /* printf's, when the message gives none: "s" */
};
/* FUNC NAME{LEVEL=X}(FLAGS, MSG, ...): the conditions are LEVEL and FLAGS. */
struct wpp_function {
    const char *name, *file;
    uint32_t    line;
    struct {
        const char *name, *value; /* value: of {NAME=VALUE}; NULL: the call gives it */
    } fixed[WPP_FIXED_MAX];
    unsigned    fixed_count;
    int         message;                         /* the place of MSG among the call's arguments; -1: no MSG */
    bool        variable;                        /* "..." */
    const char *prefix, *suffix, *suffix_values; /* USEPREFIX, USESUFFIX: texts, and names of arguments for them */
};
struct wpp_config {
    struct pool *pool;
    POOL_LIST(struct wpp_function) functions;
    POOL_LIST(struct wpp_type) types;
    struct text controls; /* TMF lines of the control GUIDs that the files define */
};
const struct wpp_function *wpp_function_find(const struct wpp_config *c, const char *name, size_t size);
const struct wpp_type     *wpp_type_find(const struct wpp_config *c, const char *name, size_t size);
/* The letter of wpp_kinds.def for values of a type of TMF files; 0: none. */
char wpp_item_kind(const char *item);

/* Finds #define WPP_CONTROL_GUIDS in a file. */
void wpp_controls_scan(struct wpp_config *c, const char *text, size_t size);

/* Reports "file:line: what. Do: advice". */
struct wpp_place {
    const char               *file;
    uint32_t                  line;
    struct manifest_problems *problems;
};
void wpp_wrong(const struct wpp_place *at, bool error, const char *advice, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- tokens ---- */

enum wpp_token_kind { WPP_END, WPP_NAMED, WPP_STRING, WPP_OTHER, WPP_SIGN, WPP_DEFINE, WPP_IF, WPP_ELSE, WPP_ENDIF };
struct wpp_token {
    enum wpp_token_kind kind;
    const char         *text;
    size_t              size;
    uint32_t            line;
    char                sign;
};
struct wpp_lexer {
    const char *at, *end;
    uint32_t    line;
    bool        begins_line;
};
/* Skips blanks and comments. Directives are tokens of their own; #line changes the line. */
struct wpp_token wpp_next(struct wpp_lexer *l);
/* Adds the content of the string literals in [from, to), without their escapes. False: something else stands there; it
 * is at *rest. PRIu64 and its relatives are strings. */
bool wpp_literal(const char *from, const char *to, struct text *out, const char **rest);

/* ---- messages ---- */

struct wpp_argument {
    const char *text; /* without comments, with a blank in their place: pool text */
    size_t      size;
};
struct wpp_value {
    char        kind;       /* of wpp_kinds.def */
    bool        extended;   /* an unsigned long: its own size decides how it is extended */
    const char *item;       /* type in TMF */
    const char *expression; /* in the source */
    const char *parameter;  /* of the macro: "a1", "STATUS" */
};
struct wpp_call {
    const struct wpp_function *function;
    const char                *in_function; /* "" outside of any */
    uint32_t                   line, outer_first, outer_last;
    struct wpp_argument        argument[WPP_ARGUMENTS];
    unsigned                   argument_count;
    const char                *text; /* as TMF has it */
    struct wpp_value           value[WPP_ARGUMENTS];
    unsigned                   value_count;
};
struct wpp_source {
    const struct wpp_config *config;
    struct pool             *pool;
    const char              *module, *file, *tag; /* tag: of C names, "driver_c" */
    struct wpp_place         place;
    bool                     includes_header;
    POOL_LIST(struct wpp_call) calls;
};
/* Finds all calls. */
void wpp_scan(struct wpp_source *s, const char *text, size_t size);
/* Takes a call's text apart: fills text, value, item, expression. False: a mistake was reported. */
bool wpp_text_read(struct wpp_source *s, struct wpp_call *c);
/* The texts as TMF, without the line of the GUID. */
void wpp_format_write(const struct wpp_source *s, struct text *out);
void wpp_header_write(struct wpp_source *s, const struct guid *guid, const struct text *format, struct text *out);
#endif
