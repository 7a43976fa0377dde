/* autologger mc: the message compiler: a C header and the metadata of a program out of a manifest. */
#include "autologger/schema/manifest_pack.h"
#include "autologger/schema/mc.h"
#include "tools/json_out.h"
#include "tools/manifest_source.h"
#include "tools/store_access.h"
#include "tools/verb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_MAX_ = 1024, MADE_MAX = 300 };
struct args {
    struct cmdline common; /* first */
    const char    *file, *base, *header_folder, *resource_folder;
    char           own_base[256];
    char          *made[MADE_MAX];
    unsigned       made_count;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *a = state->input;
    switch (key) {
    case 'z': a->base = arg; return 0;
    case 'h': a->header_folder = arg; return 0;
    case 'r': a->resource_folder = arg; return 0;
    case ARGP_KEY_ARG:
        if (a->file)
            argp_error(state, "one FILE at a time");
        a->file = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->file)
            argp_error(state, "FILE is missing");
        if (a->base && (!*a->base || strchr(a->base, '/')))
            argp_error(state, "--base takes a name without folders, not \"%s\"", a->base);
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

/* "dir/web.man" -> "web" */
static void base_find(struct args *a)
{
    const char *slash = strrchr(a->file, '/'), *name = slash ? slash + 1 : a->file;
    if (a->base)
        return;
    snprintf(a->own_base, sizeof a->own_base, "%s", name);
    char *dot = strrchr(a->own_base, '.');
    if (dot && dot != a->own_base)
        *dot = 0;
    a->base = a->own_base;
}

/* Whole or not at all; a file that has these bytes already keeps its time, so that nothing is built again. */
static wstatus file_put(struct args *a, const char *folder, const char *suffix, const struct text *content, struct reason *why)
{
    char  path[PATH_MAX_], temporary[PATH_MAX_ + 32];
    FILE *f;

    snprintf(path, sizeof path, "%s%s%s%s", folder ? folder : "", folder ? "/" : "", a->base, suffix);
    snprintf(temporary, sizeof temporary, "%s.new-%d", path, (int)getpid());
    struct file_bytes old;
    bool              same = file_bytes_read(path, &old, NULL) == W_SUCCESS && !old.elf && old.size == content->length &&
                (!old.size || memcmp(old.data, content->data, old.size) == 0);
    file_bytes_free(&old);
    if (!same) {
        if (!(f = fopen(temporary, "we")))
            return reason_set(why, wstatus_from_errno(errno), "%s cannot be written: %s", temporary, strerror(errno));
        bool fine = fwrite(text_get(content), 1, content->length, f) == content->length;
        fine      = fclose(f) == 0 && fine;
        if (!fine || rename(temporary, path) < 0) {
            int error = errno;
            unlink(temporary);
            return reason_set(why, wstatus_from_errno(error), "%s cannot be written: %s", path, strerror(error));
        }
    }
    if (a->made_count < MADE_MAX)
        a->made[a->made_count++] = strdup(path);
    return W_SUCCESS;
}

static wstatus make(struct args *a, const struct manifest *m, struct reason *why)
{
    struct text t  = {0};
    wstatus     st = mc_header(m, a->base, &t, why);

    if (!st)
        st = file_put(a, a->header_folder, ".h", &t, why);
    text_cut(&t, 0);
    if (!st && !(st = mc_metadata(m, a->base, &t, why)))
        st = file_put(a, a->resource_folder, "_metadata.c", &t, why);
    text_cut(&t, 0);
    if (!st) {
        manifest_pack(m, &t);
        st = file_put(a, a->resource_folder, ".bin", &t, why);
    }
    for (unsigned i = 0; i < m->cultures.count && !st; i++) {
        char suffix[80], name[MC_NAME];
        mc_name(m->cultures.at[i].name, name); /* a culture is part of a file's name */
        for (char *c = name; *c; c++)
            *c = *c == '_' ? '-' : *c;
        snprintf(suffix, sizeof suffix, ".%.60s.msg", name);
        text_cut(&t, 0);
        manifest_pack_strings(m, i, &t);
        st = file_put(a, a->resource_folder, suffix, &t, why);
    }
    if (t.failed && !st)
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for what is made of %s", a->file);
    text_finish(&t);
    return st;
}

static void made_print(struct args *a)
{
    struct json *j = a->common.json ? json_create(stdout, true) : NULL;
    if (j) {
        json_object(j, NULL);
        json_array(j, "files");
    }
    for (unsigned i = 0; i < a->made_count; i++) {
        if (j)
            json_text(j, NULL, a->made[i]);
        else
            puts(a->made[i] ? a->made[i] : "?");
    }
    if (j) {
        json_array_end(j);
        json_object_end(j);
        json_destroy(j);
    }
}

int cmd_mc(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"base", 'z', "NAME", 0, "name of the files that are made (default: that of FILE)", 0},
        {"header-dir", 'h', "DIR", 0, "where NAME.h goes (default: here)", 0},
        {"resource-dir", 'r', "DIR", 0, "where the rest goes: NAME_metadata.c, NAME.bin, NAME.CULTURE.msg (default: here)", 0}, OPT_JSON, {0}};
    static const struct argp argp = {
        options, parse, "FILE.man",
        CMDLINE_DOC("Makes of a manifest what a program needs to write its events: a C and C++ header (descriptors, constants, a macro an event), a C "
                    "file that puts names and messages into the program, and the same as files: metadata (.bin) and messages by culture (.msg).",
                    "  autologger mc web.man\n  cc server.c web_metadata.c $(pkg-config --cflags --libs libautologger)"),
        NULL, NULL, NULL};
    struct args            a   = {0};
    struct manifest_source s   = {0};
    struct reason          why = {0};
    int                    code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    base_find(&a);
    wstatus st = manifest_source_read(&s, a.file, &why);
    if (!st && s.count != 1)
        st = reason_set(&why, W_INVALID_DATA, "%s holds %u manifests. Do: give mc the manifest (.man)", a.file, s.count);
    if (st)
        code = manifest_source_failed(&s, "autologger mc", st, &why);
    else if ((st = make(&a, s.list[0], &why)))
        code = failure_print_about(ABOUT_RESULT, "autologger mc", st, &why);
    else
        made_print(&a);
    for (unsigned i = 0; i < a.made_count; i++)
        free(a.made[i]);
    manifest_source_finish(&s);
    return st ? code : VERB_FINE;
}
