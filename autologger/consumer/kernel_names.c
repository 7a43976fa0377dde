#include "autologger/consumer/kernel_names.h"

#include "autologger/consumer/classic_event.h"
#include "autologger/consumer/kernel_symbols.h"
#include "autologger/consumer/names_event.h"
#include "autologger/consumer/vdso.h"
#include "autologger/kernel/source/idmap.h"
#include "autologger/schema/classic.h"
#include "autologger/wire/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORD_MOST = 16384, SYMBOLS_AT_ONCE = 100 };
static const char module_schema[]  = "\0" NAMES_MODULE "\0"
                                     "Name\0\x82\x23"
                                     "Base\0\x15"
                                     "Size\0\x15"
                                     "BuildId\0\x0e";
static const char symbols_schema[] = "\0" NAMES_SYMBOLS "\0"
                                     "Module\0\x82\x23"
                                     "Symbols\0\xd8\x03"
                                     "Address\0\x15"
                                     "Size\0\x08"
                                     "Name\0\x82\x23";

struct kernel_names {
    struct idmap               seen; /* addresses */
    bool                       stacks_of_users;
    char                       boot_id[40];
    struct kernel_names_counts counts;
};

struct kernel_names *kernel_names_create(void) { return calloc(1, sizeof(struct kernel_names)); }

void kernel_names_destroy(struct kernel_names *k)
{
    if (!k)
        return;
    idmap_finish(&k->seen);
    free(k);
}

const struct kernel_names_counts *kernel_names_counts(const struct kernel_names *k) { return &k->counts; }

/* The kernel's frames come first; a kernel address behind a program's frame is data of the program's memory. */
static bool take_stack(struct kernel_names *k, const struct stack_fields *stack)
{
    for (unsigned i = 0; i < stack->count; i++) {
        uint64_t address = stack_frame(stack, i);
        if (!is_kernel_address(address)) {
            k->stacks_of_users = true;
            break;
        }
        /* every frame but the first is a return address, and the call lies before it: when a call that never returns is
         * the last instruction of its function, the return address lies in the next function */
        if (!idmap_put(&k->seen, i ? address - 1 : address, k))
            return false;
    }
    return true;
}

bool kernel_names_see_stack(struct kernel_names *k, const struct etl_event *e)
{
    struct stack_fields stack = {0};
    const uint8_t      *data;
    uint32_t            size;
    if (!e->ext || e->ext_lacks & UINT32_C(1) << ETL_EXT_STACK64 || !etl_ext_find(e, ETL_EXT_STACK64, &data, &size) ||
        size < sizeof(uint64_t))
        return true;
    stack.frames = data + sizeof(uint64_t); /* behind the id that matches parts of a stack */
    stack.count  = size / 8 - 1;
    return !stack.count || !is_kernel_address(stack_frame(&stack, 0)) || take_stack(k, &stack);
}

bool kernel_names_see(struct kernel_names *k, const struct etl_event *e)
{
    struct stack_fields stack;
    uint64_t            address;
    bool                good = true;

    if (e->kind == ETL_KIND_PERFINFO || e->kind == ETL_KIND_SYSTEM) {
        if (stack_event_read(e, &stack)) {
            good = take_stack(k, &stack);
        } else if (e->hook == HOOK_PERF_SAMPLE && e->is_64bit && e->payload_size >= sizeof address) {
            memcpy(&address, e->payload, sizeof address);
            good = !is_kernel_address(address) || idmap_put(&k->seen, address, k);
        }
    } else if (names_event_is(e, NAMES_BOOT)) {
        size_t n = strnlen((const char *)e->payload, e->payload_size);
        if (n < sizeof k->boot_id) {
            memcpy(k->boot_id, e->payload, n);
            k->boot_id[n] = 0;
        }
    } else if (names_event_is(e, NAMES_SYMBOLS)) {
        k->counts.had = true;
    } else if (e->kind == ETL_KIND_EVENT) {
        good = kernel_names_see_stack(k, e);
    }
    return good;
}

static wstatus kernel_names_put_event(struct kernel_names *k, struct writer *w, int64_t time,
                                      const struct added_events *to, struct reason *why)
{
    if (!names_event_end(w))
        return W_SUCCESS;
    k->counts.events++;
    k->counts.bytes += w->pos;
    return to->put(to->ctx, 0, w->data, (uint32_t)w->pos, time, why);
}

static wstatus put_module(struct kernel_names *k, const struct kernel_module *m, int64_t time,
                          const struct added_events *to, struct reason *why)
{
    uint8_t       bytes[1024];
    struct writer w = wr_make(bytes, sizeof bytes);

    names_event_begin(&w, module_schema, sizeof module_schema - 1, time);
    own_event_text(&w, m->name);
    wr_u64(&w, m->base);
    wr_u64(&w, m->size);
    wr_u16(&w, m->build_id.size);
    wr_bytes(&w, m->build_id.bytes, m->build_id.size);
    k->counts.modules++;
    return kernel_names_put_event(k, &w, time, to, why);
}

/* The wanted symbols of one module, a hundred per event. */
static wstatus put_symbols(struct kernel_names *k, const struct kernel_symbols *s, const bool *wanted, size_t module,
                           int64_t time, const struct added_events *to, struct reason *why)
{
    uint8_t       bytes[RECORD_MOST * 4];
    struct writer w     = {0};
    uint16_t      count = 0;
    size_t        at    = 0;
    wstatus       st    = W_SUCCESS;

    for (size_t i = 0; i <= s->count && st == W_SUCCESS; i++) {
        bool take_it = i < s->count && wanted[i] && s->symbol[i].module == module;
        if (count && (i == s->count || (take_it && count == SYMBOLS_AT_ONCE))) {
            memcpy(w.data + at, &count, sizeof count);
            st    = kernel_names_put_event(k, &w, time, to, why);
            count = 0;
        }
        if (!take_it)
            continue;
        if (count == 0) {
            w = wr_make(bytes, sizeof bytes);
            names_event_begin(&w, symbols_schema, sizeof symbols_schema - 1, time);
            own_event_text(&w, s->module[module].name);
            at = w.pos;
            wr_u16(&w, 0);
        }
        wr_u64(&w, s->symbol[i].address);
        wr_u32(&w, s->symbol[i].size);
        own_event_text(&w, s->text + s->symbol[i].name);
        k->counts.symbols++;
        count++;
    }
    return st;
}

/* Modules with a wanted symbol, each followed by its symbols. */
static wstatus put_wanted(struct kernel_names *k, const struct kernel_symbols *s, const bool *wanted, int64_t time,
                          const struct added_events *to, struct reason *why)
{
    bool   *used = calloc(s->modules, sizeof *used);
    wstatus st   = used ? W_SUCCESS : reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the kernel's symbols");

    for (size_t i = 0; i < s->count && used; i++)
        if (wanted[i])
            used[s->symbol[i].module] = true;
    for (size_t m = 0; m < s->modules && st == W_SUCCESS; m++)
        if (used[m] && (st = put_module(k, &s->module[m], time, to, why)) == W_SUCCESS)
            st = put_symbols(k, s, wanted, m, time, to, why);
    free(used);
    return st;
}

/* Adds every function of the vdso: only later is it known which mapping of a process a user address lies in. */
static void vdso_want(struct kernel_names *k, struct kernel_symbols *s)
{
    if (k->stacks_of_users && vdso_symbols(s))
        kernel_symbols_order(s);
}

static wstatus write_symbols(struct kernel_names *k, struct kernel_symbols *s, int64_t time,
                             const struct added_events *to, struct reason *why)
{
    vdso_want(k, s);
    bool *wanted = calloc(s->count, sizeof *wanted);
    if (!wanted)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the kernel's symbols");
    for (size_t i = 0; i < k->seen.capacity; i++) {
        const struct kernel_symbol *f = k->seen.slot[i].value ? kernel_symbols_find(s, k->seen.slot[i].key) : NULL;
        if (f) {
            wanted[f - s->symbol] = true;
            k->counts.named++;
        }
    }
    for (size_t i = 0; i < s->count && !is_kernel_address(s->symbol[i].address); i++)
        wanted[i] = true; /* the vdso's */
    wstatus st = put_wanted(k, s, wanted, time, to, why);
    free(wanted);
    return st;
}

wstatus kernel_names_write(struct kernel_names *k, const char *root, int64_t time, const struct added_events *to,
                           struct reason *why)
{
    struct kernel_symbols s  = {0};
    struct reason         no = {0};
    char                  boot_id[40];
    wstatus               st = W_SUCCESS;

    k->counts.addresses = k->seen.count;
    if (k->counts.had || (!k->seen.count && !k->stacks_of_users))
        return W_SUCCESS;
    kernel_boot_id(root, boot_id);
    if (!*k->boot_id)
        snprintf(k->counts.none, sizeof k->counts.none, "the trace does not say in which boot it was written");
    else if (strcmp(k->boot_id, boot_id) != 0)
        snprintf(k->counts.none, sizeof k->counts.none, "this is another boot or machine (%s) than the trace's (%s)",
                 *boot_id ? boot_id : "unknown", k->boot_id);
    else if (!kernel_symbols_read(root, &s, &no))
        snprintf(k->counts.none, sizeof k->counts.none, "%.190s", no.text);
    else
        st = write_symbols(k, &s, time, to, why);
    kernel_symbols_finish(&s);
    return st;
}
