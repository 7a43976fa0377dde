/* filetap.c - loading filetap.bpf.c and setting the wanted calls. See filetap.h. */
#include "autologger/kernel/source/filetap.h"
#include "autologger/kernel/source/filetap_record.h"
#include "autologger/kernel/source/reach.h"
#include "autologger/kernel/source/rights.h"
#include "autologger/kernel/source/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef AL_ARGV_BPF
#include <filetap.skel.h> /* made by bpftool; needs libc alone */
#endif

enum { FD_ENTER, FD_EXIT, FD_CONFIG, FD_ENTERS, FD_EXITS, FDS, FD_CALLS = FDS /* only while it is filled */ };
static const char *const filetap_fd_name[FDS] = {"filetap.enter", "filetap.exit", "filetap.config", "filetap.enters",
                                                 "filetap.exits"};
struct filetap {
    int fd[FDS];
};

static unsigned filetap_source_index(const struct rawlog *log, unsigned kind)
{
    const struct raw_header *h = log->header;
    unsigned                 i = 0;
    while (i < h->source_count && (h->source[i].kind != kind || (h->state[i] != RAW_OPEN && h->state[i] != RAW_ARMING)))
        i++;
    return i;
}

bool filetap_wanted(const struct rawlog *log)
{
    return filetap_source_index(log, SRC_FILE_ENTER) < log->header->source_count;
}

static struct filetap *filetap_new(void)
{
    struct filetap *t = malloc(sizeof *t);
    for (int i = 0; t && i < FDS; i++)
        t->fd[i] = -1;
    return t;
}

void filetap_close(struct filetap *t)
{
    for (int i = 0; t && i < FDS; i++)
        if (t->fd[i] >= 0)
            close(t->fd[i]);
    free(t);
}

void filetap_fds(const struct filetap *t, void (*show)(void *ctx, const char *name, int fd, size_t ring_bytes),
                 void                 *ctx)
{
    for (int i = 0; t && i < FDS; i++)
        show(ctx, filetap_fd_name[i], t->fd[i], 0);
}

#ifdef AL_ARGV_BPF
/* Calls that newer architectures lack. */
#ifndef SYS_open
#define SYS_open -1
#define SYS_creat -1
#define SYS_getdents -1
#define SYS_chmod -1
#define SYS_chown -1
#define SYS_lchown -1
#define SYS_unlink -1
#define SYS_rmdir -1
#define SYS_rename -1
#define SYS_link -1
#define SYS_symlink -1
#define SYS_mknod -1
#define SYS_mkdir -1
#define SYS_stat -1
#define SYS_lstat -1
#define SYS_access -1
#define SYS_readlink -1
#endif
#ifndef SYS_renameat
#define SYS_renameat -1
#endif

enum { /* of struct tap_call: 1 + the row */
       CALL_NONE,
#define CALL(row, number, kind, fd, path, dir, path2, dir2, flags, amount, offset, info) CALL_##row,
#include "autologger/kernel/source/filecalls.def"
#undef CALL
};
static const struct {
    long            number;
    struct tap_call call;
} source_filetap_wanted[] = {
#define CALL(row, number, kind, fd, path, dir, path2, dir2, flags, amount, offset, info) \
    {number, {CALL_##row, fd, path, dir, path2, dir2, flags, 0}},
#include "autologger/kernel/source/filecalls.def"
#undef CALL
};

#ifdef __x86_64__
/* `second` is only set for fallocate, and always the argument after `first` and its other half. */
static const struct {
    uint16_t number;
    uint8_t  row;
    int8_t   first, second;
} filetap_narrow[] = {
#define NARROW(number, row, first, second) {number, CALL_##row, first, second},
#include "autologger/kernel/source/narrowcalls.def"
#undef NARROW
};
enum { NARROW_CALLS = sizeof filetap_narrow / sizeof *filetap_narrow };
#else
static const struct {
    uint16_t number;
    uint8_t  row;
    int8_t   first, second;
} filetap_narrow[1];
enum { NARROW_CALLS = 0 };
#endif

static int filetap_map_set(int map, uint32_t key, const void *value)
{
    union bpf_attr attr = {
        .map_fd = (uint32_t)map, .key = (uint64_t)(uintptr_t)&key, .value = (uint64_t)(uintptr_t)value};
    return syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &attr, sizeof attr) < 0 ? -errno : 0;
}

static int own_set(int map) { return filetap_map_set(map, 0, &(struct tap_config){.own_tgid = (uint32_t)getpid()}); }

/* The programs record nothing until the maps name the wanted calls. */
static int maps_fill(const int fd[REACH_FDS], const struct rings *rings, const struct rawlog *log, bool ends)
{
    const struct {
        int      map;
        unsigned source;
    } out[] = {{fd[FD_ENTERS], filetap_source_index(log, SRC_FILE_ENTER)},
               {fd[FD_EXITS], filetap_source_index(log, SRC_FILE_EXIT)}};
    int r   = own_set(fd[FD_CONFIG]);
    for (unsigned k = 0; k < 2; k++)
        for (unsigned c = 0; c < rings->cpus && !r && out[k].source < rings->count; c++)
            if (rings->ring[c].fd[out[k].source] >= 0)
                r = filetap_map_set(out[k].map, c, &rings->ring[c].fd[out[k].source]);
    for (size_t i = 0; i < sizeof source_filetap_wanted / sizeof *source_filetap_wanted && !r; i++) {
        struct tap_call call = source_filetap_wanted[i].call;
        if (ends || (call.flags & (TAP_CALL_OPENS | TAP_CALL_CLOSES)) || call.path >= 0)
            call.flags |= TAP_CALL_END;
        if (source_filetap_wanted[i].number >= 0 && source_filetap_wanted[i].number < TAP_CALLS)
            r = filetap_map_set(fd[FD_CALLS], (uint32_t)source_filetap_wanted[i].number, &call);
    }
    for (size_t i = 0; i < NARROW_CALLS && !r; i++) {
        struct tap_call call = source_filetap_wanted[filetap_narrow[i].row - 1].call;
        call.halves          = (uint8_t)(filetap_narrow[i].first < 0
                                             ? 0
                                             : 1 + filetap_narrow[i].first + (filetap_narrow[i].second < 0 ? 0 : 0x10));
        if (ends || (call.flags & (TAP_CALL_OPENS | TAP_CALL_CLOSES)) || call.path >= 0)
            call.flags |= TAP_CALL_END;
        r = filetap_map_set(fd[FD_CALLS], TAP_NARROW + (uint32_t)filetap_narrow[i].number, &call);
    }
    return r;
}

void filetap_cpu(const struct filetap *t, const struct rings *rings, const struct rawlog *log, unsigned cpu)
{
    const unsigned source[] = {filetap_source_index(log, SRC_FILE_ENTER), filetap_source_index(log, SRC_FILE_EXIT)};
    for (unsigned k = 0; t && k < 2; k++)
        if (t->fd[FD_ENTERS + k] >= 0 && source[k] < rings->count && rings->ring[cpu].fd[source[k]] >= 0)
            filetap_map_set(t->fd[FD_ENTERS + k], cpu, &rings->ring[cpu].fd[source[k]]);
}

static int filetap_fd_take(int *fd)
{
    int taken = *fd > 0 ? *fd : -1;
    *fd       = 0;
    return taken;
}

int filetap_programs(unsigned cpus, int fd[REACH_FDS], bool *attached)
{
    struct filetap_bpf *p = filetap_bpf__open();
    int                 r = p ? 0 : -ENOMEM;
    if (!r) {
        p->maps.enters.max_entries = p->maps.exits.max_entries = cpus;
        r                                                      = filetap_bpf__load(p);
    }
    *attached = r >= 0;
    if (r >= 0)
        r = filetap_bpf__attach(p);
    if (r >= 0) {
        fd[FD_ENTER]  = filetap_fd_take(&p->links.on_enter_fd);
        fd[FD_EXIT]   = filetap_fd_take(&p->links.on_exit_fd);
        fd[FD_CONFIG] = filetap_fd_take(&p->maps.config.map_fd);
        fd[FD_ENTERS] = filetap_fd_take(&p->maps.enters.map_fd);
        fd[FD_EXITS]  = filetap_fd_take(&p->maps.exits.map_fd);
        fd[FD_CALLS]  = filetap_fd_take(&p->maps.calls.map_fd);
    }
    filetap_bpf__destroy(p);
    return r < 0 ? r : 0;
}

wstatus filetap_open(const struct rings *rings, const struct rawlog *log, bool ends, struct filetap **out,
                     struct reason *why)
{
    struct filetap *t = *out      = filetap_new();
    int             fd[REACH_FDS] = {-1, -1, -1, -1, -1, -1}, r = t ? 0 : -ENOMEM;
    bool            attached = false;
    if (!r)
        r = reach_is_far() ? reach_load(REACH_FILES, rings->cpus, fd, &attached)
                           : filetap_programs(rings->cpus, fd, &attached);
    if (r >= 0) {
        memcpy(t->fd, fd, sizeof t->fd);
        r = maps_fill(fd, rings, log, ends);
        close(fd[FD_CALLS]);
    }
    if (r < 0) {
        filetap_close(t);
        *out = NULL;
    }
    if (r >= 0)
        return W_SUCCESS;
    struct source_rights rights;
    rights_read("", &rights);
    return rights_bpf(&rights, -r, "the BPF program for file operations cannot be loaded (it needs BTF and Linux 5.17)",
                      why);
}
#else
static int own_set(int map)
{
    (void)map;
    return 0;
}

void filetap_cpu(const struct filetap *t, const struct rings *rings, const struct rawlog *log, unsigned cpu)
{
    (void)t, (void)rings, (void)log, (void)cpu;
}

int filetap_programs(unsigned cpus, int fd[REACH_FDS], bool *attached)
{
    (void)cpus, (void)fd, (void)attached;
    return -ENOTSUP;
}

wstatus filetap_open(const struct rings *rings, const struct rawlog *log, bool ends, struct filetap **out,
                     struct reason *why)
{
    (void)rings, (void)log, (void)ends;
    *out = NULL;
    return reason_set(why, W_NOT_SUPPORTED, "this program was built without clang, bpftool and libbpf-dev");
}
#endif

const char *filetap_advice(wstatus status)
{
#ifdef AL_ARGV_BPF
    return status == W_PRIVILEGE_NOT_HELD ? "run with CAP_BPF and CAP_PERFMON, or as root"
                                          : "leave FILE_IO and FILE_IO_INIT out, or use a kernel with BTF";
#else
    (void)status;
    return "leave FILE_IO and FILE_IO_INIT out, or use a build with clang, bpftool and libbpf-dev, as the packages are";
#endif
}

struct filetap *filetap_adopt(int (*find)(void *ctx, const char *name), void *ctx)
{
    struct filetap *t = filetap_new();
    for (int i = 0; t && i < FDS; i++)
        t->fd[i] = find(ctx, filetap_fd_name[i]);
    if (t && t->fd[FD_ENTER] >= 0 && t->fd[FD_EXIT] >= 0 && t->fd[FD_CONFIG] >= 0 && own_set(t->fd[FD_CONFIG]) == 0)
        return t;
    filetap_close(t);
    return NULL;
}
