/* Mistakes of a manifest: a strict reading reports each at once; a forgiving one notes them, and reports each kind
 * once. */
#include "autologger/schema/manifest_build.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The format identifies a kind of flaw; kinds beyond FLAW_KINDS are only counted. */
static void flaw_note(struct builder *b, uint32_t line, const char *advice, const char *format, va_list args)
{
    unsigned i = 0;

    b->problems->flaws++;
    while (i < b->flaw_kinds && b->flaws[i].format != format)
        i++;
    if (i == FLAW_KINDS)
        return;
    struct flaw *f = &b->flaws[i];
    if (i == b->flaw_kinds) {
        b->flaw_kinds++;
        f->format = format;
        f->line   = line;
        f->advice = advice && b->m ? pool_text(b->m->pool, advice, strlen(advice)) : NULL;
        vsnprintf(f->what, sizeof f->what, format, args);
    }
    f->count++;
}

void manifest_flaws_tell(struct builder *b)
{
    char what[400];

    for (unsigned i = 0; i < b->flaw_kinds && b->problems->tell; i++) {
        const struct flaw *f = &b->flaws[i];
        snprintf(what, sizeof what, "%s", f->what);
        if (f->count > 1)
            snprintf(what, sizeof what, "%s (and %u more of this kind)", f->what, f->count - 1);
        b->problems->tell(b->problems->ctx,
                          &(struct manifest_problem){
                              .flaw = true, .file = b->file, .line = f->line, .what = what, .advice = f->advice});
    }
}

static void manifest_told_tell(struct builder *b, bool error, uint32_t line, const char *advice, const char *format,
                               va_list args)
{
    char                    what[512];
    struct manifest_problem problem = {.error = error, .file = b->file, .line = line, .what = what, .advice = advice};

    *(error ? &b->problems->errors : &b->problems->warnings) += 1;
    if (!b->problems->tell || b->problems->errors + b->problems->warnings > MANIFEST_TOLD_MAX)
        return;
    vsnprintf(what, sizeof what, format, args);
    b->problems->tell(b->problems->ctx, &problem);
}

void manifest_error(struct builder *b, uint32_t line, const char *advice, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (manifest_forgives(b))
        flaw_note(b, line, advice, format, args);
    else
        manifest_told_tell(b, true, line, advice, format, args);
    va_end(args);
}

void manifest_fatal(struct builder *b, uint32_t line, const char *advice, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    manifest_told_tell(b, true, line, advice, format, args);
    va_end(args);
}

void manifest_warning(struct builder *b, uint32_t line, const char *advice, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!manifest_forgives(b)) /* warnings are for authors */
        manifest_told_tell(b, false, line, advice, format, args);
    va_end(args);
}
