/* payload_build.c - makes the bytes; see payload_filter.h. */
#include "autologger/wire/payload_filter.h"
#include "registry-sim/win32/utf16.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static size_t payload_build_padded(size_t size) { return (size + 7) & ~(size_t)7; }

static void *room(struct payload_bytes *b, size_t size)
{
    if (size > sizeof b->at - b->size)
        return NULL;
    void *at = b->at + b->size;
    memset(at, 0, size);
    b->size += size;
    return at;
}
static wstatus payload_build_full(struct reason *why)
{
    return reason_set(why, W_INVALID_PARAMETER, "the payload filters of a provider have more than %d bytes together",
                      FILTER_PAYLOAD_MAX);
}

/* ---- operands ---- */

static bool payload_build_number_of(const char *text, uint64_t *number, bool *negative)
{
    char *end;
    *negative = *text == '-';
    text += *negative;
    if (strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0) {
        *number = (*text | 0x20) == 't';
        return !*negative;
    }
    if (*text < '0' || *text > '9')
        return false;
    errno   = 0;
    *number = strtoull(text, &end, text[0] == '0' && (text[1] | 0x20) == 'x' ? 16 : 10);
    if (errno || *end || (*negative && *number > (uint64_t)INT64_MAX + 1))
        return false;
    *negative = *negative && *number;
    if (*negative)
        *number = ~*number + 1;
    return true;
}

/* With a decimal point, whatever the process' locale. */
static bool real_of(const char *text, double *real)
{
    char    *end;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c)
        return false;
    *real = strtod_l(text, &end, c);
    freelocale(c);
    return end != text && !*end && *real - *real == 0; /* neither infinity nor NaN */
}

/* Converts one operand to each form that it has. */
static void forms_of(const char *text, unsigned which, struct payload_predicate *p)
{
    bool negative;
    if (payload_build_number_of(text, &p->number[which], &negative))
        p->forms |= (uint8_t)(PAYLOAD_NUMBER | (negative ? which ? PAYLOAD_NEGATIVE_SECOND : PAYLOAD_NEGATIVE : 0));
    if (real_of(text, &p->real[which]))
        p->forms |= PAYLOAD_REAL;
    if (!which && guid_parse(text, &p->guid))
        p->forms |= PAYLOAD_GUID;
}

/* A form is present when all operands of the operator have it. */
static wstatus operands(const struct payload_asked *a, struct payload_predicate *p, struct reason *why)
{
    char        low[PAYLOAD_TEXT];
    const char *comma = strchr(a->text, ',');
    if (a->op != PAYLOAD_BETWEEN && a->op != PAYLOAD_NOT_BETWEEN) {
        forms_of(a->text, 0, p);
        return W_SUCCESS;
    }
    if (!comma || (size_t)(comma - a->text) >= sizeof low)
        return reason_set(why, W_INVALID_PARAMETER, "'%.40s' are not two numbers, as in 5,10, for the field '%.40s'",
                          a->text, a->field);
    memcpy(low, a->text, (size_t)(comma - a->text));
    low[comma - a->text] = 0;
    forms_of(low, 0, p);
    const uint8_t first = p->forms;
    p->forms            = 0;
    forms_of(comma + 1 + strspn(comma + 1, " "), 1, p);
    p->forms = (uint8_t)((first & p->forms & (PAYLOAD_NUMBER | PAYLOAD_REAL)) | (first & PAYLOAD_NEGATIVE) |
                         (p->forms & PAYLOAD_NEGATIVE_SECOND));
    if (!(p->forms & (PAYLOAD_NUMBER | PAYLOAD_REAL)))
        return reason_set(why, W_INVALID_PARAMETER, "'%.40s' are not two numbers, as in 5,10, for the field '%.40s'",
                          a->text, a->field);
    return W_SUCCESS;
}

static bool orders(uint8_t op) { return op >= PAYLOAD_LE && op <= PAYLOAD_MODULO; }

/* Checks operator and operand against the type; PAYLOAD_FORM_NONE: the type is not known before the event is there. */
static wstatus payload_build_fits(const struct payload_asked *a, const struct payload_predicate *p,
                                  enum payload_form form, struct reason *why)
{
    static const char *const kinds[] = {"", "whole number", "whole number", "number", "GUID", "text", "text"};
    const bool contains = a->op == PAYLOAD_CONTAINS || a->op == PAYLOAD_NOT_CONTAINS, known = form != PAYLOAD_FORM_NONE;
    const bool number = form == PAYLOAD_FORM_UNSIGNED || form == PAYLOAD_FORM_SIGNED;
    if (known && ((contains && form != PAYLOAD_FORM_TEXT && form != PAYLOAD_FORM_WIDE) ||
                  (orders(a->op) && !number && form != PAYLOAD_FORM_REAL) || (a->op == PAYLOAD_MODULO && !number)))
        return reason_set(why, W_INVALID_PARAMETER, "the field '%.40s' is a %s, which does not go with '%s'", a->field,
                          kinds[form], payload_operator_word(a->op));
    if (((number || a->op == PAYLOAD_MODULO) && !(p->forms & PAYLOAD_NUMBER)) ||
        ((form == PAYLOAD_FORM_REAL || orders(a->op)) && !(p->forms & (PAYLOAD_NUMBER | PAYLOAD_REAL))) ||
        (form == PAYLOAD_FORM_GUID && !(p->forms & PAYLOAD_GUID)))
        return reason_set(why, W_INVALID_PARAMETER, "'%.40s' is no %s, which the field '%.40s' is compared with",
                          a->text, known ? kinds[form] : "number", a->field);
    if (a->op == PAYLOAD_MODULO && !p->number[0])
        return reason_set(why, W_INVALID_PARAMETER, "the field '%.40s' cannot be divided by 0", a->field);
    return W_SUCCESS;
}

static wstatus predicate_add(struct payload_bytes *b, const struct payload_clause *c, const struct payload_asked *a,
                             struct reason *why)
{
    struct payload_predicate p    = {.step = a->step, .op = a->op};
    const size_t             name = strlen(a->field) + 1, text = strlen(a->text) + 1;
    enum payload_form        form = PAYLOAD_FORM_NONE;

    if (!payload_operator_word(a->op))
        return reason_set(why, W_INVALID_PARAMETER, "there is no operator %u", a->op);
    if (name < 2 || name > PAYLOAD_TEXT || text > PAYLOAD_TEXT)
        return reason_set(why, W_INVALID_PARAMETER, "a field's name or operand has no letters, or more than %d",
                          PAYLOAD_TEXT - 1);
    if (!(c->flags & PAYLOAD_NAMED)) {
        const struct payload_step *s = a->step < c->steps ? &c->step[a->step] : NULL;
        form                         = s && !(s->how & PAYLOAD_ARRAY) ? payload_type_of(s->in).form : PAYLOAD_FORM_NONE;
        if (form == PAYLOAD_FORM_NONE)
            return reason_set(
                why, W_INVALID_PARAMETER,
                "the field '%.40s' is of a type that is not compared: an array, a structure, bytes, a time or a SID",
                a->field);
    }
    const size_t wide = utf8_to_utf16le(a->text, text - 1, NULL, 0);
    wstatus      st   = operands(a, &p, why);
    st                = st ? st : payload_build_fits(a, &p, form, why);
    if (st)
        return st;
    const size_t size = payload_build_padded(sizeof p + name + text + wide);
    uint8_t     *at   = room(b, size);
    if (!at)
        return payload_build_full(why);
    p.size      = (uint16_t)size;
    p.name_size = (uint16_t)name;
    p.text_size = (uint16_t)text;
    p.wide_size = (uint16_t)wide;
    memcpy(at, &p, sizeof p);
    memcpy(at + sizeof p, a->field, name);
    memcpy(at + sizeof p + name, a->text, text);
    utf8_to_utf16le(a->text, text - 1, at + sizeof p + name + text, wide);
    return W_SUCCESS;
}

/* Counts one more event; makes the head for the first one. */
static bool payload_build_counted(struct payload_bytes *b)
{
    struct payload_head head = {.version = PAYLOAD_VERSION};
    if (!b->size && !room(b, sizeof head))
        return false;
    if (b->size > sizeof head)
        memcpy(&head, b->at, sizeof head);
    head.events++;
    memcpy(b->at, &head, sizeof head);
    return true;
}

wstatus payload_add(struct payload_bytes *b, const struct payload_clause *c, struct reason *why)
{
    struct payload_event e    = {.id         = c->id,
                                 .version    = c->version,
                                 .flags      = c->flags,
                                 .steps      = (uint8_t)c->steps,
                                 .predicates = (uint8_t)c->predicates};
    const size_t         name = strlen(c->event) + 1;
    wstatus              st   = W_SUCCESS;

    if (!c->predicates || c->predicates > PAYLOAD_PREDICATES || c->steps > PAYLOAD_STEPS || name < 2 ||
        name > PAYLOAD_TEXT)
        return reason_set(why, W_INVALID_PARAMETER,
                          "an event has no name, no predicate, more than %d, or more than %d fields",
                          PAYLOAD_PREDICATES, PAYLOAD_STEPS);
    if (!payload_build_counted(b))
        return payload_build_full(why);
    const size_t before = b->size;
    uint8_t     *at     = room(b, sizeof e + payload_build_padded(name) + c->steps * sizeof *c->step);
    if (!at)
        return payload_build_full(why);
    e.name_size = (uint16_t)name;
    memcpy(at + sizeof e, c->event, name);
    memcpy(at + sizeof e + payload_build_padded(name), c->step, c->steps * sizeof *c->step);
    for (unsigned i = 0; i < c->predicates && !st; i++)
        st = predicate_add(b, c, &c->predicate[i], why);
    e.size = (uint16_t)(b->size - before);
    memcpy(at, &e, sizeof e);
    return st;
}

wstatus payload_append(struct payload_bytes *b, const struct payload_event *entry, uint8_t flags, struct reason *why)
{
    struct payload_event e  = *entry;
    uint8_t             *at = payload_build_counted(b) ? room(b, entry->size) : NULL;
    if (!at)
        return payload_build_full(why);
    memcpy(at, entry, entry->size);
    e.flags |= flags;
    memcpy(at, &e, sizeof e);
    return W_SUCCESS;
}
