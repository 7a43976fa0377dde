/* static_boot SNAPSHOT RUNTIME-DIR - the early program's part of a boot, in a program that is linked statically with
 * libc alone: opens the sealed snapshot, makes plans of it, starts the sessions and listens; then prints what it found.
 * Run by test_static_boot.c. That it links at all proves that no library is needed. */
#include "autologger/daemon/keeper.h"
#include "autologger/daemon/service.h"
#include "registry-sim/store/snapshot.h"
#include "registry-sim/text/winpath.h"

#include <stdio.h>

static wstatus snapshot_open(const char *path, bool write, struct regstore **out, struct reason *why)
{
    (void)write; /* a write fails later, with a Status */
    return regstore_open_snapshot(path, out, NULL, why);
}

/* One plan straight from the snapshot. */
static void plan_print(const char *path, struct reason *why)
{
    struct regstore         *store;
    struct snapshot_head     head;
    struct plan              plan   = {0};
    const struct plan_limits limits = {
        .processors = 2, .ram_bytes = 1u << 30, .memory_left = 1u << 27, .log_dir = head.log_dir};

    if (regstore_open_snapshot(path, &store, &head, why))
        return;
    if (plan_from_key(store, WINPATH_WMI "\\Autologger\\web", &limits, &plan, why) == W_SUCCESS)
        printf("change %llu plan %s %u %s\n", (unsigned long long)head.change_number, plan.name, plan.given.buffer_kb,
               plan.log_path);
    plan_finish(&plan);
    regstore_close(store);
}

int main(int argc, char **argv)
{
    struct service *service = NULL;
    struct reason   why     = {0};

    if (argc != 3)
        return 100;
    plan_print(argv[1], &why);
    const struct service_options options = {.store_path  = argv[1],
                                            .store_saved = "/nowhere",
                                            .log_dir     = "/nowhere",
                                            .runtime_dir = argv[2],
                                            .hold        = true,
                                            .rehearsal   = true,
                                            .store_open  = snapshot_open};
    struct handed               *handed  = handed_create();
    if (handed && service_create(&options, handed, &service, &why) == W_SUCCESS) {
        const struct result_list *rows = service_results(service);
        for (unsigned i = 0; i < rows->count; i++)
            printf("row %s %s %u %s:%u\n", rows->rows[i].session, rows->rows[i].name, rows->rows[i].status,
                   rows->rows[i].source_file, rows->rows[i].source_line);
    }
    if (*why.text)
        printf("status %u: %s\n", why.status, why.text);
    service_destroy(service);
    handed_destroy(handed);
    return fflush(stdout) ? 111 : 0;
}
