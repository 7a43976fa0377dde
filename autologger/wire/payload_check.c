/* payload_check.c - checks and describes such bytes; see payload_filter.h. */
#include "autologger/wire/payload_filter.h"
#include "registry-sim/base/cursor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
    uint8_t     op;
    const char *word;
} operators[] = {{PAYLOAD_EQ, "="},
                 {PAYLOAD_NE, "!="},
                 {PAYLOAD_LE, "<="},
                 {PAYLOAD_GT, ">"},
                 {PAYLOAD_LT, "<"},
                 {PAYLOAD_GE, ">="},
                 {PAYLOAD_BETWEEN, "between"},
                 {PAYLOAD_NOT_BETWEEN, "not between"},
                 {PAYLOAD_MODULO, "modulo"},
                 {PAYLOAD_CONTAINS, "contains"},
                 {PAYLOAD_NOT_CONTAINS, "not contains"},
                 {PAYLOAD_IS, "is"},
                 {PAYLOAD_IS_NOT, "is not"}};

const char *payload_operator_word(unsigned op)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (operators[i].op == op)
            return operators[i].word;
    return NULL;
}

static size_t payload_check_padded(size_t size) { return (size + 7) & ~(size_t)7; }

static wstatus payload_check_wrong(struct reason *why, const char *what)
{
    return reason_set(why, W_INVALID_PARAMETER, "the payload filter %s", what);
}

/* A printable text of that size, with its NUL at the end. */
static const char *payload_check_text_take(struct cursor *c, size_t size, bool may_be_empty)
{
    const char *text = cur_take(c, size);
    if (!text || !size || (size == 1 && !may_be_empty) || size > PAYLOAD_TEXT ||
        memchr(text, 0, size) != text + size - 1)
        return NULL;
    for (size_t i = 0; i + 1 < size; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return NULL;
    return text;
}

static bool step_sound(const struct payload_step *s, unsigned *filled)
{
    const struct payload_type t     = payload_type_of(s->in);
    const bool                count = s->how & PAYLOAD_COUNT_SLOT, length = s->how & PAYLOAD_LENGTH_SLOT;
    if (t.end == PAYLOAD_END_UNKNOWN ||
        s->how > (PAYLOAD_ARRAY | PAYLOAD_FIXED_LENGTH | PAYLOAD_LENGTH_SLOT | PAYLOAD_BIG_ENDIAN) ||
        (count && (s->count >= PAYLOAD_SLOTS || !(*filled >> s->count & 1))) ||
        (length && (s->length >= PAYLOAD_SLOTS || !(*filled >> s->length & 1))))
        return false;
    if (s->slot == PAYLOAD_NO_SLOT)
        return true;
    if (s->slot >= PAYLOAD_SLOTS || s->how & PAYLOAD_ARRAY ||
        (t.form != PAYLOAD_FORM_UNSIGNED && t.form != PAYLOAD_FORM_SIGNED))
        return false;
    *filled |= 1u << s->slot;
    return true;
}

static wstatus predicate_check(struct cursor *c, const struct payload_event *e, struct reason *why)
{
    struct payload_predicate p;
    cur_copy(c, &p, sizeof p);
    if (!cur_ok(c) || p.size % 8 ||
        p.size != payload_check_padded(sizeof p + p.name_size + p.text_size + p.wide_size) ||
        !payload_operator_word(p.op))
        return payload_check_wrong(why, "has a predicate of another size, or with another operator, than there is");
    if (e->flags & PAYLOAD_NAMED ? p.step != PAYLOAD_BY_NAME : p.step >= e->steps)
        return payload_check_wrong(why, "asks about a field that is not there");
    if (!payload_check_text_take(c, p.name_size, false) || !payload_check_text_take(c, p.text_size, true) ||
        p.wide_size % 2 || !cur_take(c, p.size - sizeof p - p.name_size - p.text_size))
        return payload_check_wrong(why, "has a text that does not end, or has control characters");
    if (p.op == PAYLOAD_MODULO && !p.number[0])
        return payload_check_wrong(why, "divides by 0");
    return W_SUCCESS;
}

static wstatus event_check(struct cursor *c, struct reason *why)
{
    struct payload_event e;
    struct payload_step  s;
    unsigned             filled = 0;
    const size_t         before = c->pos;

    cur_copy(c, &e, sizeof e);
    if (!cur_ok(c) || e.flags > (PAYLOAD_ANY | PAYLOAD_ALL | PAYLOAD_NAMED) || !e.predicates ||
        e.predicates > PAYLOAD_PREDICATES || e.steps > PAYLOAD_STEPS || (e.flags & PAYLOAD_NAMED && e.steps))
        return payload_check_wrong(why,
                                   "has an event without predicates, with too many, or with flags that there are not");
    if (!payload_check_text_take(c, e.name_size, false) ||
        !cur_take(c, payload_check_padded(e.name_size) - e.name_size))
        return payload_check_wrong(why, "has an event without a name");
    for (unsigned i = 0; i < e.steps; i++) {
        cur_copy(c, &s, sizeof s);
        if (!cur_ok(c) || !step_sound(&s, &filled))
            return payload_check_wrong(why, "has a field of a type, count or length that cannot be");
    }
    for (unsigned i = 0; i < e.predicates; i++) {
        wstatus st = predicate_check(c, &e, why);
        if (st)
            return st;
    }
    return cur_ok(c) && c->pos - before == e.size
               ? W_SUCCESS
               : payload_check_wrong(why, "has an event of another size than it says");
}

wstatus payload_check(const void *data, size_t size, struct reason *why)
{
    struct cursor       c = cur_make(data, size);
    struct payload_head head;
    cur_copy(&c, &head, sizeof head);
    if (!cur_ok(&c) || size > FILTER_PAYLOAD_MAX || head.version != PAYLOAD_VERSION || !head.events)
        return payload_check_wrong(why, "is not one that TdhAggregatePayloadFilters has made, or of another version");
    for (unsigned i = 0; i < head.events; i++) {
        wstatus st = event_check(&c, why);
        if (st)
            return st;
    }
    return cur_left(&c) ? payload_check_wrong(why, "has more bytes than events") : W_SUCCESS;
}

/* ---- words ---- */

static void payload_check_put(char *out, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void payload_check_put(char *out, size_t room, const char *format, ...)
{
    const size_t used = strlen(out);
    va_list      args;
    va_start(args, format);
    if (used < room)
        vsnprintf(out + used, room - used, format, args);
    va_end(args);
}

/* As it is, or in quotes if it could be taken for something else. */
static void payload_check_put_text(char *out, size_t room, const char *text, bool quote)
{
    static const char *const words[] = {"and", "or", "not", "is", "between", "contains", "modulo"};
    quote |= !*text;
    for (const char *p = text; *p && !quote; p++)
        quote = !((*p >= '0' && *p <= '9') || ((*p | 0x20) >= 'a' && (*p | 0x20) <= 'z') || strchr("_-./{}$@*+", *p));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        quote |= strcasecmp(text, words[i]) == 0;
    payload_check_put(out, room, quote ? "'" : "");
    for (const char *p = text; *p; p++)
        payload_check_put(out, room, "%s%c", *p == '\'' ? "'" : "", *p);
    payload_check_put(out, room, quote ? "'" : "");
}

static void predicate_describe(const uint8_t *at, char *out, size_t room)
{
    struct payload_predicate p;
    char                     low[PAYLOAD_TEXT];
    memcpy(&p, at, sizeof p);
    const char *name = (const char *)at + sizeof p, *text = name + p.name_size, *comma = strchr(text, ',');
    payload_check_put_text(out, room, name, false);
    const char *word = payload_operator_word(p.op);
    payload_check_put(out, room, " %s ", word ? word : "?");
    if ((p.op == PAYLOAD_BETWEEN || p.op == PAYLOAD_NOT_BETWEEN) && comma) {
        snprintf(low, sizeof low, "%.*s", (int)(comma - text), text);
        payload_check_put_text(out, room, low, false);
        payload_check_put(out, room, " and ");
        text = comma + 1;
    }
    payload_check_put_text(out, room, text, false);
}

static void event_describe(const uint8_t *at, char *out, size_t room)
{
    struct payload_event     e;
    struct payload_predicate p;
    memcpy(&e, at, sizeof e);
    const char *name = (const char *)at + sizeof e;
    /* without quotes it would be an id */
    payload_check_put_text(out, room, name, e.flags & PAYLOAD_NAMED && strspn(name, "0123456789") == strlen(name));
    payload_check_put(out, room, ": ");
    at += sizeof e + payload_check_padded(e.name_size) + e.steps * sizeof(struct payload_step);
    for (unsigned i = 0; i < e.predicates; i++) {
        memcpy(&p, at, sizeof p);
        payload_check_put(out, room, "%s", !i ? "" : e.flags & PAYLOAD_ANY ? " or " : " and ");
        predicate_describe(at, out, room);
        at += p.size;
    }
}

void payload_describe(const void *data, size_t size, char *out, size_t room)
{
    struct payload_head  head;
    struct payload_event e;
    const uint8_t       *at = (const uint8_t *)data + sizeof head, *end = (const uint8_t *)data + size;
    const char          *last = NULL; /* the previous event */
    if (!room)
        return;
    *out = 0;
    memcpy(&head, data, sizeof head);
    for (unsigned i = 0; i < head.events && at < end; i++, at += e.size) {
        char *const before = out + strlen(out);
        memcpy(&e, at, sizeof e);
        payload_check_put(out, room, "%s", i ? ", " : "");
        const char *const text = out + strlen(out);
        event_describe(at, out, room);
        if (last && !(e.flags & PAYLOAD_NAMED) && strncmp(last, text, strlen(text)) == 0 &&
            last + strlen(text) == before)
            *before = 0; /* versions of one event are described once */
        else
            last = text;
    }
}
