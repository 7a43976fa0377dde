/* bench_bare.c - see bench_bare.h. */
#include "tools/bench/bench_bare.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { FIRST = 72 /* where records begin in a buffer: after its header */, ALIGN = 2 << 20, HALVES = 2 };

struct bare {
    const struct bench_bare_size *size;
    uint8_t                      *memory, *buffer;
    int                           fd;
    size_t                        filled; /* bytes of the buffer */
    uint64_t                      file_bytes;
    atomic_uint                   full, taken; /* halves of the memory so far */
    unsigned                      halves;
};

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void rest(void) { nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL); }

/* Fills one half after the other, each as soon as it is free. */
static void *bench_bare_fill(void *ctx)
{
    struct bare *b    = ctx;
    const size_t half = b->size->memory / HALVES;
    cpu_set_t    set;

    CPU_ZERO(&set);
    CPU_SET((size_t)b->size->filler_cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set); /* if refused: on any processor */
    for (unsigned n = 0; n < b->halves; n++) {
        while (n >= atomic_load_explicit(&b->taken, memory_order_acquire) + HALVES)
            rest();
        uint8_t *from = b->memory + n % HALVES * half;
        for (size_t at = 0; at + b->size->record <= half; at += b->size->record)
            for (size_t word = 0; word < b->size->record; word += sizeof(uint64_t))
                *(volatile uint64_t *)(void *)(from + at + word) = n + at;
        atomic_store_explicit(&b->full, n + 1, memory_order_release);
    }
    return NULL;
}

/* 0 or an errno. */
static int copy_half(struct bare *b, const uint8_t *from, struct bench_bare *spent)
{
    const size_t half = b->size->memory / HALVES, record = b->size->record;
    double       since = cpu_ns();

    for (size_t at = 0; at + record <= half; at += record) {
        if (b->filled + record > b->size->buffer) {
            const double  copied = cpu_ns();
            const ssize_t wrote  = pwrite(b->fd, b->buffer, b->size->buffer, (off_t)b->file_bytes);
            if (wrote != (ssize_t)b->size->buffer)
                return wrote < 0 ? errno : ENOSPC;
            b->file_bytes += b->size->buffer;
            b->filled = FIRST;
            spent->copy += copied - since;
            since = cpu_ns();
            spent->write += since - copied;
        }
        memcpy(b->buffer + b->filled, from + at, record);
        __asm__ volatile("" : : "r"(b->buffer + b->filled) : "memory");
        b->filled += record;
    }
    spent->copy += cpu_ns() - since;
    return 0;
}

static wstatus bench_bare_copy_all(struct bare *b, struct bench_bare *spent, struct reason *why)
{
    const size_t half = b->size->memory / HALVES;
    wstatus      st   = W_SUCCESS;
    int          r    = 0;

    for (unsigned n = 0; n < b->halves; n++) { /* also after an error: the filler waits for it */
        while (atomic_load_explicit(&b->full, memory_order_acquire) <= n)
            rest();
        if (r == 0)
            r = copy_half(b, b->memory + n % HALVES * half, spent);
        if (r && !st)
            st = reason_set(why, wstatus_from_errno(r), "the bench cannot write: %s", strerror(r));
        atomic_store_explicit(&b->taken, n + 1, memory_order_release);
    }
    return st;
}

static wstatus memory_take(struct bare *b, struct reason *why)
{
    b->memory = mmap(NULL, b->size->memory, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    b->buffer = aligned_alloc(ALIGN, (b->size->buffer + ALIGN - 1) / ALIGN * ALIGN);
    if (b->memory == MAP_FAILED || !b->buffer)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the bench");
    madvise(b->buffer, b->size->buffer, MADV_HUGEPAGE); /* as a session's buffer; if refused, small pages do */
    memset(b->memory, 1, b->size->memory);
    memset(b->buffer, 1, b->size->buffer);
    return W_SUCCESS;
}

/* As a session's writer (autologger/etl/writer_direct.c). */
static int file_create(const char *path)
{
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, fd = open(path, flags | O_DIRECT, 0600);
    return fd < 0 && errno == EINVAL ? open(path, flags, 0600) : fd;
}

wstatus bench_bare(const char *path, const struct bench_bare_size *size, struct bench_bare *out, struct reason *why)
{
    const size_t a_half = size->memory / HALVES / size->record;
    struct bare  b      = {.size = size, .fd = -1, .filled = FIRST, .halves = (unsigned)(size->records / a_half) + 1};
    pthread_t    filler;
    wstatus      st = memory_take(&b, why);

    *out = (struct bench_bare){0};
    if (!st && (b.fd = file_create(path)) < 0)
        st = reason_set(why, wstatus_from_errno(errno), "the bench cannot create %s: %s", path, strerror(errno));
    if (!st && pthread_create(&filler, NULL, bench_bare_fill, &b))
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no thread for the bench");
    if (!st) {
        st = bench_bare_copy_all(&b, out, why);
        pthread_join(filler, NULL);
        out->copy /= (double)a_half * b.halves;
        out->write /= (double)a_half * b.halves;
    }
    if (b.fd >= 0) {
        close(b.fd);
        unlink(path);
    }
    if (b.memory && b.memory != MAP_FAILED)
        munmap(b.memory, size->memory);
    free(b.buffer);
    return st;
}
