/* merge_options.c - see merge_options.h. */
#include "tools/files/merge_options.h"

#include "autologger/boot/history.h"
#include "autologger/daemon/end/merge_boot.h"
#include "tools/base/store_access.h"

#include <string.h>
#include <unistd.h>

/* A missing or unreadable store is no mistake: the file is merged without configuration. */
static bool merge_options_configuration(void *ctx, const char *boot_id, uint64_t *change_number,
                                        char hash[PROVENANCE_HASH])
{
    const struct merge_help *h       = ctx;
    struct regstore         *store   = NULL;
    struct history           history = {0};
    struct reason            why;
    bool                     found = false;

    if (!*boot_id || access(h->common->store, R_OK) != 0 || store_access_open(h->common, false, &store, &why))
        return false;
    if (history_load(store, &history, &why) == W_SUCCESS)
        for (unsigned i = 0; i < history.count && !found; i++)
            if (strcmp(history.boots[i].list.boot_id, boot_id) == 0) {
                *change_number = history.boots[i].list.change_number;
                found          = true;
            }
    if (found)
        merge_configuration_hash(store, *change_number, hash);
    history_finish(&history);
    regstore_close(store);
    return found;
}

void merge_help_open(struct merge_help *h, const struct cmdline *common, struct merge_options *options)
{
    *h                         = (struct merge_help){.common = common, .bar = progress_start("merging")};
    options->progress          = progress_tell;
    options->progress_ctx      = &h->bar;
    options->provenance        = !options->plain;
    options->configuration     = merge_options_configuration;
    options->configuration_ctx = h;
    options->publishers        = publishers_beside(common->store, h->publishers);
}

void merge_help_close(struct merge_help *h) { progress_end(&h->bar); }
