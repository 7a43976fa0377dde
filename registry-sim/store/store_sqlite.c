/* store_sqlite.c - regstore.h on SQLite, in a file or in memory. The only file that sees sqlite3.h: it is long because
 * splitting it would spread the library's types over a private header.
 * Schema: one row per key (parent, folded name unique) below the unnamed row 0, one row per value.
 * Invariants  S1 names are stored folded beside their own spelling, and looked up by the folded form only
 *             S2 no statement is left running between calls: a reader outside a transaction holds no lock; it creates no
 *                file (the journal is a rollback journal, temporary tables stay in memory). It writes in one case: what a writer
 *                left that died is taken back when the store is opened, where that can be
 *             S3 a change is one transaction: the caller's, or its own */
#include "registry-sim/base/os.h"
#include "registry-sim/store/backend.h"
#include "registry-sim/store/regpath.h"
#include "registry-sim/win32/filetime.h"
#include "registry-sim/win32/utf16.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SCHEMA_VERSION = 1, APPLICATION_ID = 0x414C5253 /* "ALRS" */, BUSY_MS = 5000 };

static const char schema[] =
    "CREATE TABLE key(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES key(id) ON DELETE CASCADE, fold TEXT NOT NULL,"
    " name TEXT NOT NULL, last_write INTEGER NOT NULL, source_file TEXT, source_line INTEGER NOT NULL,"
    " UNIQUE(parent, fold));"
    "CREATE TABLE value(key INTEGER NOT NULL REFERENCES key(id) ON DELETE CASCADE, fold TEXT NOT NULL,"
    " name TEXT NOT NULL, type INTEGER NOT NULL, data BLOB NOT NULL, source_file TEXT, source_line INTEGER NOT NULL,"
    " PRIMARY KEY(key, fold)) WITHOUT ROWID;"
    "INSERT INTO key VALUES(0, NULL, '', '', 0, NULL, 0);"
    "PRAGMA application_id=0x414C5253; PRAGMA user_version=1;";

enum statement {
    KEY_FIND, KEY_ADD, KEY_SOURCE, KEY_TOUCH, KEY_INFO, KEY_DELETE, VALUE_SET, VALUE_GET, VALUE_DELETE, VALUE_RENAME,
    STATEMENTS,
};
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

struct sqlite_store {
    struct regstore base;
    sqlite3        *db;
    sqlite3_stmt   *statements[STATEMENTS]; /* prepared at first use */
    char           *path;
    bool            in_transaction, reader;
    char           *answer; /* the bytes of the last get */
    size_t          answer_size;
};

static const struct regstore_ops sqlite_ops; /* at the end */

static struct sqlite_store *self(struct regstore *store) { return (struct sqlite_store *)store; }

/* ---- errors ---- */

static wstatus status_of(sqlite3 *db, int rc)
{
    static const struct {
        int     rc;
        wstatus status;
    } rows[] = {
        {SQLITE_NOMEM, W_NOT_ENOUGH_MEMORY}, {SQLITE_PERM, W_ACCESS_DENIED},      {SQLITE_AUTH, W_ACCESS_DENIED},
        {SQLITE_BUSY, W_BUSY},               {SQLITE_LOCKED, W_BUSY},             {SQLITE_READONLY, W_ACCESS_DENIED},
        {SQLITE_CORRUPT, W_INVALID_DATA},    {SQLITE_NOTADB, W_INVALID_DATA},     {SQLITE_FULL, W_DISK_FULL},
        {SQLITE_ERROR, W_INVALID_DATA},      {SQLITE_TOOBIG, W_INVALID_PARAMETER}, {SQLITE_SCHEMA, W_INVALID_DATA},
    };
    int primary = rc & 0xFF;
    int error   = db ? sqlite3_system_errno(db) : 0;

    if ((primary == SQLITE_CANTOPEN || primary == SQLITE_IOERR) && error)
        return wstatus_from_errno(error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].rc == primary)
            return rows[i].status;
    return W_INVALID_OPERATION;
}

static wstatus fail(struct sqlite_store *s, int rc, struct reason *why)
{
    if ((rc & 0xFF) == SQLITE_READONLY && sqlite3_extended_errcode(s->db) == SQLITE_READONLY_ROLLBACK)
        return reason_set(why, W_NOT_READY, "store %s: the last write was cut short, and only who may write can repair "
                          "it. Do: run the command as root, on a file system that can be written", s->path);
    return reason_set(why, status_of(s->db, rc), "store %s: %s", s->path, sqlite3_errmsg(s->db));
}

static wstatus no_memory(struct reason *why) { return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory in the store"); }

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

/* Runs a statement that gives no rows, and lets go of what was bound (S2). */
static int statement_run(sqlite3_stmt *st)
{
    int rc = sqlite3_step(st);
    sqlite3_reset(st);
    sqlite3_clear_bindings(st);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static int64_t now(void) { return (int64_t)filetime_from_unix_ns(os_linux()->realtime_ns(os_linux())); }

/* ---- keys by path ---- */

static wstatus child_find(struct sqlite_store *s, int64_t parent, const char *name, int64_t *id, struct reason *why)
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
    return lost                ? no_memory(why)
           : rc == SQLITE_DONE ? reason_set(why, W_FILE_NOT_FOUND, "no key '%s'", name)
                               : fail(s, rc, why);
}

static wstatus key_find(struct sqlite_store *s, const char *key, int64_t *id, struct reason *why)
{
    struct regpath path;
    wstatus        st   = regpath_split(key, &path, why);
    const char    *name = path.names;

    *id = 0;
    for (unsigned i = 0; st == W_SUCCESS && i < path.count; i++, name = regpath_next(name))
        st = child_find(s, *id, name, id, why);
    regpath_finish(&path);
    return st;
}

static wstatus key_touch(struct sqlite_store *s, int64_t id, struct reason *why)
{
    sqlite3_stmt *st;
    int           rc = statement_get(s, KEY_TOUCH, &st);
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(st, 1, id);
        sqlite3_bind_int64(st, 2, now());
        rc = statement_run(st);
    }
    return rc == SQLITE_OK ? W_SUCCESS : fail(s, rc, why);
}

struct source {
    const char *file;
    uint32_t    line;
};

static wstatus child_add(struct sqlite_store *s, int64_t parent, const char *name, struct source source, int64_t *id,
                         struct reason *why)
{
    sqlite3_stmt *st;
    char         *fold = name_fold_dup(name);
    if (!fold)
        return no_memory(why);
    int rc = statement_get(s, KEY_ADD, &st);
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(st, 1, parent);
        bind_text(st, 2, fold);
        bind_text(st, 3, name);
        sqlite3_bind_int64(st, 4, now());
        bind_text(st, 5, source.file);
        sqlite3_bind_int64(st, 6, source.line);
        rc = statement_run(st);
    }
    free(fold);
    if (rc != SQLITE_OK)
        return fail(s, rc, why);
    *id = sqlite3_last_insert_rowid(s->db);
    return parent ? key_touch(s, parent, why) : W_SUCCESS; /* a new subkey is a change of its parent */
}

static wstatus key_make(struct sqlite_store *s, const char *key, struct source source, int64_t *id, struct reason *why)
{
    struct regpath path;
    wstatus        st   = regpath_split(key, &path, why);
    const char    *name = path.names;

    *id = 0;
    for (unsigned i = 0; st == W_SUCCESS && i < path.count; i++, name = regpath_next(name)) {
        int64_t parent = *id;
        st             = child_find(s, parent, name, id, why);
        if (st == W_FILE_NOT_FOUND)
            st = child_add(s, parent, name, source, id, why);
    }
    regpath_finish(&path);
    return st;
}

/* ---- transactions ---- */

static wstatus run(struct sqlite_store *s, const char *text, struct reason *why)
{
    int rc = sqlite3_exec(s->db, text, NULL, NULL, NULL);
    return rc == SQLITE_OK ? W_SUCCESS : fail(s, rc, why);
}

static wstatus sqlite_begin(struct regstore *store, struct reason *why)
{
    struct sqlite_store *s = self(store);
    if (s->in_transaction)
        return reason_set(why, W_INVALID_OPERATION, "a transaction is open already");
    wstatus st        = run(s, s->reader ? "BEGIN" : "BEGIN IMMEDIATE", why);
    s->in_transaction = st == W_SUCCESS;
    return st;
}

static wstatus sqlite_commit(struct regstore *store, struct reason *why)
{
    struct sqlite_store *s = self(store);
    if (!s->in_transaction)
        return reason_set(why, W_INVALID_OPERATION, "no transaction is open");
    if (sqlite3_get_autocommit(s->db)) { /* SQLite gave it up at a full disk or the like */
        s->in_transaction = false;
        return reason_set(why, W_INVALID_OPERATION, "store %s: the changes were taken back after an error", s->path);
    }
    wstatus st = run(s, "COMMIT", why);
    if (st == W_SUCCESS)
        s->in_transaction = false;
    return st;
}

static void sqlite_rollback(struct regstore *store)
{
    struct sqlite_store *s = self(store);
    if (s->in_transaction && !sqlite3_get_autocommit(s->db))
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    s->in_transaction = false;
}

/* S3: a change outside a transaction gets its own. */
static wstatus change_begin(struct sqlite_store *s, bool *own, struct reason *why)
{
    *own = !s->in_transaction;
    if (!*own && sqlite3_get_autocommit(s->db))
        return reason_set(why, W_INVALID_OPERATION, "store %s: the transaction has failed", s->path);
    return *own ? sqlite_begin(&s->base, why) : W_SUCCESS;
}

static wstatus change_end(struct sqlite_store *s, bool own, wstatus st, struct reason *why)
{
    if (own && st == W_SUCCESS)
        st = sqlite_commit(&s->base, why);
    if (own && st != W_SUCCESS)
        sqlite_rollback(&s->base);
    return st;
}

/* ---- open and close ---- */

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Looks at the file before SQLite does, which would create files for a WAL database even when only reading. */
static wstatus file_check(const char *path, bool write, struct reason *why)
{
    uint8_t     head[100];
    struct stat st;
    int         fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ENOENT && write)
        return W_SUCCESS;
    if (fd < 0)
        return reason_set(why, wstatus_from_errno(errno), "store %s: %s", path, strerror(errno));
    ssize_t n    = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? pread(fd, head, sizeof head, 0) : -1;
    bool    bare = n == 0;
    close(fd);
    if (bare && write)
        return W_SUCCESS; /* an empty file becomes a store */
    if (n != (ssize_t)sizeof head || memcmp(head, "SQLite format 3", 16) != 0 ||
        big_endian(head + 68) != APPLICATION_ID)
        return reason_set(why, W_INVALID_DATA, "%s is not a registry store", path);
    if (big_endian(head + 60) != SCHEMA_VERSION)
        return reason_set(why, W_NOT_SUPPORTED,
                          "store %s has version %u, this program knows version %d: use the program "
                          "that wrote it, or export there and import here",
                          path, big_endian(head + 60), SCHEMA_VERSION);
    if (head[18] != 1 && !write)
        return reason_set(why, W_INVALID_DATA, "store %s was switched to a write-ahead log; any command that writes to "
                          "it switches it back", path);
    return W_SUCCESS;
}

static wstatus schema_create(struct sqlite_store *s, struct reason *why)
{
    sqlite3_stmt *st;
    wstatus       result = run(s, "BEGIN IMMEDIATE", why);
    if (result != W_SUCCESS)
        return result;
    int rc = sqlite3_prepare_v2(s->db, "SELECT count(*) FROM sqlite_master", -1, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    bool empty = rc == SQLITE_ROW && sqlite3_column_int(st, 0) == 0; /* another process may have been faster */
    if (rc == SQLITE_OK || rc == SQLITE_ROW)
        sqlite3_finalize(st);
    result = rc != SQLITE_ROW ? fail(s, rc, why) : empty ? run(s, schema, why) : W_SUCCESS;
    if (result == W_SUCCESS)
        result = run(s, "COMMIT", why);
    if (result != W_SUCCESS)
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return result;
}

static wstatus set_up(struct sqlite_store *s, bool write, struct reason *why)
{
    int64_t id;
    sqlite3_extended_result_codes(s->db, 1);
    sqlite3_busy_timeout(s->db, BUSY_MS);
    wstatus st = run(s, "PRAGMA temp_store=MEMORY; PRAGMA foreign_keys=ON; PRAGMA trusted_schema=OFF;"
                        "PRAGMA cell_size_check=ON", why);
    /* EXTRA: the folder is synced when the journal is removed, else a power cut brings it back and takes back a commit */
    if (st == W_SUCCESS && write)
        st = run(s, "PRAGMA journal_mode=DELETE; PRAGMA synchronous=EXTRA", why);
    if (st == W_SUCCESS && write)
        st = schema_create(s, why);
    if (st == W_SUCCESS) {
        st = child_find(s, 0, "HKEY_LOCAL_MACHINE", &id, why); /* is it readable, are the tables there? */
        if (st == W_FILE_NOT_FOUND)
            st = W_SUCCESS;
    }
    return st;
}

static void sqlite_close(struct regstore *store)
{
    struct sqlite_store *s = self(store);
    sqlite_rollback(store);
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(s->statements[i]);
    sqlite3_close(s->db);
    free(s->answer);
    free(s->path);
    free(s);
}

static wstatus open_database(const char *path, const char *shown, bool write, struct regstore **out, struct reason *why)
{
    struct sqlite_store *s  = calloc(1, sizeof *s);
    wstatus              st = W_SUCCESS;

    if (!s || !(s->path = strdup(shown))) {
        st = no_memory(why);
        goto out;
    }
    s->reader = !write;
    int flags = (write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY) | SQLITE_OPEN_NOMUTEX;
    int rc    = sqlite3_open_v2(path, &s->db, flags, NULL);
    if (rc != SQLITE_OK) {
        st = s->db ? fail(s, rc, why) : no_memory(why);
        if (st == W_FILE_NOT_FOUND && write)
            st = reason_set(why, W_PATH_NOT_FOUND, "store %s: its folder does not exist", shown);
        goto out;
    }
    if (write && sqlite3_db_readonly(s->db, "main") == 1) { /* SQLite opened it for reading without a word */
        int error = access(shown, W_OK) < 0 ? errno : EACCES;
        st        = reason_set(why, wstatus_from_errno(error), "store %s can't be written: %s", shown, strerror(error));
        goto out;
    }
    if ((st = set_up(s, write, why)) != W_SUCCESS)
        goto out;
    s->base.ops = &sqlite_ops;
    *out        = &s->base;
    s           = NULL;
out:
    if (s)
        sqlite_close(&s->base);
    return st;
}

/* Takes back what a writer that died, or a power cut, left half written. The one thing that a reader writes: a boot must not go
 * without its declarations until somebody comes who writes. */
static void cut_short_repair(const char *path)
{
    sqlite3 *db = NULL;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK) {
        sqlite3_busy_timeout(db, BUSY_MS);
        sqlite3_exec(db, "PRAGMA synchronous=EXTRA; SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);
    }
    sqlite3_close(db);
}

static wstatus open_file(const char *path, const char *shown, bool write, struct regstore **out, struct reason *why)
{
    wstatus st = open_database(path, shown, write, out, why);
    if (st != W_NOT_READY || write)
        return st;
    cut_short_repair(path);
    return open_database(path, shown, write, out, why);
}

wstatus regstore_open(const char *path, bool write, struct regstore **out, struct reason *why)
{
    *out       = NULL;
    wstatus st = *path ? file_check(path, write, why) : reason_set(why, W_BAD_PATHNAME, "the store's path is empty");
    if (st != W_SUCCESS)
        return st;
    if (*path != ':') /* SQLite gives names like ":memory:" a meaning */
        return open_file(path, path, write, out, why);
    size_t size  = strlen(path) + 3;
    char  *plain = malloc(size);
    if (!plain)
        return no_memory(why);
    snprintf(plain, size, "./%s", path);
    st = open_file(plain, path, write, out, why);
    free(plain);
    return st;
}

wstatus regstore_open_memory(struct regstore **out, struct reason *why)
{
    *out = NULL;
    return open_database(":memory:", "(memory)", true, out, why);
}

/* ---- keys ---- */

static wstatus sqlite_create_key(struct regstore *store, const char *key, const char *source_file, uint32_t source_line,
                                 struct reason *why)
{
    struct sqlite_store *s  = self(store);
    bool                 own;
    int64_t              id;
    sqlite3_stmt        *statement;
    wstatus              st = change_begin(s, &own, why);

    if (st != W_SUCCESS)
        return st;
    st = key_make(s, key, (struct source){source_file, source_line}, &id, why);
    if (st == W_SUCCESS && source_file) {
        int rc = statement_get(s, KEY_SOURCE, &statement);
        if (rc == SQLITE_OK) {
            sqlite3_bind_int64(statement, 1, id);
            bind_text(statement, 2, source_file);
            sqlite3_bind_int64(statement, 3, source_line);
            rc = statement_run(statement);
        }
        if (rc != SQLITE_OK)
            st = fail(s, rc, why);
    }
    return change_end(s, own, st, why);
}

/* Deletes row `id` of a key; `key` is its path, for the parent's time. */
static wstatus key_delete_row(struct sqlite_store *s, const char *key, int64_t id, struct reason *why)
{
    sqlite3_stmt *st;
    int64_t       parent = 0;
    char         *up     = strdup(key);
    if (!up)
        return no_memory(why);
    size_t n = strlen(up);
    while (n && (up[n - 1] == '\\' || up[n - 1] == '/'))
        up[--n] = 0;
    struct regpath path;
    wstatus        result = regpath_split(up, &path, why);
    const char    *name   = path.names;
    for (unsigned i = 0; result == W_SUCCESS && i + 1 < path.count; i++, name = regpath_next(name))
        result = child_find(s, parent, name, &parent, why);
    if (result == W_SUCCESS && path.count == 1)
        result = reason_set(why, W_ACCESS_DENIED, "a root key can't be deleted");
    regpath_finish(&path);
    free(up);
    if (result != W_SUCCESS)
        return result;
    int rc = statement_get(s, KEY_DELETE, &st);
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(st, 1, id);
        rc = statement_run(st);
    }
    return rc == SQLITE_OK ? key_touch(s, parent, why) : fail(s, rc, why);
}

static wstatus sqlite_delete_key(struct regstore *store, const char *key, struct reason *why)
{
    struct sqlite_store *s  = self(store);
    bool                 own;
    int64_t              id;
    wstatus              st = change_begin(s, &own, why);

    if (st != W_SUCCESS)
        return st;
    st = key_find(s, key, &id, why);
    if (st == W_SUCCESS)
        st = key_delete_row(s, key, id, why);
    return change_end(s, own, st, why);
}

static bool sqlite_key_exists(struct regstore *store, const char *key)
{
    int64_t id;
    return key_find(self(store), key, &id, NULL) == W_SUCCESS;
}

/* ---- answers that outlive their row ---- */

/* Makes room for the answer of a get; the old one dies ("until the next call"). */
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

static size_t text_size(const char *text) { return text ? strlen(text) + 1 : 0; }

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
    *out = (struct regvalue){.name        = column_text(st, 0),
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
    struct sqlite_store *s      = self(store);
    sqlite3_stmt        *st;
    int64_t              id;
    wstatus              result = key_find(s, key, &id, NULL);

    *out = (struct regkey_info){.name = ""};
    if (result != W_SUCCESS)
        return result;
    int rc = statement_get(s, KEY_INFO, &st);
    if (rc != SQLITE_OK)
        return fail(s, rc, NULL);
    sqlite3_bind_int64(st, 1, id);
    rc     = sqlite3_step(st);
    result = rc == SQLITE_ROW ? W_SUCCESS : rc == SQLITE_DONE ? W_FILE_NOT_FOUND : fail(s, rc, NULL);
    if (result == W_SUCCESS) {
        struct regkey_info row;
        row_to_key(st, &row);
        char *at = answer_room(s, text_size(row.name) + text_size(row.source_file));
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
    struct sqlite_store *s  = self(store);
    bool                 own;
    int64_t              id;
    sqlite3_stmt        *statement;
    wstatus              st = value_check(value, why);

    if (st == W_SUCCESS)
        st = change_begin(s, &own, why);
    if (st != W_SUCCESS)
        return st;
    char *fold = name_fold_dup(value->name);
    st = fold ? key_make(s, key, (struct source){value->source_file, value->source_line}, &id, why) : no_memory(why);
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
        st = rc == SQLITE_OK ? key_touch(s, id, why) : fail(s, rc, why);
    }
    free(fold);
    return change_end(s, own, st, why);
}

static wstatus answer_value(struct sqlite_store *s, sqlite3_stmt *st, struct regvalue *out)
{
    struct regvalue row;
    row_to_value(st, &row);
    char *at = answer_room(s, row.size + text_size(row.name) + text_size(row.source_file));
    if (!at)
        return W_NOT_ENOUGH_MEMORY;
    *out             = row;
    out->data        = memcpy(at, row.data, row.size);
    at += row.size;
    out->name        = answer_text(&at, row.name);
    out->source_file = answer_text(&at, row.source_file);
    return W_SUCCESS;
}

static wstatus sqlite_get(struct regstore *store, const char *key, const char *name, struct regvalue *out)
{
    struct sqlite_store *s      = self(store);
    sqlite3_stmt        *st;
    int64_t              id;
    wstatus              result = key_find(s, key, &id, NULL);

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
        result = rc == SQLITE_ROW ? answer_value(s, st, out) : rc == SQLITE_DONE ? W_FILE_NOT_FOUND : fail(s, rc, NULL);
        sqlite3_reset(st);
        sqlite3_clear_bindings(st);
    } else {
        result = fail(s, rc, NULL);
    }
    free(fold);
    return result;
}

/* One change of one existing value: deletes it, or gives it the name `to`. */
static wstatus value_change(struct sqlite_store *s, const char *key, const char *name, const char *to, struct reason *why)
{
    sqlite3_stmt *statement;
    int64_t       id;
    wstatus       st    = key_find(s, key, &id, why);
    char         *fold  = name_fold_dup(name), *fold_to = name_fold_dup(to ? to : "");
    int           rc;

    if (st != W_SUCCESS)
        goto out;
    st = no_memory(why);
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
        st = fail(s, rc, why);
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
    struct sqlite_store *s  = self(store);
    bool                 own;
    wstatus              st = change_begin(s, &own, why);
    return st == W_SUCCESS ? change_end(s, own, value_change(s, key, name, NULL, why), why) : st;
}

static wstatus sqlite_rename_value(struct regstore *store, const char *key, const char *from, const char *to,
                                   struct reason *why)
{
    struct sqlite_store *s  = self(store);
    bool                 own;
    wstatus              st = value_check(&(struct regvalue){.name = to}, why);
    if (st == W_SUCCESS)
        st = change_begin(s, &own, why);
    return st == W_SUCCESS ? change_end(s, own, value_change(s, key, from, to, why), why) : st;
}

/* ---- enumeration: a statement of its own, so that a callback may read the store ---- */

typedef wstatus (*row_fn)(void *ctx, sqlite3_stmt *row);

static wstatus enumerate(struct sqlite_store *s, const char *key, const char *text, row_fn fn, void *ctx)
{
    sqlite3_stmt *st = NULL;
    int64_t       id;
    wstatus       result = key_find(s, key, &id, NULL);

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
        result = fail(s, rc, NULL);
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
    struct sqlite_store *s = self(store);
    return enumerate(s, key, enum_keys_sql, key_row, &(struct key_call){fn, ctx});
}

static wstatus sqlite_enum_values(struct regstore *store, const char *key, regvalue_fn fn, void *ctx)
{
    struct sqlite_store *s = self(store);
    return enumerate(s, key, enum_values_sql, value_row, &(struct value_call){fn, ctx});
}

static const struct regstore_ops sqlite_ops = {
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
