/* machine.c - see machine.h. */
#include "tools/base/machine.h"
#include "registry-sim/base/os.h"
#include "registry-sim/base/visible_print.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { READ_MAX = 16 << 20, ARGUMENTS_MAX = 32 };

static void newest_kernel(struct machine *m)
{
    char path[MACHINE_PATH];
    DIR *d = opendir(machine_path(m, "/lib/modules", path));
    if (!d)
        d = opendir(machine_path(m, "/usr/lib/modules", path));
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.' && strlen(e->d_name) < sizeof m->kernel && strverscmp(e->d_name, m->kernel) > 0)
            snprintf(m->kernel, sizeof m->kernel, "%s", e->d_name);
    if (d)
        closedir(d);
}

wstatus machine_open(const char *root, struct machine *out, struct reason *why)
{
    struct utsname self;
    struct stat    st;
    *out = (struct machine){.root = ""};
    if (root) {
        size_t n = strlen(root);
        while (n && root[n - 1] == '/')
            n--;
        if (n >= sizeof out->root - 512)
            return reason_set(why, W_FILENAME_EXCED_RANGE, "the name of the root folder is too long");
        memcpy(out->root, root, n);
        out->root[n] = 0;
    }
    if (!out->root[0]) {
        if (!uname(&self))
            snprintf(out->kernel, sizeof out->kernel, "%.*s", (int)sizeof out->kernel - 1, self.release);
        return W_SUCCESS;
    }
    if (stat(out->root, &st) < 0)
        return reason_set(why, W_PATH_NOT_FOUND, "%s: %s", out->root, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return reason_set(why, W_PATH_NOT_FOUND, "%s is no folder", out->root);
    newest_kernel(out);
    return W_SUCCESS;
}

const char *machine_path(const struct machine *m, const char *path, char out[MACHINE_PATH])
{
    snprintf(out, MACHINE_PATH, "%.510s%.510s", m->root, path);
    return out;
}

bool machine_has(const struct machine *m, const char *path)
{
    char full[MACHINE_PATH];
    return access(machine_path(m, path, full), F_OK) == 0;
}

char *machine_read(const struct machine *m, const char *path, size_t *size)
{
    char   full[MACHINE_PATH];
    char  *text = NULL;
    size_t have = 0, room = 0;
    int    fd = open(machine_path(m, path, full), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    for (;;) { /* /proc and /sys do not tell sizes */
        if (have + 1 >= room) {
            room       = room ? room * 2 : 8192;
            char *more = room > READ_MAX ? NULL : realloc(text, room);
            if (!more)
                goto fail;
            text = more;
        }
        ssize_t n = read(fd, text + have, room - have - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            goto fail;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    close(fd);
    text[have] = 0;
    if (size)
        *size = have;
    return text;
fail:
    close(fd);
    free(text);
    return NULL;
}

static wstatus machine_failed(struct reason *why, int error, const char *path)
{
    return reason_set(why, wstatus_from_errno(error), "%s: %s", path, strerror(error));
}

/* A rename is on the disk when its folder is. */
static void base_machine_folder_sync(const char *path)
{
    char folder[MACHINE_PATH + 8];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (!slash)
        return;
    slash[slash == folder] = 0;
    int fd                 = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

void machine_folder_sync(const struct machine *m, const char *path)
{
    char full[MACHINE_PATH];
    base_machine_folder_sync(machine_path(m, path, full));
}

wstatus machine_write(const struct machine *m, const char *path, const void *data, size_t size, mode_t mode,
                      struct reason *why)
{
    char full[MACHINE_PATH], beside[MACHINE_PATH + 8];
    int  rc = os_mkdir_parents(os_linux(), machine_path(m, path, full), 0755);
    if (rc < 0)
        return machine_failed(why, -rc, full);
    snprintf(beside, sizeof beside, "%s.new", full);
    int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0)
        return machine_failed(why, errno, beside);
    rc        = os_pwrite_all(os_linux(), fd, data, size, 0);
    int error = rc < 0 ? -rc : fchmod(fd, mode) || fsync(fd) ? errno : 0;
    close(fd);
    if (!error && rename(beside, full) < 0)
        error = errno;
    if (error) {
        unlink(beside);
        return machine_failed(why, error, full);
    }
    base_machine_folder_sync(full);
    return W_SUCCESS;
}

wstatus machine_remove(const struct machine *m, const char *path, bool *was, struct reason *why)
{
    char full[MACHINE_PATH];
    bool gone = unlink(machine_path(m, path, full)) == 0;
    if (was)
        *was = gone;
    if (!gone && errno != ENOENT && errno != ENOTDIR)
        return machine_failed(why, errno, full);
    if (gone)
        base_machine_folder_sync(full);
    return W_SUCCESS;
}

bool machine_has_command(const struct machine *m, const char *name)
{
    static const char *const folders[] = {"/usr/sbin", "/usr/bin", "/sbin", "/bin"};
    char                     path[MACHINE_PATH], full[MACHINE_PATH];
    const char              *search = m->root[0] ? NULL : getenv("PATH");
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/%s", folders[i], name);
        if (!access(machine_path(m, path, full), X_OK))
            return true;
    }
    while (search && *search) {
        size_t n = strcspn(search, ":");
        snprintf(full, sizeof full, "%.*s/%s", (int)n, search, name);
        if (n && n < sizeof full - 64 && !access(full, X_OK))
            return true;
        search += n + (search[n] == ':');
    }
    return false;
}

/* In the child. */
static void machine_become(const struct machine *m, const char *const *argv, int out, bool quiet)
{
    const char *all[ARGUMENTS_MAX + 3];
    unsigned    n = 0;
    if (m->root[0]) {
        all[n++] = "chroot";
        all[n++] = m->root;
    }
    for (unsigned i = 0; argv[i] && n < ARGUMENTS_MAX + 2; i++)
        all[n++] = argv[i];
    all[n] = NULL;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL); /* the caller may have blocked signals */
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(out >= 0 ? out : quiet ? null : 2, 1);
    if (quiet)
        dup2(null, 2);
    char *const       *words;
    const char *const *given = all;
    memcpy(&words, &given, sizeof words); /* execvp does not change them */
    execvp(all[0], words);
    _exit(127);
}

static void machine_collect(int fd, char *out, size_t size)
{
    char   rest[4096];
    size_t have = 0;
    for (;;) {
        bool    room = have + 1 < size;
        ssize_t n    = read(fd, room ? out + have : rest, room ? size - have - 1 : sizeof rest);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += room ? (size_t)n : 0;
    }
    out[have] = 0;
}

/* Waits for a slow child, and prints the seconds so far: in one line of a terminal, else a line every EVERY_S
 * seconds. */
static void wait_told(pid_t pid, int *status, const char *what)
{
    enum { STEP_MS = 100, QUIET_S = 2, EVERY_S = 5 };
    const struct timespec step     = {0, STEP_MS * 1000000L};
    bool                  terminal = isatty(STDERR_FILENO) == 1, told = false;
    pid_t                 ended;
    for (unsigned steps = 1; (ended = waitpid(pid, status, WNOHANG)) == 0 || (ended < 0 && errno == EINTR); steps++) {
        nanosleep(&step, NULL);
        unsigned seconds = steps * STEP_MS / 1000;
        if (steps * STEP_MS % 1000 || seconds < QUIET_S || (!terminal && seconds % EVERY_S))
            continue;
        told = true;
        visible_printf(stderr, terminal ? "\r%s: %u s " : "%s: %u s so far\n", what, seconds);
    }
    if (terminal && told)
        visible_printf(stderr, "\r%*s\r", 70, "");
}

static wstatus base_machine_run(const struct machine *m, const char *const *argv, char *out, size_t size, bool quiet,
                                const char *what, struct reason *why)
{
    int pipe_fd[2] = {-1, -1}, status = 0;
    if (out && pipe2(pipe_fd, O_CLOEXEC) < 0)
        return machine_failed(why, errno, argv[0]);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        machine_become(m, argv, pipe_fd[1], quiet);
    int error = errno;
    if (out) {
        close(pipe_fd[1]);
        if (pid > 0)
            machine_collect(pipe_fd[0], out, size);
        close(pipe_fd[0]);
    }
    if (pid < 0)
        return machine_failed(why, error, argv[0]);
    if (what)
        wait_told(pid, &status, what);
    else
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return W_SUCCESS;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return reason_set(why, W_FILE_NOT_FOUND, "%s could not be run", argv[0]);
    return reason_set(why, W_GEN_FAILURE, "%s ended %s %d", argv[0], WIFEXITED(status) ? "with exit code" : "by signal",
                      WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

wstatus machine_run(const struct machine *m, const char *const *argv, char *out, size_t size, bool quiet,
                    struct reason *why)
{
    return base_machine_run(m, argv, out, size, quiet, NULL, why);
}

wstatus machine_run_told(const struct machine *m, const char *const *argv, const char *what, struct reason *why)
{
    return base_machine_run(m, argv, NULL, 0, false, what, why);
}
