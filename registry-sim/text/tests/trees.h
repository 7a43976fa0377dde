/* trees.h - for the tests of the dialects: a store as text, and findings as text. */
#ifndef REGISTRY_SIM_TEXT_TESTS_TREES_H
#define REGISTRY_SIM_TEXT_TESTS_TREES_H
#include "registry-sim/store/regstore.h"
#include "registry-sim/text/dialect.h"
#include "registry-sim/text/textbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tree {
    struct regstore *store;
    struct textbuf   text, path;
};

static inline wstatus tree_value(void *ctx, const struct regvalue *v)
{
    struct tree *t = ctx;
    textbuf_puts(&t->text, t->path.data);
    textbuf_puts(&t->text, "|");
    textbuf_puts(&t->text, v->name);
    textbuf_printf(&t->text, "|%u|", v->type);
    for (uint32_t i = 0; i < v->size; i++)
        textbuf_printf(&t->text, "%02x", v->data[i]);
    textbuf_puts(&t->text, "\n");
    return W_SUCCESS;
}

static inline wstatus tree_key(void *ctx, const struct regkey_info *info)
{
    struct tree *t    = ctx;
    size_t       size = t->path.size;
    textbuf_puts(&t->path, "\\");
    textbuf_puts(&t->path, info->name);
    textbuf_puts(&t->text, t->path.data);
    textbuf_puts(&t->text, "\n");
    wstatus st = regstore_enum_values(t->store, t->path.data, tree_value, t);
    if (st == W_SUCCESS)
        st = regstore_enum_keys(t->store, t->path.data, tree_key, t);
    t->path.size       = size;
    t->path.data[size] = 0;
    return st;
}

/* Everything below HKLM, a line per key and value: "path|name|type|hex". malloc. */
static inline char *tree_dup(struct regstore *store)
{
    struct tree t = {.store = store};
    textbuf_puts(&t.path, "HKEY_LOCAL_MACHINE");
    textbuf_puts(&t.text, "");
    regstore_enum_values(store, "HKLM", tree_value, &t);
    regstore_enum_keys(store, "HKLM", tree_key, &t);
    textbuf_finish(&t.path);
    return t.text.data;
}

static inline wstatus tree_first_key(void *ctx, const struct regkey_info *info)
{
    textbuf_puts(ctx, "\\");
    textbuf_puts(ctx, info->name);
    return W_CANCELLED;
}
static inline wstatus tree_first_value(void *ctx, const struct regvalue *v)
{
    textbuf_puts(ctx, v->name);
    return W_CANCELLED;
}

/* Empties a store, so that a fuzzer need not make a new one for each input. The root keys stay. */
static inline void tree_clear(struct regstore *store)
{
    static const char *const roots[] = {"HKEY_LOCAL_MACHINE", "HKEY_CURRENT_USER", "HKEY_USERS", "HKEY_CLASSES_ROOT",
                                        "HKEY_CURRENT_CONFIG"};
    struct textbuf           name    = {0};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        for (;;) {
            textbuf_clear(&name);
            textbuf_puts(&name, roots[i]);
            if (regstore_enum_keys(store, roots[i], tree_first_key, &name) != W_CANCELLED)
                break;
            if (regstore_delete_key(store, name.data, NULL) != W_SUCCESS)
                abort();
        }
        for (;;) {
            textbuf_clear(&name);
            textbuf_puts(&name, "");
            if (regstore_enum_values(store, roots[i], tree_first_value, &name) != W_CANCELLED)
                break;
            if (regstore_delete_value(store, roots[i], name.data, NULL) != W_SUCCESS)
                abort();
        }
    }
    textbuf_finish(&name);
}

/* A diag_fn: "line: what. Do: advice" lines into a struct textbuf; warnings start with '~'. */
static inline void findings_add(void *ctx, const struct diag *d)
{
    struct textbuf *t = ctx;
    if (d->kind == DIAG_WARNING)
        textbuf_puts(t, "~");
    textbuf_printf(t, "%u: ", d->line);
    textbuf_puts(t, d->what);
    if (d->advice) {
        textbuf_puts(t, ". Do: ");
        textbuf_puts(t, d->advice);
    }
    textbuf_puts(t, "\n");
}

/* The file's bytes, malloc, or NULL. */
static inline char *file_dup(const char *folder, const char *name, size_t *size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f    = fopen(path, "rb");
    char *data = f ? malloc(1 << 20) : NULL;
    *size      = data ? fread(data, 1, 1 << 20, f) : 0;
    if (f)
        fclose(f);
    return data;
}

/* A boot configuration as the registry editor writes it: boot.reg (UTF-16), boot-utf8.reg, and boot-quoted.txt as pages
 * of the web show such files. */
#ifdef AL_SOURCE_DIR
static inline char *made_dup(const char *name, size_t *size)
{
    return file_dup(AL_SOURCE_DIR "/tools/tests/made", name, size);
}
#endif
#endif
