/* payload.c - see payload.h. */
#include "autologger/provider/payload.h"
#include "autologger/wire/payload_filter.h"

#include <string.h>

/* ---- the payload, in pieces ---- */

struct pieces {
    const EVENT_DATA_DESCRIPTOR *at, *end;
    uint32_t                     from; /* within *at */
    bool                         typed;
};

/* The contiguous bytes from here on; 0: that was all. */
static uint32_t together(struct pieces *p, const uint8_t **out)
{
    for (; p->at != p->end; p->at++, p->from = 0)
        if (p->from < p->at->Size && !(p->typed && p->at->Type)) {
            *out = (const uint8_t *)(uintptr_t)p->at->Ptr + p->from;
            return p->at->Size - p->from;
        }
    return 0;
}

/* Takes the next n bytes; `out` NULL skips them. False: the payload ends before. */
static bool payload_take(struct pieces *p, void *out, uint32_t n)
{
    const uint8_t *bytes;
    for (uint8_t *to = out; n;) {
        uint32_t there = together(p, &bytes);
        if (!there)
            return false;
        there = there < n ? there : n;
        if (to) {
            memcpy(to, bytes, there);
            to += there;
        }
        p->from += there;
        n -= there;
    }
    return true;
}

/* Moves past the next NUL of `unit` bytes, or to the end; returns the bytes before it. */
static uint32_t to_nul(struct pieces *p, uint32_t unit, uint32_t most)
{
    const uint8_t *bytes;
    uint32_t       size = 0;
    uint16_t       c    = 1;
    while (c && size < most) {
        uint32_t there = together(p, &bytes), n = 0;
        there -= there % unit;
        for (; n < there && c && size < most; n += unit) {
            c = (uint16_t)(unit == 1 ? bytes[n] : bytes[n] | bytes[n + 1] << 8);
            size += c ? unit : 0;
        }
        p->from += n;
        if (there)
            continue;
        c = 0; /* half a unit here, the rest in the next piece; or the end */
        if (payload_take(p, &c, unit) && c)
            size += unit;
        else
            c = 0;
    }
    return size;
}

static bool payload_same(struct pieces p, const uint8_t *text, uint32_t n)
{
    const uint8_t *bytes;
    while (n) {
        uint32_t there = together(&p, &bytes);
        there          = there < n ? there : n;
        if (!there || memcmp(bytes, text, there) != 0)
            return false;
        text += there;
        p.from += there;
        n -= there;
    }
    return true;
}

/* ---- a value ---- */

struct payload_found {
    struct payload_type type;
    uint64_t            number; /* of all integers, with their sign */
    double              real;
    struct guid         guid;
    struct pieces       text;
    uint32_t            size; /* of the value, in bytes */
};

static void number_take(struct pieces *p, struct payload_found *f)
{
    uint64_t number = 0;
    payload_take(p, &number, f->type.width);
    if (f->type.form == PAYLOAD_FORM_SIGNED && number >> (8 * f->type.width - 1) & 1)
        number |= f->type.width < 8 ? ~UINT64_C(0) << 8 * f->type.width : 0;
    f->number = number;
}

static void fixed_take(struct pieces *p, struct payload_found *f)
{
    float single;
    if (f->type.form == PAYLOAD_FORM_GUID)
        payload_take(p, &f->guid, sizeof f->guid);
    else if (f->type.form != PAYLOAD_FORM_REAL)
        number_take(p, f);
    else if (f->type.width == sizeof f->real)
        payload_take(p, &f->real, sizeof f->real);
    else if (payload_take(p, &single, sizeof single))
        f->real = (double)single;
}

/* `length`: in units, of a value with a length; UINT32_MAX: none. False: the payload ends before, or the type is
 * unknown. */
static bool value_take(struct pieces *p, uint32_t length, struct payload_found *f)
{
    uint8_t       sid[2];
    uint16_t      counted;
    struct pieces ahead = *p;
    const bool    text  = f->type.form == PAYLOAD_FORM_TEXT || f->type.form == PAYLOAD_FORM_WIDE;
    f->text             = *p;
    switch ((enum payload_end)f->type.end) {
    case PAYLOAD_END_WIDTH:
        if (f->type.form == PAYLOAD_FORM_NONE || !payload_take(&ahead, NULL, f->type.width))
            return payload_take(p, NULL, f->type.width);
        fixed_take(p, f);
        return true;
    case PAYLOAD_END_NUL:
    case PAYLOAD_END_NUL16:
    case PAYLOAD_END_LENGTH:
        if (text && length == UINT32_MAX)
            return f->size = to_nul(p, f->type.width, UINT32_MAX), true;
        if (length > UINT16_MAX)
            return false;
        f->size = text ? to_nul(&ahead, f->type.width, length * f->type.width) : length;
        return payload_take(p, NULL, length * f->type.width);
    case PAYLOAD_END_SID: return payload_take(p, sid, sizeof sid) && payload_take(p, NULL, 6 + 4u * sid[1]);
    case PAYLOAD_END_COUNTED:
        if (!payload_take(p, &counted, sizeof counted))
            return false;
        f->text = *p;
        f->size = counted;
        return payload_take(p, NULL, counted);
    case PAYLOAD_END_UNKNOWN: break;
    }
    return false;
}

/* ---- predicates ---- */

struct predicate {
    struct payload_predicate head;
    const char              *name, *text, *wide; /* of head.name_size and so on, inside the filter */
};
struct predicates {
    struct predicate at[PAYLOAD_PREDICATES];
    unsigned         count, asked; /* asked: bits of those whose field was found */
    unsigned         hold;
};

static int payload_compare(bool left_negative, uint64_t left, bool right_negative, uint64_t right)
{
    if (left_negative != right_negative)
        return left_negative ? -1 : 1;
    return left < right ? -1 : left > right;
}

static bool ordered(uint8_t op, int low, int high)
{
    switch (op) {
    case PAYLOAD_EQ:
    case PAYLOAD_IS: return low == 0;
    case PAYLOAD_NE:
    case PAYLOAD_IS_NOT: return low != 0;
    case PAYLOAD_LE: return low <= 0;
    case PAYLOAD_GT: return low > 0;
    case PAYLOAD_LT: return low < 0;
    case PAYLOAD_GE: return low >= 0;
    case PAYLOAD_BETWEEN: return low >= 0 && high <= 0;
    case PAYLOAD_NOT_BETWEEN: return low < 0 || high > 0;
    default: return false;
    }
}

static bool number_holds(const struct payload_predicate *p, const struct payload_found *f)
{
    const bool negative = f->type.form == PAYLOAD_FORM_SIGNED && f->number >> 63;
    if (!(p->forms & PAYLOAD_NUMBER))
        return false;
    if (p->op == PAYLOAD_MODULO) {
        const uint64_t by = p->forms & PAYLOAD_NEGATIVE ? ~p->number[0] + 1 : p->number[0];
        return by && (negative ? ~f->number + 1 : f->number) % by == 0;
    }
    return ordered(p->op, payload_compare(negative, f->number, p->forms & PAYLOAD_NEGATIVE, p->number[0]),
                   payload_compare(negative, f->number, p->forms & PAYLOAD_NEGATIVE_SECOND, p->number[1]));
}

static int compare_reals(double a, double b) { return a < b ? -1 : a > b; }

static bool real_holds(const struct payload_predicate *p, const struct payload_found *f)
{
    if (!(p->forms & PAYLOAD_REAL) || f->real - f->real != 0) /* infinities and NaN */
        return false;
    return ordered(p->op, compare_reals(f->real, p->real[0]), compare_reals(f->real, p->real[1]));
}

/* True when the text contains it. Units of two bytes begin at even places. */
static bool contains(const struct payload_found *f, const uint8_t *text, uint32_t n, uint32_t unit)
{
    struct pieces  p = f->text;
    const uint8_t *bytes;
    if (n && together(&p, &bytes) >= f->size) { /* the usual case: the text is in one piece */
        for (uint32_t at = 0; at + n <= f->size; at += unit)
            if (bytes[at] == *text && memcmp(bytes + at, text, n) == 0)
                return true;
        return false;
    }
    for (uint32_t left = f->size; left >= n; left -= unit) {
        if (payload_same(p, text, n))
            return true;
        if (left < unit || !payload_take(&p, NULL, unit))
            break;
    }
    return false;
}

static bool text_holds(const struct predicate *p, const struct payload_found *f)
{
    const bool     wide = f->type.form == PAYLOAD_FORM_WIDE;
    const uint8_t *text = (const uint8_t *)(wide ? p->wide : p->text);
    const uint32_t n    = wide ? p->head.wide_size : p->head.text_size - 1u;
    switch (p->head.op) {
    case PAYLOAD_CONTAINS: return contains(f, text, n, wide ? 2 : 1);
    case PAYLOAD_NOT_CONTAINS: return !contains(f, text, n, wide ? 2 : 1);
    case PAYLOAD_EQ:
    case PAYLOAD_IS: return f->size == n && payload_same(f->text, text, n);
    case PAYLOAD_NE:
    case PAYLOAD_IS_NOT: return f->size != n || !payload_same(f->text, text, n);
    default: return false;
    }
}

static bool guid_holds(const struct payload_predicate *p, const struct payload_found *f)
{
    const int different = memcmp(&f->guid, &p->guid, sizeof f->guid) != 0;
    return p->forms & PAYLOAD_GUID && p->op != PAYLOAD_MODULO && (p->op < PAYLOAD_LE || p->op >= PAYLOAD_IS) &&
           ordered(p->op, different, different);
}

static bool payload_holds(const struct predicate *p, const struct payload_found *f)
{
    switch ((enum payload_form)f->type.form) {
    case PAYLOAD_FORM_UNSIGNED:
    case PAYLOAD_FORM_SIGNED: return number_holds(&p->head, f);
    case PAYLOAD_FORM_REAL: return real_holds(&p->head, f);
    case PAYLOAD_FORM_GUID: return guid_holds(&p->head, f);
    case PAYLOAD_FORM_TEXT:
    case PAYLOAD_FORM_WIDE: return text_holds(p, f);
    case PAYLOAD_FORM_NONE: break;
    }
    return false;
}

/* Evaluates the predicates of a field with its value, by the field's place, or (PAYLOAD_BY_NAME) by its name. */
static void payload_ask(struct predicates *all, unsigned step, const char *name, const struct payload_found *f)
{
    for (unsigned i = 0; i < all->count; i++) {
        const struct predicate *p = &all->at[i];
        if (p->head.step != step || (name && strncmp(p->name, name, p->head.name_size) != 0))
            continue;
        all->asked |= 1u << i;
        if (payload_holds(p, f))
            all->hold |= 1u << i;
    }
}
static bool all_asked(const struct predicates *all) { return all->asked == (1u << all->count) - 1; }

/* ---- by the layout in the filter ---- */

static uint32_t payload_slot_of(const uint64_t slots[PAYLOAD_SLOTS], uint16_t slot)
{
    const uint64_t n = slot < PAYLOAD_SLOTS ? slots[slot] : 0;
    return n > UINT16_MAX ? UINT16_MAX : (uint32_t)n; /* no payload is longer */
}

static bool step_take(struct pieces *p, const struct payload_step *s, uint64_t slots[PAYLOAD_SLOTS],
                      struct payload_found *f)
{
    const uint32_t length = s->how & PAYLOAD_FIXED_LENGTH  ? s->length
                            : s->how & PAYLOAD_LENGTH_SLOT ? payload_slot_of(slots, s->length)
                                                           : UINT32_MAX;
    uint32_t       count  = s->how & PAYLOAD_FIXED_COUNT  ? s->count
                            : s->how & PAYLOAD_COUNT_SLOT ? payload_slot_of(slots, s->count)
                                                          : 1;
    uint16_t       before;
    if (s->how & PAYLOAD_COUNT_BEFORE) {
        if (!payload_take(p, &before, sizeof before))
            return false;
        count = before;
    }
    f->type = payload_type_of(s->in);
    for (uint32_t i = 0; i < count; i++)
        if (!value_take(p, length, f))
            return false;
    if (s->in == PAYLOAD_IN_BOOLEAN)
        f->number = f->number != 0;
    if (s->how & PAYLOAD_BIG_ENDIAN)
        f->number = __builtin_bswap16((uint16_t)f->number);
    if (s->slot < PAYLOAD_SLOTS)
        slots[s->slot] = f->number;
    return true;
}

static void ask_layout(struct predicates *all, const uint8_t *steps, unsigned count, struct pieces p)
{
    uint64_t             slots[PAYLOAD_SLOTS] = {0};
    struct payload_step  s;
    struct payload_found f = {0};
    for (unsigned i = 0; i < count && !all_asked(all); i++) {
        memcpy(&s, steps + i * sizeof s, sizeof s);
        if (!step_take(&p, &s, slots, &f))
            return;
        if (!(s.how & PAYLOAD_ARRAY))
            payload_ask(all, i, NULL, &f);
    }
}

/* ---- by the event's own description ---- */

struct metadata {
    const uint8_t *at, *end;
};
static bool byte_take(struct metadata *m, uint8_t *out)
{
    if (m->at == m->end)
        return false;
    *out = *m->at++;
    return true;
}
static bool provider_payload_word_take(struct metadata *m, uint16_t *out)
{
    if (m->end - m->at < 2)
        return false;
    memcpy(out, m->at, sizeof *out);
    m->at += 2;
    return true;
}
static bool tags_pass(struct metadata *m)
{
    uint8_t b = 0x80;
    while (b & 0x80)
        if (!byte_take(m, &b))
            return false;
    return true;
}
static const char *name_take(struct metadata *m)
{
    const uint8_t *name = m->at, *nul = memchr(m->at, 0, (size_t)(m->end - m->at));
    m->at = nul ? nul + 1 : m->end;
    return nul ? (const char *)name : NULL;
}

enum {
    TLG_STRUCT  = 24,
    TLG_BINARY  = 14,
    TLG_UINT16  = 6,
    TLG_PORT    = 7,
    TLG_COUNTED = 25,
    TLG_MORE    = 0x80,
    TLG_TYPE    = 0x1F,
    TLG_KIND    = 0x60,
    TLG_FIXED   = 0x20,
    TLG_BEFORE  = 0x40
};

/* The next field; `members`: of a struct. False: that was all, or the description is unknown. */
static bool payload_field_take(struct metadata *m, const char **name, struct payload_step *s, uint8_t *members)
{
    uint8_t in, out = 0;
    if (m->at == m->end || !(*name = name_take(m)) || !byte_take(m, &in))
        return false;
    if (in & TLG_MORE && (!byte_take(m, &out) || (out & TLG_MORE && !tags_pass(m))))
        return false;
    *s       = (struct payload_step){.in = in & TLG_TYPE, .slot = PAYLOAD_NO_SLOT};
    *members = s->in == TLG_STRUCT ? out & 0x7F : 0;
    if (s->in == TLG_BINARY)
        s->in = TLG_COUNTED;
    if ((in & TLG_KIND) == TLG_FIXED && !provider_payload_word_take(m, &s->count))
        return false;
    s->how = (in & TLG_KIND) == TLG_FIXED    ? PAYLOAD_FIXED_COUNT
             : (in & TLG_KIND) == TLG_BEFORE ? PAYLOAD_COUNT_BEFORE
                                             : 0;
    s->how |= s->in == TLG_UINT16 && (out & 0x7F) == TLG_PORT ? PAYLOAD_BIG_ENDIAN : 0;
    /* the length of those is unknown */
    return (in & TLG_KIND) != TLG_KIND && !(s->in == TLG_STRUCT && s->how & PAYLOAD_ARRAY);
}

static void ask_metadata(struct predicates *all, const struct filter_event *e, struct pieces p)
{
    struct metadata      m                    = {e->metadata, e->metadata + e->metadata_size};
    uint64_t             slots[PAYLOAD_SLOTS] = {0};
    struct payload_step  s;
    struct payload_found f      = {0};
    unsigned             inside = 0; /* fields that still belong to the outermost struct */
    const char          *name;
    uint16_t             size;
    uint8_t              members;
    if (!provider_payload_word_take(&m, &size) || !tags_pass(&m) || !name_take(&m))
        return;
    while (!all_asked(all) && payload_field_take(&m, &name, &s, &members)) {
        const bool top = !inside;
        inside         = inside - !top + members;
        if (s.in == TLG_STRUCT)
            continue;
        if (!step_take(&p, &s, slots, &f))
            return;
        if (top && !(s.how & PAYLOAD_ARRAY))
            payload_ask(all, PAYLOAD_BY_NAME, name, &f);
    }
}

/* ---- an event ---- */

/* Takes n bytes of the filter; NULL: it ends before. */
static const uint8_t *part_take(const uint8_t **at, const uint8_t *end, size_t n)
{
    const uint8_t *p = *at;
    if (n > (size_t)(end - p))
        return NULL;
    *at += n;
    return p;
}
static size_t payload_padded(size_t n) { return (n + 7) & ~(size_t)7; }

static bool predicate_take(const uint8_t **at, const uint8_t *end, struct predicate *out)
{
    const uint8_t *p = part_take(at, end, sizeof out->head);
    if (!p)
        return false;
    memcpy(&out->head, p, sizeof out->head);
    const size_t texts = (size_t)out->head.name_size + out->head.text_size + out->head.wide_size;
    if (!(p = part_take(at, end, payload_padded(texts))) || !out->head.name_size || !out->head.text_size)
        return false;
    out->name = (const char *)p;
    out->text = out->name + out->head.name_size;
    out->wide = out->text + out->head.text_size;
    return true;
}

/* True when it is the entry's event; then *all_hold says whether it passes. */
static bool entry_asks(const struct payload_event *entry, const uint8_t *at, const uint8_t *end,
                       const struct filter_event *e, bool *all_hold)
{
    struct predicates   all  = {.count = 0};
    const uint8_t      *name = part_take(&at, end, payload_padded(entry->name_size));
    const struct pieces p    = {e->data, e->count ? e->data + e->count : e->data, 0, e->typed};
    *all_hold                = false;
    if (!name || !entry->name_size)
        return false;
    if (entry->flags & PAYLOAD_NAMED ? !e->name || strncmp((const char *)name, e->name, entry->name_size) != 0
                                     : e->name || entry->id != e->d->Id || entry->version != e->d->Version)
        return false;
    const uint8_t *steps = part_take(&at, end, entry->steps * sizeof(struct payload_step));
    if (!steps)
        return true;
    while (all.count < entry->predicates && all.count < PAYLOAD_PREDICATES &&
           predicate_take(&at, end, &all.at[all.count]))
        all.count++;
    if (entry->flags & PAYLOAD_NAMED)
        ask_metadata(&all, e, p);
    else
        ask_layout(&all, steps, entry->steps, p);
    *all_hold = entry->flags & PAYLOAD_ANY ? all.hold != 0 : all.count && all.hold == (1u << all.count) - 1;
    return true;
}

bool payload_passes(const uint8_t *part, uint32_t size, const struct filter_event *e)
{
    const uint8_t       *at = part, *end = part + size;
    struct payload_head  head;
    struct payload_event entry;
    bool                 must = true, some = false, asked_some = false;
    if (!part_take(&at, end, sizeof head))
        return true;
    memcpy(&head, part, sizeof head);
    for (unsigned i = 0; i < head.events && (size_t)(end - at) >= sizeof entry; i++) {
        bool one;
        memcpy(&entry, at, sizeof entry);
        if (entry.size < sizeof entry || entry.size > (size_t)(end - at))
            break;
        if (entry_asks(&entry, at + sizeof entry, at + entry.size, e, &one)) {
            must &= one || !(entry.flags & PAYLOAD_ALL);
            asked_some |= !(entry.flags & PAYLOAD_ALL);
            some |= one && !(entry.flags & PAYLOAD_ALL);
        }
        at += entry.size;
    }
    return must && (some || !asked_some);
}
