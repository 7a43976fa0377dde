/* bundle.c - see bundle.h. */
#include "tools/files/bundle.h"

#include "autologger/consumer/merge.h"
#include "registry-sim/base/visible_print.h"
#include "tools/files/redact_option.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define INNER "autologger-bundle" /* the one folder in the archive */

static void part_path(const struct bundle *b, const char *name, char out[BUNDLE_PATH])
{
    snprintf(out, BUNDLE_PATH, "%s/" INNER "/%s", b->folder, name);
}

static struct bundle_part *part_add(struct bundle *b, const char *name, bool needed)
{
    if (b->count == BUNDLE_PARTS)
        return NULL;
    struct bundle_part *p = &b->parts[b->count++];
    *p                    = (struct bundle_part){.needed = needed};
    snprintf(p->name, sizeof p->name, "%s", name);
    return p;
}

wstatus bundle_init(struct bundle *b, struct reason *why)
{
    const char *temporary = getenv("TMPDIR");
    char        path[BUNDLE_PATH];

    *b    = (struct bundle){0};
    int n = snprintf(b->folder, sizeof b->folder, "%s/autologger-bundle-XXXXXX",
                     temporary && *temporary ? temporary : "/tmp");
    if (n >= (int)sizeof b->folder || !mkdtemp(b->folder)) {
        int error    = n >= (int)sizeof b->folder ? ENAMETOOLONG : errno;
        b->folder[0] = 0;
        return reason_set(why, wstatus_from_errno(error), "no folder can be made below %s: %s. Do: set TMPDIR",
                          temporary && *temporary ? temporary : "/tmp", strerror(error));
    }
    part_path(b, "traces", path);
    char *end = strrchr(path, '/');
    *end      = 0;
    bool made = mkdir(path, 0700) == 0;
    *end      = '/';
    if (made && mkdir(path, 0700) == 0)
        return W_SUCCESS;
    return reason_set(why, wstatus_from_errno(errno), "%s: %s", path, strerror(errno));
}

static int bundle_remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    remove(path);
    return 0;
}

void bundle_finish(struct bundle *b)
{
    if (b->folder[0])
        nftw(b->folder, bundle_remove_one, 8, FTW_DEPTH | FTW_PHYS);
    b->folder[0] = 0;
}

/* Returns the exit code; 127 when it could not be run, 128 and more for a signal. error_fd -1: /dev/null. */
static int bundle_run(const char *program, char *const *argv, int out_fd, int error_fd)
{
    int status = 0;

    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, 0);
        dup2(out_fd, 1);
        dup2(error_fd < 0 ? null : error_fd, 2);
        execvp(program, argv);
        _exit(127);
    }
    if (pid < 0)
        return 127;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return 127;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The first line of a file, for the reason of a missing part. */
static void first_line(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "re");
    out[0]  = 0;
    if (f && fgets(out, (int)size, f))
        out[strcspn(out, "\n")] = 0;
    if (f)
        fclose(f);
}

void bundle_command(struct bundle *b, const char *name, const char *const *words, int worst, bool needed)
{
    struct bundle_part *p = part_add(b, name, needed);
    char                path[BUNDLE_PATH], *argv[16] = {(char *)"autologger"};
    struct stat         st   = {0};
    int                 argc = 1;

    if (!p)
        return;
    size_t at = (size_t)snprintf(p->what, sizeof p->what, "autologger");
    for (; words[argc - 1] && argc < 15; argc++) {
        argv[argc] = (char *)words[argc - 1];
        if (at < sizeof p->what)
            at += (size_t)snprintf(p->what + at, sizeof p->what - at, " %s", words[argc - 1]);
    }
    part_path(b, name, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        snprintf(p->without, sizeof p->without, "%s", strerror(errno));
        return;
    }
    int  code = bundle_run("/proc/self/exe", argv, fd, fd);
    bool fine = fstat(fd, &st) == 0 && code <= worst && st.st_size > 0;
    close(fd);
    p->bytes = (uint64_t)st.st_size;
    if (fine)
        return;
    char line[150];
    first_line(path, line, sizeof line);
    snprintf(p->without, sizeof p->without, "exit code %d%s%s", code, line[0] ? ": " : "", line);
    unlink(path);
}

void bundle_file(struct bundle *b, const char *name, const char *path, bool needed)
{
    struct bundle_part *p = part_add(b, name, needed);
    char                link[BUNDLE_PATH], *whole;
    struct stat         st;

    if (!p)
        return;
    snprintf(p->what, sizeof p->what, "%s", path);
    part_path(b, name, link);
    if (!(whole = realpath(path, NULL)) || stat(whole, &st) < 0 || access(whole, R_OK) < 0 || symlink(whole, link) < 0)
        snprintf(p->without, sizeof p->without, "%s", strerror(errno));
    else
        p->bytes = (uint64_t)st.st_size;
    free(whole);
}

/* "traces/NAME", with a number before it when two files of different folders have one name. */
static void trace_add(struct bundle *b, const char *path)
{
    char        name[128], number[16] = "";
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

    for (unsigned i = 0; i < b->count; i++)
        if (!strcmp(b->parts[i].what, path))
            return;
    for (unsigned try = 2;; try++) {
        bool taken = false;
        snprintf(name, sizeof name, "traces/%s%.100s", number, base);
        for (unsigned i = 0; i < b->count; i++)
            taken |= !strcmp(b->parts[i].name, name);
        if (!taken)
            break;
        snprintf(number, sizeof number, "%u-", try);
    }
    bundle_file(b, name, path, true);
}

unsigned bundle_traces(struct bundle *b, const struct result_list *rows)
{
    unsigned before = b->count;
    for (unsigned i = 0; i < rows->count; i++) {
        const struct result_row *r = &rows->rows[i];
        if (r->merged_path[0])
            trace_add(b, r->merged_path);
        else if (r->file_created && r->log_path[0])
            trace_add(b, r->log_path);
    }
    return b->count - before;
}

/* A small file of the system, line by line, below a heading. */
static void bundle_copy_text(FILE *to, const char *path)
{
    char  line[1024];
    FILE *from = fopen(path, "re");
    visible_printf(to, "\n== %s\n", path);
    if (!from)
        visible_printf(to, "(%s)\n", strerror(errno));
    for (unsigned lines = 0; from && lines < 200 && fgets(line, sizeof line, from); lines++)
        fputs(line, to); /* visible: a file of the bundle, not a terminal */
    if (from)
        fclose(from);
}

void bundle_versions(struct bundle *b, const char *version)
{
    static const char *const texts[] = {"/etc/os-release",
                                        "/proc/cmdline",
                                        "/proc/sys/kernel/random/boot_id",
                                        "/proc/sys/kernel/perf_event_paranoid",
                                        "/sys/kernel/security/lockdown",
                                        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
                                        "/proc/meminfo"};
    struct bundle_part      *p       = part_add(b, "versions.txt", true);
    struct utsname           name;
    char                     path[BUNDLE_PATH];

    if (!p)
        return;
    snprintf(p->what, sizeof p->what, "this machine");
    part_path(b, p->name, path);
    FILE *to = fopen(path, "we");
    if (!to) {
        snprintf(p->without, sizeof p->without, "%s", strerror(errno));
        return;
    }
    visible_printf(to, "autologger %s\n", version);
    if (uname(&name) == 0)
        visible_printf(to, "%s %s %s %s, %ld processors\n", name.sysname, name.release, name.version, name.machine,
                       sysconf(_SC_NPROCESSORS_ONLN));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        bundle_copy_text(to, texts[i]);
    p->bytes = (uint64_t)ftell(to);
    if (fclose(to) != 0)
        snprintf(p->without, sizeof p->without, "%s", strerror(errno));
}

/* --- redacting --- */

/* Redacts a text file in place; one that begins with a UTF-16 BOM is UTF-16. */
static bool redact_text_file(struct redactor *r, const char *path)
{
    struct stat st;
    int         fd   = open(path, O_RDWR | O_CLOEXEC);
    uint8_t    *text = fd >= 0 && fstat(fd, &st) == 0 ? malloc((size_t)st.st_size + 1) : NULL;
    bool        fine = text && pread(fd, text, (size_t)st.st_size, 0) == st.st_size;

    if (fine) {
        bool wide = st.st_size >= 2 && text[0] == 0xFF && text[1] == 0xFE;
        redactor_text(r, text, (size_t)st.st_size, wide ? 2 : 1);
        fine = pwrite(fd, text, (size_t)st.st_size, 0) == st.st_size && !redactor_failed(r);
    }
    free(text);
    if (fd >= 0)
        close(fd);
    return fine;
}

static bool redact_trace(struct redactor *r, const char *link, struct bundle_part *p)
{
    struct merge_counts n;
    struct reason       why = {0};
    struct stat         st;
    char                copy[BUNDLE_PATH + 8];

    snprintf(copy, sizeof copy, "%s.copy", link);
    if (merge_files_with(os_linux(), (const char *const *)&link, 1, copy,
                         &(struct merge_options){.plain = true, .redactor = r}, &n, &why)) {
        snprintf(p->without, sizeof p->without, "it can't be redacted: %.150s", why.text);
        return false;
    }
    if (rename(copy, link) != 0 || stat(link, &st) != 0)
        return false;
    p->bytes = (uint64_t)st.st_size;
    return true;
}

bool bundle_redact(struct bundle *b, struct redact_option *redact, int *code)
{
    static const char *const unreadable[] = {"configuration.reg"}; /* texts in hex */
    static char              paths[BUNDLE_PARTS][BUNDLE_PATH];
    const char              *traces[BUNDLE_PARTS];
    unsigned                 n = 0;

    for (unsigned i = 0; i < b->count; i++)
        if (!b->parts[i].without[0] && strncmp(b->parts[i].name, "traces/", 7) == 0) {
            part_path(b, b->parts[i].name, paths[n]);
            traces[n] = paths[n];
            n++;
        }
    if (!redact_option_open(redact, "autologger bundle", traces, n, code))
        return false;
    for (unsigned i = 0; redact->redactor && i < b->count; i++) {
        struct bundle_part *p = &b->parts[i];
        char                path[BUNDLE_PATH];
        part_path(b, p->name, path);
        redactor_text(redact->redactor, p->what, strlen(p->what), 1);
        redactor_text(redact->redactor, p->without, strlen(p->without), 1);
        if (p->without[0])
            continue;
        bool left = false, fine = true;
        for (size_t k = 0; k < sizeof unreadable / sizeof *unreadable; k++)
            left |= strcmp(p->name, unreadable[k]) == 0;
        if (!left)
            fine = strncmp(p->name, "traces/", 7) == 0 ? redact_trace(redact->redactor, path, p)
                                                       : redact_text_file(redact->redactor, path);
        if (left || !fine) {
            unlink(path);
            if (!p->without[0])
                snprintf(p->without, sizeof p->without,
                         left ? "its texts are in hex, where nothing private can be found" : "it can't be redacted");
            p->needed = p->needed && !left;
        }
    }
    return true;
}

unsigned bundle_lacks(const struct bundle *b)
{
    unsigned lacks = 0;
    for (unsigned i = 0; i < b->count; i++)
        lacks += b->parts[i].needed && b->parts[i].without[0];
    return lacks;
}

static bool contents_write(const struct bundle *b)
{
    char path[BUNDLE_PATH];
    part_path(b, "contents.txt", path);
    FILE *to = fopen(path, "we");
    for (unsigned i = 0; to && i < b->count; i++) {
        const struct bundle_part *p = &b->parts[i];
        visible_printf(to, p->without[0] ? "%-24s %s\n    left out: %s\n" : "%-24s %s%s\n", p->name, p->what,
                       p->without);
    }
    return to && fclose(to) == 0;
}

wstatus bundle_write(struct bundle *b, const char *path, struct reason *why)
{
    char beside[BUNDLE_PATH];

    if (!contents_write(b))
        return reason_set(why, wstatus_from_errno(errno), "%s: %s", b->folder, strerror(errno));
    if (snprintf(beside, sizeof beside, "%s.new-%d", path, (int)getpid()) >= (int)sizeof beside)
        return reason_set(why, W_FILENAME_EXCED_RANGE, "%s: the name is too long", path);
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return reason_set(why, wstatus_from_errno(errno), "%s: %s", path, strerror(errno));
    char *const argv[] = {(char *)"tar", (char *)"-C", b->folder, (char *)"-chf", (char *)"-", (char *)INNER, NULL};
    int         code   = bundle_run("tar", argv, fd, -1);
    wstatus     st     = W_SUCCESS;
    if (code == 127)
        st =
            reason_set(why, W_FILE_NOT_FOUND, "tar could not be run. Do: install tar, or copy the trace files by hand");
    else if (code)
        st = reason_set(why, W_DISK_FULL, "tar ended with exit code %d while writing %s. Do: look for free space there",
                        code, path);
    else if (fsync(fd) < 0 || rename(beside, path) < 0)
        st = reason_set(why, wstatus_from_errno(errno), "%s: %s", path, strerror(errno));
    close(fd);
    if (st)
        unlink(beside);
    return st;
}
