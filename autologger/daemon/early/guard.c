#include "autologger/daemon/early/guard.h"

#include "registry-sim/base/crc32.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_LINE "autologger-guard 1"
enum { FILE_MOST = 2048 };

/* ---- text ---- */

static size_t guard_add(char *out, size_t size, size_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static size_t guard_add(char *out, size_t size, size_t at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(out + at, size - at, format, args);
    va_end(args);
    return n > 0 && (size_t)n < size - at ? at + (size_t)n : at;
}

size_t guard_format(const struct guard *g, char *out, size_t size)
{
    size_t at =
        guard_add(out, size, 0, FIRST_LINE "\nchange %" PRIu64 "\nconsumed %" PRIu64 "\n", g->change, g->consumed);
    for (unsigned i = 0; i < g->count; i++)
        at = guard_add(out, size, at, "boot %" PRIu64 " %s %s\n", g->boot[i].number,
                       g->boot[i].finished ? "finished" : "unfinished", *g->boot[i].id ? g->boot[i].id : "-");
    return guard_add(out, size, at, "sum %08" PRIx32 "\n", crc32_of(out, at));
}

/* The number after `word` and a space at *p; moves past it. No scanf: the early program links libc statically, and
 * scanf alone is a tenth of it. */
static bool guard_number_after(const char **p, const char *word, uint64_t *out)
{
    size_t n = strlen(word);
    char  *end;
    if (strncmp(*p, word, n) != 0 || (*p)[n] != ' ' || (*p)[n + 1] < '0' || (*p)[n + 1] > '9')
        return false;
    *out = strtoull(*p + n + 1, &end, 10);
    *p   = end;
    return true;
}

static bool parse_line(const char *line, struct guard *g)
{
    struct guard_boot b = {0};
    const char       *p = line;

    if (guard_number_after(&p, "change", &g->change) || guard_number_after(&p, "consumed", &g->consumed))
        return !*p;
    if (g->count == GUARD_BOOTS || !guard_number_after(&p, "boot", &b.number) || *p++ != ' ')
        return false;
    size_t word = strcspn(p, " ");
    b.finished  = word == 8 && memcmp(p, "finished", word) == 0;
    if ((!b.finished && (word != 10 || memcmp(p, "unfinished", word) != 0)) || p[word] != ' ')
        return false;
    p += word + 1;
    if (!*p || strchr(p, ' ') || strlen(p) >= sizeof b.id)
        return false;
    if (strcmp(p, "-") != 0)
        strcpy(b.id, p);
    g->boot[g->count++] = b;
    return true;
}

/* The last line is the sum of everything before it. */
static bool sum_right(const char *text, size_t size)
{
    char want[16];
    int  n = snprintf(want, sizeof want, "sum %08" PRIx32 "\n", size > 13 ? crc32_of(text, size - 13) : 0);
    return size > 13 && memcmp(text + size - 13, want, (size_t)n) == 0;
}

static void guard_damaged(struct guard *out, const char *why)
{
    memset(out, 0, sizeof *out);
    out->damaged = true;
    snprintf(out->note, sizeof out->note, "the guard file is %s: it counts as one boot that did not finish", why);
}

void guard_parse(const char *text, size_t size, struct guard *out)
{
    char copy[FILE_MOST + 1], *rest = copy, *line;
    bool first = true;

    memset(out, 0, sizeof *out);
    if (size > FILE_MOST || memchr(text, 0, size) || !sum_right(text, size)) {
        guard_damaged(out, size ? "damaged" : "empty");
        return;
    }
    memcpy(copy, text, size - 13);
    copy[size - 13] = 0;
    while ((line = strsep(&rest, "\n")) && *line) {
        if (first ? strcmp(line, FIRST_LINE) != 0 : !parse_line(line, out)) {
            guard_damaged(out, first ? "of another version" : "damaged");
            return;
        }
        first = false;
    }
    if (first)
        guard_damaged(out, "damaged");
}

/* ---- the file ---- */

void guard_read(int root_fd, const char *path, struct guard *out)
{
    char   text[FILE_MOST + 1];
    size_t size = 0;
    int    fd   = openat(root_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

    memset(out, 0, sizeof *out);
    if (fd < 0) {
        if (errno != ENOENT && errno != ENOTDIR) {
            char why[100];
            snprintf(why, sizeof why, "not readable (%s)", strerror(errno));
            guard_damaged(out, why);
        }
        return;
    }
    for (ssize_t n; size < sizeof text; size += (size_t)n)
        if ((n = read(fd, text + size, sizeof text - size)) <= 0)
            break;
    close(fd);
    guard_parse(text, size, out);
}

static void guard_folders_make(int root_fd, const char *path)
{
    char part[512];
    for (const char *slash = strchr(path + 1, '/'); slash && (size_t)(slash - path) < sizeof part;
         slash             = strchr(slash + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        mkdirat(root_fd, part, 0755);
    }
}

/* Afterwards name and content are both on the disk, or the old file still is. */
static int guard_replace(int root_fd, const char *path, const char *text, size_t size)
{
    char fresh[520], folder[512];
    snprintf(fresh, sizeof fresh, "%s.new", path);
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = 0;
    int fd = openat(root_fd, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return errno;
    int error = write(fd, text, size) != (ssize_t)size ? (errno ? errno : ENOSPC) : 0;
    if (!error && fsync(fd) < 0)
        error = errno;
    close(fd);
    if (!error && renameat(root_fd, fresh, root_fd, path) < 0)
        error = errno;
    if (error) {
        unlinkat(root_fd, fresh, 0);
        return error;
    }
    fd = openat(root_fd, slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    return 0;
}

wstatus guard_write(int root_fd, const char *path, const struct guard *g, struct reason *why)
{
    char   text[FILE_MOST];
    size_t size = guard_format(g, text, sizeof text);

    errno     = 0;
    int error = guard_replace(root_fd, path, text, size);
    if (error == ENOENT) {
        guard_folders_make(root_fd, path);
        error = guard_replace(root_fd, path, text, size);
    }
    return error ? reason_set(why, wstatus_from_errno(error), "the guard file /%s could not be written: %s",
                              path + (*path == '/'), strerror(error))
                 : W_SUCCESS;
}

/* ---- the verdict ---- */

unsigned guard_limit(bool once) { return once ? GUARD_LIMIT_ONCE : GUARD_LIMIT_ALWAYS; }

/* Index of the boot; g->count when it is absent. */
static unsigned guard_place(const struct guard *g, const char *boot_id)
{
    unsigned i = 0;
    while (i < g->count && strcmp(g->boot[i].id, boot_id) != 0)
        i++;
    return i;
}

static struct guard_boot *guard_find(struct guard *g, const char *boot_id)
{
    unsigned i = guard_place(g, boot_id);
    return i < g->count ? &g->boot[i] : NULL;
}

bool guard_traced(const struct guard *g, const char *boot_id)
{
    unsigned i = guard_place(g, boot_id);
    return i < g->count && g->boot[i].finished;
}

bool guard_open(const struct guard *g, const char *boot_id)
{
    unsigned i = guard_place(g, boot_id);
    return i < g->count && !g->boot[i].finished;
}

/* Counts the unfinished boots at the end of the list. */
static unsigned tries_in_a_row(const struct guard *g)
{
    unsigned n = 0;
    while (n < g->count && !g->boot[g->count - 1 - n].finished)
        n++;
    return n;
}

#define AGAIN ". Do: find out why, then autologger apply"
static void name_tries(const struct guard *g, unsigned tries, struct reason *why)
{
    const struct guard_boot *last = &g->boot[g->count ? g->count - 1 : 0], *former = g->count > 1 ? last - 1 : last;
    if (!g->count)
        reason_set(why, W_CANCELLED, "off: %s" AGAIN, g->note);
    else if (tries > 1 && former->number && last->number)
        reason_set(why, W_CANCELLED, "off: boots %" PRIu64 " and %" PRIu64 " did not finish" AGAIN, former->number,
                   last->number);
    else if (last->number)
        reason_set(why, W_CANCELLED, "off: boot %" PRIu64 " did not finish" AGAIN, last->number);
    else
        reason_set(why, W_CANCELLED, "off: the last boot did not finish" AGAIN);
}

bool guard_used_up(const struct guard *g, uint64_t change) { return !g->damaged && g->change == change && g->consumed; }

bool guard_verdict(const struct guard *g, uint64_t change, bool once, unsigned limit, const char *boot_id,
                   struct reason *why)
{
    if (g->damaged && limit <= 1) {
        name_tries(g, 1, why);
        return false;
    }
    if (g->damaged || g->change != change)
        return true;
    if (once && guard_used_up(g, change)) {
        reason_set(why, W_SUCCESS, "traced once in boot %" PRIu64 "; nothing is declared for the next boot",
                   g->consumed);
        return false;
    }
    if (guard_traced(g, boot_id)) {
        reason_set(why, W_SUCCESS, "off: boot %" PRIu64 " was traced already", g->boot[guard_place(g, boot_id)].number);
        return false;
    }
    unsigned tries = tries_in_a_row(g);
    if (tries < limit || guard_open(g, boot_id))
        return true;
    name_tries(g, tries, why);
    return false;
}

/* ---- changes ---- */

static void guard_append(struct guard *g, uint64_t number, const char *boot_id)
{
    if (g->count == GUARD_BOOTS)
        memmove(&g->boot[0], &g->boot[1], sizeof g->boot[0] * --g->count);
    struct guard_boot *b = &g->boot[g->count++];
    memset(b, 0, sizeof *b);
    b->number = number;
    snprintf(b->id, sizeof b->id, "%s", boot_id);
}

bool guard_count_try(struct guard *g, uint64_t change, uint64_t number, const char *boot_id)
{
    uint64_t last = g->count ? g->boot[g->count - 1].number : 0;

    if (g->damaged) { /* it stands for one unknown boot */
        memset(g, 0, sizeof *g);
        guard_append(g, 0, "");
    } else if (g->change != change) {
        memset(g, 0, sizeof *g);
    } else if (guard_find(g, boot_id)) {
        return guard_number(g, boot_id, number);
    }
    g->change = change;
    guard_append(g, number ? number : last + 1, boot_id);
    return true;
}

bool guard_number(struct guard *g, const char *boot_id, uint64_t number)
{
    struct guard_boot *b = guard_find(g, boot_id);
    if (!b || !number || b->number == number)
        return false;
    if (g->consumed && g->consumed == b->number)
        g->consumed = number;
    b->number = number;
    return true;
}

bool guard_clear(struct guard *g, const char *boot_id)
{
    struct guard_boot *b = guard_find(g, boot_id);
    if (!b || b->finished)
        return false;
    b->finished = true;
    return true;
}

bool guard_consume(struct guard *g, const char *boot_id)
{
    const struct guard_boot *b = guard_find(g, boot_id);
    if (!b || g->consumed)
        return false;
    g->consumed = b->number ? b->number : 1;
    return true;
}
