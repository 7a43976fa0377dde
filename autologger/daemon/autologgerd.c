/* autologgerd - the daemon's main: options, runtime folder, lock, keeper. Everything else is service.c. */
#include "autologger/control/outcast.h"
#include "autologger/daemon/early/guard.h"
#include "autologger/daemon/end/boot_end.h"
#include "autologger/daemon/end/cpu_watch.h"
#include "autologger/daemon/end/merge_job.h"
#include "autologger/daemon/end/results_save.h"
#include "autologger/daemon/keeper.h"
#include "autologger/daemon/parts/collector.h"
#include "autologger/daemon/parts/companion.h"
#include "autologger/daemon/parts/confine.h"
#include "autologger/daemon/parts/outcasts.h"
#include "autologger/daemon/parts/runtime_dir.h"
#include "autologger/daemon/parts/writer.h"
#include "autologger/daemon/private.h"
#include "autologger/daemon/rights_store.h"
#include "autologger/daemon/self_start.h"
#include "autologger/daemon/service.h"
#include "autologger/daemon/syslog_rows.h"
#include "autologger/kernel/sysconfig/sysconfig.h"
#include "registry-sim/base/visible_print.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    OPTION_STORE = 1000,
    OPTION_LOG_DIR,
    OPTION_RUNTIME_DIR,
    OPTION_HOLD,
    OPTION_REHEARSAL,
    OPTION_KEEP,
    OPTION_ADOPT,
    OPTION_BOOT,
    OPTION_BOOT_ID,
    OPTION_GUARD,
    OPTION_SYSTEMD_DIR,
    OPTION_PROC_STAT,
    OPTION_KEEP_PREMERGE,
    OPTION_MERGE_WAIT,
    OPTION_SYSTEMD_BUS,
    OPTION_CONFINE,
    OPTION_CONTROL_GROUP
};
#define RUNTIME_DIR "/run/autologger"
#define SYSTEMD_DIR "/run/systemd/system"
#define SNAPSHOT_PATH "var/lib/autologger/boot.snapshot"
enum { EXIT_FAILED = 1, EXIT_WRONG_CALL = 100, EXIT_REFUSED = 111, SHUTDOWN_MERGE_MS = 3000 };

struct autologgerd_arguments {
    struct service_options service;
    bool                   keep, adopt, is_boot, confine;
    const char            *guard_path, *systemd_dir, *systemd_bus, *proc_stat;
    bool                   keep_premerge;
    const char            *merge_wait; /* s */
    const char            *control_group;
    uint32_t               control_gid;
};

static const struct argp_option autologgerd_options[] = {
    {"store", OPTION_STORE, "FILE", 0, "the store (default /var/lib/autologger/registry.db)", 0},
    {"log-dir", OPTION_LOG_DIR, "DIR", 0, "where log files go (default /var/log/autologger)", 0},
    {"runtime-dir", OPTION_RUNTIME_DIR, "DIR", 0,
     "socket and lock (default $AUTOLOGGER_RUNTIME_DIR or /run/autologger)", 0},
    {"hold", OPTION_HOLD, NULL, 0, "create no file until a controller says that the file system is ready", 0},
    {"keep", OPTION_KEEP, NULL, 0, "run below a small parent that restarts the daemon without loss when it dies", 0},
    {"adopt", OPTION_ADOPT, NULL, 0, "with --keep: only if the early program waits to hand over what it recorded", 0},
    {"boot", OPTION_BOOT, NULL, 0,
     "this is the boot of the machine: it is traced once, and ends by itself (StopAfter, MaxWait)", 0},
    {"boot-id", OPTION_BOOT_ID, "ID", 0, "with --boot: of which boot (default: the kernel's id of this boot)", 0},
    {"guard", OPTION_GUARD, "FILE", 0, "with --boot: which boots came up (default /" GUARD_PATH ")", 0},
    {"systemd-dir", OPTION_SYSTEMD_DIR, "DIR", 0, "exists where systemd runs (default /run/systemd/system)", 0},
    {"systemd-bus", OPTION_SYSTEMD_BUS, "ADDRESS", 0,
     "where systemd is asked for its units (default unix:path=/run/systemd/private)", 0},
    {"proc-stat", OPTION_PROC_STAT, "FILE", 0, "with --boot: the counters of the processors (default /proc/stat)", 0},
    {"keep-premerge", OPTION_KEEP_PREMERGE, NULL, 0, "with --boot: keep the files that were merged", 0},
    {"merge-wait", OPTION_MERGE_WAIT, "S", 0,
     "with --boot: how many seconds a shutdown waits until files are merged (default 3); 0: the next "
     "boot merges them",
     0},
    {"confine", OPTION_CONFINE, NULL, 0,
     "give up for good what the daemon never needs, by a filter of its system calls", 0},
    {"control-group", OPTION_CONTROL_GROUP, "GROUP", 0,
     "root and this group alone may control and consume sessions, whatever rights others have; "
     "programs of all users still write",
     0},
    {"rehearsal", OPTION_REHEARSAL, NULL, 0, "this boot is a rehearsal", 0},
    {0},
};

/* By name or number. */
static bool group_id(const char *group, uint32_t *out)
{
    char               *end;
    const unsigned long number = strtoul(group, &end, 10);
    if (*group >= '0' && *group <= '9' && !*end && number < RIGHTS_NO_GROUP)
        *out = (uint32_t)number;
    else
        *out = rights_group_find("/etc/group", group);
    return *out != RIGHTS_NO_GROUP;
}

static error_t autologgerd_parse(int key, char *arg, struct argp_state *state)
{
    struct autologgerd_arguments *a = state->input;
    switch (key) {
    case OPTION_STORE: a->service.store_path = arg; return 0;
    case OPTION_LOG_DIR: a->service.log_dir = arg; return 0;
    case OPTION_RUNTIME_DIR: a->service.runtime_dir = arg; return 0;
    case OPTION_HOLD: a->service.hold = true; return 0;
    case OPTION_KEEP: a->keep = true; return 0;
    case OPTION_ADOPT: a->adopt = true; return 0;
    case OPTION_BOOT: a->is_boot = true; return 0;
    case OPTION_BOOT_ID: a->service.boot_id = arg; return 0;
    case OPTION_GUARD: a->guard_path = arg; return 0;
    case OPTION_SYSTEMD_DIR: a->systemd_dir = arg; return 0;
    case OPTION_SYSTEMD_BUS: a->systemd_bus = arg; return 0;
    case OPTION_PROC_STAT: a->proc_stat = arg; return 0;
    case OPTION_KEEP_PREMERGE: a->keep_premerge = true; return 0;
    case OPTION_MERGE_WAIT:
        if (!*arg || strspn(arg, "0123456789") != strlen(arg) || strlen(arg) > 3)
            argp_error(state, "--merge-wait takes 0 to 999 seconds, not \"%s\"", arg);
        a->merge_wait = arg;
        return 0;
    case OPTION_CONFINE: a->confine = true; return 0;
    case OPTION_CONTROL_GROUP:
        if (!group_id(arg, &a->control_gid))
            argp_error(state, "--control-group: there is no group \"%s\" in /etc/group", arg);
        a->control_group         = arg;
        a->service.control_group = &a->control_gid;
        return 0;
    case OPTION_REHEARSAL: a->service.rehearsal = true; return 0;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument \"%s\"", arg); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* One daemon per runtime folder. The lock lives as long as the process (with --keep: the keeper). */
static bool autologgerd_runtime_lock(const char *dir)
{
    char         path[1024];
    const mode_t files = umask(022); /* for all users: the unit's umask is for log files */
    const int    made  = mkdir(dir, 0755);

    umask(files);
    if (made < 0 && errno != EEXIST) {
        visible_line(stderr, "autologgerd: cannot create the runtime folder %s: %s", dir, strerror(errno));
        return false;
    }
    snprintf(path, sizeof path, "%s/lock", dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0) {
        visible_line(stderr, "autologgerd: %s. Do: stop the daemon that runs there, or choose another --runtime-dir",
                     fd >= 0 && errno == EWOULDBLOCK ? "another daemon holds the lock of this runtime folder"
                                                     : strerror(errno));
        return false;
    }
    return true; /* fd stays open on purpose */
}

static int boot_arguments(const struct autologgerd_arguments *a, char **argv)
{
    int n = 0;
    if (!a->is_boot)
        return 0;
    argv[n++] = (char *)"--boot";
    argv[n++] = (char *)"--guard";
    argv[n++] = (char *)a->guard_path;
    argv[n++] = (char *)"--proc-stat";
    argv[n++] = (char *)a->proc_stat;
    if (a->service.boot_id) {
        argv[n++] = (char *)"--boot-id";
        argv[n++] = (char *)a->service.boot_id;
    }
    if (a->keep_premerge)
        argv[n++] = (char *)"--keep-premerge";
    if (a->merge_wait) {
        argv[n++] = (char *)"--merge-wait";
        argv[n++] = (char *)a->merge_wait;
    }
    return n;
}

/* The daemon below the keeper: the same command line without --keep. */
static int run_kept(struct autologgerd_arguments *a)
{
    const struct service_options *o = &a->service;
    char                          socket_path[1024], handover_path[1024], self[1024];
    char                         *argv[32];
    int                           argc = 0;
    ssize_t                       n    = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0)
        return EXIT_REFUSED;
    self[n] = 0;
    snprintf(socket_path, sizeof socket_path, "%s/keep", o->runtime_dir);
    snprintf(handover_path, sizeof handover_path, "%s/handover", o->runtime_dir);
    if (a->adopt && access(handover_path, F_OK) < 0) {
        visible_line(stderr, "autologgerd: nothing waits to be adopted in %s", o->runtime_dir);
        return EXIT_FAILED;
    }
    argv[argc++] = self;
    argv[argc++] = (char *)"--store";
    argv[argc++] = (char *)o->store_path;
    argv[argc++] = (char *)"--log-dir";
    argv[argc++] = (char *)o->log_dir;
    argv[argc++] = (char *)"--runtime-dir";
    argv[argc++] = (char *)o->runtime_dir;
    if (o->hold)
        argv[argc++] = (char *)"--hold";
    if (o->rehearsal)
        argv[argc++] = (char *)"--rehearsal";
    argv[argc++] = (char *)"--systemd-dir";
    argv[argc++] = (char *)a->systemd_dir;
    if (a->systemd_bus) {
        argv[argc++] = (char *)"--systemd-bus";
        argv[argc++] = (char *)a->systemd_bus;
    }
    if (a->control_group) {
        argv[argc++] = (char *)"--control-group";
        argv[argc++] = (char *)a->control_group;
    }
    argc += boot_arguments(a, argv + argc);
    argv[argc]                         = NULL;
    const struct keeper_options keeper = {.argv = argv, .socket_path = socket_path, .takeover_path = handover_path};
    int                         code   = keeper_run(&keeper);
    if (o->rehearsal)
        runtime_dir_remove(o->runtime_dir);
    return code;
}

/* For the machine's own daemon alone: rehearsals and tests do not belong in the system's log. */
static void log_rows(void *ctx, const struct result_list *rows)
{
    (void)ctx;
    syslog_rows_send(rows, &syslog_sockets_default);
}

/* Runs a command that nobody waits for. */
static void autologgerd_aside(const char *const *argv)
{
    char *const        *words;
    const char *const **given = &argv;
    sigset_t            none;
    memcpy(&words, given, sizeof words); /* execvp does not change them */
    pid_t pid = fork();
    if (pid == 0 && fork() == 0) {
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execvp(argv[0], words);
    }
    if (pid == 0)
        _exit(0);
    if (pid > 0)
        waitpid(pid, NULL, 0);
}

/* A unit of its own, with its own rights and priority, puts back what apply put in place for one boot: it builds the
 * initramfs. The daemon of a test has a folder of its own that says that systemd runs. */
static void used_up(void *ctx)
{
    static const char *const unit[] = {"systemctl", "--quiet", "--no-block", "start", "autologger-once.service", NULL};
    const struct autologgerd_arguments *a = ctx;
    bool systemd = access(a->systemd_dir, F_OK) == 0, machines = strcmp(a->service.runtime_dir, RUNTIME_DIR) == 0;
    if (systemd && (machines || strcmp(a->systemd_dir, SYSTEMD_DIR) != 0))
        autologgerd_aside(unit);
    else if (!systemd && machines && access("/" SNAPSHOT_PATH, F_OK) == 0)
        close(collector_launch(CLEAN_WORD)); /* it builds an initramfs: this process lacks the rights for that */
}

/* Starts the unit that watches the rows here, where the daemon takes over, and not by the daemon's unit: systemd would
 * do it while the machine boots, and that is more work for it than the daemon's unit. */
static void row_watch_start(const struct autologgerd_arguments *a)
{
    static const char *const unit[] = {"systemctl", "--quiet", "--no-block", "start", "autologger-status.path", NULL};
    if (!a->is_boot || !getenv("NOTIFY_SOCKET") || access(a->systemd_dir, F_OK) < 0 ||
        strcmp(a->service.runtime_dir, RUNTIME_DIR) != 0)
        return;
    autologgerd_aside(unit);
}

static int clean_once_run(void)
{
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    self_alone();
    if (null < 0 || dup2(null, 0) < 0)
        return EXIT_REFUSED;
    execl("/usr/bin/autologger", "autologger", "clean", "--once", NULL);
    return EXIT_REFUSED;
}

/* Runs this program as one of the daemon's other processes; returns its exit code. -1: it is the daemon. */
static int part_run(int argc, char **argv)
{
    static const struct {
        const char *word;
        int (*run)(void);
    } parts[] = {{OUTCASTS_WORD, outcasts_run},
                 {WRITER_WORD, writer_run},
                 {MERGE_WORD, merge_job_run},
                 {COLLECTOR_WORD, collector_run},
                 {CLEAN_WORD, clean_once_run}};
    for (size_t i = 0; argc == 2 && i < sizeof parts / sizeof *parts; i++)
        if (strcmp(argv[1], parts[i].word) == 0)
            return parts[i].run();
    return -1;
}

static struct autologgerd_arguments arguments_default(void)
{
    static const struct service_rights rights  = {rights_load,   rights_save,  rights_asked,  rights_destroy,
                                                  server_access, "/etc/group", &writer_owner, rights_digest};
    const char                        *runtime = getenv("AUTOLOGGER_RUNTIME_DIR");
    return (struct autologgerd_arguments){.service     = {.store_path    = "/var/lib/autologger/registry.db",
                                                          .log_dir       = "/var/log/autologger",
                                                          .runtime_dir   = runtime && *runtime ? runtime : RUNTIME_DIR,
                                                          .store_open    = regstore_open,
                                                          .save          = results_save,
                                                          .update        = update_now,
                                                          .updated       = updated_now,
                                                          .start         = start_now,
                                                          .started       = started_now,
                                                          .file          = file_now,
                                                          .next_file     = logger_next_file,
                                                          .modes         = &logger_modes,
                                                          .gone          = private_gone,
                                                          .ended         = private_ended,
                                                          .enabling      = &control_enabling,
                                                          .rights        = &rights,
                                                          .cpus_open     = cpu_watch_open,
                                                          .cpus_empty    = cpu_watch_empty,
                                                          .cpus_look     = session_cpus,
                                                          .realtime      = &realtime_delivery,
                                                          .system_config = sysconfig_collect},
                                          .guard_path  = "/" GUARD_PATH,
                                          .systemd_dir = SYSTEMD_DIR,
                                          .proc_stat   = "/proc/stat"};
}

/* Runs the service, with its companions, to its end; returns the exit code of the process. */
static int serve(struct autologgerd_arguments *a)
{
    struct service               *service        = NULL;
    struct reason                 why            = {0};
    const struct boot_end_options boot_options   = {a->service.store_path,
                                                    a->service.runtime_dir,
                                                    a->guard_path,
                                                    a->systemd_dir,
                                                    a->proc_stat,
                                                    a->keep_premerge,
                                                  a->merge_wait ? (unsigned)atoi(a->merge_wait) * 1000
                                                                  : SHUTDOWN_MERGE_MS,
                                                    a->service.store_open,
                                                    used_up,
                                                    a};
    struct boot_end              *boot           = a->is_boot ? boot_end_create(os_linux(), &boot_options) : NULL;
    a->service.boot                              = boot ? boot_end_part(boot) : NULL;
    const struct companion_options units_options = {
        .needs = a->systemd_dir, .option = "--bus", .option_value = a->systemd_bus};
    const struct companion_options plain     = {0};
    struct companion              *units     = companion_create(&unit_provider, &units_options, NULL);
    struct companion              *processes = companion_create(&process_provider, &plain, companion_part(units));
    a->service.beside                        = companion_part(processes ? processes : units);
    outcast_helper(outcasts_start);
    struct handed *handed = handed_create();
    wstatus        st     = handed ? service_create(&a->service, handed, &service, &why) : W_NOT_ENOUGH_MEMORY;
    if (st) {
        visible_line(stderr, "autologgerd: %s (%u). Do: %s", why.text, st, wstatus_advice(st));
        handed_destroy(handed);
        return EXIT_REFUSED;
    }
    bool left;
    st = service_loop(service, &left, &why);
    if (left)
        _exit(0); /* everything stays as it is for the successor */
    service_destroy(service);
    boot_end_destroy(boot);
    companion_destroy(units);
    companion_destroy(processes);
    handed_destroy(handed);
    return st ? EXIT_FAILED : 0;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        autologgerd_options,
        autologgerd_parse,
        NULL,
        "The autologger daemon: boots the declared sessions and serves programs and controllers.\v"
        "Example: autologgerd --store r.db --log-dir /tmp/logs --runtime-dir /tmp/run\n"
        "Exit codes: 0 fine, 1 the results could not be written, 100 called wrongly, 111 the system refused.",
        NULL,
        NULL,
        NULL};
    struct autologgerd_arguments a   = arguments_default();
    struct reason                why = {0};

    const int part = part_run(argc, argv);
    if (part >= 0)
        return part;
    argp_err_exit_status = EXIT_WRONG_CALL;
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (!a.service.rehearsal && strcmp(a.service.runtime_dir, RUNTIME_DIR) == 0)
        a.service.concluded = log_rows;
    if (a.confine && confine(&why) != W_SUCCESS)
        visible_line(stderr, "autologgerd: it keeps the right to all system calls: %s",
                     why.text); /* it works all the same */
    bool below_keeper = getenv("NOTIFY_SOCKET") != NULL && getenv("AUTOLOGGER_KEPT") != NULL;
    if (!below_keeper && !autologgerd_runtime_lock(a.service.runtime_dir))
        return EXIT_REFUSED;
    if (a.keep) {
        row_watch_start(&a);
        setenv("AUTOLOGGER_KEPT", "1", 1);
        return run_kept(&a);
    }
    if (collector_begin(below_keeper, a.control_group != NULL, &why) != W_SUCCESS)
        visible_line(stderr, "autologgerd: it keeps all rights: %s", why.text); /* it works all the same */
    return serve(&a);
}
