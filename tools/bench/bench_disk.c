/* bench_disk.c - see bench_disk.h. */
#include "tools/bench/bench_disk.h"

#include "autologger/etl/reader.h"
#include "tools/bench/bench_bare.h"
#include "tools/bench/bench_stand.h"

#include <dirent.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    RECORD          = 88,
    COPY_BUFFER     = 1 << 20,
    COPIES          = 8 /* takes about as long as the daemon */,
    PAYLOAD         = 8,
    FIRST_PAYLOAD   = 36,
    IDLE_MINIMUM_MB = 4,
    IDLE_MS         = 300,
    MEMFDS          = 512
};

struct bench_disk_disk {
    struct bench_stand s;
    unsigned           events;
    /* events a second, from the first call to the complete file */
    double rate[BENCH_SIDES][BENCH_DISK_MOST];
    /* an event */
    double cpu_ns[BENCH_SIDES][BENCH_DISK_MOST], copy_ns[BENCH_DISK_MOST], bare_ns[BENCH_DISK_MOST];
    double idle_mb[BENCH_DISK_MOST];
};

/* Checks that the file holds each event once: the numbers 0 .. events - 1 in order, because one thread wrote them. */
static wstatus bench_disk_file_check(const struct bench_disk_disk *d, const char *path, struct reason *why)
{
    struct etl_reader *r = NULL;
    struct etl_event   e;
    uint64_t           next = 0, bad = 0;
    wstatus            st = etl_reader_open(path, &r, why);

    while (!st && etl_next(r, &e)) {
        uint64_t number;
        if (e.payload_size != PAYLOAD || e.hook)
            continue;
        memcpy(&number, e.payload, sizeof number);
        bad += number != next++;
    }
    etl_reader_close(r);
    if (!st && (bad || next != d->events))
        st = reason_set(why, W_GEN_FAILURE, "%llu of %u events are in the file, %llu of them in the wrong place",
                        (unsigned long long)next, d->events, (unsigned long long)bad);
    return st;
}

/* A refused event was repeated until it was taken: it counts as lost, but none is missing. */
static wstatus ours_check(const struct bench_disk_disk *d, const struct ctl_session_info *last, double refused,
                          struct reason *why)
{
    char path[400];
    if ((double)ctl_events_lost(last) != refused)
        return reason_set(why, W_GEN_FAILURE, "the session counts %llu lost events, the program was refused %.0f times",
                          (unsigned long long)ctl_events_lost(last), refused);
    wstatus st = bench_disk_file_check(d, bench_stand_path(&d->s, "logs/bench.etl", path), why);
    unlink(path);
    return st;
}

static double side_cpu(const struct bench_disk_disk *d, enum bench_side side)
{
    return side == BENCH_SIDE_OURS ? bench_daemon_cpu(&d->s) : bench_lttng_cpu(&d->s);
}

static wstatus flood(struct bench_disk_disk *d, enum bench_side side, unsigned round, struct reason *why)
{
    static const char *const flush[]  = {"flush", BENCH_SESSION, NULL};
    struct ctl_session_info  last     = {0};
    double                   first[2] = {0, 0}, answer[2] = {0, 0}, cpu = 0, start = 0;
    wstatus                  st = bench_session_begin(&d->s, side, BENCH_ON_DISK, why);

    if (!st) /* until all of the session's memory is in use: that cost belongs to no event either */
        st = bench_ask(&d->s, side, first, 2, why, "flood %u %u", FIRST_PAYLOAD, d->events / 3);
    if (!st && side == BENCH_SIDE_OURS)
        st = bench_self_run(&d->s, flush, why);
    if (!st) {
        sync(); /* what other programs left unwritten does not count */
        cpu   = side_cpu(d, side);
        start = bench_clock_ns();
        st    = bench_ask(&d->s, side, answer, 2, why, "flood %u %u", PAYLOAD, d->events);
    }
    if (!st && side == BENCH_SIDE_OURS) {
        st = bench_self_run(&d->s, flush, why);
        /* all are in the file; the cost of a session's end belongs to no event */
        d->cpu_ns[side][round] = (side_cpu(d, side) - cpu) / d->events;
    }
    if (!st)
        st = bench_session_end(&d->s, side, &last, why);
    if (!st && side == BENCH_SIDE_LTTNG)
        d->cpu_ns[side][round] = (side_cpu(d, side) - cpu) / d->events; /* LTTng writes the rest when it is stopped */
    d->rate[side][round] = d->events / (bench_clock_ns() - start) * 1e9;
    if (st)
        return st;
    if (side == BENCH_SIDE_LTTNG)
        return last.lost_ring ? reason_set(why, W_GEN_FAILURE, "LTTng lost events: the figures mean nothing")
                              : W_SUCCESS;
    return ours_check(d, &last, first[1] + answer[1], why);
}

/* The minimum work of a logger: copies the records, one by one, from memory of the session's size into a buffer. */
static wstatus copy_round(struct bench_disk_disk *d, unsigned round, struct reason *why)
{
    const size_t size = (size_t)BENCH_DISK_MB_A_CPU << 20;
    uint8_t     *from = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0),
            *to       = malloc(COPY_BUFFER);
    size_t at = 0, records = 0;

    if (from == MAP_FAILED || !to) {
        free(to);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the bench");
    }
    memset(from, 1, size);
    memset(to, 1, COPY_BUFFER);
    struct timespec t0, t1;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t0);
    for (unsigned i = 0; i < COPIES; i++)
        for (size_t pos = 0; pos + RECORD <= size; pos += RECORD, records++) {
            if (at + RECORD > COPY_BUFFER)
                at = 0;
            memcpy(to + at, from + pos, RECORD);
            __asm__ volatile("" : : "r"(to + at) : "memory");
            at += RECORD;
        }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t1);
    d->copy_ns[round] = ((double)(t1.tv_sec - t0.tv_sec) * 1e9 + (double)(t1.tv_nsec - t0.tv_nsec)) / (double)records;
    munmap(from, size);
    free(to);
    return W_SUCCESS;
}

static wstatus bare_round(struct bench_disk_disk *d, unsigned round, struct reason *why)
{
    char                         path[400];
    const struct bench_bare_size size = {.memory     = (size_t)BENCH_DISK_MB_A_CPU << 20,
                                         .buffer     = (size_t)BENCH_DISK_BUFFER_MB << 20,
                                         .record     = RECORD,
                                         .records    = d->events,
                                         .filler_cpu = d->s.cpu[0]};
    struct bench_bare            bare;
    sync();
    wstatus st        = bench_bare(bench_stand_path(&d->s, "logs/bare", path), &size, &bare, why);
    d->bare_ns[round] = bare.copy + bare.write;
    return st;
}

/* ---- memory ---- */

static double anonymous_mb(pid_t pid)
{
    char   path[64], line[256];
    double kb = 0;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "Anonymous:", 10) == 0)
            kb = strtod(line + 10, NULL);
    if (f)
        fclose(f);
    return kb / 1024;
}

/* The memory of a process, mapped or not: its anonymous memory, and all that its memfds hold. */
static double memory_mb(pid_t pid)
{
    static ino_t   seen[MEMFDS];
    char           path[64];
    double         mb    = anonymous_mb(pid);
    unsigned       count = 0;
    struct dirent *e;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    while (dir && (e = readdir(dir))) {
        struct stat st;
        char        to[64] = "";
        unsigned    i      = 0;
        if (readlinkat(dirfd(dir), e->d_name, to, sizeof to - 1) <= 0 || strncmp(to, "/memfd:", 7) != 0 ||
            fstatat(dirfd(dir), e->d_name, &st, 0))
            continue;
        while (i < count && seen[i] != st.st_ino)
            i++;
        if (i < count || count == MEMFDS)
            continue;
        seen[count++] = st.st_ino;
        mb += (double)st.st_blocks * 512 / (1 << 20);
    }
    if (dir)
        closedir(dir);
    return mb;
}

/* With a program that could write to the session, and does not. */
static wstatus idle_round(struct bench_disk_disk *d, unsigned round, struct reason *why)
{
    static const char *const start[] = {"start",      BENCH_SESSION,
                                        "--set",      "BufferSize=64KB",
                                        "--set",      "MinimumBuffers=64",
                                        "--output",   "idle.etl",
                                        "--provider", "{1d2c6e54-3b7f-5a10-8e21-6b656e636801}",
                                        NULL};
    char                     path[400];
    double                   before = memory_mb(d->s.daemon);
    wstatus                  st     = bench_self_run(&d->s, start, why);

    if (st)
        return st;
    nanosleep(&(struct timespec){.tv_nsec = IDLE_MS * 1000000}, NULL);
    d->idle_mb[round] = memory_mb(d->s.daemon) - before;
    st                = bench_session_end(&d->s, BENCH_SIDE_OURS, NULL, why);
    unlink(bench_stand_path(&d->s, "logs/idle.etl", path));
    return st;
}

/* ---- rows ---- */

static void bench_disk_rows_make(const struct bench_disk_disk *d, unsigned rounds, struct bench_result *out)
{
    struct bench_row row = {.row = "to disk, 8 bytes, none lost", .peer = "LTTng-UST", .goal = 1.5, .unit = "events/s"};

    out->count = 0;
    memcpy(row.peer_version, d->s.lttng_version, sizeof row.peer_version);
    bench_row_add(out, &row, d->rate[BENCH_SIDE_OURS], d->rate[BENCH_SIDE_LTTNG], 0, rounds);
    row = (struct bench_row){.row             = "daemon CPU an event, to disk",
                             .peer            = "memcpy of the record",
                             .lower_is_better = true,
                             .goal            = 1.5,
                             .unit            = "ns"};
    snprintf(row.peer_version, sizeof row.peer_version, "glibc %s", gnu_get_libc_version());
    bench_row_add(out, &row, d->cpu_ns[BENCH_SIDE_OURS], d->copy_ns, 0, rounds);
    row.goal = 0;
    snprintf(row.peer, sizeof row.peer, "memcpy and write, no more"); /* bench_bare.h: the lower bound */
    bench_row_add(out, &row, d->cpu_ns[BENCH_SIDE_OURS], d->bare_ns, 0, rounds);
    snprintf(row.peer, sizeof row.peer, "LTTng-UST's daemons"); /* their record has 14 bytes */
    memcpy(row.peer_version, d->s.lttng_version, sizeof row.peer_version);
    bench_row_add(out, &row, d->cpu_ns[BENCH_SIDE_OURS], d->cpu_ns[BENCH_SIDE_LTTNG], 0, rounds);
    row = (struct bench_row){.row             = "memory of an idle session",
                             .peer            = "MinimumBuffers + 1 MB",
                             .lower_is_better = true,
                             .goal            = 1,
                             .unit            = "MB"};
    bench_row_add(out, &row, d->idle_mb, NULL, IDLE_MINIMUM_MB + 1, rounds);
}

wstatus bench_disk(unsigned rounds, unsigned events, const char *programs, struct bench_result *out, struct reason *why)
{
    struct bench_disk_disk *d = calloc(1, sizeof *d);

    if (!d)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the bench");
    rounds     = rounds < BENCH_DISK_LEAST ? BENCH_DISK_LEAST : rounds > BENCH_DISK_MOST ? BENCH_DISK_MOST : rounds;
    d->events  = events;
    wstatus st = bench_stand_make(&d->s, programs, why);
    for (unsigned i = 0; i < rounds && !st; i++) {
        for (unsigned side = 0; side < BENCH_SIDES && !st; side++)
            st = flood(d, side, i, why);
        if (!st)
            st = copy_round(d, i, why);
        if (!st)
            st = bare_round(d, i, why);
        if (!st)
            st = idle_round(d, i, why);
    }
    bench_stand_remove(&d->s);
    if (!st)
        bench_disk_rows_make(d, rounds, out);
    free(d);
    return st;
}
