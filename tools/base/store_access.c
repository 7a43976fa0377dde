/* store_access.c - see store_access.h. */
#include "tools/base/store_access.h"
#include "registry-sim/base/os.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/verb.h"

#include <stdio.h>
#include <string.h>

int exit_of(wstatus status)
{
    static const wstatus refusals[] = {
        W_ACCESS_DENIED,     W_NOT_ENOUGH_MEMORY,  W_OUTOFMEMORY,         W_WRITE_PROTECT,
        W_NOT_READY,         W_SHARING_VIOLATION,  W_DISK_FULL,           W_BUSY,
        W_NO_SUCH_PRIVILEGE, W_PRIVILEGE_NOT_HELD, W_NO_SYSTEM_RESOURCES, W_TIMEOUT,
    };
    if (status == W_SUCCESS)
        return VERB_FINE;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        if (refusals[i] == status)
            return VERB_REFUSED;
    return VERB_FAILED;
}

const char *plural(uint64_t n) { return n == 1 ? "" : "s"; }

const char *sentence_end(const char *text) { return *text && strchr(".!?", text[strlen(text) - 1]) ? "" : "."; }

static const struct {
    enum failure_about about;
    wstatus            status;
    const char        *advice;
} advices[] = {
    {ABOUT_TRACE, W_INVALID_DATA, "pass an .etl file"},
    {ABOUT_TRACE, W_BAD_PATHNAME, "pass an .etl file"},
    {ABOUT_TRACE, W_FILE_NOT_FOUND, "pass an .etl file; 'autologger status' shows where a boot or rehearsal wrote one"},
    {ABOUT_CONFIGURATION, W_BAD_PATHNAME, "pass a configuration file, INI or .reg"},
    {ABOUT_CONFIGURATION, W_INVALID_DATA, "pass a configuration file, INI or .reg"},
    {ABOUT_CONFIGURATION, W_FILE_NOT_FOUND, "check the name of the configuration file"},
    {ABOUT_STORE, W_FILE_NOT_FOUND,
     "name the store with --store, or make one: autologger import --store FILE CONFIGURATION"},
    {ABOUT_STORE, W_PATH_NOT_FOUND, "create the folder, or name another store with --store"},
    {ABOUT_STORE, W_BAD_PATHNAME, "name a store, which is a file, with --store"},
    {ABOUT_STORE, W_INVALID_DATA, "name a store with --store; a configuration is passed as FILE"},
    {ABOUT_STORE, W_REVISION_MISMATCH,
     "boot once more, or run autologger rehearse with this store: what that writes is shown"},
    {ABOUT_RESULT, W_FILE_NOT_FOUND, "create the folder, or choose another name with -o"},
    {ABOUT_RESULT, W_PATH_NOT_FOUND, "create the folder, or choose another name with -o"},
    {ABOUT_RESULT, W_DIRECTORY, "choose another name with -o"},
    {ABOUT_RESULT, W_BAD_PATHNAME, "choose another name with -o"},
    {ABOUT_RESULT, W_ALREADY_EXISTS, "choose another name with -o"},
    {ABOUT_RESULT, W_DISK_FULL, "free some space, or choose another volume with -o"},
    {ABOUT_RESULT, W_WRITE_PROTECT, "choose another volume with -o"},
    {ABOUT_SOURCE, W_FILE_NOT_FOUND, "check the name of the file"},
    {ABOUT_SOURCE, W_PATH_NOT_FOUND, "check the name of the file and of its folder"},
    {ABOUT_SOURCE, W_INVALID_DATA, "pass a file of the kind that the command reads"},
    {ABOUT_DAEMON, W_WMI_INSTANCE_NOT_FOUND, "start autologgerd, or use autologger rehearse"},
    {ABOUT_DAEMON, W_FILENAME_EXCED_RANGE, "choose a shorter --runtime-dir"},
    {ABOUT_ANY, W_PATH_NOT_FOUND, "create the folder, or choose another name"},
    {ABOUT_ANY, W_BAD_PATHNAME, "check the path"},
    {ABOUT_ANY, W_DIRECTORY, "check the path: a part of it is a file, not a folder"},
    {ABOUT_ANY, W_FILENAME_EXCED_RANGE, "choose a shorter name"},
    {ABOUT_ANY, W_DISK_FULL, "free some space"},
    {ABOUT_ANY, W_WRITE_PROTECT, "choose a folder on a writable volume"},
};

static const char *advice_for(enum failure_about about, wstatus status)
{
    for (size_t i = 0; i < sizeof advices / sizeof advices[0]; i++)
        if ((advices[i].about == about || advices[i].about == ABOUT_ANY) && advices[i].status == status)
            return advices[i].advice;
    return wstatus_advice(status);
}

int failure_print(const char *verb, wstatus status, const struct reason *why)
{
    return failure_print_about(ABOUT_ANY, verb, status, why);
}

int failure_print_about(enum failure_about about, const char *verb, wstatus status, const struct reason *why)
{
    const char *text = why && why->text[0] ? why->text : wstatus_text(status);
    fflush(stdout);
    visible_printf(stderr, "%s: %s%s", verb, text, sentence_end(text));
    if (!strstr(text, " Do: "))
        visible_printf(stderr, " Do: %s.", advice_for(about, status));
    visible_printf(stderr, " (%u %s)\n", status, wstatus_name(status));
    return exit_of(status);
}

wstatus store_access_open(const struct cmdline *c, bool write, struct regstore **out, struct reason *why)
{
    if (write && !c->store_given) {
        int rc = os_mkdir_parents(os_linux(), c->store, 0755);
        if (rc < 0) {
            wstatus st = wstatus_from_errno(-rc);
            return reason_set(why, st, "the folder of %s cannot be made: %s", c->store, strerror(-rc));
        }
    }
    wstatus st = regstore_open(c->store, write, out, why);
    if (st == W_FILE_NOT_FOUND && !c->store_given)
        reason_set(
            why, st,
            "nothing was declared on this machine yet: there is no store %s. Do: autologger trace-boot, or name a store with --store",
            c->store);
    return st;
}

wstatus store_access_machine(struct cmdline *c, const char *root, struct machine *out, char path[MACHINE_PATH],
                             struct reason *why)
{
    wstatus st = machine_open(root, out, why);
    if (!st && !c->store_given)
        c->store = machine_path(out, CMDLINE_DEFAULT_STORE, path);
    return st;
}

void diag_print(void *ctx, const struct diag *d)
{
    (void)ctx;
    const char *kind = d->kind == DIAG_WARNING ? "warning: " : "";
    fflush(stdout);
    if (d->line)
        visible_printf(stderr, "%s:%u: %s%s", d->file, d->line, kind, d->what);
    else
        visible_printf(stderr, "%s: %s%s", d->file, kind, d->what);
    if (d->advice && !strstr(d->what, " Do: "))
        visible_printf(stderr, "%s Do: %s", sentence_end(d->what), d->advice);
    fputc('\n', stderr);
}
