/* boot_mark - notes a moment of a guest's boot: boot_mark FILE NAME appends "NAME RAW-NS" (CLOCK_MONOTONIC_RAW) to FILE.
 * Static, so that it runs in an initramfs that has no libraries. Exit 0 when it was noted. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct timespec t;
    char            line[256];

    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    if (argc != 3)
        return 100;
    int n  = snprintf(line, sizeof line, "%s %" PRIu64 "\n", argv[2], (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
    int fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0 || n >= (int)sizeof line || write(fd, line, (size_t)n) != n)
        return 111;
    return 0;
}
