/* Any bytes as an .etl: reader, decoders, dump in both forms, summary, and what a merge adds, to a sink that keeps
 * nothing.
 * Proves: the fuzz target for .etl of the bad-input rule. */
#include "autologger/consumer/dump.h"
#include "autologger/consumer/identity.h"
#include "autologger/consumer/kernel_names.h"
#include "autologger/consumer/stack_keys.h"
#include "autologger/consumer/summary.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static ssize_t swallow(void *cookie, const char *text, size_t size)
{
    (void)cookie;
    (void)text;
    return (ssize_t)size;
}

static wstatus put(void *ctx, uint16_t cpu, const void *record, uint32_t size, int64_t time, struct reason *why)
{
    (void)ctx, (void)cpu, (void)time, (void)why;
    if (etl_record_size(record, size) != (int)size)
        abort(); /* an added record is sound, whatever the input was */
    return W_SUCCESS;
}

static void names(struct etl_reader *r)
{
    struct identity     *id = identity_create();
    struct kernel_names *k  = kernel_names_create();
    struct added_events  to = {put, NULL};
    struct etl_event     e;
    while (id && k && etl_next(r, &e))
        if (identity_see(id, &e, &to, NULL) || !kernel_names_see(k, &e))
            break;
    if (id && k && kernel_names_write(k, "/nowhere", 1, &to, NULL))
        abort();
    identity_destroy(id);
    kernel_names_destroy(k);
}

/* Reads the definitions of stack keys first, then resolves every stack. */
static void keys(const uint8_t *data, size_t size)
{
    struct stack_keys   k = {0};
    struct etl_reader  *r;
    struct etl_event    e;
    struct stack_fields stack;
    for (int pass = 0; pass < 2 && etl_reader_open_memory(data, size, &r, NULL) == W_SUCCESS; pass++) {
        while (etl_next(r, &e))
            if (pass == 0)
                stack_keys_see(&k, &e);
            else if (stack_keys_stack(&k, &e, &stack))
                for (unsigned i = 0; i < stack.count; i++)
                    stack_frame(&stack, i);
        etl_reader_close(r);
    }
    stack_keys_finish(&k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *null;

    if (!null)
        null = fopencookie(NULL, "w", (cookie_io_functions_t){.write = swallow});
    for (int round = 0; round < DUMP_FORMATS + 2; round++) {
        struct etl_reader *r;
        struct dump_counts counts;
        struct summary    *s;
        struct etl_event   e;
        unsigned           damage;
        if (etl_reader_open_memory(data, size, &r, NULL) != W_SUCCESS)
            return 0;
        if (round < DUMP_FORMATS) {
            struct dump_options options = {.format     = (enum dump_format)round,
                                           .by_process = round == DUMP_TEXT,
                                           .process_id = 4,
                                           .providers  = {{.name = round == DUMP_TEXT ? "Process" : NULL}}};
            if (dump_events(r, &options, null, &counts, NULL) == W_SUCCESS && counts.written > counts.read)
                abort();
        } else if (round == DUMP_FORMATS) {
            names(r);
        } else if (summary_create(r, &s, NULL) == W_SUCCESS) {
            summary_print(s, null);
            summary_print_json(s, null);
            if (s->stacks_matched > s->stacks || s->inversions > s->events)
                abort();
            summary_destroy(s);
        }
        if (etl_next(r, &e)) /* all events were read: the end stays the end */
            abort();
        etl_reader_damage(r, &damage);
        etl_reader_close(r);
    }
    keys(data, size);
    return 0;
}
