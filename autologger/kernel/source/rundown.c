/* rundown.c - the state at the start: the system, processes, threads and images, from one walk of /proc. See
 * drain.h. */
#include "autologger/kernel/source/drain.h"
#include "autologger/kernel/source/reach.h"
#include "autologger/kernel/source/rundown_image.h"
#include "autologger/kernel/source/sources.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { SYMBOL_STEXT, SYMBOL_END, SYMBOL_SOFTIRQ, SYMBOLS = SYMBOL_SOFTIRQ + RAW_SOFTIRQS };
static const char *const kernel_symbols[SYMBOLS] = {"_stext",
                                                    "_end",
                                                    "tasklet_hi_action",
                                                    "run_timer_softirq",
                                                    "net_tx_action",
                                                    "net_rx_action",
                                                    "blk_done_softirq",
                                                    "irq_poll_softirq",
                                                    "tasklet_action",
                                                    "sched_balance_softirq|run_rebalance_domains",
                                                    "hrtimer_run_softirq",
                                                    "rcu_core_si"};

/* Own records wait in a buffer; they must reach the log before the horizon passes their times. */
struct rundown {
    struct drain          *d;
    struct own_buffer     *buffer;
    struct rundown_images *images;
    uint64_t               flushed;
};

static void rundown_flush(struct rundown *r)
{
    pthread_mutex_lock(&r->d->lock);
    own_flush(r->d, r->buffer);
    rawlog_publish(r->d->log);
    pthread_mutex_unlock(&r->d->lock);
    r->flushed = raw_now();
}

static void rundown_add(struct rundown *r, const void *record, size_t size, const char *const *texts, unsigned count)
{
    size_t length = size;
    for (unsigned i = 0; i < count; i++)
        length += strlen(texts[i]) + 1;
    if (r->buffer->used + length + 64 > OWN_BUFFER || raw_now() - r->flushed > HORIZON_SLACK_NS / 4)
        rundown_flush(r);
    own_add(r->d, r->buffer, record, size, texts, count);
}

static void symbol_add(void *ctx, uint64_t address, const char *name)
{
    struct raw_own note = {.type = RAW_NOTE_SYMBOL, .time = address};
    rundown_add(ctx, &note, sizeof note, &name, 1);
}

static bool has_source(const struct rundown *r, unsigned kind)
{
    const struct raw_header *h = r->d->log->header;
    for (unsigned i = 0; i < r->d->rings->count; i++)
        if (h->source[i].kind == kind && h->state[i] != RAW_CLOSED && h->state[i] != RAW_LEAVING)
            return true;
    return false;
}

/* Looks up only what is needed: the handlers only where deferred work is traced, the end of the image only where its
 * length has no cheaper source. */
static void symbols_find(struct rundown *r, uint64_t address[SYMBOLS])
{
    struct kallsyms_wish wish     = {r->d->function, r->d->functions, symbol_add, r};
    bool                 handlers = has_source(r, SRC_SOFTIRQ_ENTRY);
    uint64_t             bytes, found[SYMBOLS];
    const char          *names[SYMBOLS];
    unsigned             index[SYMBOLS], count = 0;

    memset(address, 0, SYMBOLS * sizeof *address);
    if (!handlers && !r->d->functions && proc_kernel_place(r->d->proc, &address[SYMBOL_STEXT], &address[SYMBOL_END]))
        return;
    bytes = proc_kernel_bytes(r->d->proc);
    for (unsigned i = 0; i < SYMBOLS; i++)
        if (i == SYMBOL_END ? !bytes : i < SYMBOL_SOFTIRQ || handlers) {
            index[count]   = i;
            names[count++] = kernel_symbols[i];
        }
    proc_kallsyms(r->d->proc, names, count, found, &wish);
    for (unsigned i = 0; i < count; i++)
        address[index[i]] = found[i];
    if (bytes && address[SYMBOL_STEXT])
        address[SYMBOL_END] = address[SYMBOL_STEXT] + bytes;
}

/* The first line of a small file of /proc. */
static void rundown_text_read(int proc, const char *path, char *out, size_t size)
{
    int     fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    ssize_t n  = fd < 0 ? -1 : read(fd, out, size - 1);
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0]      = 0;
    out[strcspn(out, "\n")] = 0;
}

static void kernel_image_add(struct rundown *r, uint64_t start, uint64_t end, const char *release)
{
    struct raw_image image = {
        .own = {RAW_IMAGE, 0, 0, raw_now(), 0, 0}, .base = start, .size = (end - start + 4095) & ~UINT64_C(4095)};
    uint8_t id[20], notes[1024];
    char    path[160];
    int     fd = open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC);
    ssize_t n  = fd < 0 ? -1 : read(fd, notes, sizeof notes);
    if (fd >= 0)
        close(fd);
    unsigned size = n > 0 ? elf_note_build_id(notes, (size_t)n, id) : 0;
    image.stamp   = elf_stamp(id, size, 1, &image.checksum);
    image_identity(&image, id, size);
    snprintf(path, sizeof path, "/boot/vmlinux-%.100s", release);
    image.name_size = (uint32_t)strlen(path) + 1;
    rundown_add(r, &image, sizeof image, (const char *const[]){path}, 1);
}

static void system_add(struct rundown *r)
{
    uint64_t          address[SYMBOLS];
    struct raw_system s = {.own = {RAW_SYSTEM, 0, 0, raw_now(), 0, 0}, .profile_interval = r->d->profile_interval};
    struct sysinfo    info;
    struct utsname    name;
    symbols_find(r, address);
    memcpy(s.softirq, address + SYMBOL_SOFTIRQ, sizeof s.softirq);
    s.mhz          = r->d->clock.read_kind == CLOCK_READ_TSC ? (uint32_t)(r->d->clock.freq / 1000000) : 1000;
    s.cpus         = r->d->rings->cpus;
    s.page_bytes   = (uint32_t)sysconf(_SC_PAGESIZE);
    s.memory_bytes = sysinfo(&info) == 0 ? (uint64_t)info.totalram * info.mem_unit : 0;
    if (uname(&name) == 0) {
        memcpy(s.host, name.nodename, sizeof s.host - 1);
        memcpy(s.release, name.release, sizeof s.release - 1);
    }
    rundown_text_read(r->d->proc, "sys/kernel/random/boot_id", s.boot_id, sizeof s.boot_id);
    rundown_add(r, &s, sizeof s, NULL, 0);

    uint64_t start = address[SYMBOL_STEXT] & ~UINT64_C(4095);
    if (start && address[SYMBOL_END] > start)
        kernel_image_add(r, start, address[SYMBOL_END], name.release);
}

/* Most processes of a booting machine are kernel threads, and /proc/PID/stat and status are expensive; for kernel
 * threads cheaper calls will do. They are the children of process 2. */
enum { KERNEL_THREADS = 16384 };
struct kernel_threads {
    uint32_t *pid;
    unsigned  count, next; /* position of the walk: the list is nearly in its order */
};

static void kernel_threads_find(const struct rundown *r, struct kernel_threads *k)
{
    char             text[4096];
    uint32_t         number = 0;
    struct proc_stat st;
    *k         = (struct kernel_threads){.pid = malloc(KERNEL_THREADS * sizeof *k->pid)};
    int  fd    = openat(r->d->proc, "2/task/2/children", O_RDONLY | O_CLOEXEC);
    bool known = fd >= 0 && k->pid && proc_stat(r->d->proc, 2, 0, &st) && st.kernel_thread;
    for (ssize_t n; known && (n = read(fd, text, sizeof text)) > 0;)
        for (ssize_t i = 0; i < n; i++) {
            if (text[i] >= '0' && text[i] <= '9') {
                number = number * 10 + (uint32_t)(text[i] - '0');
            } else if (number && k->count < KERNEL_THREADS) {
                k->pid[k->count++] = number;
                number             = 0;
            }
        }
    if (fd >= 0)
        close(fd);
}

static bool is_kernel_thread(struct kernel_threads *k, uint32_t pid)
{
    for (unsigned i = 0; i < k->count; i++)
        if (k->pid[(k->next + i) % k->count] == pid) {
            k->next = (k->next + i + 1) % k->count;
            return true;
        }
    return false;
}

/* As the kernel counts priorities: 0 to 99 real time, 120 = nice 0. */
static int32_t priority(uint32_t tid)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t  nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } a = {0};
    if (syscall(SYS_sched_getattr, tid, &a, (unsigned)sizeof a, 0) < 0)
        return 120;
    return a.policy == SCHED_FIFO || a.policy == SCHED_RR ? 99 - (int32_t)a.priority
           : a.policy == 6 /* deadline */                 ? -1
                                                          : 120 + a.nice;
}

static void kernel_thread_add(struct rundown *r, uint32_t pid)
{
    struct raw_thread t = {
        .own = {RAW_THREAD, 0, 0, raw_now(), pid, pid}, .prio = priority(pid), .flags = RAW_PROCESS_KERNEL};
    uint64_t cpus[128] = {0};
    char     path[32];
    snprintf(path, sizeof path, "%u/comm", pid);
    int     fd = openat(r->d->proc, path, O_RDONLY | O_CLOEXEC);
    ssize_t n  = fd < 0 ? -1 : read(fd, t.name, sizeof t.name - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return; /* gone */
    t.name[strcspn(t.name, "\n")] = 0;
    if (syscall(SYS_sched_getaffinity, pid, sizeof cpus, cpus) > 0)
        t.affinity = cpus[0];
    rundown_add(r, &t, sizeof t, NULL, 0);
}

/* One thread of a process, from its stat and status. */
static void thread_add(struct rundown *r, uint32_t pid, uint32_t tid, const struct proc_stat *st, uint64_t affinity)
{
    struct raw_thread t = {.own      = {RAW_THREAD, 0, 0, raw_now(), pid, tid},
                           .affinity = affinity,
                           .prio     = st->prio,
                           .flags    = st->kernel_thread ? RAW_PROCESS_KERNEL : 0};
    memcpy(t.name, st->comm, sizeof t.name);
    rundown_add(r, &t, sizeof t, NULL, 0);
}

static void threads_add(struct rundown *r, uint32_t pid)
{
    char path[32];
    snprintf(path, sizeof path, "%u/task", pid);
    int  fd  = openat(r->d->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        uint32_t         tid = (uint32_t)strtoul(e->d_name, NULL, 10), uid;
        uint64_t         affinity;
        struct proc_stat st;
        if (!tid || !proc_stat(r->d->proc, pid, tid, &st))
            continue;
        proc_status(r->d->proc, pid, tid, &uid, &affinity);
        thread_add(r, pid, tid, &st, affinity);
    }
    if (dir)
        closedir(dir);
}

static void mapping_add(struct rundown *r, uint32_t pid, const struct proc_mapping *m)
{
    struct raw_mapping map = {.own    = {RAW_MAPPING, 0, 0, raw_now(), pid, pid},
                              .start  = m->start,
                              .end    = m->end,
                              .offset = m->pgoff,
                              .inode  = m->inode,
                              .dev    = m->dev,
                              .flags  = (m->shared ? RAW_MAPPING_SHARED : 0u) | (m->exec ? RAW_MAPPING_EXEC : 0u)};
    if (m->path[0] == '/')
        rundown_add(r, &map, sizeof map, &m->path, 1);
}

static void image_add(void *ctx, struct raw_image *image, const char *path)
{
    image->own.time  = raw_now();
    image->name_size = (uint32_t)strlen(path) + 1;
    rundown_add(ctx, image, sizeof *image, &path, 1);
}

static void images_add(struct rundown *r, uint32_t pid)
{
    char line[4400];
    bool all = has_source(r, SRC_MAPPINGS);
    snprintf(line, sizeof line, "%u/maps", pid);
    int   fd = reach_open(r->d->proc, line);
    FILE *f  = fd < 0 ? NULL : fdopen(fd, "r");
    while (f && fgets(line, sizeof line, f)) {
        struct proc_mapping m;
        if (!proc_mapping_parse(line, all, &m) || !*m.path || strcmp(m.path, "[vsyscall]") == 0)
            continue;
        if (all)
            mapping_add(r, pid, &m);
        if (m.exec)
            rundown_image(r->images, pid, &m);
    }
    if (f)
        fclose(f);
    else if (fd >= 0)
        close(fd);
}

/* From "0::/system.slice/a.service", the line of version 2; the id is the folder's inode number, where version 2 is
 * mounted. */
static void cgroup_add(struct rundown *r, uint32_t pid)
{
    struct raw_cgroup g = {.own = {RAW_CGROUP, 0, 0, raw_now(), pid, pid}};
    char              text[8192], full[4200];
    struct stat       st;
    snprintf(text, sizeof text, "%u/cgroup", pid);
    int     fd = openat(r->d->proc, text, O_RDONLY | O_CLOEXEC);
    ssize_t n  = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    char *line          = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
    if (!line)
        return;
    const char *path                  = strchr(line, ':') + 2;
    line[strcspn(line + 1, "\n") + 1] = 0;
    static const char *const roots[]  = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};
    /* a cgroup outside of our cgroup namespace would lead out of the mount */
    for (unsigned i = 0; i < 2 && !g.id && !strstr(path, "/.."); i++)
        if (snprintf(full, sizeof full, "%s%s", roots[i], path) < (int)sizeof full && stat(full, &st) == 0)
            g.id = st.st_ino;
    if (strcmp(path, "/") == 0)
        g.id = 1; /* the kernel's root cgroup, mounted or not */
    g.path_size = (uint32_t)strlen(path) + 1;
    rundown_add(r, &g, sizeof g, &path, 1);
}

static void process_add(struct rundown *r, uint32_t pid)
{
    struct raw_process p = {.own = {RAW_PROCESS, 0, 0, raw_now(), pid, pid}};
    struct proc_stat   st;
    uint64_t           affinity;
    char               exe[4096], *command = malloc(8192);
    if (command && proc_stat(r->d->proc, pid, 0, &st)) {
        proc_status(r->d->proc, pid, 0, &p.uid, &affinity);
        p.ppid        = st.ppid;
        p.session     = st.session;
        p.start_ticks = st.start_ticks;
        p.flags       = st.kernel_thread ? RAW_PROCESS_KERNEL : 0;
        p.exit_code   = st.exit_code;
        proc_exe(r->d->proc, pid, exe, sizeof exe);
        if (!st.kernel_thread && proc_is_narrow(r->d->proc, pid))
            p.flags |= RAW_PROCESS_32BIT;
        proc_command_line(r->d->proc, pid, command, 8192);
        const char *slash    = strrchr(exe, '/');
        const char *texts[2] = {slash && slash[1] ? slash + 1 : st.comm, command};
        p.name_size          = (uint16_t)(strlen(texts[0]) + 1);
        p.command_size       = (uint16_t)(strlen(texts[1]) + 1);
        rundown_add(r, &p, sizeof p, texts, 2);
        if (r->d->units && !st.kernel_thread)
            cgroup_add(r, pid);
        if (st.threads == 1)
            thread_add(r, pid, pid, &st, affinity);
        else
            threads_add(r, pid);
        if (!st.kernel_thread)
            images_add(r, pid);
        rundown_images_put(r->images, false);
    }
    free(command);
}

void drain_rundown(struct drain *d)
{
    struct kernel_threads kernel = {0};
    struct rundown        r      = {.d = d, .flushed = raw_now()};
    r.buffer                     = malloc(sizeof *r.buffer);
    r.images                     = rundown_images_create(d, image_add, &r);
    if (!r.buffer || !r.images)
        goto out;
    r.buffer->used = r.buffer->records = 0;
    r.buffer->mark                     = false;
    system_add(&r);
    kernel_threads_find(&r, &kernel);
    int  fd  = openat(d->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
        if (isdigit((unsigned char)e->d_name[0])) {
            uint32_t pid = (uint32_t)strtoul(e->d_name, NULL, 10);
            (is_kernel_thread(&kernel, pid) ? kernel_thread_add : process_add)(&r, pid);
        }
    if (dir)
        closedir(dir);
    rundown_images_put(r.images, true);
    struct raw_own done = {.type = RAW_RUNDOWN_DONE, .time = raw_now()};
    rundown_add(&r, &done, sizeof done, NULL, 0);
    rundown_flush(&r);
out:
    free(kernel.pid);
    free(r.buffer);
    rundown_images_destroy(r.images);
}

static void mappings_add(struct rundown *r, uint32_t pid)
{
    char line[4400];
    snprintf(line, sizeof line, "%u/maps", pid);
    int   fd = reach_open(r->d->proc, line);
    FILE *f  = fd < 0 ? NULL : fdopen(fd, "r");
    while (f && fgets(line, sizeof line, f)) {
        struct proc_mapping m;
        if (proc_mapping_parse(line, true, &m) && *m.path)
            mapping_add(r, pid, &m);
    }
    if (f)
        fclose(f);
    else if (fd >= 0)
        close(fd);
}

void drain_mappings(struct drain *d)
{
    struct rundown r   = {.d = d, .buffer = calloc(1, sizeof *r.buffer), .flushed = raw_now()};
    int            fd  = openat(d->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR           *dir = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *e = dir && r.buffer ? readdir(dir) : NULL; e; e = readdir(dir))
        if (isdigit((unsigned char)e->d_name[0]))
            mappings_add(&r, (uint32_t)strtoul(e->d_name, NULL, 10));
    if (r.buffer)
        rundown_flush(&r);
    if (dir)
        closedir(dir);
    free(r.buffer);
}

void drain_handlers(struct drain *d, uint64_t softirq[RAW_SOFTIRQS])
{
    struct rundown r = {.d = d};
    uint64_t       address[SYMBOLS];
    symbols_find(&r, address);
    memcpy(softirq, address + SYMBOL_SOFTIRQ, RAW_SOFTIRQS * sizeof *softirq);
}

void drain_counters(struct drain *d)
{
    int  fd  = d->wants_counters ? openat(d->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    pthread_mutex_lock(&d->lock);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        uint32_t            pid = (uint32_t)strtoul(e->d_name, NULL, 10);
        struct raw_counters r   = {.own = {RAW_COUNTERS, 0, 0, raw_now(), pid, pid}};
        if (pid && counters_read(d->proc, pid, &r) && r.size) /* kernel threads have no memory of their own */
            own_add(d, d->notes, &r, sizeof r, NULL, 0);
    }
    own_flush(d, d->notes);
    pthread_mutex_unlock(&d->lock);
    if (dir)
        closedir(dir);
}

void drain_mark(struct drain *d, uint32_t type)
{
    struct raw_own     mark   = {.type = type, .time = raw_now()};
    struct own_buffer *buffer = malloc(sizeof *buffer);
    if (!buffer)
        return;
    buffer->used = buffer->records = 0;
    buffer->mark                   = true;
    pthread_mutex_lock(&d->lock);
    own_add(d, buffer, &mark, sizeof mark, NULL, 0);
    own_flush(d, buffer);
    pthread_mutex_unlock(&d->lock);
    free(buffer);
}
