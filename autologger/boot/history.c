#include "autologger/boot/history.h"

#include "autologger/etl/header.h"
#include "autologger/plan/boot_settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- listing ---- */

static void boot_finish(struct history_boot *b)
{
    result_list_finish(&b->list);
    for (unsigned i = 0; i < b->file_count; i++)
        free(b->files[i]);
    free(b->files);
}

void history_finish(struct history *h)
{
    for (unsigned i = 0; i < h->count; i++)
        boot_finish(&h->boots[i]);
    free(h->boots);
    memset(h, 0, sizeof *h);
}

static bool names_file(const struct history_boot *b, const char *path)
{
    for (unsigned i = 0; i < b->file_count; i++)
        if (strcmp(b->files[i], path) == 0)
            return true;
    return false;
}

static wstatus history_file_add(struct history_boot *b, const char *path)
{
    if (!*path || names_file(b, path))
        return W_SUCCESS;
    char **more = realloc(b->files, (b->file_count + 1) * sizeof *more);
    if (more)
        b->files = more;
    char *copy = more ? strdup(path) : NULL;
    if (!copy)
        return W_NOT_ENOUGH_MEMORY;
    b->files[b->file_count++] = copy;
    return W_SUCCESS;
}

static wstatus boot_add_row(struct history_boot *b, const struct result_row *r)
{
    enum result_level level = result_level(r);

    b->failed += level == RESULT_FAILED;
    b->notes += level == RESULT_NOTE;
    b->kept_off += r->kept_off;
    if (*r->provider)
        return W_SUCCESS;
    b->sessions += r->start && !r->status;
    b->written += r->written;
    b->lost += result_lost(r);
    b->peak_bytes += r->peak_bytes;
    if (!r->file_created)
        return W_SUCCESS;
    wstatus st = history_file_add(b, r->log_path);
    return st ? st : history_file_add(b, r->merged_path);
}

/* Sums up the boot's rows, and frees them. */
static wstatus boot_sum_up(struct history_boot *b)
{
    wstatus            st   = W_SUCCESS;
    struct result_list rows = b->list;

    b->finished = rows.rehearsal ? result_list_final(&rows) : rows.target_ms || rows.boot_done_ms;
    for (unsigned i = 0; i < rows.count && !st; i++)
        st = boot_add_row(b, &rows.rows[i]);
    b->list.rows  = NULL;
    b->list.count = b->list.capacity = 0;
    result_list_finish(&rows);
    return st;
}

struct history_listing {
    struct regstore *store;
    struct history  *history;
};

static wstatus boot_add(void *ctx, const struct regkey_info *info)
{
    struct history_listing *l      = ctx;
    struct history         *h      = l->history;
    uint32_t                number = result_number(info->name), mark;
    char                    key[RESULT_KEY_SIZE];

    if (!number)
        return W_SUCCESS;
    if (h->count == h->capacity) {
        unsigned             more  = h->capacity ? h->capacity * 2 : 16;
        struct history_boot *boots = realloc(h->boots, more * sizeof *boots);
        if (!boots)
            return W_NOT_ENOUGH_MEMORY;
        h->boots    = boots;
        h->capacity = more;
    }
    struct history_boot *b = &h->boots[h->count];
    memset(b, 0, sizeof *b);
    wstatus st = result_load_number(l->store, number, &b->list, NULL);
    if (st) {
        result_list_finish(&b->list);
        return st;
    }
    h->count++;
    b->baseline = regstore_get_dword(l->store, result_key(number, key), "Baseline", &mark, NULL) == W_SUCCESS && mark;
    return boot_sum_up(b);
}

static int newer_first(const void *a, const void *b)
{
    uint32_t x = ((const struct history_boot *)a)->list.number, y = ((const struct history_boot *)b)->list.number;
    return x < y ? 1 : x > y ? -1 : 0;
}

wstatus history_load(struct regstore *store, struct history *out, struct reason *why)
{
    struct history_listing l = {store, out};

    memset(out, 0, sizeof *out);
    wstatus st = regstore_enum_keys(store, RESULT_BOOTS_KEY, boot_add, &l);
    if (st && st != W_FILE_NOT_FOUND)
        return reason_set(why, st, "the boots in the store could not be listed");
    if (out->count)
        qsort(out->boots, out->count, sizeof *out->boots, newer_first);
    return W_SUCCESS;
}

wstatus history_mark(struct regstore *store, uint32_t number, bool baseline, struct reason *why)
{
    char    key[RESULT_KEY_SIZE];
    wstatus st = regstore_begin(store, why);

    if (st)
        return st;
    if (!regstore_key_exists(store, result_key(number, key)))
        st = reason_set(why, W_FILE_NOT_FOUND, "the store has no boot %u, or no longer", number);
    else
        st = regstore_set_dword(store, key, "Baseline", baseline, why);
    if (st) {
        regstore_rollback(store);
        return st;
    }
    return regstore_commit(store, why);
}

/* ---- pruning ---- */

/* True when `path` lies below `folder` by its text, and no folder on the way is a link. */
static bool history_below(struct os *os, const char *folder, const char *path)
{
    size_t         n = strlen(folder);
    char           part[1024];
    struct os_stat st;

    while (n && folder[n - 1] == '/')
        n--;
    if (!n || strncmp(path, folder, n) != 0 || path[n] != '/' || strlen(path) >= sizeof part)
        return false;
    for (const char *p = path + n; p; p = strchr(p + 1, '/')) {
        size_t length = strcspn(p + 1, "/");
        if (!length || (length <= 2 && strncmp(p + 1, "..", length) == 0))
            return false;
        if (!p[1 + length])
            break; /* the file itself */
        memcpy(part, path, (size_t)(p - path) + 1 + length);
        part[(size_t)(p - path) + 1 + length] = 0;
        if (os->lstat(os, part, &st) < 0 || !S_ISDIR(st.mode))
            return false;
    }
    return true;
}

/* H3, except whether other boots name the file. *size gets its bytes. */
static bool is_log_file(struct os *os, const char *log_dir, const char *path, uint64_t *size)
{
    uint8_t        start[HEADER_LEAST];
    struct os_stat st;

    if (!history_below(os, log_dir, path) || os->lstat(os, path, &st) < 0 || !S_ISREG(st.mode))
        return false;
    int fd = os->open(os, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    ssize_t n = os->pread(os, fd, start, sizeof start, 0);
    os->close(os, fd);
    *size = st.size;
    return n > 0 && etl_header_like(start, (size_t)n);
}

struct pruning {
    struct os      *os;
    const char     *log_dir;
    struct history *history;
    bool           *stays; /* one for each boot */
};

static bool a_boot_that_stays_names(const struct pruning *p, const char *path)
{
    for (unsigned i = 0; i < p->history->count; i++)
        if (p->stays[i] && names_file(&p->history->boots[i], path))
            return true;
    return false;
}

/* Bytes of those files of the boot that no boot already kept names. */
static uint64_t own_bytes(const struct pruning *p, const struct history_boot *b)
{
    uint64_t sum = 0, size;
    for (unsigned i = 0; i < b->file_count; i++)
        if (!a_boot_that_stays_names(p, b->files[i]) && is_log_file(p->os, p->log_dir, b->files[i], &size))
            sum += size;
    return sum;
}

/* Decides from the newest boot on; returns the number of boots to prune. */
static unsigned history_choose(struct pruning *p, uint32_t last, uint64_t keep_boots, uint64_t keep_bytes)
{
    uint64_t boots = 0, bytes = 0;
    unsigned going = 0;
    bool     full  = false; /* a limit is exceeded: all older boots go, even small ones */

    for (unsigned i = 0; i < p->history->count; i++)
        p->stays[i] = p->history->boots[i].baseline;
    for (unsigned i = 0; i < p->history->count; i++) {
        struct history_boot *b = &p->history->boots[i];
        if (p->stays[i])
            continue;
        boots++;
        bytes += own_bytes(p, b);
        full |= (keep_boots && boots > keep_boots) || (keep_bytes && bytes > keep_bytes);
        p->stays[i] = !full || i == 0 || b->list.number == last;
        going += !p->stays[i];
    }
    return going;
}

static wstatus history_forget(struct regstore *store, const struct pruning *p, struct reason *why)
{
    char    key[RESULT_KEY_SIZE];
    wstatus st = regstore_begin(store, why);

    if (st)
        return st;
    for (unsigned i = 0; i < p->history->count && !st; i++)
        if (!p->stays[i])
            st = regstore_delete_key(store, result_key(p->history->boots[i].list.number, key), why);
    if (st) {
        regstore_rollback(store);
        return st;
    }
    return regstore_commit(store, why);
}

static void files_remove(const struct pruning *p, const struct history_boot *b, struct history_pruned *out)
{
    uint64_t size;
    for (unsigned i = 0; i < b->file_count; i++) {
        if (a_boot_that_stays_names(p, b->files[i]) || !is_log_file(p->os, p->log_dir, b->files[i], &size))
            continue;
        if (p->os->unlink(p->os, b->files[i]) < 0) {
            out->stayed++;
            continue;
        }
        out->files++;
        out->bytes += size;
    }
}

wstatus history_prune(struct os *os, struct regstore *store, const char *log_dir, uint64_t keep_boots,
                      uint64_t keep_bytes, struct history_pruned *out, struct reason *why)
{
    struct history history;
    struct pruning p  = {os, log_dir, &history, NULL};
    wstatus        st = history_load(store, &history, why);

    memset(out, 0, sizeof *out);
    if (!st && history.count && !(p.stays = calloc(history.count, sizeof *p.stays)))
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the list of boots");
    unsigned going = st || !history.count ? 0 : history_choose(&p, result_last(store), keep_boots, keep_bytes);
    if (going) {
        st         = history_forget(store, &p, why);
        out->boots = st ? 0 : going;
        for (unsigned i = 0; i < history.count && !st; i++)
            if (!p.stays[i])
                files_remove(&p, &history.boots[i], out);
    }
    free(p.stays);
    history_finish(&history);
    return st;
}

wstatus history_keep(struct os *os, struct regstore *store, const char *log_dir, struct history_pruned *out,
                     struct reason *why)
{
    struct boot_settings settings;
    wstatus              st = boot_settings_read(store, &settings, why);

    memset(out, 0, sizeof *out);
    if (!st && (settings.keep_boots || settings.keep_bytes))
        st = history_prune(os, store, log_dir, settings.keep_boots, settings.keep_bytes, out, why);
    boot_settings_finish(&settings);
    return st;
}
