/* sqlite_database.c - the database of a store, in a file or in memory: opens, creates and repairs it, runs its
 * transactions, and maps its errors.
 * Invariants  S2 no statement is left running between calls: a reader outside a transaction holds no lock. A reader
 *                creates no file (the journal is a rollback journal, temporary tables stay in memory). It writes in one
 *                case: at opening it rolls back what a dead writer left half written, where that is possible
 * Threads, ownership: as in regstore.h. Not for: keys and values (store_sqlite.c). */
#include "registry-sim/store/sqlite_database.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SCHEMA_VERSION = 1, APPLICATION_ID = 0x414C5253 /* "ALRS" */, BUSY_MS = 5000 };

static const char sqlite_database_schema[] =
    "CREATE TABLE key(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES key(id) ON DELETE CASCADE, fold TEXT NOT NULL,"
    " name TEXT NOT NULL, last_write INTEGER NOT NULL, source_file TEXT, source_line INTEGER NOT NULL,"
    " UNIQUE(parent, fold));"
    "CREATE TABLE value(key INTEGER NOT NULL REFERENCES key(id) ON DELETE CASCADE, fold TEXT NOT NULL,"
    " name TEXT NOT NULL, type INTEGER NOT NULL, data BLOB NOT NULL, source_file TEXT, source_line INTEGER NOT NULL,"
    " PRIMARY KEY(key, fold)) WITHOUT ROWID;"
    "INSERT INTO key VALUES(0, NULL, '', '', 0, NULL, 0);"
    "PRAGMA application_id=0x414C5253; PRAGMA user_version=1;";

/* ---- errors ---- */

static wstatus status_of(sqlite3 *db, int rc)
{
    static const struct {
        int     rc;
        wstatus status;
    } rows[] = {
        {SQLITE_NOMEM, W_NOT_ENOUGH_MEMORY},
        {SQLITE_PERM, W_ACCESS_DENIED},
        {SQLITE_AUTH, W_ACCESS_DENIED},
        {SQLITE_BUSY, W_BUSY},
        {SQLITE_LOCKED, W_BUSY},
        {SQLITE_READONLY, W_ACCESS_DENIED},
        {SQLITE_CORRUPT, W_INVALID_DATA},
        {SQLITE_NOTADB, W_INVALID_DATA},
        {SQLITE_FULL, W_DISK_FULL},
        {SQLITE_ERROR, W_INVALID_DATA},
        {SQLITE_TOOBIG, W_INVALID_PARAMETER},
        {SQLITE_SCHEMA, W_INVALID_DATA},
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

wstatus sqlite_fail(struct sqlite_store *s, int rc, struct reason *why)
{
    if ((rc & 0xFF) == SQLITE_READONLY && sqlite3_extended_errcode(s->db) == SQLITE_READONLY_ROLLBACK)
        return reason_set(why, W_NOT_READY,
                          "store %s: the last write was cut short, and only who may write can repair "
                          "it. Do: run the command as root, on a file system that can be written",
                          s->path);
    return reason_set(why, status_of(s->db, rc), "store %s: %s", s->path, sqlite3_errmsg(s->db));
}

/* ---- transactions ---- */

wstatus sqlite_run(struct sqlite_store *s, const char *text, struct reason *why)
{
    int rc = sqlite3_exec(s->db, text, NULL, NULL, NULL);
    return rc == SQLITE_OK ? W_SUCCESS : sqlite_fail(s, rc, why);
}

wstatus sqlite_begin(struct regstore *store, struct reason *why)
{
    struct sqlite_store *s = sqlite_self(store);
    if (s->in_transaction)
        return reason_set(why, W_INVALID_OPERATION, "a transaction is open already");
    wstatus st        = sqlite_run(s, s->reader ? "BEGIN" : "BEGIN IMMEDIATE", why);
    s->in_transaction = st == W_SUCCESS;
    return st;
}

wstatus sqlite_commit(struct regstore *store, struct reason *why)
{
    struct sqlite_store *s = sqlite_self(store);
    if (!s->in_transaction)
        return reason_set(why, W_INVALID_OPERATION, "no transaction is open");
    if (sqlite3_get_autocommit(s->db)) { /* SQLite rolled it back, at a full disk or the like */
        s->in_transaction = false;
        return reason_set(why, W_INVALID_OPERATION, "store %s: the changes were taken back after an error", s->path);
    }
    wstatus st = sqlite_run(s, "COMMIT", why);
    if (st == W_SUCCESS)
        s->in_transaction = false;
    return st;
}

void sqlite_rollback(struct regstore *store)
{
    struct sqlite_store *s = sqlite_self(store);
    if (s->in_transaction && !sqlite3_get_autocommit(s->db))
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    s->in_transaction = false;
}

/* ---- open and close ---- */

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Checks the file before SQLite opens it, because SQLite creates files for a WAL database even when only reading. */
static wstatus sqlite_database_file_check(const char *path, bool write, struct reason *why)
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
        return reason_set(why, W_INVALID_DATA,
                          "store %s was switched to a write-ahead log; any command that writes to "
                          "it switches it back",
                          path);
    return W_SUCCESS;
}

static wstatus schema_create(struct sqlite_store *s, struct reason *why)
{
    sqlite3_stmt *st;
    wstatus       result = sqlite_run(s, "BEGIN IMMEDIATE", why);
    if (result != W_SUCCESS)
        return result;
    int rc = sqlite3_prepare_v2(s->db, "SELECT count(*) FROM sqlite_master", -1, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    bool empty = rc == SQLITE_ROW && sqlite3_column_int(st, 0) == 0; /* another process may have been faster */
    if (rc == SQLITE_OK || rc == SQLITE_ROW)
        sqlite3_finalize(st);
    result = rc != SQLITE_ROW ? sqlite_fail(s, rc, why)
             : empty          ? sqlite_run(s, sqlite_database_schema, why)
                              : W_SUCCESS;
    if (result == W_SUCCESS)
        result = sqlite_run(s, "COMMIT", why);
    if (result != W_SUCCESS)
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return result;
}

static wstatus set_up(struct sqlite_store *s, bool write, struct reason *why)
{
    int64_t id;
    sqlite3_extended_result_codes(s->db, 1);
    sqlite3_busy_timeout(s->db, BUSY_MS);
    wstatus st = sqlite_run(s,
                            "PRAGMA temp_store=MEMORY; PRAGMA foreign_keys=ON; PRAGMA trusted_schema=OFF;"
                            "PRAGMA cell_size_check=ON",
                            why);
    /* EXTRA syncs the folder when the journal is removed; else a power cut brings the journal back, which undoes a
     * commit */
    if (st == W_SUCCESS && write)
        st = sqlite_run(s, "PRAGMA journal_mode=DELETE; PRAGMA synchronous=EXTRA", why);
    if (st == W_SUCCESS && write)
        st = schema_create(s, why);
    if (st == W_SUCCESS) {
        st = sqlite_child_find(s, 0, "HKEY_LOCAL_MACHINE", &id, why); /* is it readable, are the tables there? */
        if (st == W_FILE_NOT_FOUND)
            st = W_SUCCESS;
    }
    return st;
}

void sqlite_close(struct regstore *store)
{
    struct sqlite_store *s = sqlite_self(store);
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
        st = sqlite_no_memory(why);
        goto out;
    }
    s->reader = !write;
    int flags = (write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY) | SQLITE_OPEN_NOMUTEX;
    int rc    = sqlite3_open_v2(path, &s->db, flags, NULL);
    if (rc != SQLITE_OK) {
        st = s->db ? sqlite_fail(s, rc, why) : sqlite_no_memory(why);
        if (st == W_FILE_NOT_FOUND && write)
            st = reason_set(why, W_PATH_NOT_FOUND, "store %s: its folder does not exist", shown);
        goto out;
    }
    if (write && sqlite3_db_readonly(s->db, "main") == 1) { /* SQLite silently opened it for reading */
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

/* Rolls back what a dead writer or a power cut left half written. This is the only write of a reader: a boot must not
 * lack its declarations until the next writer opens the store. */
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
    wstatus st = *path ? sqlite_database_file_check(path, write, why)
                       : reason_set(why, W_BAD_PATHNAME, "the store's path is empty");
    if (st != W_SUCCESS)
        return st;
    if (*path != ':') /* SQLite gives names like ":memory:" a special meaning */
        return open_file(path, path, write, out, why);
    size_t size  = strlen(path) + 3;
    char  *plain = malloc(size);
    if (!plain)
        return sqlite_no_memory(why);
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
