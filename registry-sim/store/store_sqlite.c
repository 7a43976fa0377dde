/* store_sqlite.c - regstore.h on SQLite: keys and values.
 * Schema: one row per key (parent, folded name unique) below the unnamed row 0, one row per value.
 * Invariants  S1 names are stored folded beside their own spelling, and looked up by the folded form only
 *             S3 a change is one transaction: the caller's, or its own
 * Threads, ownership: as in regstore.h. Not for: the database that holds them (sqlite_database.c, with S2). */
#include "registry-sim/base/os.h"
#include "registry-sim/store/regpath.h"
#include "registry-sim/store/sqlite_database.h"
#include "registry-sim/win32/filetime.h"
#include "registry-sim/win32/utf16.h"

#include <stdlib.h>
#include <string.h>

static const char *const sql[STATEMENTS] = {
    [KEY_FIND]     = "SELECT id FROM key WHERE parent=?1 AND fold=?2",
    [KEY_ADD]      = "INSERT INTO key(parent,fold,name,last_write,source_file,source_line) VALUES(?1,?2,?3,?4,?5,?6)",
    [KEY_SOURCE]   = "UPDATE key SET source_file=?2, source_line=?3 WHERE id=?1",
    [KEY_TOUCH]    = "UPDATE key SET last_write=?2 WHERE id=?1",
    [KEY_INFO]     = "SELECT name, last_write, source_file, source_line FROM key WHERE id=?1",
    [KEY_DELETE]   = "DELETE FROM key WHERE id=?1",
    [VALUE_SET]    = ("INSERT INTO value VALUES(?1,?2,?3,?4,?5,?6,?7) ON CONFLICT DO UPDATE SET type=excluded.type,"
                      " data=excluded.data, source_file=excluded.source_file, source_line=excluded.source_line"),
    [VALUE_GET]    = "SELECT name, type, data, source_file, source_line FROM value WHERE key=?1 AND fold=?2",
    [VALUE_DELETE] = "DELETE FROM value WHERE key=?1 AND fold=?2",
    [VALUE_RENAME] = "UPDATE value SET fold=?3, name=?4 WHERE key=?1 AND fold=?2",
};
static const char enum_keys_sql[] =
    "SELECT name, last_write, source_file, source_line FROM key WHERE parent=?1 ORDER BY fold";
static const char enum_values_sql[] =
    "SELECT name, type, data, source_file, source_line FROM value WHERE key=?1 ORDER BY fold";

/* ---- statements ---- */

static int statement_get(struct sqlite_store *s, enum statement which, sqlite3_stmt **out)
{
    int rc = SQLITE_OK;
    if (!s->statements[which])
        rc = sqlite3_prepare_v3(s->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT, &s->statements[which], NULL);
    *out = s->statements[which];
    return rc;
}
static void bind_text(sqlite3_stmt *st, int at, const char *text)
{
    sqlite3_bind_text(st, at, text, -1, SQLITE_STATIC);
}
static const char *column_text(sqlite3_stmt *st, int at) { return (const char *)sqlite3_column_text(st, at); }

/* Runs a statement without result rows, and releases its bindings (S2). */
static int statement_run(sqlite3_stmt *st)
{
    int rc = sqlite3_step(st);
    sqlite3_reset(st);
    sqlite3_clear_bindings(st);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static int64_t store_sqlite_now(void) { return (int64_t)filetime_from_unix_ns(os_linux()->realtime_ns(os_linux())); }

/* ---- keys by path ---- */

wstatus sqlite_child_find(struct sqlite_store *s, int64_t parent, const char *name, int64_t *id, struct reason *why)
{
    sqlite3_stmt *st;
    char         *fold = name_fold_dup(name);
    int           rc   = fold ? statement_get(s, KEY_FIND, &st) : SQLITE_NOMEM;

    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(st, 1, parent);
        bind_text(st, 2, fold);
        rc = sqlite3_step(st);
        if (rc == SQLITE_ROW)
            *id = sqlite3_column_int64(st, 0);
        sqlite3_reset(st);
        sqlite3_clear_bindings(st);
    }
    bool lost = !fold;
    free(fold);
    if (rc == SQLITE_ROW)
        return W_SUCCESS;
    return lost                ? sqlite_no_memory(why)
           : rc == SQLITE_DONE ? reason_set(why, W_FILE_NOT_FOUND, "no key '%s'", name)
                               : sqlite_fail(s, rc, why);
}

static wstatus store_sqlite_key_find(struct sqlite_store *s, const char *key, int64_t *id, struct reason *why)
{
    struct regpath path;
    wstatus        st   = regpath_split(key, &path, why);
    const char    *name = path.names;

    *id = 0;
    for (unsigned i = 0; st == W_SUCCESS && i < path.count; i++, name = regpath_next(name))
        st = sqlite_child_find(s, *id, name, id, why);
    regpath_finish(&path);
    return st;
}

static wstatus key_touch(struct sqlite_store *s, int64_t id, struct reason *why)
{
    sqlite3_stmt *st;
    int           rc = statement_get(s, KEY_TOUCH, &st);
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(st, 1, id);
        sqlite3_bind_int64(st, 2, store_sqlite_now());
        rc = statement_run(st);
    }
    return rc == SQLITE_OK ? W_SUCCESS : sqlite_fail(s, rc, why);
}

struct store_sqlite_source {
    const char *file;
    uint32_t    line;
};

static wstatus child_add(struct sqlite_store *s, int64_t parent, const char *name, struct store_sqlite_source source,
                         int64_t *id, struct reason *why)
{
    sqlite3_stmt *st;
    char         *fold = name_fold_dup(name);
    if (!fold)
        return sqlite_no_memory(why);
    int rc = statement_get(s, KEY_ADD, &st);
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(st, 1, parent);
        bind_text(st, 2, fold);
        bind_text(st, 3, name);
        sqlite3_bind_int64(st, 4, store_sqlite_now());
        bind_text(st, 5, source.file);
        sqlite3_bind_int64(st, 6, source.line);
        rc = statement_run(st);
    }
    free(fold);
    if (rc != SQLITE_OK)
        return sqlite_fail(s, rc, why);
    *id = sqlite3_last_insert_rowid(s->db);
    return parent ? key_touch(s, parent, why) : W_SUCCESS; /* a new subkey is a change of its parent */
}

static wstatus store_sqlite_key_make(struct sqlite_store *s, const char *key, struct store_sqlite_source source,
                                     int64_t *id, struct reason *why)
{
    struct regpath path;
    wstatus        st   = regpath_split(key, &path, why);
    const char    *name = path.names;

    *id = 0;
    for (unsigned i = 0; st == W_SUCCESS && i < path.count; i++, name = regpath_next(name)) {
        int64_t parent = *id;
        st             = sqlite_child_find(s, parent, name, id, why);
        if (st == W_FILE_NOT_FOUND)
            st = child_add(s, parent, name, source, id, why);
    }
    regpath_finish(&path);
    return st;
}

/* ---- changes ---- */

/* S3: a change outside a transaction gets its own. */
static wstatus change_begin(struct sqlite_store *s, bool *own, struct reason *why)
{
    *own = !s->in_transaction;
    if (!*own && sqlite3_get_autocommit(s->db))
        return reason_set(why, W_INVALID_OPERATION, "store %s: the transaction has failed", s->path);
    return *own ? sqlite_begin(&s->base, why) : W_SUCCESS;
}

static wstatus store_sqlite_change_end(struct sqlite_store *s, bool own, wstatus st, struct reason *why)
{
    if (own && st == W_SUCCESS)
        st = sqlite_commit(&s->base, why);
    if (own && st != W_SUCCESS)
        sqlite_rollback(&s->base);
    return st;
}

/* ---- keys ---- */

static wstatus sqlite_create_key(struct regstore *store, const char *key, const char *source_file, uint32_t source_line,
                                 struct reason *why)
{
    struct sqlite_store *s = sqlite_self(store);
    bool                 own;
    int64_t              id;
    sqlite3_stmt        *statement;
    wstatus              st = change_begin(s, &own, why);

    if (st != W_SUCCESS)
        return st;
    st = store_sqlite_key_make(s, key, (struct store_sqlite_source){source_file, source_line}, &id, why);
    if (st == W_SUCCESS && source_file) {
        int rc = statement_get(s, KEY_SOURCE, &statement);
        if (rc == SQLITE_OK) {
            sqlite3_bind_int64(statement, 1, id);
            bind_text(statement, 2, source_file);
            sqlite3_bind_int64(statement, 3, source_line);
            rc = statement_run(statement);
        }
        if (rc != SQLITE_OK)
            st = sqlite_fail(s, rc, why);
    }
    return store_sqlite_change_end(s, own, st, why);
}

/* Deletes row `id` of a key; `key` is its path, for the parent's time. */
static wstatus key_delete_row(struct sqlite_store *s, const char *key, int64_t id, struct reason *why)
{
    sqlite3_stmt  *st;
    int64_t        parent = 0;
    struct regpath path;
    wstatus        result = regpath_split(key, &path, why);
    const char    *name   = path.names;
    for (unsigned i = 0; result == W_SUCCESS && i + 1 < path.count; i++, name = regpath_next(name))
        result = sqlite_child_find(s, parent, name, &parent, why);
    if (result == W_SUCCESS && path.count == 1)
        result = reason_set(why, W_ACCESS_DENIED, "a root key can't be deleted");
    regpath_finish(&path);
    if (result != W_SUCCESS)
        return result;
    int rc = statement_get(s, KEY_DELETE, &st);
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(st, 1, id);
        rc = statement_run(st);
    }
    return rc == SQLITE_OK ? key_touch(s, parent, why) : sqlite_fail(s, rc, why);
}

static wstatus sqlite_delete_key(struct regstore *store, const char *key, struct reason *why)
{
    struct sqlite_store *s = sqlite_self(store);
    bool                 own;
    int64_t              id;
    wstatus              st = change_begin(s, &own, why);

    if (st != W_SUCCESS)
        return st;
    st = store_sqlite_key_find(s, key, &id, why);
    if (st == W_SUCCESS)
        st = key_delete_row(s, key, id, why);
    return store_sqlite_change_end(s, own, st, why);
}

static bool sqlite_key_exists(struct regstore *store, const char *key)
{
    int64_t id;
    return store_sqlite_key_find(sqlite_self(store), key, &id, NULL) == W_SUCCESS;
}

/* ---- answers that outlive their row ---- */

/* Makes room for the answer of a get; the previous answer becomes invalid ("until the next call"). */
static char *answer_room(struct sqlite_store *s, size_t size)
{
    if (size > s->answer_size) {
        char *p = realloc(s->answer, size);
        if (!p)
            return NULL;
        s->answer      = p;
        s->answer_size = size;
    }
    return s->answer;
}

static const char *answer_text(char **at, const char *text)
{
    if (!text)
        return NULL;
    size_t size = strlen(text) + 1;
    char  *copy = memcpy(*at, text, size);
    *at += size;
    return copy;
}

static size_t store_sqlite_text_size(const char *text) { return text ? strlen(text) + 1 : 0; }

static void row_to_key(sqlite3_stmt *st, struct regkey_info *out)
{
    *out = (struct regkey_info){.name        = column_text(st, 0),
                                .last_write  = (uint64_t)sqlite3_column_int64(st, 1),
                                .source_file = column_text(st, 2),
                                .source_line = (uint32_t)sqlite3_column_int64(st, 3)};
    if (!out->name)
        out->name = "";
}

static void row_to_value(sqlite3_stmt *st, struct regvalue *out)
{
    const void *data = sqlite3_column_blob(st, 2);
    *out             = (struct regvalue){.name        = column_text(st, 0),
                                         .type        = (uint32_t)sqlite3_column_int64(st, 1),
                                         .data        = data ? data : (const uint8_t *)"",
                                         .size        = (uint32_t)sqlite3_column_bytes(st, 2),
                                         .source_file = column_text(st, 3),
                                         .source_line = (uint32_t)sqlite3_column_int64(st, 4)};
    if (!out->name)
        out->name = "";
}

static wstatus sqlite_key_info(struct regstore *store, const char *key, struct regkey_info *out)
{
    struct sqlite_store *s = sqlite_self(store);
    sqlite3_stmt        *st;
    int64_t              id;
    wstatus              result = store_sqlite_key_find(s, key, &id, NULL);

    *out = (struct regkey_info){.name = ""};
    if (result != W_SUCCESS)
        return result;
    int rc = statement_get(s, KEY_INFO, &st);
    if (rc != SQLITE_OK)
        return sqlite_fail(s, rc, NULL);
    sqlite3_bind_int64(st, 1, id);
    rc     = sqlite3_step(st);
    result = rc == SQLITE_ROW ? W_SUCCESS : rc == SQLITE_DONE ? W_FILE_NOT_FOUND : sqlite_fail(s, rc, NULL);
    if (result == W_SUCCESS) {
        struct regkey_info row;
        row_to_key(st, &row);
        char *at = answer_room(s, store_sqlite_text_size(row.name) + store_sqlite_text_size(row.source_file));
        if (at) {
            *out             = row;
            out->name        = answer_text(&at, row.name);
            out->source_file = answer_text(&at, row.source_file);
        } else {
            result = W_NOT_ENOUGH_MEMORY;
        }
    }
    sqlite3_reset(st);
    return result;
}

/* ---- values ---- */

static wstatus value_check(const struct regvalue *value, struct reason *why)
{
    if (!regpath_name_fits(value->name, REGPATH_MAX_VALUE_NAME))
        return reason_set(why, W_INVALID_PARAMETER, "a value name has more than %d characters: %.40s...",
                          REGPATH_MAX_VALUE_NAME, value->name);
    if (value->size > 64u << 20)
        return reason_set(why, W_INVALID_PARAMETER, "%s has %u bytes, more than 64 MB", value->name, value->size);
    return W_SUCCESS;
}

static wstatus sqlite_set(struct regstore *store, const char *key, const struct regvalue *value, struct reason *why)
{
    struct sqlite_store *s = sqlite_self(store);
    bool                 own;
    int64_t              id;
    sqlite3_stmt        *statement;
    wstatus              st = value_check(value, why);

    if (st == W_SUCCESS)
        st = change_begin(s, &own, why);
    if (st != W_SUCCESS)
        return st;
    char *fold = name_fold_dup(value->name);
    st = fold ? store_sqlite_key_make(s, key, (struct store_sqlite_source){value->source_file, value->source_line}, &id,
                                      why)
              : sqlite_no_memory(why);
    if (st == W_SUCCESS) {
        int rc = statement_get(s, VALUE_SET, &statement);
        if (rc == SQLITE_OK) {
            sqlite3_bind_int64(statement, 1, id);
            bind_text(statement, 2, fold);
            bind_text(statement, 3, value->name);
            sqlite3_bind_int64(statement, 4, value->type);
            /* a NULL pointer would bind NULL, not no bytes */
            sqlite3_bind_blob(statement, 5, value->size ? (const void *)value->data : "", (int)value->size,
                              SQLITE_STATIC);
            bind_text(statement, 6, value->source_file);
            sqlite3_bind_int64(statement, 7, value->source_line);
            rc = statement_run(statement);
        }
        st = rc == SQLITE_OK ? key_touch(s, id, why) : sqlite_fail(s, rc, why);
    }
    free(fold);
    return store_sqlite_change_end(s, own, st, why);
}

static wstatus answer_value(struct sqlite_store *s, sqlite3_stmt *st, struct regvalue *out)
{
    struct regvalue row;
    row_to_value(st, &row);
    char *at = answer_room(s, row.size + store_sqlite_text_size(row.name) + store_sqlite_text_size(row.source_file));
    if (!at)
        return W_NOT_ENOUGH_MEMORY;
    *out      = row;
    out->data = memcpy(at, row.data, row.size);
    at += row.size;
    out->name        = answer_text(&at, row.name);
    out->source_file = answer_text(&at, row.source_file);
    return W_SUCCESS;
}

static wstatus sqlite_get(struct regstore *store, const char *key, const char *name, struct regvalue *out)
{
    struct sqlite_store *s = sqlite_self(store);
    sqlite3_stmt        *st;
    int64_t              id;
    wstatus              result = store_sqlite_key_find(s, key, &id, NULL);

    *out = (struct regvalue){.name = ""};
    if (result != W_SUCCESS)
        return result;
    char *fold = name_fold_dup(name);
    if (!fold)
        return W_NOT_ENOUGH_MEMORY;
    int rc = statement_get(s, VALUE_GET, &st);
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(st, 1, id);
        bind_text(st, 2, fold);
        rc     = sqlite3_step(st);
        result = rc == SQLITE_ROW    ? answer_value(s, st, out)
                 : rc == SQLITE_DONE ? W_FILE_NOT_FOUND
                                     : sqlite_fail(s, rc, NULL);
        sqlite3_reset(st);
        sqlite3_clear_bindings(st);
    } else {
        result = sqlite_fail(s, rc, NULL);
    }
    free(fold);
    return result;
}

/* Deletes an existing value, or renames it to `to`. */
static wstatus value_change(struct sqlite_store *s, const char *key, const char *name, const char *to,
                            struct reason *why)
{
    sqlite3_stmt *statement;
    int64_t       id;
    wstatus       st   = store_sqlite_key_find(s, key, &id, why);
    char         *fold = name_fold_dup(name), *fold_to = name_fold_dup(to ? to : "");
    int           rc;

    if (st != W_SUCCESS)
        goto out;
    st = sqlite_no_memory(why);
    if (!fold || !fold_to)
        goto out;
    if ((rc = statement_get(s, to ? VALUE_RENAME : VALUE_DELETE, &statement)) == SQLITE_OK) {
        sqlite3_bind_int64(statement, 1, id);
        bind_text(statement, 2, fold);
        if (to) {
            bind_text(statement, 3, fold_to);
            bind_text(statement, 4, to);
        }
        rc = statement_run(statement);
    }
    if (rc == SQLITE_CONSTRAINT_PRIMARYKEY)
        st = reason_set(why, W_ALREADY_EXISTS, "the key has a value %s already", to);
    else if (rc != SQLITE_OK)
        st = sqlite_fail(s, rc, why);
    else if (sqlite3_changes(s->db) == 0)
        st = reason_set(why, W_FILE_NOT_FOUND, "the key has no value %s", *name ? name : "(default)");
    else
        st = key_touch(s, id, why);
out:
    free(fold);
    free(fold_to);
    return st;
}

static wstatus sqlite_delete_value(struct regstore *store, const char *key, const char *name, struct reason *why)
{
    struct sqlite_store *s = sqlite_self(store);
    bool                 own;
    wstatus              st = change_begin(s, &own, why);
    return st == W_SUCCESS ? store_sqlite_change_end(s, own, value_change(s, key, name, NULL, why), why) : st;
}

static wstatus sqlite_rename_value(struct regstore *store, const char *key, const char *from, const char *to,
                                   struct reason *why)
{
    struct sqlite_store *s = sqlite_self(store);
    bool                 own;
    wstatus              st = value_check(&(struct regvalue){.name = to}, why);
    if (st == W_SUCCESS)
        st = change_begin(s, &own, why);
    return st == W_SUCCESS ? store_sqlite_change_end(s, own, value_change(s, key, from, to, why), why) : st;
}

/* ---- enumeration: a statement of its own, so that a callback may read the store ---- */

typedef wstatus (*row_fn)(void *ctx, sqlite3_stmt *row);

static wstatus enumerate(struct sqlite_store *s, const char *key, const char *text, row_fn fn, void *ctx)
{
    sqlite3_stmt *st = NULL;
    int64_t       id;
    wstatus       result = store_sqlite_key_find(s, key, &id, NULL);

    if (result != W_SUCCESS)
        return result;
    int rc = sqlite3_prepare_v2(s->db, text, -1, &st, NULL);
    if (rc == SQLITE_OK)
        sqlite3_bind_int64(st, 1, id);
    while (rc == SQLITE_OK && result == W_SUCCESS && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        result = fn(ctx, st);
        rc     = SQLITE_OK;
    }
    if (rc != SQLITE_OK && rc != SQLITE_DONE)
        result = sqlite_fail(s, rc, NULL);
    sqlite3_finalize(st);
    return result;
}

struct key_call {
    regkey_fn fn;
    void     *ctx;
};
static wstatus key_row(void *ctx, sqlite3_stmt *row)
{
    const struct key_call *call = ctx;
    struct regkey_info     info;
    row_to_key(row, &info);
    return call->fn(call->ctx, &info);
}

struct value_call {
    regvalue_fn fn;
    void       *ctx;
};
static wstatus value_row(void *ctx, sqlite3_stmt *row)
{
    const struct value_call *call = ctx;
    struct regvalue          value;
    row_to_value(row, &value);
    return call->fn(call->ctx, &value);
}

static wstatus sqlite_enum_keys(struct regstore *store, const char *key, regkey_fn fn, void *ctx)
{
    struct sqlite_store *s = sqlite_self(store);
    return enumerate(s, key, enum_keys_sql, key_row, &(struct key_call){fn, ctx});
}

static wstatus sqlite_enum_values(struct regstore *store, const char *key, regvalue_fn fn, void *ctx)
{
    struct sqlite_store *s = sqlite_self(store);
    return enumerate(s, key, enum_values_sql, value_row, &(struct value_call){fn, ctx});
}

const struct regstore_ops sqlite_ops = {
    .close        = sqlite_close,
    .begin        = sqlite_begin,
    .commit       = sqlite_commit,
    .rollback     = sqlite_rollback,
    .create_key   = sqlite_create_key,
    .delete_key   = sqlite_delete_key,
    .key_exists   = sqlite_key_exists,
    .key_info     = sqlite_key_info,
    .set          = sqlite_set,
    .get          = sqlite_get,
    .delete_value = sqlite_delete_value,
    .rename_value = sqlite_rename_value,
    .enum_keys    = sqlite_enum_keys,
    .enum_values  = sqlite_enum_values,
};
