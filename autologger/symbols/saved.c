#include "autologger/symbols/saved.h"

#include "autologger/schema/classic.h"
#include "autologger/consumer/names_event.h"
#include "autologger/consumer/vdso.h"
#include "autologger/wire/names.h"

#include <stdio.h>
#include <string.h>

enum { FILE_VERSION = CLASSIC_IMAGE_ID | 64, TEXTS_BEFORE_FILE_ID = 8 };

static bool see_module(struct saved *s, struct cursor *c)
{
    const char *name = cur_zstring(c);
    size_t      i;
    if (!name || !kernel_symbols_module(&s->symbols, name, &i))
        return !name;
    struct kernel_module *m = &s->symbols.module[i];
    m->base                 = cur_u64(c);
    m->size                 = cur_u64(c);
    size_t n                = cur_u16(c);
    m->build_id             = (struct build_id){0};
    const void *id          = n <= sizeof m->build_id.bytes ? cur_take(c, n) : NULL;
    if (id) {
        m->build_id.size = (uint8_t)n;
        memcpy(m->build_id.bytes, id, n);
    }
    if (strcmp(name, "vmlinux") == 0)
        build_id_text(&m->build_id, s->build_id);
    return true;
}

static bool see_symbols(struct saved *s, struct cursor *c)
{
    const char *module = cur_zstring(c), *name;
    size_t      i;
    bool        good = true;
    if (!module || !kernel_symbols_module(&s->symbols, module, &i))
        return !module;
    for (unsigned n = cur_u16(c); n > 0 && good; n--) {
        uint64_t address = cur_u64(c);
        uint32_t size    = cur_u32(c);
        if (!(name = cur_zstring(c)))
            break;
        good = kernel_symbols_add(&s->symbols, address, size, i, name, strlen(name));
    }
    return good;
}

bool saved_see(struct saved *s, const struct etl_event *e)
{
    struct cursor c = cur_make(e->payload, e->payload_size);

    if (e->kind != ETL_KIND_EVENT)
        return true;
    if (names_event_is(e, NAMES_MODULE))
        return see_module(s, &c);
    if (names_event_is(e, NAMES_SYMBOLS))
        return see_symbols(s, &c);
    if (names_event_is(e, NAMES_BOOT)) {
        const char *id = cur_zstring(&c);
        snprintf(s->boot_id, sizeof s->boot_id, "%.39s", id ? id : "");
    }
    return true;
}

enum symbols_kernel saved_finish_reading(struct saved *s)
{
    struct kernel_symbols live;
    struct reason         why = {0};
    char                  boot_id[40];

    if (s->symbols.count) {
        kernel_symbols_order(&s->symbols);
        return KERNEL_SAVED;
    }
    kernel_boot_id("", boot_id);
    if (!*s->boot_id || strcmp(s->boot_id, boot_id) != 0)
        snprintf(s->why, sizeof s->why, "the trace has none, and this is not the boot that it was written in");
    else if (!kernel_symbols_read("", &live, &why))
        snprintf(s->why, sizeof s->why, "the trace has none, and %.150s", why.text);
    if (*s->why)
        return KERNEL_NONE;
    kernel_symbols_finish(&s->symbols);
    s->symbols = live;
    if (vdso_symbols(&s->symbols))
        kernel_symbols_order(&s->symbols);
    build_id_text(&s->symbols.module[KERNEL_MODULE].build_id, s->build_id);
    return KERNEL_LIVE;
}

const char *saved_find(const struct saved *s, uint64_t address, const struct kernel_module **module, uint64_t *start)
{
    const struct kernel_symbol *f = kernel_symbols_find(&s->symbols, address);
    if (!f)
        return NULL;
    *module = &s->symbols.module[f->module];
    *start  = f->address;
    return s->symbols.text + f->name;
}

const char *saved_kernel_build_id(const struct saved *s) { return s->build_id; }
const char *saved_why(const struct saved *s) { return s->why; }
void        saved_finish(struct saved *s) { kernel_symbols_finish(&s->symbols); }

static int saved_hex_digit(uint16_t c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool build_id_version(const struct etl_event *e, uint64_t *key, struct build_id *out)
{
    struct cursor c = cur_make(e->payload, e->payload_size);

    if (e->kind != ETL_KIND_FULL || classic_hook(e) != FILE_VERSION)
        return false;
    cur_u64(&c); /* size and time stamp */
    for (unsigned i = 0; i < TEXTS_BEFORE_FILE_ID && cur_ok(&c); i++)
        while (cur_u16(&c))
            ;
    *out = (struct build_id){0};
    for (uint16_t unit; cur_ok(&c) && (unit = cur_u16(&c));) {
        int high = saved_hex_digit(unit), low = saved_hex_digit(cur_u16(&c));
        if (high < 0 || low < 0 || out->size == sizeof out->bytes)
            return false;
        out->bytes[out->size++] = (uint8_t)(high << 4 | low);
    }
    memcpy(key, out->bytes, sizeof *key);
    return cur_ok(&c) && out->size >= sizeof *key;
}
