/* autologger wpp: headers and texts of WPP's messages, as tracewpp makes them. */
#include "autologger/schema/manifest_file.h"
#include "autologger/schema/tmf.h"
#include "autologger/wpp/wpp.h"
#include "registry-sim/base/opening.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/json_out.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/files/made_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WPP_FILES_MAX = 4096, WPP_SCANS_MAX = 64, WPP_PATH = 4096 };
struct wpp_args {
    struct cmdline common; /* first */
    const char    *scans[WPP_SCANS_MAX], *functions[WPP_SCANS_MAX], *module, *folder, *format;
    unsigned       scan_count, function_count, file_count;
    bool           extract;
    const char    *files[WPP_FILES_MAX];
};

static error_t wpp_parse(int key, char *arg, struct argp_state *state)
{
    struct wpp_args *a = state->input;
    switch (key) {
    case 's':
    case 'f': {
        unsigned *count = key == 's' ? &a->scan_count : &a->function_count;
        if (*count == WPP_SCANS_MAX)
            argp_error(state, "at most %d of one option", WPP_SCANS_MAX);
        (key == 's' ? a->scans : a->functions)[(*count)++] = arg;
        return 0;
    }
    case 'm':
        if (!*arg || strpbrk(arg, " \t:/\""))
            argp_error(state, "--module takes a word without blanks, \":\" and \"/\", not \"%s\"", arg);
        a->module = arg;
        return 0;
    case 'o': a->folder = arg; return 0;
    case 't': a->format = arg; return 0;
    case 'x': a->extract = true; return 0;
    case ARGP_KEY_ARG:
        if (a->file_count == WPP_FILES_MAX)
            argp_error(state, "at most %d files", WPP_FILES_MAX);
        a->files[a->file_count++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->file_count)
            argp_error(state, a->extract ? "PROGRAM is missing" : "SOURCE is missing");
        if (a->extract && (a->scan_count || a->function_count || a->module || a->folder || a->format))
            argp_error(state, "--extract takes programs, and none of the other options");
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

/* ---- reading ---- */

struct wpp_input {
    char  *text;
    size_t size;
};

static wstatus wpp_input_read(const char *path, struct wpp_input *out, struct reason *why)
{
    struct stat st;
    int         fd = opening_file(path, 0);

    *out = (struct wpp_input){0};
    if (fd < 0)
        return reason_set(why, wstatus_from_errno(errno), "%s cannot be opened: %s", path, strerror(errno));
    wstatus status = W_SUCCESS;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > WPP_SOURCE_MAX)
        status = reason_set(why, W_INVALID_DATA, "%s is no file of at most %d MB", path, WPP_SOURCE_MAX >> 20);
    else if (!(out->text = malloc((size_t)st.st_size + 1)))
        status = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for %s", path);
    while (!status && out->size < (size_t)st.st_size) {
        const ssize_t n = read(fd, out->text + out->size, (size_t)st.st_size - out->size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            status = reason_set(why, wstatus_from_errno(errno), "%s cannot be read: %s", path, strerror(errno));
        if (n <= 0)
            break;
        out->size += (size_t)n;
    }
    if (out->text)
        out->text[out->size] = 0;
    close(fd);
    return status;
}

/* ---- making ---- */

struct wpp_run {
    const struct wpp_args   *a;
    struct wpp_config       *config;
    struct manifest_problems problems;
    struct json             *json;
    struct text              format; /* of all sources */
    struct reason            why;
};

static void wpp_tell(void *ctx, const struct manifest_problem *p)
{
    (void)ctx;
    diag_print(NULL, &(struct diag){p->error ? DIAG_ERROR : DIAG_WARNING, p->file, p->line, p->what, p->advice});
}

/* "dir/driver.c" -> "driver" */
static const char *wpp_stem(const char *path, char out[WPP_PATH])
{
    const char *slash = strrchr(path, '/');
    snprintf(out, WPP_PATH, "%s", slash ? slash + 1 : path);
    char *dot = strrchr(out, '.');
    if (dot && dot != out)
        *dot = 0;
    for (char *p = out; *p; p++)
        if (*p == ' ' || *p == ':')
            *p = '_';
    return out;
}

/* NAME.tmh, beside the source or in the folder that --output-dir names. */
static void wpp_header_path(const struct wpp_args *a, const char *source, char out[WPP_PATH])
{
    char        stem[WPP_PATH];
    const char *slash = strrchr(source, '/');
    wpp_stem(source, stem);
    if (a->folder)
        snprintf(out, WPP_PATH, "%s/%s.tmh", a->folder, stem);
    else
        snprintf(out, WPP_PATH, "%.*s%s.tmh", slash ? (int)(slash + 1 - source) : 0, source, stem);
}

static void wpp_made_print(struct wpp_run *r, const char *source, const char *header, const struct wpp_made *made)
{
    char guid[GUID_TEXT_SIZE];
    guid_format(&made->guid, guid);
    if (!r->json) {
        visible_printf(stdout, "%s: %u message%s, %s\n", header, made->messages, plural(made->messages), guid);
        return;
    }
    json_object(r->json, NULL);
    json_text(r->json, "source", source);
    json_text(r->json, "header", header);
    json_number(r->json, "messages", made->messages);
    json_text(r->json, "guid", guid);
    json_object_end(r->json);
}

static wstatus wpp_source_make(struct wpp_run *r, const char *source)
{
    struct wpp_input input;
    struct wpp_made  made = {0};
    char             header[WPP_PATH], stem[WPP_PATH];
    wstatus          st = wpp_input_read(source, &input, &r->why);

    if (!st)
        st = wpp_make(r->config, r->a->module ? r->a->module : wpp_stem(source, stem), source, input.text, input.size,
                      &r->problems, &made, &r->why);
    if (!st) {
        wpp_header_path(r->a, source, header);
        st = made_file_put(header, &made.header, &r->why);
    }
    if (!st) {
        text_add(&r->format, text_get(&made.format), made.format.length);
        wpp_made_print(r, source, header, &made);
    }
    wpp_made_finish(&made);
    free(input.text);
    return st;
}

/* The functions of --func, then those in the files of --scan, then those in the sources, which all sources may use. */
static wstatus wpp_configure(struct wpp_run *r)
{
    const struct wpp_args *a  = r->a;
    wstatus                st = W_SUCCESS;

    for (unsigned i = 0; i < a->function_count && !st; i++)
        st = wpp_config_function(r->config, a->functions[i], &r->problems, &r->why);
    for (unsigned i = 0; i < a->scan_count + a->file_count && !st; i++) {
        const char      *path = i < a->scan_count ? a->scans[i] : a->files[i - a->scan_count];
        struct wpp_input input;
        st = wpp_input_read(path, &input, &r->why);
        if (!st)
            st = wpp_config_scan(r->config, input.text, input.size, path, &r->problems, &r->why);
        free(input.text);
    }
    return st;
}

/* Two sources may not have one header. */
static wstatus wpp_headers_differ(struct wpp_run *r)
{
    const struct wpp_args *a = r->a;
    char                   one[WPP_PATH], other[WPP_PATH];
    for (unsigned i = 0; i < a->file_count; i++) {
        wpp_header_path(a, a->files[i], one);
        for (unsigned k = 0; k < i; k++) {
            wpp_header_path(a, a->files[k], other);
            if (strcmp(one, other) == 0)
                return reason_set(
                    &r->why, W_ALREADY_EXISTS,
                    "%s and %s would both make %s. Do: give one of them another name, or make them one by one "
                    "into different folders (--output-dir)",
                    a->files[k], a->files[i], one);
        }
    }
    return W_SUCCESS;
}

static int wpp_failed(const struct wpp_run *r, wstatus st)
{
    if (!r->problems.errors)
        return failure_print_about(ABOUT_SOURCE, "autologger wpp", st, &r->why);
    visible_printf(stderr, "autologger wpp: %s\n", r->why.text);
    return VERB_FAILED;
}

static int wpp_all(const struct wpp_args *a)
{
    struct wpp_run r = {.a = a, .config = wpp_config_new(), .problems = {.tell = wpp_tell}};
    wstatus st = r.config ? wpp_headers_differ(&r) : reason_set(&r.why, W_NOT_ENOUGH_MEMORY, "no memory for messages");
    st         = st ? st : wpp_configure(&r);
    if (!st)
        text_add(&r.format, wpp_config_controls(r.config), strlen(wpp_config_controls(r.config)));

    r.json = !st && a->common.json ? json_create(stdout, true) : NULL;
    if (r.json) {
        json_object(r.json, NULL);
        json_array(r.json, "made");
    }
    int code = st ? wpp_failed(&r, st) : VERB_FINE;
    for (unsigned i = 0; i < a->file_count && !st; i++) { /* all of them: each one's mistakes are of interest */
        const wstatus one = wpp_source_make(&r, a->files[i]);
        code              = one ? wpp_failed(&r, one) : code;
    }
    if (!code && a->format && (st = made_file_put(a->format, &r.format, &r.why)))
        code = wpp_failed(&r, st);
    if (r.json) {
        json_array_end(r.json);
        json_object_end(r.json);
        json_destroy(r.json);
    }
    text_finish(&r.format);
    wpp_config_free(r.config);
    return code;
}

/* ---- texts of a program ---- */

/* The texts between the NULs of the linker; each ends with its line. */
static int wpp_extract_one(const char *path)
{
    struct file_bytes f;
    struct reason     why = {0};
    wstatus           st  = file_bytes_read(path, &f, &why);

    if (!st && !f.messages)
        st = reason_set(&why, W_NOT_FOUND,
                        "%s holds no messages of WPP (section " TMF_SECTION
                        "). Do: build it with the headers of autologger wpp",
                        path);
    for (size_t i = 0; !st && i < f.messages_size; i++)
        if (f.messages[i])
            putchar(f.messages[i]);
    file_bytes_free(&f);
    return st ? failure_print_about(ABOUT_SOURCE, "autologger wpp", st, &why) : VERB_FINE;
}

int cmd_wpp(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"scan", 's', "FILE", 0, "read the configuration (begin_wpp config ... end_wpp) in this file, too", 0},
        {"func", 'f', "DECLARATION", 0, "a function that writes messages: \"Trace(LEVEL, FLAGS, MSG, ...)\"", 0},
        {"module", 'm', "NAME", 0, "the program's name in traces (default: that of each source)", 0},
        {"output-dir", 'o', "DIR", 0, "where the headers go (default: beside the sources)", 0},
        {"tmf", 't', "FILE", 0, "write the texts of all messages to FILE, for machines without the program", 0},
        {"extract", 'x', NULL, 0, "print the texts that programs hold, as a TMF file", 0},
        OPT_JSON,
        {0}};
    static const struct argp argp = {
        options,
        wpp_parse,
        "SOURCE...\n--extract PROGRAM...",
        CMDLINE_DOC(
            "Reads the messages of C and C++ sources (DoTraceMessage, and the functions of a WPP configuration), and makes of each SOURCE.c a "
            "header SOURCE.tmh, which the source includes behind its WPP_CONTROL_GUIDS. A message costs its values alone; its text stays in the "
            "program, and is made when a trace is read.",
            "  autologger wpp --scan trace.h driver.c queue.c\n  cc driver.c queue.c $(pkg-config --cflags --libs libautologger)\n"
            "  autologger manifest install a.out\n  autologger dump --format wpp trace.etl"),
        NULL,
        NULL,
        NULL};
    struct wpp_args *a = calloc(1, sizeof *a);
    int              code;

    if (!a)
        return VERB_REFUSED;
    if (cmdline_parse(&argp, argc, argv, a, &code)) {
        code = VERB_FINE;
        if (!a->extract)
            code = wpp_all(a);
        for (unsigned i = 0; a->extract && i < a->file_count; i++) {
            const int one = wpp_extract_one(a->files[i]);
            code          = one ? one : code;
        }
    }
    free(a);
    return code;
}
