/* Any bytes as an .etl: reader, decoders, dump in both forms and summary, to a sink that keeps nothing.
 * Proves: the fuzz target for .etl of the bad-input rule. */
#include "autologger/consumer/dump.h"
#include "autologger/consumer/summary.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static ssize_t swallow(void *cookie, const char *text, size_t size)
{
    (void)cookie;
    (void)text;
    return (ssize_t)size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *null;

    if (!null)
        null = fopencookie(NULL, "w", (cookie_io_functions_t){.write = swallow});
    for (int round = 0; round < 3; round++) {
        struct etl_reader *r;
        struct dump_counts counts;
        struct summary    *s;
        struct etl_event   e;
        unsigned           damage;
        if (etl_reader_open_memory(data, size, &r, NULL) != W_SUCCESS)
            return 0;
        if (round < 2) {
            struct dump_options options = {.json = round == 0, .by_process = round == 1, .process_id = 4,
                                           .providers = {{.name = round == 0 ? NULL : "Process"}}};
            if (dump_events(r, &options, null, &counts, NULL) == W_SUCCESS && counts.written > counts.read)
                abort();
        } else if (summary_create(r, &s, NULL) == W_SUCCESS) {
            summary_print(s, null);
            summary_print_json(s, null);
            if (s->stacks_matched > s->stacks || s->inversions > s->events)
                abort();
            summary_destroy(s);
        }
        if (etl_next(r, &e)) /* all are read; the end stays the end */
            abort();
        etl_reader_damage(r, &damage);
        etl_reader_close(r);
    }
    return 0;
}
