#include "tools/files/manifest_source.h"

#include "registry-sim/base/visible_print.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"

static void manifest_source_tell(void *ctx, const struct manifest_problem *p)
{
    struct manifest_source *s = ctx;
    if (p->error || (p->flaw ? !s->silent : !s->quiet))
        diag_print(NULL, &(struct diag){p->error ? DIAG_ERROR : DIAG_WARNING, p->file, p->line, p->what, p->advice});
}

static wstatus manifest_source_take(void *ctx, struct manifest *m, struct reason *why)
{
    struct manifest_source *s = ctx;
    if (s->count == MANIFEST_SOURCE_MAX) {
        manifest_free(m);
        return reason_set(why, W_INVALID_DATA, "the file holds more than %d manifests", MANIFEST_SOURCE_MAX);
    }
    s->list[s->count++] = m;
    return W_SUCCESS;
}

void manifest_source_problems(struct manifest_source *s, struct manifest_problems *problems)
{
    *problems = (struct manifest_problems){.tell = manifest_source_tell, .ctx = s};
}

wstatus manifest_source_read(struct manifest_source *s, const char *path, struct reason *why)
{
    struct manifest_problems problems = {.tell = manifest_source_tell, .ctx = s, .forgiving = s->forgiving};
    wstatus                  st       = manifest_file(path, &problems, manifest_source_take, s, why);
    s->errors += problems.errors;
    s->warnings += problems.warnings;
    s->flaws += problems.flaws;
    return st;
}

void manifest_source_finish(struct manifest_source *s)
{
    for (unsigned i = 0; i < s->count; i++)
        manifest_free(s->list[i]);
    s->count = 0;
}

int manifest_source_failed(const struct manifest_source *s, const char *verb, wstatus st, const struct reason *why)
{
    if (!s->errors)
        return failure_print_about(ABOUT_SOURCE, verb, st, why);
    visible_printf(stderr, "%s: %s\n", verb, why->text);
    return VERB_FAILED;
}
