/* quality_view.c - see quality_view.h. */
#include "tools/view/quality_view.h"

#include "autologger/schema/classic.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/json_out.h"
#include "tools/base/text_table.h"
#include "tools/view/symbols_view.h"

#include <inttypes.h>

static const char *quality_view_row_name(const struct quality_row *r, char *out, size_t size)
{
    if (r->hook == QUALITY_INSIDE)
        return "(inside of events)";
    if (r->hook == QUALITY_NO_EVENT)
        return "(of no event)";
    classic_name(r->hook, out, size);
    return out;
}

static const char *quality_view_number(uint64_t value, char out[24])
{
    snprintf(out, 24, "%" PRIu64, value);
    return out;
}

/* "900 of 1000": complete parts, of all parts. */
static const char *quality_view_part(const uint64_t ends[STACK_ENDS], char out[48])
{
    uint64_t all = ends[STACK_COMPLETE] + ends[STACK_CUT] + ends[STACK_END_UNKNOWN];
    if (all)
        snprintf(out, 48, "%" PRIu64 " of %" PRIu64, ends[STACK_COMPLETE], all);
    else
        snprintf(out, 48, "-");
    return out;
}

static void share_print(const char *what, uint64_t named, uint64_t frames, FILE *to)
{
    visible_printf(to, "%s %" PRIu64 " of %" PRIu64 " (%.1f %%)", what, named, frames,
                   frames ? 100.0 * (double)named / (double)frames : 0.0);
}

void quality_print(const struct symbols_counts *n, bool named, FILE *to)
{
    static const char *const titles[] = {"stacks of",   "events",       "missing",    "complete", "cut short",
                                         "end unknown", "kernel whole", "user whole", NULL};
    struct text_table        t        = {0};

    if (!n->row_count)
        return;
    fputc('\n', to);
    text_table_init(&t, titles);
    t.right = 0xFE;
    for (size_t i = 0; i < n->row_count; i++) {
        const struct quality_row *r = &n->rows[i];
        char                      name[128], a[24], b[24], c[24], d[24], e[24], k[48], u[48];
        text_table_row(&t, quality_view_row_name(r, name, sizeof name), quality_view_number(r->events, a),
                       quality_view_number(r->missing, b), quality_view_number(r->whole[STACK_COMPLETE], c),
                       quality_view_number(r->whole[STACK_CUT], d), quality_view_number(r->whole[STACK_END_UNKNOWN], e),
                       quality_view_part(r->kernel, k), quality_view_part(r->user, u));
    }
    text_table_print(&t, to);
    text_table_finish(&t);
    if (named) {
        share_print("frames with a name: kernel", n->kernel_named, n->kernel_frames, to);
        share_print(", user", n->user_named, n->user_frames, to);
        fputc('\n', to);
    }
    symbols_no_images(n, to);
    if (n->unknown)
        visible_printf(
            to,
            "%" PRIu64
            " stacks end in a file, or a kernel, whose names are not here. Do: --symbol-path DIR, or merge on the traced machine\n",
            n->unknown);
}

static void part_json(struct json *j, const char *name, const uint64_t ends[STACK_ENDS], uint64_t frames,
                      uint64_t with_name, bool named)
{
    json_object(j, name);
    json_number(j, "complete", ends[STACK_COMPLETE]);
    json_number(j, "cut", ends[STACK_CUT]);
    json_number(j, "unknown", ends[STACK_END_UNKNOWN]);
    json_number(j, "none", ends[STACK_NO_PART]);
    json_number(j, "frames", frames);
    if (named)
        json_number(j, "named", with_name);
    json_object_end(j);
}

void quality_json(const struct symbols_counts *n, bool named, struct json *j)
{
    json_array(j, "stackQuality");
    for (size_t i = 0; i < n->row_count; i++) {
        const struct quality_row *r = &n->rows[i];
        char                      name[128];
        json_object(j, NULL);
        json_text(j, "event", quality_view_row_name(r, name, sizeof name));
        json_number(j, "events", r->events);
        json_number(j, "stacks", r->with_stack);
        json_number(j, "missing", r->missing);
        json_number(j, "complete", r->whole[STACK_COMPLETE]);
        json_number(j, "cut", r->whole[STACK_CUT]);
        json_number(j, "unknown", r->whole[STACK_END_UNKNOWN]);
        part_json(j, "kernel", r->kernel, r->kernel_frames, r->kernel_named, named);
        part_json(j, "user", r->user, r->user_frames, r->user_named, named);
        json_object_end(j);
    }
    json_array_end(j);
}
