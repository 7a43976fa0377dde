/* tree - processes and threads that come and go, for a test that stops them and compares a trace with /proc. tree run:
 * WORKERS processes that fork, exec and make threads until they are killed; "tree leaf N MS" is what they exec. tree io
 * DEVICE: writes to a block device on request: a line "N" on standard input makes it submit N writes without waiting,
 * "." makes it wait for all; it answers each line with a line, and ends when its input ends. Exit codes: 0, 1 failed,
 * 100 called wrongly. */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 5, CHILDREN = 5, WRITES = 64, BLOCK = 4096 };

static void rest(unsigned ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    while (nanosleep(&t, &t) && errno == EINTR)
        ;
}

static void *thread_main(void *arg)
{
    rest((unsigned)(uintptr_t)arg);
    return NULL;
}

static void child(const char *self, unsigned number, unsigned ms)
{
    char  n[16], how_long[16];
    pid_t parent = getpid(), pid = fork();
    if (pid != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    snprintf(n, sizeof n, "%u", number);
    snprintf(how_long, sizeof how_long, "%u", ms);
    if (number % 3) /* every third child runs on without exec */
        execl(self, "tree-leaf", "leaf", n, how_long, (char *)NULL);
    rest(ms);
    _exit((int)(number % 7));
}

static void worker(const char *self, unsigned seed)
{
    unsigned number = seed * 100000, children = 0;
    for (;; number++) {
        unsigned  ms = 3 + (unsigned)rand_r(&seed) % 60;
        pthread_t thread;
        if (children < CHILDREN && number % 2) {
            child(self, number, ms);
            children++;
        } else if (pthread_create(&thread, NULL, thread_main, (void *)(uintptr_t)ms) == 0) {
            pthread_detach(thread);
        }
        while (children && waitpid(-1, NULL, children < CHILDREN ? WNOHANG : 0) > 0)
            children--;
        rest(1 + ms / 10);
    }
}

static int run(const char *self)
{
    pid_t parent = getpid();
    for (unsigned i = 0; i < WORKERS; i++)
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() == parent)
                worker(self, i + 1);
            _exit(1);
        }
    while (wait(NULL) > 0 || errno == EINTR)
        ;
    return 0;
}

static int io(const char *device)
{
    aio_context_t          context = 0;
    char                   line[32];
    long                   open_now = 0;
    static char            block[BLOCK] __attribute__((aligned(BLOCK)));
    static struct iocb     one[WRITES], *list[WRITES];
    static struct io_event done[WRITES];
    int                    fd = open(device, O_RDWR | O_DIRECT | O_CLOEXEC);
    if (fd < 0 || syscall(SYS_io_setup, WRITES, &context))
        return 1;
    puts("ready");
    while (fflush(stdout) == 0 && fgets(line, sizeof line, stdin)) {
        long wanted = *line == '.' ? 0 : strtol(line, NULL, 10);
        for (long i = 0; i < wanted && i < WRITES; i++) { /* not adjacent, or they are merged into one */
            one[i]  = (struct iocb){.aio_lio_opcode = IOCB_CMD_PWRITE,
                                    .aio_fildes     = (uint32_t)fd,
                                    .aio_buf        = (uintptr_t)block,
                                    .aio_nbytes     = BLOCK,
                                    .aio_offset     = i * 4 * BLOCK};
            list[i] = &one[i];
        }
        if (*line != '.') {
            open_now = syscall(SYS_io_submit, context, wanted, list);
            printf("%ld\n", open_now);
            continue;
        }
        for (long n; open_now > 0; open_now -= n)
            if ((n = syscall(SYS_io_getevents, context, open_now, WRITES, done, NULL)) <= 0 && errno != EINTR)
                return 1;
            else if (n < 0)
                n = 0;
        puts("0");
    }
    return 0;
}

int main(int argc, char **argv)
{
    char    self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0)
        return 1;
    self[n] = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* for a process that the test starts; a fork does not inherit it */
    if (argc == 2 && strcmp(argv[1], "run") == 0)
        return run(self);
    if (argc == 3 && strcmp(argv[1], "io") == 0)
        return io(argv[2]);
    if (argc == 4 && strcmp(argv[1], "leaf") == 0)
        return rest((unsigned)atoi(argv[3])), atoi(argv[2]) % 7;
    return fprintf(stderr, "tree run | io DEVICE | leaf N MS\n"), 100;
}
