#include "autologger/daemon/end/unmerged.h"
#include "registry-sim/base/visible_print.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

/* One key a boot, named by its number; Moved: its files are aside */
#define KEY "HKEY_LOCAL_MACHINE\\SOFTWARE\\autologger\\Unmerged"
enum { KEY_SIZE = 96 };

static const char *unmerged_key_of(uint32_t boot, char out[KEY_SIZE])
{
    snprintf(out, KEY_SIZE, KEY "\\%05" PRIu32, boot);
    return out;
}

static void unmerged_complain(uint32_t boot, const char *what, const struct reason *why)
{
    visible_line(stderr, "autologgerd: boot %" PRIu32 ": %s: %s", boot, what, why->text);
}

/* ---- the notes ---- */

wstatus unmerged_note(struct regstore *store, const char *boot_id, struct reason *why)
{
    char     key[KEY_SIZE];
    uint32_t boot = 0;
    wstatus  st   = result_number_of(store, boot_id, &boot, why);
    return st ? st : regstore_set_dword(store, unmerged_key_of(boot, key), "Moved", 0, why);
}

wstatus unmerged_forget(struct regstore *store, const char *boot_id, struct reason *why)
{
    char     key[KEY_SIZE];
    uint32_t boot = 0;
    wstatus  st   = result_number_of(store, boot_id, &boot, why);
    if (!st && regstore_key_exists(store, unmerged_key_of(boot, key)))
        st = regstore_delete_key(store, key, why);
    return st;
}

static wstatus unmerged_found(void *ctx, const struct regkey_info *info)
{
    struct unmerged *u      = ctx;
    uint32_t         number = result_number(info->name);
    if (number && u->count < UNMERGED_MOST)
        u->boot[u->count++] = number;
    return W_SUCCESS;
}

/* ---- aside ---- */

bool unmerged_aside(const char *path, uint32_t boot, char *out, size_t size)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strstr(name, ".etl");
    size_t      front = dot ? (size_t)(dot - path) : strlen(path);
    int         n     = snprintf(out, size, "%.*s.boot-%" PRIu32 "%s", (int)front, path, boot, path + front);
    return n > 0 && (size_t)n < size;
}

/* Puts the new paths into the rows; returns the old ones, malloc, NULL for a row that stays as it is. */
static char **rename_rows(struct result_list *rows, uint32_t boot)
{
    char **old = calloc(rows->count + 1, sizeof *old), tail[24];
    snprintf(tail, sizeof tail, ".boot-%" PRIu32, boot);
    for (unsigned i = 0; old && i < rows->count; i++) {
        struct result_row *r = &rows->rows[i];
        char               aside[sizeof r->log_path], *at;
        if (*r->provider || !r->start || !r->file_created || *r->merged_path || !(old[i] = strdup(r->log_path)))
            continue;
        if ((at = strstr(old[i], tail))) /* a predecessor wrote the rows, but may have died before it moved the file */
            memmove(at, at + strlen(tail), strlen(at + strlen(tail)) + 1);
        else if (unmerged_aside(old[i], boot, aside, sizeof aside))
            snprintf(r->log_path, sizeof r->log_path, "%s", aside);
    }
    return old;
}

static void move_files(struct os *os, const struct result_list *rows, char *const *old)
{
    struct os_stat st;
    for (unsigned i = 0; i < rows->count; i++) {
        const char *to = rows->rows[i].log_path;
        if (!old[i] || strcmp(old[i], to) == 0 || os->stat(os, to, &st) == 0 || os->stat(os, old[i], &st) < 0)
            continue;
        int error = os->rename(os, old[i], to);
        if (error < 0)
            visible_line(stderr, "autologgerd: boot %" PRIu32 ": %s could not be moved to %s: %s", rows->number, old[i],
                         to, strerror(-error));
    }
}

/* First the rows, then the files, then the mark that it was done. */
static wstatus move(struct unmerged *u, struct regstore *store, uint32_t boot, struct reason *why)
{
    struct result_list rows = {0};
    char               key[KEY_SIZE], **old = NULL;
    wstatus            st = result_load_number(store, boot, &rows, why);

    if (st == W_FILE_NOT_FOUND) /* Keep gave up the boot and its files */
        return regstore_delete_key(store, unmerged_key_of(boot, key), why);
    if (!st && !(old = rename_rows(&rows, boot)))
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory");
    st = st ? st : result_save_past(store, &rows, why);
    if (!st)
        move_files(u->os, &rows, old);
    st = st ? st : regstore_set_dword(store, unmerged_key_of(boot, key), "Moved", 1, why);
    for (unsigned i = 0; old && i < rows.count; i++)
        free(old[i]);
    free(old);
    result_list_finish(&rows);
    return st;
}

static bool is_moved(struct regstore *store, uint32_t boot)
{
    char     key[KEY_SIZE];
    uint32_t moved = 0;
    return regstore_get_dword(store, unmerged_key_of(boot, key), "Moved", &moved, NULL) == W_SUCCESS && moved;
}

void unmerged_look(struct unmerged *u, struct regstore *store)
{
    u->count = u->unmoved = 0;
    regstore_enum_keys(store, KEY, unmerged_found, u);
    for (unsigned i = 0; i < u->count; i++)
        u->unmoved += !is_moved(store, u->boot[i]);
}

void unmerged_move(struct unmerged *u)
{
    struct regstore *store = NULL;
    struct reason    why;

    if (!u->unmoved)
        return;
    u->unmoved = 0;
    if (u->store_open(u->store_path, true, &store, &why) != W_SUCCESS) {
        unmerged_complain(u->boot[0], "its files stay where they are", &why);
        u->count = 0;
        return;
    }
    for (unsigned i = 0; i < u->count; i++)
        if (!is_moved(store, u->boot[i]) && move(u, store, u->boot[i], &why) != W_SUCCESS)
            unmerged_complain(u->boot[i], "its files stay where they are", &why);
    regstore_close(store);
}

/* ---- merging ---- */

static void condition_remove(struct condition_list *list, const char *item)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < list->count; i++)
        if (strcmp(list->items[i].item, item) != 0)
            list->items[kept++] = list->items[i];
    list->count = kept;
}

/* boot[0] is done, merged or not. */
static void done(struct unmerged *u)
{
    result_list_finish(&u->rows);
    memset(&u->rows, 0, sizeof u->rows);
    memmove(&u->boot[0], &u->boot[1], --u->count * sizeof u->boot[0]);
}

/* Saves the rows and removes the note. */
static wstatus unmerged_save(struct unmerged *u, struct reason *why)
{
    struct regstore *store = NULL;
    char             key[KEY_SIZE];
    wstatus          st = u->store_open(u->store_path, true, &store, why);

    if (!st && u->rows.number)
        st = result_save_past(store, &u->rows, why);
    if (!st && regstore_key_exists(store, unmerged_key_of(u->boot[0], key)))
        st = regstore_delete_key(store, key, why);
    regstore_close(store);
    return st;
}

static void merged(struct unmerged *u, wstatus status, const struct reason *failed)
{
    struct reason      why;
    size_t             at    = strlen(u->rows.stop_reason);
    struct result_row *first = u->parts.count ? u->parts.row[0] : NULL;

    for (unsigned i = 0; i < u->rows.count; i++)
        condition_remove(&u->rows.rows[i].conditions, "merge");
    if (status == W_SUCCESS && first) {
        merge_parts_note(&u->parts);
        snprintf(u->rows.stop_reason + at, sizeof u->rows.stop_reason - at, "; merged in a later boot");
    } else if (first) {
        condition_add(&first->conditions, status, true, "merge", "", 0,
                      "autologger merge -o TRACE.etl and the files of this boot",
                      "the files of this boot could not be merged afterwards: %s", failed->text);
    }
    if (unmerged_save(u, &why) != W_SUCCESS)
        unmerged_complain(u->boot[0], "that its files are merged could not be noted", &why);
    else if (status == W_SUCCESS && first && !u->keep_premerge)
        merge_parts_remove(u->os, &u->parts);
    if (status == W_SUCCESS && first)
        visible_line(stderr,
                     "autologgerd: boot %" PRIu32 " was shut down before its files were merged: they are now, in %s",
                     u->boot[0], u->parts.target);
    else if (status != W_FILE_NOT_FOUND)
        unmerged_complain(u->boot[0], "its files could not be merged", failed);
    done(u);
}

static wstatus unmerged_begin(struct unmerged *u, int epoll_fd, struct reason *why)
{
    struct epoll_event e     = {.events = EPOLLIN};
    struct regstore   *store = NULL;
    wstatus            st    = u->store_open(u->store_path, false, &store, why);

    u->parts.count = 0;
    st             = st ? st : result_load_number(store, u->boot[0], &u->rows, why);
    if (st) {
        regstore_close(store);
        return st;
    }
    merge_parts_left(u->os, &u->rows, &u->parts); /* a predecessor was killed before it could remove them */
    if (u->parts.count && !u->keep_premerge)
        merge_parts_remove(u->os, &u->parts);
    merge_parts_select(u->os, &u->rows, &u->parts);
    merge_parts_configuration(&u->parts, store, &u->rows);
    regstore_close(store);
    if (!u->parts.count)
        return W_FILE_NOT_FOUND; /* given up by Keep, or removed otherwise */
    if ((st = merge_job_start(&u->job, &u->parts, &u->rows, why)) != W_SUCCESS)
        return st;
    e.data.fd = u->job.end_fd;
    /* fails only without memory: then the next event of any kind finds its end */
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, u->job.end_fd, &e);
    return W_SUCCESS;
}

void unmerged_step(struct unmerged *u, int epoll_fd)
{
    struct merge_told told;
    struct reason     why = {0};
    wstatus           st;

    if (!u->count)
        return;
    if (u->job.runs) {
        if (!merge_job_ended(&u->job, 0, &st, &told, &why))
            return;
        u->rows.phases = told.phases;
        if (st == W_SUCCESS) {
            u->rows.first_kernel_ns = told.first_kernel_ns;
            u->rows.first_user_ns   = told.first_user_ns;
        }
        merged(u, st, &why);
    }
    while (u->count && !u->job.runs && (st = unmerged_begin(u, epoll_fd, &why)) != W_SUCCESS)
        merged(u, st, &why);
}

void unmerged_finish(struct unmerged *u)
{
    merge_job_finish(&u->job);
    result_list_finish(&u->rows);
    memset(&u->rows, 0, sizeof u->rows);
    u->count = 0;
}
