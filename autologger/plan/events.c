#include "autologger/kernel/tables/flags.h"
#include "autologger/plan/modes.h"
#include "autologger/plan/reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool flag_is_set(const struct plan *p, const struct kernel_flag *f) { return p->group_mask[f->word] & f->bits; }

/* Flags that are delivered in part. Beside the keyword that gives the rest nothing is missing, so there is no
 * condition. */
static const struct partly {
    unsigned    word;
    uint32_t    bits;
    const char *advice;
} partly[] = {
    {0, 0x00000200, "add FILE_IO"},
    {1, 0x00000100, "add CSWITCH"},
};

static const char *partly_advice(const struct plan *p, const struct kernel_flag *f)
{
    static const uint32_t disk_io = 0x100; /* the keyword DISK_IO has both bits, so one can't be requested alone */
    for (size_t i = 0; i < sizeof partly / sizeof *partly; i++)
        if (partly[i].word == f->word && partly[i].bits == f->bits)
            return (f->word == 0 && p->group_mask[0] & disk_io) ||
                           group_mask_has(p->group_mask, f->word ? "CSWITCH" : "FILE_IO")
                       ? NULL
                       : partly[i].advice;
    return NULL;
}

static void report_flags(struct plan_reading *r)
{
    struct plan              *p = r->plan;
    const struct plan_value  *v = reading_value(r, VALUE_ENABLE_KERNEL_FLAGS);
    size_t                    count;
    const struct kernel_flag *flags = kernel_flags(&count);
    uint32_t                  unknown[GROUP_MASK_WORDS];

    memcpy(unknown, p->group_mask, sizeof unknown);
    for (size_t i = 0; i < count; i++) {
        const struct kernel_flag *f = &flags[i];
        if (!flag_is_set(p, f))
            continue;
        unknown[f->word] &= ~f->bits;
        const char *item   = f->keyword ? f->keyword : f->symbol;
        const char *advice = f->offer == KERNEL_OFFER_PARTLY ? partly_advice(p, f) : NULL;
        if (advice)
            condition_add(&p->conditions, W_NOT_SUPPORTED, false, item, v->source_file, v->source_line, advice,
                          "in part: %s", f->source);
        else if (f->offer == KERNEL_OFFER_NONE)
            condition_add(&p->conditions, W_NOT_SUPPORTED, false, item, v->source_file, v->source_line,
                          "remove the flag", "%s gives no events: %s", item, f->source);
    }
    for (unsigned w = 0; w < GROUP_MASK_WORDS; w++)
        if (unknown[w]) {
            char item[24];
            snprintf(item, sizeof item, "MASK%u:0x%08x", w, unknown[w]);
            condition_add(
                &p->conditions, W_NOT_SUPPORTED, false, item, v->source_file, v->source_line, "remove the bits",
                "the bits 0x%08x of word %u have no known meaning; they are kept and give no events", unknown[w], w);
        }
}

static const struct kernel_hook *hook_row(uint16_t hook)
{
    size_t                    count;
    const struct kernel_hook *rows = kernel_hooks(&count);

    for (size_t i = 0; i < count; i++)
        if (rows[i].hook == hook)
            return &rows[i];
    return NULL;
}

static void report_hook(struct plan_reading *r, uint16_t hook)
{
    const struct plan_value  *v   = reading_value(r, VALUE_STACK_WALKING_FILTER);
    const struct kernel_hook *row = hook_row(hook);
    struct condition_list    *to  = &r->plan->conditions;
    char                      item[64];

    snprintf(item, sizeof item, "%s", row ? row->name : "");
    if (!row)
        snprintf(item, sizeof item, "0x%04x", hook);
    if (hook_has_stack(hook)) {
        if (row && !group_mask_has(r->plan->group_mask, row->enabled_by))
            condition_add(to, W_INVALID_PARAMETER, true, item, v->source_file, v->source_line,
                          "add the flag to EnableKernelFlags", "no stacks: the event needs the kernel flag %s",
                          row->enabled_by);
        return;
    }
    condition_add(to, W_NOT_SUPPORTED, false, item, v->source_file, v->source_line, "remove it from StackWalkingFilter",
                  "%s gets no stacks in this version", item);
}

static void report_hooks(struct plan_reading *r)
{
    const struct plan *p = r->plan;

    for (unsigned i = 0; i < p->hook_count; i++)
        report_hook(r, p->hooks[i]);
    if (p->hook_count && !(group_mask_has(p->group_mask, "LOADER") && group_mask_has(p->group_mask, "PROC_THREAD")))
        reading_condition(r, W_INVALID_PARAMETER, true, VALUE_STACK_WALKING_FILTER, "add PROC_THREAD+LOADER",
                          "stacks will have addresses only: module names need the kernel flags PROC_THREAD and LOADER");
}

void plan_events_report(const uint32_t *mask, const uint16_t *hooks, unsigned hook_count, struct condition_list *out)
{
    struct plan        *p = calloc(1, sizeof *p);
    struct plan_reading r = {.plan = p};
    if (!p)
        return;
    memcpy(p->group_mask, mask, sizeof p->group_mask);
    memcpy(p->hooks, hooks, hook_count * sizeof *hooks);
    p->hook_count = hook_count;
    p->conditions = *out;
    report_flags(&r);
    report_hooks(&r);
    *out = p->conditions;
    free(p);
}

wstatus reading_kernel_events(struct plan_reading *r)
{
    struct plan             *p     = r->plan;
    const struct plan_value *flags = reading_value(r, VALUE_ENABLE_KERNEL_FLAGS);
    const struct plan_value *hooks = reading_value(r, VALUE_STACK_WALKING_FILTER);
    wstatus                  st    = group_mask_from_bytes(flags->bytes, flags->size, p->group_mask, r->why);

    if (st != W_SUCCESS) {
        reading_blame(r, VALUE_ENABLE_KERNEL_FLAGS);
        return st;
    }
    st = hooks_from_bytes(hooks->bytes, hooks->size, p->hooks, &p->hook_count, r->why);
    if (st != W_SUCCESS) {
        reading_blame(r, VALUE_STACK_WALKING_FILTER);
        return st;
    }
    if (p->kernel) {
        report_flags(r);
        report_hooks(r);
        return W_SUCCESS;
    }
    if (flags->present)
        reading_condition(r, W_NOT_SUPPORTED, false, VALUE_ENABLE_KERNEL_FLAGS,
                          "move it to GlobalLogger, or add SYSTEM_LOGGER to LogFileMode",
                          "an Autologger session cannot hold kernel events; EnableKernelFlags has no effect here");
    if (hooks->present)
        reading_condition(r, W_NOT_SUPPORTED, false, VALUE_STACK_WALKING_FILTER,
                          "move it to the session that has EnableKernelFlags",
                          "stacks are taken on kernel events, and this session has none");
    memset(p->group_mask, 0, sizeof p->group_mask);
    p->hook_count = 0;
    return W_SUCCESS;
}
