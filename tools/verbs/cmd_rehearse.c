/* autologger rehearse: a whole boot of a configuration on this running machine, and its report. */
#include "autologger/daemon/end/rehearse.h"
#include "registry-sim/base/os.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/files/program_find.h"
#include "tools/files/publisher_words.h"
#include "tools/files/summary_view.h"
#include "tools/live/rehearse_balance.h"
#include "tools/setup/profile.h"
#include "tools/setup/sound_import.h"
#include "tools/view/result_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COMMANDS_MAX = 64, EARLY_MS = 1500 };

struct rehearse_args {
    struct cmdline          common;
    const char             *file;
    char                    path[PROFILE_PATH]; /* of file */
    const char             *out;
    const char             *commands[COMMANDS_MAX + 1];
    unsigned                command_count;
    unsigned                seconds;
    bool                    keep_premerge;
    struct publisher_option manifests;
};
/* One run: its inputs and its results. */
struct cmd_rehearse_rehearsal {
    const struct rehearse_args *args;
    char                        store[PATH_MAX], folder[PATH_MAX], daemon[PATH_MAX + 32], report[PATH_MAX + 32];
    char                        demo[2 * PATH_MAX];
    int                         lock_fd;
    struct refusal_list         refusals;
    struct rehearse_result      result;
    struct result_list          rows;
    struct demo_report          counted;
};

static error_t rehearse_parse(int key, char *arg, struct argp_state *state)
{
    struct rehearse_args *a = state->input;
    char                 *end;
    switch (key) {
    case 'r':
        if (a->command_count == COMMANDS_MAX)
            argp_error(state, "at most %d programs", COMMANDS_MAX);
        a->commands[a->command_count++] = arg;
        return 0;
    case 'f':
        a->seconds = (unsigned)strtoul(arg, &end, 10);
        if (*end || end == arg || !a->seconds || a->seconds > 86400)
            argp_error(state, "--for takes 1 to 86400 seconds, not \"%s\"", arg);
        return 0;
    case 'o': a->out = arg; return 0;
    case 'k': a->keep_premerge = true; return 0;
    case KEY_PUBLISHER: publisher_option_add(&a->manifests, arg, state); return 0;
    case ARGP_KEY_ARG:
        if (a->file)
            argp_error(state, "one FILE at a time");
        a->file = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->file == !a->common.store_given)
            argp_error(state, "name a FILE, a PROFILE or --store FILE");
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

static void progress_print(void *ctx, const char *line)
{
    FILE *to = ctx;
    visible_printf(to, "  %s\n", line);
    fflush(to);
}

/* Single quotes around a path, for the shell that runs the programs. */
static void shell_quote(const char *path, char *out, size_t size)
{
    size_t n = 0;
    for (const char *p = path; *p && n + 8 < size; p++) {
        if (n == 0)
            out[n++] = '\'';
        if (*p == '\'')
            n += (size_t)snprintf(out + n, size - n, "'\\''");
        else
            out[n++] = *p;
    }
    out[n++] = '\'';
    out[n]   = 0;
}

static wstatus rehearse_programs_find(struct cmd_rehearse_rehearsal *r, struct reason *why)
{
    char    demo[PATH_MAX + 32], quoted[PATH_MAX + 64], report[PATH_MAX + 64];
    wstatus st = program_find("autologgerd", r->daemon, sizeof r->daemon, why);
    if (st || r->args->command_count)
        return st;
    if ((st = program_find("autologger-demo", demo, sizeof demo, why)))
        return st;
    shell_quote(demo, quoted, sizeof quoted);
    shell_quote(r->report, report, sizeof report);
    snprintf(r->demo, sizeof r->demo, "%s --report %s", quoted, report);
    return W_SUCCESS;
}

/* Makes the out folder and finds its absolute path, which holds whatever working folder the programs choose. */
static wstatus folder_prepare(struct cmd_rehearse_rehearsal *r, struct reason *why)
{
    const char *needed = r->args->file ? r->args->file : r->args->common.store;
    if (access(needed, R_OK) < 0)
        return reason_set(why, wstatus_from_errno(errno), "%s: %s", needed, strerror(errno));
    int rc = os_mkdir_parents(os_linux(), r->args->out, 0755);
    if (rc == 0 && mkdir(r->args->out, 0755) < 0 && errno != EEXIST)
        rc = -errno;
    if (rc == 0 && !realpath(r->args->out, r->folder))
        rc = -errno;
    if (rc == 0 && access(r->folder, W_OK | X_OK) < 0)
        rc = -errno;
    if (rc < 0)
        return reason_set(why, wstatus_from_errno(-rc), "%s: %s", r->args->out, strerror(-rc));
    wstatus st = rehearse_lock(r->folder, &r->lock_fd, why); /* from here on no other rehearsal uses the folder */
    if (st)
        return st;
    int n = snprintf(r->report, sizeof r->report, "%s/demo-report.txt", r->folder);
    if (n < 0 || n >= PATH_MAX)
        return reason_set(why, W_FILENAME_EXCED_RANGE, "%s: the name is too long", r->folder);
    unlink(r->report);
    return W_SUCCESS;
}

/* Makes a new store from FILE, or takes the named one. */
static wstatus store_prepare(struct cmd_rehearse_rehearsal *r, struct reason *why)
{
    static const char *const parts[] = {"", "-wal", "-shm", "-journal"};
    if (!r->args->file) {
        if (!realpath(r->args->common.store, r->store))
            return reason_set(why, wstatus_from_errno(errno), "%s: %s", r->args->common.store, strerror(errno));
        return W_SUCCESS;
    }
    int n = snprintf(r->store, sizeof r->store, "%s/rehearsal.db", r->folder);
    if (n < 0 || n >= PATH_MAX - 16)
        return reason_set(why, W_FILENAME_EXCED_RANGE, "%s: the name is too long", r->folder);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char old[PATH_MAX + 16];
        snprintf(old, sizeof old, "%s%s", r->store, parts[i]);
        unlink(old);
    }
    struct regstore *store = NULL;
    wstatus          st    = regstore_open(r->store, true, &store, why);
    if (!st)
        st = sound_import(store, r->args->file, &r->refusals, why);
    refusal_list_mistakes_print(&r->refusals);
    regstore_close(store);
    return st;
}

static wstatus cmd_rehearse_run(struct cmd_rehearse_rehearsal *r, FILE *to, struct reason *why)
{
    const char             *demo[]  = {r->demo, NULL};
    struct rehearse_options options = {
        .store_path    = r->store,
        .out_dir       = r->folder,
        .daemon_path   = r->daemon,
        .commands      = r->args->command_count ? (const char **)r->args->commands : demo,
        .run_seconds   = r->args->seconds,
        .early_ms      = EARLY_MS,
        .keep_premerge = r->args->keep_premerge,
        .progress      = progress_print,
        .progress_ctx  = to,
    };
    return rehearse_run(&options, &r->result, why);
}

/* Rows of the boot plus rows of the refusals, kept in the store for `status`. */
static wstatus rehearse_rows_load(struct cmd_rehearse_rehearsal *r, struct regstore **store, struct reason *why)
{
    wstatus st = regstore_open(r->store, true, store, why);
    if (!st)
        st = result_load(*store, &r->rows, why);
    if (st || !r->refusals.count)
        return st;
    if (!(st = refusal_list_add_to(&r->refusals, &r->rows, why)))
        st = result_save(*store, &r->rows, why);
    return st;
}

static bool balances_show(const struct cmd_rehearse_rehearsal *r, struct regstore *store, struct json *j)
{
    bool fine = true;
    for (unsigned i = 0; i < r->rows.count; i++) {
        struct balance b;
        if (!balance_of(&r->rows, &r->rows.rows[i], &r->counted, store, &b))
            continue;
        fine &= balance_holds(&b);
        if (j)
            balance_json(&b, j);
        else
            balance_print(&b, stdout);
    }
    return fine;
}

static int report_text(const struct cmd_rehearse_rehearsal *r, struct regstore *store)
{
    int code = VERB_FINE;
    putchar('\n');
    result_view_print(&r->rows, &(struct result_view){0}, stdout);
    if (r->result.merged_path[0]) {
        putchar('\n');
        code = summary_view_file("autologger rehearse", r->result.merged_path, &(struct summary_view){0});
    }
    putchar('\n');
    if (!balances_show(r, store, NULL))
        code = VERB_FAILED;
    if (r->result.files_created_early)
        visible_printf(stdout, "the early phase created %llu file%s; it must create none\n",
                       (unsigned long long)r->result.files_created_early, plural(r->result.files_created_early));
    if (r->result.interrupted)
        puts("interrupted: the boot was ended early, in order");
    if (r->result.merge_failed.status)
        visible_printf(stdout, "not merged: %s%s%s\n", r->result.merge_failed.text,
                       strstr(r->result.merge_failed.text, " Do: ") ? "" : ". Do: ",
                       strstr(r->result.merge_failed.text, " Do: ") ? ""
                                                                    : wstatus_advice(r->result.merge_failed.status));
    if (r->result.programs_failed)
        printf("%u of the programs failed\n", r->result.programs_failed);
    if (r->result.merged_path[0])
        visible_printf(stdout, "trace: %s\n", r->result.merged_path);
    else
        visible_printf(stdout, "trace: none, because %s\n",
                       r->result.merge_failed.status ? "the files could not be merged" : "no session wrote a file");
    return code;
}

static int report_json(const struct cmd_rehearse_rehearsal *r, struct regstore *store)
{
    int          code = VERB_FINE;
    struct json *j    = json_create(stdout, true);
    if (!j)
        return VERB_REFUSED;
    json_object(j, NULL);
    result_view_json(&r->rows, NULL, j);
    json_array(j, "balance");
    if (!balances_show(r, store, j))
        code = VERB_FAILED;
    json_array_end(j);
    json_number(j, "events_merged", r->result.events_merged);
    json_number(j, "files_created_early", r->result.files_created_early);
    json_number(j, "programs_failed", r->result.programs_failed);
    json_flag(j, "interrupted", r->result.interrupted);
    json_text(j, "not_merged", r->result.merge_failed.text);
    json_text(j, "trace", r->result.merged_path);
    json_object_end(j);
    json_destroy(j);
    return code;
}

static int rehearse(struct cmd_rehearse_rehearsal *r)
{
    struct reason    why   = {0};
    struct regstore *store = NULL;
    FILE            *to    = r->args->common.json ? stderr : stdout;
    wstatus          st;
    int              code;
    if ((st = folder_prepare(r, &why)) || (st = rehearse_programs_find(r, &why)) || (st = store_prepare(r, &why)) ||
        (st = cmd_rehearse_run(r, to, &why)) || (st = rehearse_rows_load(r, &store, &why))) {
        code = failure_print("autologger rehearse", st, &why);
        goto out;
    }
    demo_report_read(r->report, &r->counted);
    code = r->args->common.json ? report_json(r, store) : report_text(r, store);
    if (result_view_failed(&r->rows) || r->result.files_created_early || r->result.programs_failed ||
        r->result.interrupted || r->result.merge_failed.status)
        code = VERB_FAILED;
out:
    regstore_close(store);
    return code;
}

int cmd_rehearse(int argc, char **argv)
{
    static const struct argp_option options[] = {
        OPT_STORE,
        {"run", 'r', "CMD", 0, "run this program during the boot (may be repeated; default: the demo program)", 0},
        {"for", 'f', "SECONDS", 0, "stop after so long at the latest (default 10)", 0},
        {"out", 'o', "DIR", 0, "write below DIR only (default ./autologger-rehearsal)", 0},
        {"keep-premerge", 'k', NULL, 0, "keep the sessions' own files beside the merged one", 0},
        OPT_PUBLISHER,
        OPT_JSON,
        {0},
    };
    static const struct argp argp = {
        options,
        rehearse_parse,
        "FILE\nPROFILE\n--store FILE",
        CMDLINE_DOC(
            "Boot a configuration on this running machine: the early phase in memory, file system ready, programs, "
            "stop, merge. What is sound starts; what is refused shows with its Status. The merged file has the name of the "
            "kernel session's file without _km_premerge, else SESSION-merged.etl.",
            "  autologger rehearse config/examples/first-boot.ini --run 'make -j2'"),
        NULL,
        NULL,
        NULL};
    struct rehearse_args a = {.out = "autologger-rehearsal"};
    int                  code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    if (!publisher_option_open(&a.manifests, "autologger rehearse", &code))
        return code;
    struct reason why = {0};
    wstatus       st  = a.file ? profile_resolve(a.file, NULL, a.path, &why) : W_SUCCESS;
    if (st)
        return failure_print_about(ABOUT_CONFIGURATION, "autologger rehearse", st, &why);
    if (a.file)
        a.file = a.path;
    struct cmd_rehearse_rehearsal *r = calloc(1, sizeof *r);
    if (!r)
        return VERB_REFUSED;
    r->args    = &a;
    r->lock_fd = -1;
    code       = rehearse(r);
    if (r->lock_fd >= 0)
        close(r->lock_fd);
    refusal_list_finish(&r->refusals);
    result_list_finish(&r->rows);
    free(r);
    return code;
}
