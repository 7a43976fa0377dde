#include "autologger/schema/manifest.h"

#include "autologger/schema/manifest_build.h"
#include "registry-sim/text/encoding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The length of the text before the first element: declaration, comments, white space. */
static size_t prolog_length(const char *text, size_t length)
{
    size_t i = 0;

    for (;;) {
        i += strspn(text + i, " \t\r\n");
        const char *end = strncmp(text + i, "<?", 2) == 0 ? "?>" : strncmp(text + i, "<!--", 4) == 0 ? "-->" : NULL;
        const char *at  = end ? strstr(text + i, end) : NULL;
        if (!at)
            return i < length ? i : length;
        i = (size_t)(at - text) + strlen(end);
    }
}

/* Wraps a lone <provider>, as articles show it, in an element; line numbers stay. Frees and replaces *text. */
static bool fragment_wrap(char **text, size_t *length)
{
    static const char begin[] = "<fragment>", end[] = "</fragment>";
    size_t            prolog = prolog_length(*text, *length);

    if (strncmp(*text + prolog, "<provider", 9) != 0)
        return true;
    char *whole = malloc(*length + sizeof begin + sizeof end);
    if (!whole)
        return false;
    size_t n = 0;
    memcpy(whole, begin, sizeof begin - 1);
    n += sizeof begin - 1;
    for (size_t i = 0; i < prolog; i++) /* no declaration inside of an element */
        if ((*text)[i] == '\n')
            whole[n++] = '\n';
    memcpy(whole + n, *text + prolog, *length - prolog);
    n += *length - prolog;
    memcpy(whole + n, end, sizeof end);
    free(*text);
    *text   = whole;
    *length = n + sizeof end - 1;
    return true;
}

static wstatus manifest_read_text(struct builder *b, size_t length, struct manifest **out, struct reason *why)
{
    wstatus st = W_NOT_ENOUGH_MEMORY;

    b->m              = calloc(1, sizeof *b->m);
    struct pool *pool = b->m ? pool_new(MANIFEST_MEMORY_MAX) : NULL;
    if (pool) {
        b->m->pool   = pool;
        b->m->origin = pool_text(pool, b->file, strlen(b->file));
        st           = manifest_walk(b, length, why);
    }
    if (!st && !b->not_xml && !b->no_manifest && !pool_failed(pool))
        manifest_resolve(b);
    if (!st && !b->problems->errors && !manifest_forgives(b) && !pool_failed(pool))
        manifest_lint(b);
    manifest_flaws_tell(b);
    if (!st || st == W_NOT_ENOUGH_MEMORY)
        st = manifest_read_status(b->file, st || pool_failed(pool), b->problems, why);
    if (st) {
        manifest_free(b->m);
        b->m = NULL;
    }
    *out = b->m;
    return st;
}

wstatus manifest_read(const void *data, size_t size, const char *file, struct manifest_problems *problems,
                      struct manifest **out, struct reason *why)
{
    struct builder *b;
    char           *text = NULL;
    size_t          length;
    enum encoding   was;

    *out = NULL;
    if (size > MANIFEST_FILE_MAX)
        return reason_set(why, W_INVALID_DATA, "%s has %zu bytes; a manifest has at most %d MB", file, size,
                          MANIFEST_FILE_MAX >> 20);
    wstatus st = encoding_to_utf8(data, size, &text, &length, &was, why);
    if (st)
        return st;
    b = calloc(1, sizeof *b);
    if (!b || !fragment_wrap(&text, &length))
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for %s", file);
    if (!st) {
        problems->errors = problems->warnings = problems->flaws = 0;
        b->problems                                             = problems;
        b->file                                                 = file;
        b->text                                                 = text;
        st                                                      = manifest_read_text(b, length, out, why);
    }
    free(b);
    free(text);
    return st;
}
