/* merge_order.c - see merge_order.h. */
#include "autologger/daemon/end/merge_order.h"

#include <string.h>

#define ENDS(text) (memchr(text, 0, sizeof(text)) != NULL)

/* A bool must be 0 or 1. */
static bool bool_is(const bool *b) { return *(const unsigned char *)b <= 1; }

static bool phases_are(const struct result_phases *p) { return bool_is(&p->machine_asked) && bool_is(&p->counted); }

bool merge_order_whole(const struct merge_order *o, size_t size)
{
    if (size < offsetof(struct merge_order, input) || o->count > MERGE_PARTS || size != merge_order_size(o) ||
        o->publishers_size > sizeof o->publishers || (o->publishers_size && o->publishers[o->publishers_size - 1]) ||
        !ENDS(o->parts.target) || !ENDS(o->parts.configuration) || !bool_is(&o->parts.rehearsal) ||
        !bool_is(&o->parts.configured) || !ENDS(o->boot.boot_id) || !ENDS(o->boot.stop_reason) ||
        !bool_is(&o->boot.rehearsal) || !bool_is(&o->boot.kernel_phase) || !phases_are(&o->boot.phases))
        return false;
    for (unsigned i = 0; i < o->count; i++)
        if (!ENDS(o->input[i].path) || !bool_is(&o->input[i].kernel))
            return false;
    return true;
}

bool merge_answer_whole(const struct merge_answer *a, size_t size)
{
    return size == sizeof *a && ENDS(a->why.text) && phases_are(&a->told.phases);
}
