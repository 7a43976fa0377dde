#include "autologger/analysis/boot_modes.h"

#include "autologger/analysis/samples.h"

#include <math.h>
#include <stdlib.h>

enum { MODES_LEAST = 8 /* boots */, MODES_SPREADS = 4 };
#define MODES_SPREAD_OF_DEVIATION 1.4826 /* of a normal distribution: spread to median deviation */
#define MODES_SHARE 0.01                 /* of the boot: the least width of a gap */

struct boot_length {
    double   ns;
    unsigned boot;
};

static int boot_length_order(const void *a, const void *b)
{
    const struct boot_length *x = a, *y = b;
    return x->ns != y->ns ? (x->ns > y->ns) - (x->ns < y->ns) : (x->boot > y->boot) - (x->boot < y->boot);
}

static double boot_modes_value(const struct boot_item *i, unsigned boot)
{
    const int64_t own = boot_item_value(i, boot);
    return own < 0 ? 0 : (double)own;
}

/* Counts the quick boots in front of the widest gap. 0: no gap is wide enough. `room` has a place for each boot. */
static unsigned boot_modes_split(const struct boot_length *list, unsigned count, double *room)
{
    unsigned at  = 0;
    double   gap = 0;
    for (unsigned i = count / 2 + 1; i + 2 <= count; i++) /* two are slow, or more; fewer than half */
        if (list[i].ns - list[i - 1].ns > gap) {
            gap = list[i].ns - list[i - 1].ns;
            at  = i;
        }
    if (!at)
        return 0;
    for (unsigned i = 0; i < at; i++)
        room[i] = list[i].ns;
    const double middle = samples_median(room, at);
    for (unsigned i = 0; i < at; i++)
        room[i] = fabs(list[i].ns - middle);
    const double spread = samples_median(room, at) * MODES_SPREAD_OF_DEVIATION;
    return gap > MODES_SPREADS * spread && gap > MODES_SHARE * middle ? at : 0;
}

/* True: the item's values in the slow boots are all above those in the quick ones. The medians. */
static bool boot_modes_apart(const struct boot_item *item, const struct boot_length *list, unsigned count, unsigned at,
                             double *room, double *quick, double *slower)
{
    double most = 0, least = INFINITY;
    for (unsigned i = 0; i < count; i++) {
        room[i] = boot_modes_value(item, list[i].boot);
        if (i < at)
            most = fmax(most, room[i]);
        else
            least = fmin(least, room[i]);
    }
    *quick  = samples_median(room, at);
    *slower = samples_median(room + at, count - at);
    return least > most;
}

/* The item that tells the groups apart and explains most; a unit rather than its processes. */
static void boot_modes_name(const struct boot_figures *f, const struct boot_length *list, unsigned at, double *room,
                            struct boot_modes *out)
{
    double most = out->more / 2, quick, slower;
    for (unsigned i = 0; i < f->items; i++) {
        const struct boot_item *item = &f->item[i];
        if (item->kind <= COMPARE_PHASE || item->kind == COMPARE_DISK ||
            !boot_modes_apart(item, list, out->boots, at, room, &quick, &slower) || slower - quick <= most * 1.02)
            continue;
        most        = slower - quick;
        out->item   = item;
        out->quick  = quick;
        out->slower = slower;
    }
}

bool boot_modes_find(const struct boot_figures *f, unsigned first, unsigned count, struct boot_modes *out)
{
    struct boot_length *list = malloc(count * sizeof *list + 1);
    double             *room = malloc(count * sizeof *room + 1);
    const bool          good = list && room;

    *out = (struct boot_modes){.boots = count};
    if (good && count >= MODES_LEAST && f->items && f->item[0].kind == COMPARE_BOOT) {
        for (unsigned i = 0; i < count; i++)
            list[i] = (struct boot_length){boot_modes_value(&f->item[0], first + i), first + i};
        qsort(list, count, sizeof *list, boot_length_order);
        const unsigned at = boot_modes_split(list, count, room);
        if (at) {
            for (unsigned i = 0; i < count; i++)
                room[i] = list[i].ns;
            out->more = samples_median(room + at, count - at) - samples_median(room, at);
            boot_modes_name(f, list, at, room, out);
            out->slow = out->item ? count - at : 0;
        }
    }
    free(list);
    free(room);
    return good;
}
