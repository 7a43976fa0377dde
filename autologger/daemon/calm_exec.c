/* calm_exec.c - autologger-calm PROGRAM [ARGUMENT...]: waits for a calm moment (calm.h), then becomes the program.
 *
 * It stands in for the daemon while a boot goes on: the daemon, with its libraries, costs some 4 ms to start, and its
 * memory for the whole wait. Static, so that starting it costs nearly nothing.
 * Invariants: X1 the service manager learns at once that the unit has started (READY=1): the early program's sessions
 * run.
 * X2 where no early program waits to hand over (no socket for it), it does not wait at all. X3 a signal that comes
 * meanwhile ends the wait and stays pending for the program, which finds SIGTERM, SIGINT and SIGHUP blocked, as the
 * keeper has them.
 * Threads: one. Exit code 100 when it is called wrongly, 111 when the program cannot be executed.
 * Not for: restarting a program that ended. */
#include "autologger/daemon/calm.h"
#include "autologger/daemon/notify.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define RUNTIME_DIR "/run/autologger"
#define HANDOVER "/handover"
enum { EXIT_WRONG_CALL = 100, EXIT_REFUSED = 111 };

static bool early_waits(const char *runtime_dir)
{
    char path[PATH_MAX];
    if (strlen(runtime_dir) + sizeof HANDOVER > sizeof path)
        return false;
    return access(strcat(strcpy(path, runtime_dir), HANDOVER), F_OK) == 0;
}

static void wait_for_it(const char *runtime_dir)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    int fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    notify_path(getenv("NOTIFY_SOCKET"), "READY=1", -1);
    if (fd >= 0)
        calm_wait(runtime_dir, "/proc/stat", fd);
}

int main(int argc, char **argv)
{
    static const char usage[] = "Usage: autologger-calm PROGRAM [ARGUMENT...]\n";
    const char       *runtime = getenv("AUTOLOGGER_RUNTIME_DIR");

    if (argc < 2 || *argv[1] != '/') {
        (void)!write(STDERR_FILENO, usage, sizeof usage - 1);
        return EXIT_WRONG_CALL;
    }
    runtime = runtime && *runtime ? runtime : RUNTIME_DIR;
    if (early_waits(runtime))
        wait_for_it(runtime);
    execv(argv[1], argv + 1);
    return EXIT_REFUSED;
}
