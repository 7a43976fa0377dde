/* autologger-processes - Microsoft-Windows-Kernel-Process: processes, threads and images as events of an ordinary
 * provider, for sessions of programs, without the kernel logger. A program of its own, which the daemon starts when a
 * session wants the provider. It listens to perf's side band (sideband.h) while the provider is enabled, and writes
 * events (TraceLogging, with Windows' event ids, keywords and field names) with their original times. An event without
 * room waits, PATIENCE_MS in a row at most; then it is lost and counted by its session, as are records that perf lost.
 * Threads: the main one; the library's thread calls on_enable, which opens the side band before the enabling call
 * returns. `lock` guards everything but `asked_fd`. Not for: PROC_THREAD and LOADER of the kernel logger
 * (autologger/kernel). */
#include "autologger/include/TraceLoggingProvider.h"
#include "autologger/kernel/source/reach.h"
#include "autologger/processes/exits.h"
#include "autologger/processes/living.h"
#include "autologger/processes/sideband.h"
#include "autologger/provider/event_told.h"
#include "registry-sim/base/clock.h"
#include "registry-sim/win32/filetime.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define PROVIDER_NAME "Microsoft-Windows-Kernel-Process"
enum {
    EXIT_WRONG_CALL    = 100,
    EXIT_REFUSED       = 111,
    OPTION_RUNTIME_DIR = 1000,
    OPTION_REACH,
    PATIENCE_MS = 1000,
    BATCH_MS    = 2,
    QUIET_MS    = 1000,
    INFORMATION = 4
};
/* Windows' keywords and event ids. */
enum { KEY_PROCESS = 0x10, KEY_THREAD = 0x20, KEY_IMAGE = 0x40 };
enum { PROCESS_START = 1, PROCESS_STOP = 2, THREAD_START = 3, THREAD_STOP = 4, IMAGE_LOAD = 5, PROCESS_RUNDOWN = 15 };

static const struct {
    UINT16 size;
    char   name[sizeof PROVIDER_NAME];
} processes_metadata = {2 + sizeof PROVIDER_NAME, PROVIDER_NAME};

static struct processes_program {
    struct _tlgProvider_t provider;
    pthread_mutex_t       lock;
    struct sideband      *sideband; /* NULL: no session has the provider enabled */
    struct living         living;
    struct exits          exits;
    struct clockmap       map; /* raw to TSC */
    bool                  tsc, impatient, rundown;
    int                   asked_fd;
    /* of the event being written */
    USHORT   id;
    UCHAR    opcode;
    uint64_t time_ns;
} p = {.provider = {.ProviderId = {0x22fb2cd6, 0x0e7b, 0x422b, {0xa0, 0xc7, 0x2f, 0xad, 0x1f, 0xd0, 0xe7, 0x16}},
                    .ProviderMetadataPtr = &processes_metadata.size},
       .lock     = PTHREAD_MUTEX_INITIALIZER};

static uint64_t processes_now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- writing ---- */

static uint64_t filetime_of(uint64_t raw_ns)
{
    const uint64_t raw = processes_now_ns(CLOCK_MONOTONIC_RAW), age = raw > raw_ns ? raw - raw_ns : 0;
    return filetime_from_unix_ns(processes_now_ns(CLOCK_REALTIME) - age);
}

static uint64_t processes_time_for(void *ctx, uint32_t clock_kind)
{
    (void)ctx;
    if (clock_kind == CLOCK_READ_COARSE)
        return filetime_of(p.time_ns);
    return clock_kind == CLOCK_READ_TSC && p.tsc ? clockmap_tsc(&p.map, p.time_ns) : p.time_ns;
}

/* Replaces EventWriteTransfer in the expansion of TraceLoggingWrite. */
static ULONG processes_write_event(REGHANDLE handle, PCEVENT_DESCRIPTOR d, ULONG n, const EVENT_DATA_DESCRIPTOR *data)
{
    const struct event_told told  = {.time = processes_time_for};
    EVENT_DESCRIPTOR        event = *d;
    event.Id                      = p.id;
    event.Opcode                  = p.opcode;
    event_told_send(handle, &event, n, data, &told, PATIENCE_MS, &p.impatient);
    return ERROR_SUCCESS;
}
#define EventWriteTransfer(handle, d, activity, related, n, data) processes_write_event(handle, d, n, data)

static void processes_about(USHORT id, UCHAR opcode, uint64_t time_ns)
{
    p.id      = id;
    p.opcode  = opcode;
    p.time_ns = time_ns;
}

#define WRITE(name, key, ...) \
    TraceLoggingWrite(&p.provider, name, TraceLoggingLevel(INFORMATION), TraceLoggingKeyword(key), __VA_ARGS__)
#define BEGIN_FIELDS(x) \
    TraceLoggingPid((x)->pid, "ProcessID"), TraceLoggingUInt64((x)->number, "ProcessSequenceNumber"), \
        TraceLoggingUInt64(filetime_of((x)->began_ns), "CreateTime"), TraceLoggingPid((x)->parent, "ParentProcessID"), \
        TraceLoggingUInt64((x)->parent_number, "ParentProcessSequenceNumber"), \
        TraceLoggingUtf8String((x)->image, "ImageName")

static void tell_start(const struct process *x)
{
    processes_about(PROCESS_START, 1, x->began_ns);
    WRITE("ProcessStart", KEY_PROCESS, BEGIN_FIELDS(x));
}

static void tell_stop(const struct process *x, uint64_t time_ns, uint32_t code)
{
    processes_about(PROCESS_STOP, 2, time_ns);
    WRITE("ProcessStop", KEY_PROCESS, TraceLoggingPid(x->pid, "ProcessID"),
          TraceLoggingUInt64(x->number, "ProcessSequenceNumber"),
          TraceLoggingUInt64(filetime_of(x->began_ns), "CreateTime"),
          TraceLoggingUInt64(filetime_of(time_ns), "ExitTime"), TraceLoggingUInt32(code, "ExitCode"),
          TraceLoggingUtf8String(x->image, "ImageName"));
}

static void processes_tell_thread(bool begins, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
    processes_about(begins ? THREAD_START : THREAD_STOP, begins ? 1 : 2, time_ns);
    if (begins)
        WRITE("ThreadStart", KEY_THREAD, TraceLoggingPid(pid, "ProcessID"), TraceLoggingTid(tid, "ThreadID"));
    else
        WRITE("ThreadStop", KEY_THREAD, TraceLoggingPid(pid, "ProcessID"), TraceLoggingTid(tid, "ThreadID"));
}

static void tell_rundown(void *ctx, struct process *x)
{
    (void)ctx;
    processes_about(PROCESS_RUNDOWN, 3, processes_now_ns(CLOCK_MONOTONIC_RAW));
    WRITE("ProcessRundown", KEY_PROCESS, BEGIN_FIELDS(x));
}

/* ---- perf's records ---- */

/* The exec is reported when the path is known: the first file that is mapped after it is the program's. */
static void tell_exec(struct process *x, const char *image)
{
    char *copy = strdup(image);
    if (!x->exec_ns || !copy) {
        free(copy);
        return;
    }
    tell_stop(x, x->exec_ns, 0);
    free(x->image);
    x->image    = copy;
    x->number   = ++p.living.number;
    x->began_ns = x->exec_ns;
    x->exec_ns  = 0;
    tell_start(x);
}

static void processes_on_fork(const struct sideband_record *r)
{
    if (r->pid == r->parent && r->pid != r->tid) {
        struct process *x = living_find(&p.living, r->pid);
        if (x && r->time_ns > x->seen_ns)
            x->threads++;
        processes_tell_thread(true, r->pid, r->tid, r->time_ns);
        return;
    }
    struct process *parent = living_find(&p.living, r->parent), *x = living_add(&p.living, r->pid);
    if (!x || !(x->image = strdup(parent ? parent->image : ""))) {
        living_remove(&p.living, r->pid);
        event_told_lost(p.provider.RegHandle, event_told_sessions(p.provider.RegHandle, INFORMATION, KEY_PROCESS), 1);
        return;
    }
    x->parent        = r->parent;
    x->parent_number = parent ? parent->number : 0;
    x->threads       = 1;
    x->began_ns      = r->time_ns;
    tell_start(x);
    processes_tell_thread(true, r->pid, r->tid, r->time_ns);
}

static void on_exit_record(const struct sideband_record *r)
{
    struct process *x    = living_find(&p.living, r->pid);
    uint32_t        code = 0;

    processes_tell_thread(false, r->pid, r->tid, r->time_ns);
    if (!x || r->time_ns <= x->seen_ns || --x->threads)
        return;
    if (x->exec_ns)
        tell_exec(x, x->exec_name);
    exits_take(&p.exits, r->pid, &code);
    tell_stop(x, r->time_ns, code);
    living_remove(&p.living, r->pid);
}

static void on_code(const struct sideband_record *r)
{
    struct process *x = living_find(&p.living, r->pid);
    if (x && x->exec_ns && *r->text == '/')
        tell_exec(x, r->text);
    processes_about(IMAGE_LOAD, 0, r->time_ns);
    WRITE("ImageLoad", KEY_IMAGE, TraceLoggingHexUInt64(r->address, "ImageBase"),
          TraceLoggingHexUInt64(r->size, "ImageSize"), TraceLoggingPid(r->pid, "ProcessID"),
          TraceLoggingHexUInt64(r->offset, "FileOffset"), TraceLoggingUtf8String(r->text, "ImageName"));
}

static void on_record(void *ctx, const struct sideband_record *r)
{
    struct process *x;
    (void)ctx;

    switch (r->kind) {
    case SIDEBAND_FORK: processes_on_fork(r); break;
    case SIDEBAND_EXIT: on_exit_record(r); break;
    case SIDEBAND_CODE: on_code(r); break;
    case SIDEBAND_EXEC:
        x = living_find(&p.living, r->pid);
        if (!x)
            break;
        if (x->exec_ns)
            tell_exec(x, x->exec_name);
        x->exec_ns = r->time_ns;
        snprintf(x->exec_name, sizeof x->exec_name, "%s", r->text);
        break;
    case SIDEBAND_LOST:
        event_told_lost(p.provider.RegHandle,
                        event_told_sessions(p.provider.RegHandle, INFORMATION, KEY_PROCESS | KEY_THREAD | KEY_IMAGE),
                        r->lost);
        break;
    }
}

/* ---- enabling ---- */

static bool processes_wanted(void) { return __atomic_load_n(&p.provider.LevelPlus1, __ATOMIC_RELAXED) != 0; }

static void processes_failed(const struct reason *why)
{
    fprintf(stdout, "%s\n", why->text); /* the daemon reads it, and shows it at the rows */
    fflush(stdout);
    _exit(EXIT_REFUSED);
}

/* Under lock. The rings first: events while /proc is read are in both, and reported once. */
static void listen_now(void)
{
    struct reason why = {0};

    if (p.sideband)
        return;
    if (sideband_open(&p.sideband, &why))
        processes_failed(&why);
    exits_open(&p.exits);
    if (!living_read(&p.living, "/proc", processes_now_ns(CLOCK_MONOTONIC_RAW))) {
        reason_set(&why, W_NOT_SUPPORTED, "/proc is not there: %s", strerror(errno));
        processes_failed(&why);
    }
}

/* Under lock. */
static void listen_no_more(void)
{
    sideband_close(p.sideband);
    p.sideband = NULL;
    exits_close(&p.exits);
    living_finish(&p.living);
}

static void NTAPI processes_on_enable(LPCGUID source, ULONG code, UCHAR level, ULONGLONG any, ULONGLONG all,
                                      PEVENT_FILTER_DESCRIPTOR filter, PVOID ctx)
{
    (void)source, (void)level, (void)any, (void)all, (void)filter, (void)ctx;
    pthread_mutex_lock(&p.lock);
    if (code != EVENT_CONTROL_CODE_DISABLE_PROVIDER)
        listen_now();
    if (code == EVENT_CONTROL_CODE_CAPTURE_STATE)
        p.rundown = true;
    pthread_mutex_unlock(&p.lock);
    eventfd_write(p.asked_fd, 1);
}

/* Takes the records up to `until_ns`. Under lock. */
static void processes_take(uint64_t until_ns)
{
    if (p.tsc)
        clockmap_sync(&p.map);
    sideband_take(p.sideband, until_ns, on_record, NULL);
    if (p.rundown) {
        p.rundown = false;
        living_each(&p.living, tell_rundown, NULL);
    }
}

static _Noreturn void processes_work(void)
{
    for (;;) {
        eventfd_t asked;
        pthread_mutex_lock(&p.lock);
        if (p.sideband && processes_wanted())
            processes_take(processes_now_ns(CLOCK_MONOTONIC_RAW) - SIDEBAND_HOLD_NS);
        else if (p.sideband)
            listen_no_more();
        struct sideband *sideband = p.sideband;
        pthread_mutex_unlock(&p.lock);
        sideband_wait(sideband, p.asked_fd, sideband ? QUIET_MS : -1); /* only this thread closes it */
        eventfd_read(p.asked_fd, &asked);
        if (sideband)
            usleep(BATCH_MS * 1000); /* takes a batch of records at once */
    }
}

static error_t processes_parse(int key, char *arg, struct argp_state *state)
{
    switch (key) {
    case OPTION_RUNTIME_DIR: setenv("AUTOLOGGER_RUNTIME_DIR", arg, 1); return 0; /* no other thread yet */
    case OPTION_REACH:
        fcntl(atoi(arg), F_SETFD, FD_CLOEXEC);
        reach_through(atoi(arg), false);
        return 0;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument \"%s\"", arg); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"runtime-dir", OPTION_RUNTIME_DIR, "DIR", 0, "of the daemon", 0},
        {"reach", OPTION_REACH, "FD", OPTION_HIDDEN, "a socket to who has the rights that it needs", 0},
        {0}};
    const struct argp argp = {
        options, processes_parse,
        NULL,    "Writes what processes do as events of Microsoft-Windows-Kernel-Process. The daemon starts it.",
        NULL,    NULL,
        NULL};
    struct reason why = {0};

    argp_err_exit_status = EXIT_WRONG_CALL;
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    clockmap_init(&p.map, clock_boot_hz());
    p.tsc      = p.map.tsc_hz != 0;
    p.exits.fd = -1;
    p.asked_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ULONG status =
        p.asked_fd < 0 ? ERROR_NOT_ENOUGH_MEMORY : (ULONG)_tlgRegister(&p.provider, processes_on_enable, NULL);
    if (status) {
        reason_set(&why, status, "the provider of processes could not be registered (%u)", (unsigned)status);
        processes_failed(&why);
    }
    processes_work();
}
