/* symbols_view.c - see symbols_view.h. */
#include "tools/view/symbols_view.h"

#include "registry-sim/base/visible_print.h"
#include "tools/base/json_out.h"

#include <inttypes.h>

enum { MISSING_SHOWN = 10 };

static double symbols_view_share(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void missing_print(const struct symbols_counts *n, FILE *to)
{
    if (n->kernel == KERNEL_NONE && n->kernel_frames)
        visible_printf(
            to, "kernel symbols: %s. Do: autologger merge as root on the machine and in the boot that was traced\n",
            n->kernel_why);
    if (!n->list_count)
        return;
    fprintf(to, "missing files, by frames:\n");
    for (size_t i = 0; i < n->list_count && i < MISSING_SHOWN; i++)
        visible_printf(to, "%10" PRIu64 "  %s  %s\n", n->list[i].frames,
                       *n->list[i].build_id ? n->list[i].build_id : "(no build id)", n->list[i].path);
    if (n->list_count > MISSING_SHOWN)
        visible_printf(to, "%10s  and %zu more: --json names all\n", "", n->list_count - MISSING_SHOWN);
    fprintf(to, "Do: --symbol-path DIR, with the files or their debug information below it\n");
}

void symbols_no_images(const struct symbols_counts *n, FILE *to)
{
    if (n->user_frames && !n->images)
        fprintf(
            to,
            "modules of programs: unknown, because the trace has no images (it was made without LOADER). Do: trace with the kernel flag LOADER\n");
}

void symbols_print(const struct symbols_counts *n, FILE *to)
{
    static const char *const from[] = {"saved in the trace", "of the running kernel", "none"};

    visible_printf(to,
                   "frames: kernel %" PRIu64 " of %" PRIu64 " named (%.1f %%; symbols: %s), user %" PRIu64
                   " of %" PRIu64 " named (%.1f %%)\n",
                   n->kernel_named, n->kernel_frames, symbols_view_share(n->kernel_named, n->kernel_frames),
                   from[n->kernel], n->user_named, n->user_frames, symbols_view_share(n->user_named, n->user_frames));
    fprintf(to,
            "without a name: no function there %" PRIu64 ", file missing %" PRIu64 ", no image %" PRIu64
            ", no address %" PRIu64 "\n",
            n->by_state[FRAME_NO_NAME], n->by_state[FRAME_NO_FILE], n->by_state[FRAME_NO_IMAGE],
            n->by_state[FRAME_NO_CODE]);
    fprintf(to,
            "stacks: complete %" PRIu64 ", cut short %" PRIu64 ", of unknown end %" PRIu64 ", missing %" PRIu64 "\n",
            n->complete, n->cut, n->unknown, n->missing);
    symbols_no_images(n, to);
    missing_print(n, to);
}

void symbols_print_json(const struct symbols_counts *n, FILE *to)
{
    static const char *const from[] = {"saved", "live", "none"};
    struct json             *j      = json_create(to, false);

    if (!j)
        return;
    json_object(j, NULL);
    json_object(j, "symbols");
    json_text(j, "kernel_symbols", from[n->kernel]);
    json_text(j, "kernel_why", n->kernel_why);
    json_number(j, "kernel_frames", n->kernel_frames);
    json_number(j, "kernel_named", n->kernel_named);
    json_number(j, "user_frames", n->user_frames);
    json_number(j, "user_named", n->user_named);
    json_number(j, "images", n->images);
    json_number(j, "no_name", n->by_state[FRAME_NO_NAME]);
    json_number(j, "no_file", n->by_state[FRAME_NO_FILE]);
    json_number(j, "no_image", n->by_state[FRAME_NO_IMAGE]);
    json_number(j, "no_code", n->by_state[FRAME_NO_CODE]);
    json_number(j, "stacks_complete", n->complete);
    json_number(j, "stacks_cut", n->cut);
    json_number(j, "stacks_unknown", n->unknown);
    json_number(j, "stacks_missing", n->missing);
    json_array(j, "missing_files");
    for (size_t i = 0; i < n->list_count; i++) {
        json_object(j, NULL);
        json_text(j, "path", n->list[i].path);
        json_text(j, "build_id", n->list[i].build_id);
        json_number(j, "frames", n->list[i].frames);
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
    json_object_end(j);
    json_destroy(j);
}
