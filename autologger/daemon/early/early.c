/* early.c - autologger-early: the part of the daemon that runs before the root file system exists.
 *
 *   start (from the initramfs) -> forks, returns at once
 *     keeper   holds all descriptors, restarts the service, watches for the real root, hands everything to autologgerd
 *       service   the daemon's own service.c on the sealed snapshot; writes no file
 *
 * Invariants
 *   E1 `start` exits 0 whatever happens: it is never the reason that a boot fails.
 *   E2 it runs only when there is a snapshot, the kernel command line does not say autologger=off, and this is no crash
 *      kernel.
 *   E3 argv[0] begins with '@', so that the service manager of an initramfs leaves it alone at the switch to the real
 *      root.
 *   E4 when no daemon comes after the root became writable, it starts one there; when that fails, it saves everything
 *      to one .alraw file.
 * Threads: keeper one; service see service.c. Links libc alone, statically. Not for: the real root's daemon
 * (autologgerd.c). */
#include "autologger/control/client.h"
#include "autologger/daemon/calm.h"
#include "autologger/daemon/early/alraw.h"
#include "autologger/daemon/early/early_report.h"
#include "autologger/daemon/early/early_root.h"
#include "autologger/daemon/early/guard.h"
#include "autologger/daemon/handover.h"
#include "autologger/daemon/keeper.h"
#include "autologger/daemon/machine_key.h"
#include "autologger/daemon/service.h"
#include "autologger/plan/boot_settings.h"
#include "registry-sim/base/visible_print.h"
#include "registry-sim/store/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_FAILED = 1, EXIT_WRONG_CALL = 100, EXIT_REFUSED = 111 };
enum { DAEMON_WAIT_SECONDS = 90, DAEMON_START_SECONDS = 30, LOOK_MS = 100, CALM_MS = 1000 };

struct early {
    const char *snapshot, *runtime_dir, *daemon, *raw_dir;
    /* the snapshot by a descriptor: the switch to the root removes the image's files at any moment */
    char                 snapshot_kept[32];
    unsigned             wait_seconds; /* for a daemon, once the root is writable */
    bool                 foreground;
    char                 handover_path[256], report_path[256], hurry_path[256];
    struct snapshot_head head;
    uint64_t             begin_ns;
    uint64_t            *held_ns; /* how long the boot waited; shared with the process that it waited for */
    struct early_root    root;
    bool                 once; /* the configuration is for one boot */
    bool                 guard_seen, guard_counted;
    char                 boot_id[64];
    /* when the root became writable, and when a daemon was started; 0: not yet */
    uint64_t writable_ns, started_ns;
};

static uint64_t early_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void early_boot_id_read(char out[64])
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    snprintf(out, 64, "unknown");
    if (f) {
        if (fgets(out, 64, f))
            out[strcspn(out, "\n")] = 0;
        fclose(f);
    }
}

/* ---- may it run at all? ---- */

/* The value of a word of the kernel command line "name=value"; NULL when it is absent. */
static const char *early_argument(const char *command_line, const char *name, char *out, size_t size)
{
    size_t n = strlen(name);
    for (const char *p = strstr(command_line, name); p; p = strstr(p + 1, name))
        if ((p == command_line || p[-1] == ' ') && p[n] == '=') {
            snprintf(out, size, "%.*s", (int)strcspn(p + n + 1, " \n"), p + n + 1);
            return out;
        }
    return NULL;
}

static void command_line_read(char *out, size_t size)
{
    int     fd         = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n          = fd < 0 ? -1 : read(fd, out, size - 1);
    out[n > 0 ? n : 0] = 0;
    if (fd >= 0)
        close(fd);
}

/* NULL: it may run. Else the reason why not. */
static const char *refusal(struct early *e)
{
    char          text[4096], value[64];
    struct reason why;

    command_line_read(text, sizeof text);
    if (early_argument(text, "autologger", value, sizeof value) && strcmp(value, "off") == 0)
        return "autologger=off";
    if (access("/proc/vmcore", F_OK) == 0)
        return "this is a crash kernel";
    if (early_argument(text, "autologger.wait", value, sizeof value))
        e->wait_seconds = (unsigned)strtoul(value, NULL, 10);
    struct regstore *store = NULL;
    int              fd    = open(e->snapshot, O_RDONLY | O_CLOEXEC);
    if (regstore_open_snapshot(e->snapshot, &store, &e->head, &why) != W_SUCCESS) {
        if (fd >= 0)
            close(fd);
        /* a damaged snapshot becomes a Status of the boot */
        return why.status == W_FILE_NOT_FOUND ? "nothing is declared" : NULL;
    }
    if (fd >= 0)
        snprintf(e->snapshot_kept, sizeof e->snapshot_kept, "/proc/self/fd/%d", fd);
    struct boot_settings settings;
    if (boot_settings_read(store, &settings, &why) == W_SUCCESS)
        e->once = settings.once;
    boot_settings_finish(&settings);
    regstore_close(store);
    return NULL;
}

/* ---- the service ---- */

static wstatus store_open(const char *path, bool write, struct regstore **out, struct reason *why)
{
    struct snapshot_head head;
    if (write)
        return reason_set(why, W_WRITE_PROTECT, "the early program writes no store");
    return regstore_open_snapshot(path, out, &head, why);
}

static void early_booted(void *ctx, const struct result_list *rows)
{
    const struct early *e = ctx;
    early_report_write(e->report_path, rows); /* on failure only the emergency shell knows less */
}

static const char *store_path(const struct early *e)
{
    return *e->head.store_path ? e->head.store_path : "/var/lib/autologger/registry.db";
}

static int service_run(void *ctx, struct handed *handed)
{
    struct early                *e       = ctx;
    const struct service_options options = {.store_path    = *e->snapshot_kept ? e->snapshot_kept : e->snapshot,
                                            .store_saved   = store_path(e),
                                            .log_dir       = *e->head.log_dir ? e->head.log_dir : "/var/log/autologger",
                                            .runtime_dir   = e->runtime_dir,
                                            .hold          = true,
                                            .kernel_beside = true,
                                            .tight_file    = e->hurry_path,
                                            .snapshot      = &e->head,
                                            .begin_ns      = e->begin_ns,
                                            .held_ns       = e->held_ns ? *e->held_ns : 0,
                                            .store_open    = store_open,
                                            .booted        = early_booted,
                                            .ctx           = e};
    struct service              *service = NULL;
    struct reason                why     = {0};
    bool                         left;

    prctl(PR_SET_NAME, "autologger-srv");
    if (service_create(&options, handed, &service, &why) != W_SUCCESS) {
        visible_line(stderr, "autologger-early: %s (%u)", why.text, why.status);
        early_failure_write(e->runtime_dir, &why);
        return EXIT_REFUSED;
    }
    service_loop(service, &left, &why);
    _exit(0); /* everything to keep is kept; memory and threads go with the process */
}

/* ---- the keeper's view: the real root, and what to do when no daemon comes there ---- */

/* Does `work` in the real root, in a process that nobody waits for: a file system may hang. */
static void early_aside(const struct early *e, void (*work)(const struct early *e))
{
    pid_t pid = fork();
    if (pid == 0) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_UNBLOCK, &all, NULL);
        if (fork() == 0 && early_root_enter(&e->root))
            work(e);
        _exit(0);
    }
    if (pid > 0)
        waitpid(pid, NULL, 0);
}

static void early_daemon_start(const struct early *e)
{
    setsid();
    execl(e->daemon, "autologgerd", "--keep", "--boot", "--adopt", "--runtime-dir", e->runtime_dir, (char *)NULL);
}

static void guard_count(const struct early *e)
{
    struct guard  g;
    struct reason why;
    guard_read(AT_FDCWD, "/" GUARD_PATH, &g);
    if (guard_count_try(&g, e->head.change_number, 0, e->boot_id))
        guard_write(AT_FDCWD, "/" GUARD_PATH, &g, &why);
}

/* False: earlier boots of this configuration did not finish, or its one boot is over: the started sessions are given
 * up. The daemon, which reads the same file, says so in the Status. */
static bool guard_allows(struct early *e)
{
    struct guard  g;
    struct reason why;
    int           fd = early_root_fd(&e->root);

    e->guard_seen = true;
    guard_read(fd < 0 ? AT_FDCWD : fd, GUARD_PATH, &g);
    if (fd >= 0)
        close(fd);
    return guard_verdict(&g, e->head.change_number, e->once, guard_limit(e->once), e->boot_id, &why);
}

/* True when the real root has a daemon at all. */
static bool daemon_exists(const struct early *e)
{
    int  fd    = early_root_fd(&e->root);
    bool there = fd >= 0 && faccessat(fd, e->daemon + 1, X_OK, 0) == 0;
    if (fd >= 0)
        close(fd);
    return there;
}

static enum keeper_order early_look(void *ctx, int *every_ms)
{
    struct early *e   = ctx;
    uint64_t      now = early_now_ns();

    early_root_look(&e->root);
    *every_ms = e->root.writable ? CALM_MS : LOOK_MS;
    if (e->root.reached && !e->guard_seen && !guard_allows(e))
        return KEEPER_DISCARD;
    if (!e->root.writable)
        return KEEPER_GO_ON;
    if (!e->guard_counted) {
        e->guard_counted = true;
        early_aside(e, guard_count);
    }
    if (!e->writable_ns)
        e->writable_ns = now;
    if (!e->started_ns && now - e->writable_ns >= e->wait_seconds * UINT64_C(1000000000)) {
        if (!daemon_exists(e))
            return KEEPER_SAVE;
        e->started_ns = now;
        early_aside(e, early_daemon_start);
    }
    return e->started_ns && now - e->started_ns >= DAEMON_START_SECONDS * UINT64_C(1000000000) ? KEEPER_SAVE
                                                                                               : KEEPER_GO_ON;
}

/* E4, in a child: it changes its root, and may hang in a file system. */
static void early_save(void *ctx, const struct kept *k)
{
    const struct early *e = ctx;
    char                path[512];
    struct reason       why;
    uint64_t            bytes;
    uint8_t             key[MACHINE_KEY_SIZE];

    pid_t pid = fork();
    if (pid == 0) {
        if (!early_root_enter(&e->root))
            _exit(1);
        const bool sealed = machine_key_load(store_path(e), key, &why) == W_SUCCESS;
        snprintf(path, sizeof path, "%s/boot-%.63s.alraw", e->raw_dir, e->boot_id);
        os_mkdir_parents(os_linux(), path, 0755);
        if (alraw_write(path, k, sealed ? key : NULL, e->boot_id, &bytes, &why) != W_SUCCESS)
            _exit(1);
        snprintf(path, sizeof path, "%s/boot-%.63s.status.txt", e->raw_dir, e->boot_id);
        int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (out >= 0)
            early_report_copy(e->report_path, out); /* /run has moved along to the real root */
        _exit(0);
    }
    if (pid > 0)
        waitpid(pid, NULL, 0);
}

/* ---- start ---- */

static void paths_fill(struct early *e)
{
    snprintf(e->handover_path, sizeof e->handover_path, "%.200s/handover", e->runtime_dir);
    snprintf(e->hurry_path, sizeof e->hurry_path, "%.200s/" CALM_HURRY, e->runtime_dir);
    early_boot_id_read(e->boot_id);
    snprintf(e->report_path, sizeof e->report_path, "%.200s/early-status", e->runtime_dir);
}

/* One early program per machine; the lock lives as long as the keeper. */
static bool early_runtime_lock(const struct early *e)
{
    char path[256];
    mkdir(e->runtime_dir, 0755);
    snprintf(path, sizeof path, "%.200s/early.lock", e->runtime_dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0; /* stays open on purpose */
}

/* Notes the generator of the image for kernel/sysconfig/sysconfig_boot.c. A link needs no open file. */
static void generator_note(const struct early *e)
{
    static const struct {
        const char *mark, *name;
    } known[] = {
        {"/scripts/init-top", "initramfs-tools"}, {"/usr/lib/dracut", "dracut"}, {"/init_functions", "mkinitcpio"}};
    const char *name = e->root.own ? "none" : "other";
    char        path[256];
    for (size_t i = 0; i < sizeof known / sizeof *known && !e->root.own; i++)
        if (access(known[i].mark, F_OK) == 0) {
            name = known[i].name;
            break;
        }
    snprintf(path, sizeof path, "%.200s/initramfs", e->runtime_dir);
    (void)!symlink(name, path);
}

/* In the background; never returns. */
static void background(struct early *e, char *own_name)
{
    static const struct {
        const char *path, *value;
    } self[] = {{"/proc/self/oom_score_adj", "1000"}};

    setsid();
    *own_name = '@'; /* E3 */
    prctl(PR_SET_NAME, "autologger-early");
    int null = open("/dev/null", O_RDWR), messages = open("/dev/kmsg", O_WRONLY);
    for (int i = 0; i < 3; i++)
        dup2(i == 2 && messages >= 0 ? messages : null, i);
    /* when memory runs out it is killed before anything that the machine needs */
    for (size_t i = 0; i < sizeof self / sizeof *self; i++) {
        int fd = open(self[i].path, O_WRONLY | O_CLOEXEC);
        if (fd >= 0) {
            (void)!write(fd, self[i].value, strlen(self[i].value));
            close(fd);
        }
    }
    if (!early_runtime_lock(e))
        _exit(0);
    generator_note(e);
    const struct keeper_options options = {.run           = service_run,
                                           .ctx           = e,
                                           .handover_path = e->handover_path,
                                           .look          = early_look,
                                           .watch_fd      = e->root.mountinfo_fd,
                                           .save          = early_save};
    keeper_run(&options);
    _exit(0);
}

static int early_start(struct early *e, char *own_name)
{
    const char *why = refusal(e);
    if (why) {
        visible_line(stderr, "autologger-early: not started: %s", why);
        return 0;
    }
    e->held_ns = mmap(NULL, sizeof *e->held_ns, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (e->held_ns == MAP_FAILED)
        e->held_ns = NULL;
    /* Before this command returns: its caller may move /proc away next, and a short initramfs is faster than the
     * background. */
    early_root_open(&e->root);
    early_root_stay(&e->root);
    if (e->foreground || fork() == 0)
        background(e, own_name);
    if (e->held_ns)
        *e->held_ns = early_now_ns() - e->begin_ns;
    return 0; /* E1 */
}

/* As process 1 (rdinit= in an initramfs, init= without one): starts, then becomes the init that would have run. */
static void as_init(struct early *e, char **argv)
{
    static const struct {
        const char *type, *path;
    } mounts[] = {{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/run"}};
    struct early_root root;

    for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
        mkdir(mounts[i].path, 0755);
        mount(mounts[i].type, mounts[i].path, mounts[i].type, MS_NOSUID | (i == 2 ? 0 : MS_NODEV),
              i == 3 ? "mode=755" : NULL);
    }
    early_root_open(&root);
    const char *next = root.own ? "/sbin/init" : "/init";
    early_root_close(&root);
    const pid_t starts = fork();
    if (starts == 0) {
        early_start(e, argv[0]);
        _exit(0);
    }
    if (starts > 0)
        (void)waitpid(starts, NULL, 0); /* the background goes on; the next init may move /proc */
    argv[0] = (char *)next;
    execv(next, argv);
    execv("/bin/sh", argv);
}

/* ---- the emergency shell ---- */

static int status(const struct early *e)
{
    struct control_client   *client = NULL;
    struct ctl_session_info *rows   = NULL;
    struct reason            why    = {0};
    unsigned                 count  = 0;

    fflush(stdout);
    bool report = early_report_copy(e->report_path, STDOUT_FILENO);
    if (control_open(e->runtime_dir, &client, &why) != W_SUCCESS ||
        control_query_all(client, &rows, &count, &why) != W_SUCCESS) {
        visible_line(stderr, "autologger-early: %s", why.text);
        control_close(client);
        return report ? 0 : EXIT_FAILED;
    }
    for (unsigned i = 0; i < count; i++)
        visible_printf(stdout, "%-24s %s  kernel events %llu, lost %llu, memory %llu KB\n", rows[i].name,
                       rows[i].state == SESSION_HELD ? "held in memory" : "running",
                       (unsigned long long)rows[i].attempted_kernel, (unsigned long long)ctl_events_lost(&rows[i]),
                       (unsigned long long)rows[i].peak_bytes / 1024);
    free(rows);
    control_close(client);
    return 0;
}

/* Saves a copy: the early program goes on. */
static int save_copy(struct early *e, const char *path)
{
    struct kept      k;
    struct reason    why   = {0};
    uint64_t         bytes = 0;
    uint8_t          key[MACHINE_KEY_SIZE];
    struct regstore *snapshot   = NULL;
    int              connection = handover_connect(e->handover_path);

    if (connection < 0) {
        visible_line(stderr, "autologger-early: nothing runs at %s", e->handover_path);
        return EXIT_FAILED;
    }
    /* for the store's path: the key is beside the store */
    if (regstore_open_snapshot(e->snapshot, &snapshot, &e->head, &why) == W_SUCCESS)
        regstore_close(snapshot);
    const bool sealed = machine_key_read(store_path(e), key, &why) == W_SUCCESS;
    wstatus    st =
        kept_init(&k) ? handover_receive(connection, &k, &why) : reason_set(&why, W_NOT_ENOUGH_MEMORY, "no memory");
    st = st ? st : alraw_write(path, &k, sealed ? key : NULL, e->boot_id, &bytes, &why);
    kept_finish(&k);
    close(connection); /* without an acknowledgement */
    if (st) {
        visible_line(stderr, "autologger-early: %s. Do: %s", why.text, wstatus_advice(st));
        return EXIT_FAILED;
    }
    visible_printf(stdout, "saved %llu KB to %s%s. Do: autologger recover %s%s\n", (unsigned long long)bytes / 1024,
                   path, sealed ? "" : ", without a seal: this machine's key is not here", sealed ? "" : "--unsealed ",
                   path);
    return 0;
}

static const char help[] =
    "Usage: autologger-early [OPTION...] [start]\n"
    "       autologger-early [OPTION...] status\n"
    "       autologger-early [OPTION...] save FILE\n"
    "Starts the declared trace sessions before the root file system exists, in the background.\n\n"
    "  start              what the initramfs calls; always exits 0\n"
    "  status             what was started, and what is held in memory\n"
    "  save FILE          a copy of what is held, for autologger recover\n\n"
    "  --snapshot FILE    the sealed snapshot (default /var/lib/autologger/boot.snapshot)\n"
    "  --runtime-dir DIR  sockets and lock (default /run/autologger)\n"
    "  --wait SECONDS     how long a daemon may take to come once the root can be written (default 90; also autologger.wait=SECONDS)\n"
    "  --daemon FILE      the daemon to start when none comes (default /usr/sbin/autologgerd)\n"
    "  --raw-dir DIR      where the .alraw file goes when there is none (default /var/log/autologger)\n"
    "  --foreground       start: do not go into the background (for a service manager)\n"
    "  --help\n\n"
    "autologger=off on the kernel command line keeps it from starting.\n"
    "Example: autologger-early save /mnt/boot.alraw\n"
    "Exit codes: 0 fine, 1 it failed, 100 called wrongly.\n";

/* "--name VALUE" or "--name=VALUE": the value, with *i on it; NULL: another option, or no value. (The C library's
 * getopt_long alone is as large as all option code of this file may be.) */
static const char *option_value(const char *name, int argc, char **argv, int *i)
{
    const size_t n  = strlen(name);
    const char  *at = argv[*i];
    if (strncmp(at, "--", 2) != 0 || strncmp(at + 2, name, n) != 0)
        return NULL;
    if (at[2 + n] == '=')
        return at + 3 + n;
    return at[2 + n] || *i + 1 >= argc ? NULL : argv[++*i];
}

enum { WORDS_MAX = 2 };
/* Words that are no options go to `words`; *count may exceed its size. False: help, or an unknown option. */
static bool options_take(struct early *e, int argc, char **argv, const char **words, int *count)
{
    const struct {
        const char  *name;
        const char **to;
    } texts[] = {
        {"snapshot", &e->snapshot}, {"runtime-dir", &e->runtime_dir}, {"daemon", &e->daemon}, {"raw-dir", &e->raw_dir}};
    for (int i = 1; i < argc; i++) {
        const char *value = option_value("wait", argc, argv, &i);
        size_t      k     = 0;
        if (value)
            e->wait_seconds = (unsigned)strtoul(value, NULL, 10);
        while (!value && k < sizeof texts / sizeof *texts)
            if ((value = option_value(texts[k++].name, argc, argv, &i)))
                *texts[k - 1].to = value;
        if (value)
            continue;
        if (strcmp(argv[i], "--foreground") == 0)
            e->foreground = true;
        else if (*argv[i] == '-')
            return false;
        else if ((*count)++ < WORDS_MAX)
            words[*count - 1] = argv[i];
    }
    return true;
}

int main(int argc, char **argv)
{
    const char  *words[WORDS_MAX] = {"start"};
    int          count            = 0;
    struct early e                = {.snapshot     = "/var/lib/autologger/boot.snapshot",
                                     .runtime_dir  = "/run/autologger",
                                     .daemon       = "/usr/sbin/autologgerd",
                                     .raw_dir      = "/var/log/autologger",
                                     .wait_seconds = DAEMON_WAIT_SECONDS};

    e.begin_ns = early_now_ns();
    if (getpid() == 1) {
        paths_fill(&e);
        as_init(&e, argv);
        return EXIT_REFUSED; /* there was no init to execute */
    }
    if (options_take(&e, argc, argv, words, &count)) {
        paths_fill(&e);
        if (strcmp(words[0], "start") == 0 && count <= 1)
            return early_start(&e, argv[0]);
        if (strcmp(words[0], "status") == 0 && count == 1)
            return status(&e);
        if (strcmp(words[0], "save") == 0 && count == 2)
            return save_copy(&e, words[1]);
    }
    const bool asked = argc > 1 && strcmp(argv[argc - 1], "--help") == 0;
    fputs(help, asked ? stdout : stderr); /* visible: ours */
    return asked ? 0 : EXIT_WRONG_CALL;
}
