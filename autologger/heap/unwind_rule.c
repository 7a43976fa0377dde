/* unwind_rule.c - one row of a DWARF unwind table (.eh_frame, its index .eh_frame_hdr). Reads the sections of a mapped
 * file, never past its bounds. See unwind.h. Formats: the Linux Standard Base's chapter on exception frames, and DWARF
 * 5, 6.4. */
#include "autologger/heap/unwind.h"

#include "registry-sim/base/cursor.h"

#if defined(__aarch64__)
enum { REGISTER_FRAME = 29, REGISTER_STACK = 31, REGISTER_RETURN = 30 };
#else
enum { REGISTER_FRAME = 6, REGISTER_STACK = 7, REGISTER_RETURN = 16 };
#endif
enum {
    PE_UDATA4         = 0x03,
    PE_SDATA4         = 0x0B,
    PE_PCREL          = 0x10,
    PE_DATAREL        = 0x30,
    PE_OMIT           = 0xFF,
    INDEX_HEAD        = 12, /* version and encodings, .eh_frame, number of entries */
    INDEX_ENTRY       = 8,
    STATES            = 8, /* nested remember_state */
    EXTENDED          = UINT32_MAX,
    CFA_ADVANCE       = 1, /* the upper two bits */
    CFA_OFFSET        = 2,
    CFA_RESTORE       = 3,
    AUGMENTATION_MOST = 16
};

struct entry { /* a CIE, and the FDE that refers to it */
    uint64_t      factor_code, begin, size;
    int64_t       factor_data;
    uint64_t      return_register;
    uint8_t       encoding;
    bool          signal;
    struct cursor program[2]; /* of the CIE, of the FDE */
};
struct columns {
    bool    unknown; /* an expression, or another register */
    bool    return_undefined, saves_frame, saves_return;
    int64_t reg, cfa, frame_at, return_at;
};

static uint64_t read_leb(struct cursor *c, bool is_signed)
{
    uint64_t v     = 0;
    unsigned shift = 0;
    uint8_t  b;
    do {
        b = cur_u8(c);
        v |= shift < 64 ? (uint64_t)(b & 0x7F) << shift : 0;
        shift += 7;
    } while (b & 0x80 && cur_ok(c));
    if (is_signed && shift < 64 && b & 0x40)
        v |= ~UINT64_C(0) << shift;
    return v;
}

/* A pointer; `at` is its own address in the process. Only forms that linkers write today. */
static bool read_pointer(struct cursor *c, uint8_t encoding, uint64_t base, uint64_t *out)
{
    const uint64_t at = (uint64_t)(uintptr_t)(c->data + c->pos);
    switch (encoding & 0x0F) {
    case 0x00:
    case 0x04:
    case 0x0C: *out = cur_u64(c); break;
    case PE_UDATA4: *out = cur_u32(c); break;
    case PE_SDATA4: *out = (uint64_t)(int64_t)(int32_t)cur_u32(c); break;
    default: return false;
    }
    switch (encoding & 0xF0) {
    case 0: return cur_ok(c);
    case PE_PCREL: *out += at; return cur_ok(c);
    case PE_DATAREL: *out += base; return cur_ok(c);
    default: return false;
    }
}

/* The CIE or FDE at `at`: its body behind the length. */
static bool body_at(uint64_t low, uint64_t high, uint64_t at, struct cursor *out)
{
    if (at < low || at > high - sizeof(uint32_t))
        return false;
    struct cursor c    = cur_make((const void *)(uintptr_t)at, (size_t)(high - at));
    uint64_t      size = cur_u32(&c);
    if (size == EXTENDED)
        size = cur_u64(&c);
    if (!size || size > cur_left(&c))
        return false;
    *out = cur_make(c.data + c.pos, (size_t)size);
    return true;
}

static bool read_common(uint64_t low, uint64_t high, uint64_t at, struct entry *e)
{
    struct cursor c;
    char          letters[AUGMENTATION_MOST];
    if (!body_at(low, high, at, &c) || cur_u32(&c) != 0)
        return false;
    const uint8_t version = cur_u8(&c);
    const char   *text    = cur_zstring(&c);
    if (!text || (version != 1 && version != 3) || strlen(text) >= sizeof letters)
        return false;
    memcpy(letters, text, strlen(text) + 1);
    e->factor_code     = read_leb(&c, false);
    e->factor_data     = (int64_t)read_leb(&c, true);
    e->return_register = version == 1 ? cur_u8(&c) : read_leb(&c, false);
    e->encoding        = 0;
    if (letters[0] == 'z') {
        const uint64_t size = read_leb(&c, false);
        const void    *data = cur_take(&c, (size_t)size);
        if (!data)
            return false;
        struct cursor more = cur_make(data, (size_t)size);
        uint64_t      ignored;
        for (const char *l = letters + 1; *l; l++) {
            if (*l == 'R')
                e->encoding = cur_u8(&more);
            else if (*l == 'S')
                e->signal = true;
            else if (*l == 'L')
                cur_u8(&more);
            else if (*l == 'P' && !read_pointer(&more, cur_u8(&more) & 0x7F, 0, &ignored))
                return false;
        }
    } else if (letters[0]) {
        return false;
    }
    e->program[0] = cur_make(c.data + c.pos, cur_left(&c));
    return cur_ok(&c);
}

static bool read_entry(uint64_t low, uint64_t high, uint64_t at, struct entry *e)
{
    struct cursor c;
    if (!body_at(low, high, at, &c))
        return false;
    const uint64_t here = (uint64_t)(uintptr_t)c.data;
    const uint32_t back = cur_u32(&c);
    if (!back || back > here - low || !read_common(low, high, here - back, e))
        return false;
    if (!read_pointer(&c, e->encoding, 0, &e->begin) || !read_pointer(&c, e->encoding & 0x0F, 0, &e->size))
        return false;
    const uint64_t size = read_leb(&c, false); /* augmentation: every linker writes 'z' */
    if (!cur_take(&c, (size_t)size) && size)
        return false;
    e->program[1] = cur_make(c.data + c.pos, cur_left(&c));
    return true;
}

static void column_set(struct columns *k, uint64_t reg, int64_t at, bool saved)
{
    if (reg == REGISTER_FRAME) {
        k->saves_frame = saved;
        k->frame_at    = at;
    } else if (reg == REGISTER_RETURN) {
        k->saves_return = saved;
        k->return_at    = at;
    }
}

static void column_restore(struct columns *k, const struct columns *start, uint64_t reg)
{
    if (reg == REGISTER_FRAME)
        column_set(k, reg, start->frame_at, start->saves_frame);
    else
        column_set(k, reg, start->return_at, start->saves_return);
}

/* An unusual rule for one register. */
static void column_lose(struct columns *k, uint64_t reg)
{
    k->unknown |= reg == REGISTER_FRAME || reg == REGISTER_RETURN;
}

/* A damaged table may have any number: it wraps, and no rule comes of it. */
static int64_t factored(const struct entry *e, uint64_t n) { return (int64_t)(n * (uint64_t)e->factor_data); }

/* One instruction with an operand code of its own; false: not known. */
static bool run_extended(struct cursor *c, uint8_t code, const struct entry *e, struct columns *k, uint64_t *location)
{
    uint64_t reg;
    switch (code) {
    case 0x00: return true;                                          /* nop */
    case 0x01: return read_pointer(c, e->encoding, 0, location);     /* set_loc */
    case 0x02: *location += cur_u8(c) * e->factor_code; return true; /* advance_loc1, 2, 4 */
    case 0x03: *location += cur_u16(c) * e->factor_code; return true;
    case 0x04: *location += cur_u32(c) * e->factor_code; return true;
    case 0x05: /* offset_extended */
        reg = read_leb(c, false);
        column_set(k, reg, factored(e, read_leb(c, false)), true);
        return true;
    case 0x11: /* offset_extended_sf */
        reg = read_leb(c, false);
        column_set(k, reg, factored(e, read_leb(c, true)), true);
        return true;
    case 0x07: /* undefined */
        reg = read_leb(c, false);
        k->return_undefined |= reg == e->return_register;
        column_set(k, reg, 0, false);
        return true;
    case 0x08: column_set(k, read_leb(c, false), 0, false); return true; /* same_value */
    case 0x09:                                                           /* register */
        column_lose(k, read_leb(c, false));
        read_leb(c, false);
        return true;
    case 0x0C: /* def_cfa, def_cfa_sf */
    case 0x12:
        k->unknown = false;
        k->reg     = (int64_t)read_leb(c, false);
        k->cfa     = code == 0x0C ? (int64_t)read_leb(c, false) : factored(e, read_leb(c, true));
        return true;
    case 0x0D: k->reg = (int64_t)read_leb(c, false); return true; /* def_cfa_register */
    case 0x0E: k->cfa = (int64_t)read_leb(c, false); return true; /* def_cfa_offset */
    case 0x13: k->cfa = factored(e, read_leb(c, true)); return true;
    case 0x0F: /* def_cfa_expression */ k->unknown = true; return cur_take(c, (size_t)read_leb(c, false)) != NULL;
    case 0x10: /* expression, val_expression */
    case 0x16: column_lose(k, read_leb(c, false)); return cur_take(c, (size_t)read_leb(c, false)) != NULL;
    case 0x14: /* val_offset */
    case 0x15:
        column_lose(k, read_leb(c, false));
        read_leb(c, code == 0x15);
        return true;
    case 0x2D: return true;                     /* AARCH64_negate_ra_state: addresses are stripped anyway */
    case 0x2E: read_leb(c, false); return true; /* GNU_args_size */
    default: return false;
    }
}

/* Runs a program up to `address`. `start`: the columns to which restore goes back. */
static bool run(struct cursor c, const struct entry *e, uint64_t address, uint64_t location,
                const struct columns *start, struct columns *k)
{
    struct columns saved[STATES];
    unsigned       depth = 0;
    while (cur_left(&c) && location <= address) {
        const uint8_t byte = cur_u8(&c), low = byte & 0x3F;
        switch (byte >> 6) {
        case CFA_ADVANCE: location += low * e->factor_code; continue;
        case CFA_OFFSET: column_set(k, low, factored(e, read_leb(&c, false)), true); continue;
        case CFA_RESTORE: column_restore(k, start, low); continue;
        default: break;
        }
        if (byte == 0x06) { /* restore_extended */
            column_restore(k, start, read_leb(&c, false));
        } else if (byte == 0x0A) { /* remember_state, restore_state */
            if (depth == STATES)
                return false;
            saved[depth++] = *k;
        } else if (byte == 0x0B) {
            if (!depth)
                return false;
            *k = saved[--depth];
        } else if (!run_extended(&c, byte, e, k, &location)) {
            return false;
        }
    }
    return cur_ok(&c);
}

/* The entry of the sorted index for `address`; 0: none. */
static uint64_t entry_find(const uint8_t *header, uint64_t low, uint64_t high, uint64_t address)
{
    const uint64_t base = (uint64_t)(uintptr_t)header;
    if (base < low || base > high - INDEX_HEAD)
        return 0;
    struct cursor c       = cur_make(header, (size_t)(high - base));
    const uint8_t version = cur_u8(&c), frame = cur_u8(&c), count_is = cur_u8(&c), table = cur_u8(&c);
    uint64_t      ignored, count;
    if (version != 1 || frame == PE_OMIT || table != (PE_DATAREL | PE_SDATA4) ||
        !read_pointer(&c, frame, base, &ignored) || !read_pointer(&c, count_is, base, &count) ||
        count > cur_left(&c) / INDEX_ENTRY)
        return 0;
    const uint8_t *rows = c.data + c.pos;
    uint64_t       from = 0;
    for (uint64_t left = count; left;) {
        const uint64_t half = left / 2;
        int32_t        start;
        memcpy(&start, rows + (from + half) * INDEX_ENTRY, sizeof start);
        if (base + (uint64_t)(int64_t)start <= address) {
            from += half + 1;
            left -= half + 1;
        } else {
            left = half;
        }
    }
    int32_t entry;
    if (!from)
        return 0;
    memcpy(&entry, rows + (from - 1) * INDEX_ENTRY + sizeof entry, sizeof entry);
    return base + (uint64_t)(int64_t)entry;
}

struct unwind_rule unwind_rule_find(const uint8_t *header, uint64_t low, uint64_t high, uint64_t address)
{
    struct unwind_rule none = {0};
    struct entry       e    = {0};
    const uint64_t     at   = high > low ? entry_find(header, low, high, address) : 0;
    if (!at || !read_entry(low, high, at, &e) || address - e.begin >= e.size || e.signal)
        return none;
    struct columns k = {0};
    if (!run(e.program[0], &e, address, e.begin, &k, &k))
        return none;
    const struct columns start = k;
    if (!run(e.program[1], &e, address, e.begin, &start, &k))
        return none;
    if (k.return_undefined)
        return (struct unwind_rule){.valid = true, .end = true};
    if (k.unknown || !k.saves_return || (k.reg != REGISTER_STACK && k.reg != REGISTER_FRAME) ||
        k.cfa != (int32_t)k.cfa || k.frame_at != (int32_t)k.frame_at || k.return_at != (int32_t)k.return_at)
        return none;
    return (struct unwind_rule){.valid       = true,
                                .by_frame    = k.reg == REGISTER_FRAME,
                                .saves_frame = k.saves_frame,
                                .cfa         = (int32_t)k.cfa,
                                .frame_at    = (int32_t)k.frame_at,
                                .return_at   = (int32_t)k.return_at};
}
