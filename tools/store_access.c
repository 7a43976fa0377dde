/* store_access.c - see store_access.h. */
#include "tools/store_access.h"
#include "registry-sim/base/os.h"
#include "tools/verb.h"

#include <stdio.h>
#include <string.h>

int exit_of(wstatus status)
{
    static const wstatus refusals[] = {
        W_ACCESS_DENIED, W_NOT_ENOUGH_MEMORY, W_OUTOFMEMORY, W_WRITE_PROTECT, W_NOT_READY, W_SHARING_VIOLATION, W_DISK_FULL,
        W_BUSY, W_NO_SUCH_PRIVILEGE, W_PRIVILEGE_NOT_HELD, W_NO_SYSTEM_RESOURCES, W_TIMEOUT,
    };
    if (status == W_SUCCESS)
        return VERB_FINE;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        if (refusals[i] == status)
            return VERB_REFUSED;
    return VERB_FAILED;
}

const char *sentence_end(const char *text)
{
    return *text && strchr(".!?", text[strlen(text) - 1]) ? "" : ".";
}

int failure_print(const char *verb, wstatus status, const struct reason *why)
{
    const char *text = why && why->text[0] ? why->text : wstatus_text(status);
    fflush(stdout);
    fprintf(stderr, "%s: %s%s", verb, text, sentence_end(text));
    if (!strstr(text, " Do: "))
        fprintf(stderr, " Do: %s.", wstatus_advice(status));
    fprintf(stderr, " (%u %s)\n", status, wstatus_name(status));
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
    return regstore_open(c->store, write, out, why);
}

void diag_print(void *ctx, const struct diag *d)
{
    (void)ctx;
    const char *kind = d->kind == DIAG_WARNING ? "warning: " : "";
    fflush(stdout);
    if (d->line)
        fprintf(stderr, "%s:%u: %s%s", d->file, d->line, kind, d->what);
    else
        fprintf(stderr, "%s: %s%s", d->file, kind, d->what);
    if (d->advice && !strstr(d->what, " Do: "))
        fprintf(stderr, "%s Do: %s", sentence_end(d->what), d->advice);
    fputc('\n', stderr);
}
