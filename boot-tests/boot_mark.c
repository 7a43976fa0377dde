/* boot_mark - notes a moment of a guest's boot. boot_mark FILE NAME appends "NAME RAW-NS TSC" (CLOCK_MONOTONIC_RAW, and
 * the time-stamp counter at about the same moment, 0 where there is none) to FILE. boot_mark FILE NAME SOCKET waits, at
 * most 20 s, until somebody listens there. Static, so that it runs in an initramfs that has no libraries. Exit 0 when
 * it was noted. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#if defined __x86_64__
#include <x86intrin.h>
#endif

static uint64_t tsc(void)
{
#if defined __x86_64__
    return __rdtsc();
#else
    return 0;
#endif
}

static bool listens(const char *path)
{
    struct sockaddr_un a  = {.sun_family = AF_UNIX};
    int                fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    bool yes = fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0;
    if (fd >= 0)
        close(fd);
    return yes;
}

int main(int argc, char **argv)
{
    struct timespec t, step = {.tv_nsec = 500000};
    char            line[256];

    for (int i = 0; argc == 4 && i < 40000 && !listens(argv[3]); i++)
        nanosleep(&step, NULL);
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    uint64_t ticks = tsc();
    if (argc != 3 && argc != 4)
        return 100;
    int n  = snprintf(line, sizeof line, "%s %" PRIu64 " %" PRIu64 "\n", argv[2],
                      (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec, ticks);
    int fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0 || n >= (int)sizeof line || write(fd, line, (size_t)n) != n)
        return 111;
    return 0;
}
