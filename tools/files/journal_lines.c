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
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_S = 5, SLACK_NS = 500000000 /* systemd's clock is adjusted, the trace's is not */ };
extern char **environ;

/* ---- what may be asked ---- */

/* Letters, digits and the other characters of systemd's names; no '-' at the beginning and no pattern. */
static bool is_unit(const char *name)
{
    const size_t n = strlen(name);
    return n > 2 && isalnum((unsigned char)*name) &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.\\@") == n &&
           strchr(name, '.');
}

/* Copies the 32 digits of a boot id. False: it is no boot id. */
static bool journal_lines_boot_id(const char *text, char out[33])
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

/* Copies as much as fits; no character is cut in two. */
static void text_copy(char out[JOURNAL_LINE], const char *text)
{
    size_t n = strlen(text);
    if (n >= JOURNAL_LINE) {
        n = JOURNAL_LINE - 1;
        while (n && ((unsigned char)text[n] & 0xC0) == 0x80)
            n--;
    }
    memcpy(out, text, n);
    out[n] = 0;
}

/* "[   12.345678] program[pid]: text". False: this line and all that follow are later than asked for. */
static bool line_take(const struct journal_ask *ask, char *line, struct journal_told *out)
{
    char        *end;
    const double seconds = *line == '[' ? strtod(line + 1, &end) : -1;
    if (seconds < 0 || seconds > 1e9 || *end != ']')
        return true;
    const int64_t at = (int64_t)(seconds * 1e9);
    if (at > ask->to_ns + SLACK_NS)
        return false;
    const char *text          = end + 1 + strspn(end + 1, " ");
    line[strcspn(line, "\n")] = 0;
    if (at < ask->from_ns - SLACK_NS || !*text)
        return true;
    if (out->count == JOURNAL_LINES)
        memmove(out->line[0], out->line[1], sizeof out->line[0] * (JOURNAL_LINES - 1));
    else
        out->count++;
    text_copy(out->line[out->count - 1], text);
    return true;
}

static void journal_lines_run(const struct journal_ask *ask, const char *boot, const char *priority,
                              struct journal_told *out)
{
    char              unit[300], *line = NULL;
    const char *const argv[] = {"journalctl", "--quiet", "--no-pager", "--no-hostname", "--output=short-monotonic",
                                "--boot",     boot,      unit,         priority,        NULL};
    posix_spawn_file_actions_t actions;
    size_t                     room = 0;
    pid_t                      pid;
    int                        p[2];

    snprintf(unit, sizeof unit, "--unit=%s", ask->unit);
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
    while (f && getline(&line, &room, f) > 0 && line_take(ask, line, out)) {
    } /* the oldest comes first */
    free(line);
    if (f)
        fclose(f);
    if (!error)
        kill(pid, SIGKILL); /* it may still write */
    if (!error)
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
}

/* ---- the process that answers ---- */

/* Kills the process group: this process and what it has started. */
static void journal_lines_on_end(int number)
{
    (void)number;
    kill(0, SIGKILL);
}

/* Ends with its parent, and does not hold its standard streams. It has its own process group, so journalctl ends with
 * it. */
static void journal_lines_apart(pid_t parent)
{
    const int none = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3 && none >= 0; fd++)
        dup2(none, fd);
    setpgid(0, 0);
    signal(SIGTERM, journal_lines_on_end);
    signal(SIGALRM, journal_lines_on_end);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(0);
    setenv("SYSTEMD_COLORS", "0", 1);
    setenv("SYSTEMD_URLIFY", "0", 1);
}

static void journal_lines_answer(int fd)
{
    struct journal_ask  ask;
    struct journal_told out = {0};
    char                boot[33];

    if (recv(fd, &ask, sizeof ask, 0) != (ssize_t)sizeof ask || !memchr(ask.unit, 0, sizeof ask.unit) ||
        !memchr(ask.boot_id, 0, sizeof ask.boot_id))
        return;
    alarm(PATIENCE_S);
    if (is_unit(ask.unit) && journal_lines_boot_id(ask.boot_id, boot)) {
        journal_lines_run(&ask, boot, "--priority=warning", &out);
        if (!out.count)
            journal_lines_run(&ask, boot, "--priority=info", &out);
    }
    (void)!send(fd, &out, sizeof out, MSG_NOSIGNAL);
}

struct journal_lines journal_begin(void)
{
    struct journal_lines j = {-1, -1};
    int                  pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return j;
    fflush(NULL);
    const pid_t parent = getpid();
    j.pid              = fork();
    if (j.pid == 0) {
        close(pair[0]);
        journal_lines_apart(parent);
        journal_lines_answer(pair[1]);
        _exit(0);
    }
    close(pair[1]);
    j.fd = pair[0];
    if (j.pid < 0)
        journal_end(&j);
    return j;
}

void journal_ask(struct journal_lines *j, const struct journal_ask *ask, struct journal_told *out)
{
    struct pollfd p           = {.fd = j->fd, .events = POLLIN};
    *out                      = (struct journal_told){0};
    void (*const before)(int) = signal(SIGPIPE, SIG_IGN); /* the process may have been killed */
    if (j->fd < 0 || write(j->fd, ask, sizeof *ask) != (ssize_t)sizeof *ask || poll(&p, 1, PATIENCE_S * 1000) != 1 ||
        read(j->fd, out, sizeof *out) != (ssize_t)sizeof *out || out->count > JOURNAL_LINES)
        out->count = 0;
    signal(SIGPIPE, before);
    for (unsigned i = 0; i < out->count; i++)
        out->line[i][JOURNAL_LINE - 1] = 0;
}

void journal_end(struct journal_lines *j)
{
    if (j->fd >= 0)
        close(j->fd);
    if (j->pid > 0) {
        kill(-j->pid, SIGKILL);
        kill(j->pid, SIGKILL); /* if it has not made its group yet */
        while (waitpid(j->pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    *j = (struct journal_lines){-1, -1};
}
