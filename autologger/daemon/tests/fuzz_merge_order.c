/* Orders to the process of a merge, and its answers, of any bytes and any size: accepted texts lie within the message,
 * and each flag is 0 or 1. A flag of the input chooses order or answer; few random bytes form a whole message, so the
 * sizes are made to fit. */
#include "autologger/daemon/end/merge_order.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t read_all; /* all values are used, so that the compiler keeps each read */

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void text(const char *t, size_t room)
{
    const size_t n = strlen(t);
    must(n < room);
    read_all += n;
}

/* The sanitizer for undefined behaviour ends the program when a bool has another value. */
static void phases(const struct result_phases *p) { read_all += (size_t)p->machine_asked + p->counted; }

static void an_order(const uint8_t *data, size_t size, unsigned count)
{
    const size_t head     = offsetof(struct merge_order, input),
                 n        = count > MERGE_PARTS ? size : head + count * sizeof(struct merge_input);
    struct merge_order *o = calloc(1, n ? n : 1);
    must(o);
    memcpy(o, data, size < n ? size : n);
    if (n >= head && count <= MERGE_PARTS) {
        o->count = count;
        o->publishers_size %= 2 * sizeof o->publishers;
    }
    if (merge_order_whole(o, n)) {
        must(n == merge_order_size(o));
        text(o->parts.target, sizeof o->parts.target);
        text(o->parts.configuration, sizeof o->parts.configuration);
        text(o->boot.boot_id, sizeof o->boot.boot_id);
        text(o->boot.stop_reason, sizeof o->boot.stop_reason);
        if (o->publishers_size)
            text(o->publishers, o->publishers_size);
        for (unsigned i = 0; i < o->count; i++) {
            text(o->input[i].path, sizeof o->input[i].path);
            read_all += o->input[i].kernel;
        }
        phases(&o->boot.phases);
        read_all += (size_t)o->parts.rehearsal + o->parts.configured + o->boot.rehearsal + o->boot.kernel_phase;
    }
    free(o);
}

static void an_answer(const uint8_t *data, size_t size, bool whole)
{
    const size_t         n = whole ? sizeof(struct merge_answer) : size;
    struct merge_answer *a = calloc(1, n ? n : 1);
    must(a);
    memcpy(a, data, size < n ? size : n);
    if (merge_answer_whole(a, n)) {
        text(a->why.text, sizeof a->why.text);
        phases(&a->told.phases);
    }
    free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    if (data[0] & 1)
        an_order(data + 1, size - 1, data[0] >> 1);
    else
        an_answer(data + 1, size - 1, data[0] & 2);
    return 0;
}
