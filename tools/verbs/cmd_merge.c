/* autologger merge: one file from several of one boot. */
#include "autologger/consumer/merge.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/json_out.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/files/merge_options.h"
#include "tools/files/outputs.h"
#include "tools/files/redact_option.h"
#include "tools/files/summary_view.h"

#include <inttypes.h>

struct merge_args {
    struct cmdline       common;
    const char          *out;
    const char          *files[MERGE_FILES_MAX];
    unsigned             count;
    bool                 one_boot;
    struct redact_option redact;
};
enum { OPTION_ONE_BOOT = 0x400 };

static error_t merge_parse(int key, char *arg, struct argp_state *state)
{
    struct merge_args *a = state->input;
    switch (key) {
    case 'o': a->out = arg; return 0;
    case OPTION_ONE_BOOT: a->one_boot = true; return 0;
    case ARGP_KEY_ARG:
        if (a->count == MERGE_FILES_MAX)
            argp_error(state, "at most %d files", MERGE_FILES_MAX);
        a->files[a->count++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->out)
            argp_error(state, "the result is not named. Do: -o FILE");
        if (!a->count)
            argp_error(state, "FILES are missing");
        return 0;
    default: {
        error_t e = redact_option_parse(&a->redact, key, arg, state);
        return e == ARGP_ERR_UNKNOWN ? cmdline_option(&a->common, key, arg) : e;
    }
    }
}

static void merge_counts_json(const struct merge_args *a, const struct merge_counts *n)
{
    struct json *j = json_create(stdout, true);
    if (!j)
        return;
    json_object(j, NULL);
    json_text(j, "trace", a->out);
    json_number(j, "files", a->count);
    json_number(j, "events_in", n->in);
    json_number(j, "events_out", n->out);
    json_number(j, "headers_dropped", n->headers_dropped);
    json_number(j, "events_added", n->added);
    json_object(j, "identity");
    json_number(j, "images", n->identity.images);
    json_number(j, "with_build_id", n->identity.with_build_id);
    json_number(j, "no_file", n->identity.no_file);
    json_object_end(j);
    json_object(j, "kernel_names");
    json_number(j, "addresses", n->names.addresses);
    json_number(j, "named", n->names.named);
    json_number(j, "symbols", n->names.symbols);
    json_number(j, "modules", n->names.modules);
    json_number(j, "bytes", n->names.bytes);
    json_flag(j, "had", n->names.had);
    json_text(j, "none", n->names.none);
    json_object_end(j);
    json_object(j, "metadata");
    json_number(j, "events", n->metadata.seen);
    json_number(j, "had", n->metadata.had);
    json_number(j, "described", n->metadata.described);
    json_number(j, "undescribed", n->metadata.undescribed);
    json_number(j, "left_out", n->metadata.left_out);
    json_number(j, "maps", n->metadata.maps);
    json_number(j, "bytes", n->metadata.bytes);
    json_object_end(j);
    json_object(j, "user_stacks");
    json_number(j, "copies", n->stacks.copies);
    json_number(j, "complete", n->stacks.ends[UNWIND_WHOLE]);
    json_number(j, "end_of_copy", n->stacks.ends[UNWIND_NO_MEMORY]);
    json_number(j, "no_table", n->stacks.ends[UNWIND_NO_TABLE]);
    json_number(j, "too_long", n->stacks.ends[UNWIND_TOO_LONG]);
    json_number(j, "frames", n->stacks.frames);
    json_number(j, "left", n->stacks.left);
    json_text(j, "none", n->stacks.none);
    json_object_end(j);
    redact_option_json(&a->redact, j);
    json_number(j, "events_lost", n->events_lost);
    json_number(j, "buffers_lost", n->buffers_lost);
    json_number(j, "unfinished", n->unfinished);
    json_number(j, "inversions", n->inversions);
    json_number(j, "damage", n->damage);
    json_object_end(j);
    json_destroy(j);
}

/* Prints what was added to files with kernel events. */
static void names_print(const struct merge_counts *n)
{
    const struct kernel_names_counts *k = &n->names;
    const struct unwinding_counts    *s = &n->stacks;
    if (s->copies)
        visible_printf(stdout,
                       "user stacks: %" PRIu64 " of %" PRIu64 " unwound to their beginning, %" PRIu64
                       " cut short (%" PRIu64 " at the end of what was copied, %" PRIu64
                       " without an unwind table, %" PRIu64 " too long)\n",
                       s->ends[UNWIND_WHOLE], s->copies,
                       s->ends[UNWIND_NO_MEMORY] + s->ends[UNWIND_NO_TABLE] + s->ends[UNWIND_TOO_LONG],
                       s->ends[UNWIND_NO_MEMORY], s->ends[UNWIND_NO_TABLE], s->ends[UNWIND_TOO_LONG]);
    if (s->left)
        visible_printf(
            stdout,
            "user stacks: %" PRIu64
            " were left as they are: %s. Do: install all of autologger's packages, and merge this file again\n",
            s->left, s->none);
    if (n->identity.images)
        printf("identity: %" PRIu64 " of %" PRIu64 " image events have a build id, %" PRIu64 " are of no file\n",
               n->identity.with_build_id, n->identity.images, n->identity.no_file);
    if (k->had)
        printf("kernel names: in the file already\n");
    else if (*k->none)
        visible_printf(stdout,
                       "kernel names: none: %s. Do: merge on the machine and in the boot that was traced, as root\n",
                       k->none);
    else if (k->addresses)
        printf("kernel names: %" PRIu64 " of %" PRIu64 " addresses are in %" PRIu64 " functions, %" PRIu64 " KB\n",
               k->named, k->addresses, k->symbols, (k->bytes + 1023) / 1024);
}

static void metadata_print(const struct merge_counts *n)
{
    const struct embedding_counts *m = &n->metadata;
    if (!m->seen)
        return;
    printf("descriptions: %" PRIu64 " of %" PRIu64
           " kinds of events that do not describe themselves are in the file (%" PRIu64 " added, %" PRIu64 " KB)\n",
           m->described + m->had, m->seen, m->described, (m->bytes + 1023) / 1024);
    if (m->undescribed)
        printf(
            "descriptions: %" PRIu64
            " kinds of events have no manifest here. Do: autologger manifest install FILE.man, and merge this file again\n",
            m->undescribed);
    if (m->left_out)
        printf("descriptions: %" PRIu64
               " kinds of events have a description that is too large for an event, or are too many\n",
               m->left_out);
}

static void why_not_fine(const struct merge_counts *n, const char *out)
{
    lacks_print("autologger merge", out, n->events_lost, n->buffers_lost, out);
    fflush(stdout);
    if (n->unfinished)
        visible_printf(stderr,
                       "autologger merge: %u of the files %s never finished: what was lost last is not counted in %s\n",
                       n->unfinished, n->unfinished == 1 ? "was" : "were", out);
    if (n->damage)
        visible_printf(
            stderr,
            "autologger merge: %s\nautologger merge: %u place%s of damage in all; what lies there is not in %s. Do: "
            "autologger summary FILE names each\n",
            n->first_damage, n->damage, plural(n->damage), out);
    if (n->inversions)
        visible_printf(stderr,
                       "autologger merge: %s\nautologger merge: %" PRIu64
                       " event%s out of time order; %s has them where they "
                       "were found. Do: copy the file again from where it was written\n",
                       n->first_inversion, n->inversions, n->inversions == 1 ? " is" : "s are", out);
}

int cmd_merge(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"output", 'o', "FILE", 0, "the file to make; it appears whole or not at all", 0},
        {"one-boot", OPTION_ONE_BOOT, NULL, 0,
         "they are of one boot, though their dates do not fit: the date was set between them", 0},
        OPT_REDACT,
        OPT_STORE,
        OPT_JSON,
        {0}};
    static const struct argp argp = {
        options,
        merge_parse,
        "FILE...",
        CMDLINE_DOC(
            "One file out of several that were written in one boot with one clock, in time order. Files of different "
            "boots or clocks are refused, and both are named.",
            "  autologger merge -o boot.etl boot_km_premerge.etl boot_um_premerge.etl"),
        NULL,
        NULL,
        NULL};
    struct merge_args   a   = {0};
    struct merge_counts n   = {0};
    struct reason       why = {0};
    int                 code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    redact_option_prepare(&a.redact);
    struct os *edge = outputs_guard("autologger merge", &(struct output){a.out, ".merging-"}, 1, true, &code);
    if (!edge) {
        redact_option_close(&a.redact);
        return code;
    }
    if (!redact_option_open(&a.redact, "autologger merge", a.files, a.count, &code)) {
        redact_option_close(&a.redact);
        return code;
    }
    struct merge_options how = {.redactor = a.redact.redactor, .one_boot = a.one_boot};
    struct merge_help    help;
    merge_help_open(&help, &a.common, &how);
    wstatus st = merge_files_with(edge, a.files, a.count, a.out, &how, &n, &why);
    merge_help_close(&help);
    if (st) {
        redact_option_close(&a.redact);
        return failure_print_about(n.opened ? ABOUT_RESULT : ABOUT_TRACE, "autologger merge", st, &why);
    }
    if (a.common.json)
        merge_counts_json(&a, &n);
    else {
        visible_printf(stdout, "merged %u file%s: %" PRIu64 " events (%" PRIu64 " lost before)\ntrace: %s\n", a.count,
                       plural(a.count), n.out, n.events_lost, a.out);
        names_print(&n);
        metadata_print(&n);
        redact_option_print(&a.redact);
    }
    redact_option_close(&a.redact);
    why_not_fine(&n, a.out);
    return n.damage || n.inversions ? VERB_FAILED : VERB_FINE;
}
