#include "tools/files/describe.h"

#include "autologger/schema/manifest_model.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/files/manifest_source.h"

bool describe_open(struct describe *d, const char *verb, int *code)
{
    struct manifest_source s   = {.forgiving = true, .quiet = true};
    struct reason          why = {0};
    wstatus                st  = (d->set = schema_set_new())
                                     ? W_SUCCESS
                                     : reason_set(&why, W_NOT_ENOUGH_MEMORY, "no memory for descriptions of events");

    d->installed =
        (struct publishers){.folder  = d->store ? publishers_beside(d->store, d->folder) : publishers_folder(),
                            .culture = publishers_culture(d->culture)};
    for (unsigned i = 0; i < d->file_count && !st; i++)
        st = manifest_source_read(&s, d->files[i], &why);
    for (unsigned i = 0; i < s.count && !st; i++)
        st = manifest_schemas(s.list[i], manifest_culture_find(s.list[i], d->installed.culture), SCHEMA_MANIFEST,
                              d->set, &why);
    d->learn = (struct learn_files){d->traces, d->trace_count, manifest_learn, (void *)(uintptr_t)d->installed.culture};
    if (!st) {
        schema_set_ask(d->set, publishers_ask, &d->installed);
        schema_set_search(d->set, learn_search, &d->learn);
    } else
        *code = manifest_source_failed(&s, verb, st, &why);
    manifest_source_finish(&s);
    if (st)
        describe_close(d);
    return !st;
}

void describe_report(const struct describe *d, const char *verb)
{
    if (!d->installed.failed)
        return;
    fflush(stdout);
    visible_printf(
        stderr, "%s: %u installed manifest%s could not be read: %s. Do: install %s again (autologger manifest list)\n",
        verb, d->installed.failed, plural(d->installed.failed), d->installed.why.text,
        d->installed.failed == 1 ? "it" : "them");
}

void describe_close(struct describe *d)
{
    schema_set_free(d->set);
    d->set = NULL;
}
