#include "tools/files/journal_lines.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_S = 5, LINES_ASKED = 400, SLACK_NS = 500000000 /* systemd's clock is adjusted, the trace's is not */ };
extern char **environ;

/* ---- what may be asked ---- */

/* Letters, digits and what systemd has in names; no '-' at the beginning and no pattern. */
static bool is_unit(const char *name)
{
    const size_t n = strlen(name);
    return n > 2 && isalnum((unsigned char)*name) && strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.\\@") == n && strchr(name, '.');
}

/* Its 32 digits. False: it is none. */
static bool boot_id(const char *text, char out[33])
{
    unsigned n = 0;
    for (; *text; text++)
        if (isxdigit((unsigned char)*text) && n < 32)
            out[n++] = *text;
        else if (*text != '-')
            return false;
    out[n] = 0;
    return n == 32;
}

/* ---- journalctl ---- */

/* "[   12.345678] host program[pid]: text". False: another line, or of another time. */
static bool line_take(const struct journal_ask *ask, char *line, struct journal_told *out)
{
    char   *end, *text;
    double  seconds;
    if (*line != '[')
        return false;
    seconds = strtod(line + 1, &end);
    if (end == line + 1 || *end != ']' || seconds < 0 || seconds > 1e9)
        return false;
    const int64_t at = (int64_t)(seconds * 1e9);
    if (at < ask->from_ns - SLACK_NS || at > ask->to_ns + SLACK_NS)
        return false;
    text = end + 1 + strspn(end + 1, " ");
    text += strcspn(text, " "); /* the host */
    text += strspn(text, " ");
    line[strcspn(line, "\n")] = 0;
    if (!*text)
        return false;
    if (out->count == JOURNAL_LINES)
        memmove(out->line[0], out->line[1], sizeof out->line[0] * (JOURNAL_LINES - 1));
    else
        out->count++;
    snprintf(out->line[out->count - 1], JOURNAL_LINE, "%s", text);
    return true;
}

static void run(const struct journal_ask *ask, const char *boot, const char *priority, struct journal_told *out)
{
    char                       unit[300], lines[32], *line = NULL;
    const char *const          argv[] = {"journalctl", "--quiet", "--no-pager", "--output=short-monotonic", "--boot", boot, unit, lines, priority, NULL};
    posix_spawn_file_actions_t actions;
    size_t                     room = 0;
    pid_t                      pid;
    int                        p[2];

    snprintf(unit, sizeof unit, "--unit=%s", ask->unit);
    snprintf(lines, sizeof lines, "--lines=%d", LINES_ASKED);
    if (pipe2(p, O_CLOEXEC) < 0)
        return;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, p[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const int error = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(p[1]);
    FILE *f = error ? NULL : fdopen(p[0], "r");
    if (!f)
        close(p[0]);
    while (f && getline(&line, &room, f) > 0)
        line_take(ask, line, out);
    free(line);
    if (f)
        fclose(f);
    if (!error)
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
}

/* ---- the process that answers ---- */

static void answer(int fd)
{
    struct journal_ask  ask;
    struct journal_told out = {0};
    char                boot[33];

    signal(SIGPIPE, SIG_IGN);
    if (recv(fd, &ask, sizeof ask, 0) != (ssize_t)sizeof ask || !memchr(ask.unit, 0, sizeof ask.unit) || !memchr(ask.boot_id, 0, sizeof ask.boot_id))
        return;
    if (is_unit(ask.unit) && boot_id(ask.boot_id, boot)) {
        run(&ask, boot, "--priority=warning", &out);
        if (!out.count)
            run(&ask, boot, "--priority=info", &out);
    }
    (void)!send(fd, &out, sizeof out, MSG_NOSIGNAL);
}

struct journal journal_begin(void)
{
    struct journal j = {-1, -1};
    int            pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return j;
    fflush(NULL);
    j.pid = fork();
    if (j.pid == 0) {
        close(pair[0]);
        setpgid(0, 0); /* journalctl is in its group, and ends with it */
        answer(pair[1]);
        _exit(0);
    }
    close(pair[1]);
    j.fd = pair[0];
    if (j.pid < 0)
        journal_end(&j);
    return j;
}

void journal_ask(struct journal *j, const struct journal_ask *ask, struct journal_told *out)
{
    struct pollfd p = {.fd = j->fd, .events = POLLIN};
    *out            = (struct journal_told){0};
    if (j->fd < 0 || write(j->fd, ask, sizeof *ask) != (ssize_t)sizeof *ask || poll(&p, 1, PATIENCE_S * 1000) != 1 ||
        read(j->fd, out, sizeof *out) != (ssize_t)sizeof *out || out->count > JOURNAL_LINES)
        out->count = 0;
    for (unsigned i = 0; i < out->count; i++)
        out->line[i][JOURNAL_LINE - 1] = 0;
}

void journal_end(struct journal *j)
{
    if (j->fd >= 0)
        close(j->fd);
    if (j->pid > 0) {
        kill(-j->pid, SIGKILL);
        kill(j->pid, SIGKILL); /* where it has not made its group yet */
        while (waitpid(j->pid, NULL, 0) < 0 && errno == EINTR) {}
    }
    *j = (struct journal){-1, -1};
}
