/* The cost of importing the kernel phase, compared with the minimum for any reader of the same pages: reading them.
 * Proves: ANA-10 (the kernel's part, at volume). */
#include "autologger/kernel/tests/phase_fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 9, COPIES = 300, RECORDED = 6 * 4096 };

/* CPU time of this thread alone: other programs' work does not count. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
static int by_value(const void *a, const void *b) { return *(const double *)a < *(const double *)b ? -1 : 1; }

/* The recorded pages, over and over, in a file that is memory. */
static int pages_open(void)
{
    static uint8_t bytes[RECORDED];
    int            in = open(AL_TEST_DIR "/data/linux-6.1/per_cpu/cpu0/trace_pipe_raw", O_RDONLY | O_CLOEXEC);
    int            fd = memfd_create("pages", MFD_CLOEXEC);
    if (in < 0 || fd < 0 || read(in, bytes, sizeof bytes) != sizeof bytes)
        return -1;
    close(in);
    for (unsigned i = 0; i < COPIES; i++)
        if (write(fd, bytes, sizeof bytes) != sizeof bytes)
            return -1;
    return fd;
}

static double read_pages(int fd, struct kphase *p)
{
    static uint8_t page[4096];
    double         t0 = now();
    lseek(fd, 0, SEEK_SET);
    while (read(fd, page, sizeof page) == sizeof page)
        if (p)
            kphase_page(p, 0, page, sizeof page);
        else
            __asm__ volatile("" ::"r"(page) : "memory");
    return now() - t0;
}

static bool one_round(int fd, double *ratio, double *each, uint64_t *entries, uint64_t *kept)
{
    static struct phase_fixture f;
    if (!phase_make(&f, 1))
        return false;
    f.config.raw_bytes = 64 << 20;
    f.p->dir           = open(AL_TEST_DIR "/data/linux-6.1", O_PATH | O_DIRECTORY | O_CLOEXEC);
    kphase_sources(f.p, f.sources, &f.count);
    if (!phase_open(&f))
        return false;
    memset(f.log.data, 1, f.log.size); /* touches the memory, so that page faults are not measured */
    kphase_begin(f.p, &f.drain);
    double bare = read_pages(fd, NULL), t0 = now(), own = read_pages(fd, f.p);
    kphase_cpu_end(f.p, 0);
    kphase_end(f.p, &f.drain);
    own       = now() - t0;
    *ratio    = own / bare;
    *entries  = f.p->cpu[0].seen;
    *kept     = f.p->cpu[0].kept;
    *each     = own / (double)*entries;
    bool good = f.log.work->lost_memory[2] == 0 && *kept > 40000;
    phase_finish(&f);
    return good;
}

int main(void)
{
    double   ratio[ROUNDS], each[ROUNDS];
    uint64_t entries = 0, kept = 0;
    int      fd = pages_open();
    if (fd < 0)
        return 1;
    for (unsigned i = 0; i < ROUNDS; i++)
        if (!one_round(fd, &ratio[i], &each[i], &entries, &kept))
            return 1;
    qsort(ratio, ROUNDS, sizeof *ratio, by_value);
    qsort(each, ROUNDS, sizeof *each, by_value);
    printf(
        "{\"row\": \"kernel phase imported\", \"peer\": \"read() of the same pages\", \"peer_version\": \"linux\", \"ratio\": %.2f, "
        "\"better\": \"lower\", \"goal\": 10, \"rounds\": %d, \"p25\": %.2f, \"p75\": %.2f}\n",
        ratio[ROUNDS / 2], ROUNDS, ratio[ROUNDS / 4], ratio[ROUNDS * 3 / 4]);
    printf("%.0f ns an entry; %llu entries (%llu records, the rest stacks), %.1f MB\n", each[ROUNDS / 2] * 1e9,
           (unsigned long long)entries, (unsigned long long)kept, COPIES * RECORDED / 1e6);
    return ratio[ROUNDS / 2] < 100 ? 0 : 1;
}
