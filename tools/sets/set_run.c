/* set_run.c - see set_run.h. */
#include "tools/sets/set_run.h"
#include "autologger/control/client.h"
#include "registry-sim/base/visible_print.h"
#include "registry-sim/text/winpath.h"
#include "tools/base/verb.h"
#include "tools/live/session_start.h"
#include "tools/sets/set_configuration.h"
#include "tools/sets/set_counters.h"
#include "tools/sets/set_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RUNS_A_SECOND = 100, FOLDERS_OPEN = 16, GONE_SECONDS = 5 };
static volatile sig_atomic_t set_run_stops;
static struct set_counters  *set_run_counting; /* from begin to end */

static void set_run_on_signal(int number)
{
    (void)number;
    set_run_stops = 1;
}

/* ---- folders ---- */

static uint64_t set_size_sum;
static int      set_size_add(const char *path, const struct stat *is, int kind, struct FTW *at)
{
    (void)path, (void)at;
    set_size_sum += kind == FTW_F ? (uint64_t)is->st_blocks * 512 : 0;
    return 0;
}

uint64_t set_folder_size(const char *folder)
{
    set_size_sum = 0;
    nftw(folder, set_size_add, FOLDERS_OPEN, FTW_PHYS);
    return set_size_sum;
}

static int set_folder_remove_one(const char *path, const struct stat *is, int kind, struct FTW *at)
{
    (void)is, (void)kind, (void)at;
    return remove(path);
}

static void set_folder_remove(const char *folder)
{
    nftw(folder, set_folder_remove_one, FOLDERS_OPEN, FTW_PHYS | FTW_DEPTH);
}

/* Makes the folder and those above it. */
static wstatus set_folder_make(char *path, struct reason *why)
{
    for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p            = 0;
        const int bad = mkdir(path, 0750) && errno != EEXIST;
        *p            = '/';
        if (bad)
            return reason_set(why, wstatus_from_errno(errno), "%s: %s", path, strerror(errno));
    }
    return W_SUCCESS;
}

/* The folder above the results of a set. */
static wstatus set_run_above(const struct set_run *r, char *out, size_t size, struct reason *why)
{
    char        of_name[128], *mapped = NULL;
    const char *folder = collector_set_text(r->set, VALUE_SET_FOLDER);
    snprintf(of_name, sizeof of_name, "C:\\PerfLogs\\%s", r->set->name);
    const wstatus st = winpath_map(*folder ? folder : of_name, r->log_dir, false, &mapped, why);
    if (!st)
        snprintf(out, size, "%s", mapped);
    free(mapped);
    return st;
}

/* "ABOVE/NAME_20261128-093000" (UTC), "-2" for a second one in that second. */
static wstatus set_run_folder(struct set_run *r, struct reason *why)
{
    char            above[700], stamp[32];
    struct tm       utc;
    struct timespec now;
    wstatus         st = set_run_above(r, above, sizeof above, why);
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc); /* names that sort by time, also when summer ends */
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &utc);
    for (unsigned n = 1; !st && n <= RUNS_A_SECOND; n++) {
        char number[16] = "";
        if (n > 1)
            snprintf(number, sizeof number, "-%u", n);
        snprintf(r->result, sizeof r->result, "%s/%s_%s%s", above, r->set->name, stamp, number);
        st = set_folder_make(r->result, why);
        if (!st && mkdir(r->result, 0750) == 0)
            return W_SUCCESS;
        if (!st && errno != EEXIST)
            st = reason_set(why, wstatus_from_errno(errno), "%s: %s", r->result, strerror(errno));
    }
    *r->result = 0;
    return st ? st : reason_set(why, W_ALREADY_EXISTS, "%s has too many results of this second", above);
}

/* ---- sessions ---- */

/* The declaration of one session, with the result's folder for its file. */
static wstatus set_session_declare(const struct set_run *r, unsigned i, struct regstore *to, struct reason *why)
{
    char        from[512], as[512], file[1400];
    const char *name = r->set->sessions.names[i];
    struct guid id   = guid_from_name(name);
    char        guid[GUID_TEXT_SIZE];
    snprintf(from, sizeof from, "%s\\%s", r->set->key, name);
    snprintf(as, sizeof as, "%s\\Autologger\\%s", WINPATH_WMI, name);
    snprintf(file, sizeof file, "%s/%s.etl", r->result, name);
    wstatus st = collector_set_copy(r->store, from, to, as, why);
    st         = st ? st : session_value_set(to, name, NULL, "Start", "yes", why);
    st         = st ? st : session_value_set(to, name, NULL, "Guid", guid_format(&id, guid), why);
    st         = st ? st : session_value_set(to, name, NULL, "FileName", file, why);
    if (!st && i == 0 && set_run_counting)
        st = session_provider_add(to, name, SET_COUNTERS_PROVIDER ":Informational", why);
    return st;
}

/* Without a session of its own a set has one, of its name, for the counters. */
static wstatus set_session_own(const struct set_run *r, struct regstore *to, struct reason *why)
{
    char        file[1400], guid[GUID_TEXT_SIZE];
    struct guid id = guid_from_name(r->set->name);
    snprintf(file, sizeof file, "%s/%s.etl", r->result, r->set->name);
    wstatus st = session_value_set(to, r->set->name, NULL, "Start", "yes", why);
    st         = st ? st : session_value_set(to, r->set->name, NULL, "Guid", guid_format(&id, guid), why);
    st         = st ? st : session_value_set(to, r->set->name, NULL, "FileName", file, why);
    return st ? st : session_provider_add(to, r->set->name, SET_COUNTERS_PROVIDER ":Informational", why);
}

/* The sessions of a run: those declared, or its own one. */
static unsigned set_run_sessions(const struct set_run *r)
{
    return r->set->sessions.count ? r->set->sessions.count : set_run_counting != NULL;
}

static const char *set_run_session(const struct set_run *r, unsigned i)
{
    return r->set->sessions.count ? r->set->sessions.names[i] : r->set->name;
}

/* Stops sessions [0, count). Their files are at r->result/SESSION.etl. */
static wstatus set_sessions_stop(const struct set_run *r, unsigned count, struct reason *why)
{
    struct control_client  *c = NULL;
    struct ctl_session_info last;
    wstatus                 st = control_open(r->runtime_dir, &c, why);
    for (unsigned i = 0; !st && i < count; i++) {
        const wstatus one = control_stop(c, set_run_session(r, i), &last, why);
        if (one && one != W_WMI_INSTANCE_NOT_FOUND) /* stopped by somebody else */
            st = one;
    }
    control_close(c);
    return st;
}

static wstatus set_sessions_start(const struct set_run *r, struct reason *why)
{
    struct ctl_update_answer *answer = calloc(1, sizeof *answer);
    struct control_client    *c      = NULL;
    struct regstore          *to     = NULL;
    char                      key[300];
    unsigned                  started = 0;
    wstatus                   st      = answer ? regstore_open_memory(&to, why) : W_NOT_ENOUGH_MEMORY;
    st                                = st ? st : control_open(r->runtime_dir, &c, why);
    for (unsigned i = 0; !st && i < set_run_sessions(r); i++) {
        st = r->set->sessions.count ? set_session_declare(r, i, to, why) : set_session_own(r, to, why);
        snprintf(key, sizeof key, "Autologger\\%s", set_run_session(r, i));
        st = st ? st : session_start_declared(c, to, key, answer, why);
        if (st) {
            const struct reason of = *why;
            reason_set(why, st, "session \"%s\": %s", set_run_session(r, i), of.text);
        } else
            started++;
    }
    control_close(c);
    regstore_close(to);
    free(answer);
    if (st) {
        struct reason ignored;
        set_sessions_stop(r, started, &ignored);
    }
    return st;
}

/* ---- a run ---- */

/* From the first thing that a run does on, a signal ends it in order. */
static void set_run_listen(void)
{
    const struct sigaction action = {.sa_handler = set_run_on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

/* Stops sessions that a run left behind whose process was killed: their files are in its result. */
static void set_left_over_stop(const struct set_run *r)
{
    struct control_client   *c     = NULL;
    struct ctl_session_info *all   = NULL, last;
    unsigned                 count = 0;
    struct reason            why;
    const size_t             n = strlen(r->left_over);
    if (n && control_open(r->runtime_dir, &c, &why) == W_SUCCESS &&
        control_query_all(c, &all, &count, &why) == W_SUCCESS)
        for (unsigned i = 0; i < count; i++)
            if (strncmp(all[i].log_path, r->left_over, n) == 0 && all[i].log_path[n] == '/' &&
                control_stop(c, all[i].name, &last, &why) == W_SUCCESS)
                visible_printf(
                    stderr, "autologger set: session \"%s\" of a run that was killed is stopped; its file is in %s\n",
                    all[i].name, r->left_over);
    free(all);
    control_close(c);
}

/* True: some session of the run is still there. A daemon that does not answer may be one that starts anew. */
static bool set_sessions_run(const struct set_run *r)
{
    struct control_client   *c     = NULL;
    struct ctl_session_info *all   = NULL;
    unsigned                 count = 0;
    bool                     some  = false;
    if (control_open(r->runtime_dir, &c, NULL))
        return false;
    if (control_query_all(c, &all, &count, NULL))
        some = true;
    for (unsigned i = 0; i < count && !some; i++)
        for (unsigned k = 0; k < set_run_sessions(r); k++)
            some = some || strcmp(all[i].name, set_run_session(r, k)) == 0;
    free(all);
    control_close(c);
    return some;
}

static double set_run_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

wstatus set_run_begin(struct set_run *r, struct reason *why)
{
    char path[1400];
    bool counts = false;
    for (unsigned i = 0; i < SET_COUNTERS; i++)
        counts = counts || r->set->counters[i];
    if (!counts && !r->set->sessions.count && !*collector_set_text(r->set, VALUE_SET_CONFIGURATION))
        return reason_set(why, W_INVALID_PARAMETER,
                          "set \"%s\" collects nothing. Do: give it a session, Counters or Configuration",
                          r->set->name);
    set_run_listen();
    set_left_over_stop(r);
    wstatus st = set_run_folder(r, why);
    st         = st ? st : set_state_write(r->lock, r->result, why);
    if (!st && counts)
        st = set_counters_open(r->set->counters, r->runtime_dir, &set_run_counting, why);
    if (!st && *collector_set_text(r->set, VALUE_SET_CONFIGURATION)) {
        snprintf(path, sizeof path, "%s/configuration.json", r->result);
        st = set_configuration_write(r->set, r->store, path, why);
    }
    st = st ? st : set_sessions_start(r, why);
    if (st && *r->result) {
        set_folder_remove(r->result);
        set_counters_close(set_run_counting);
        set_run_counting = NULL;
    }
    return st;
}

wstatus set_run_wait(struct set_run *r, struct reason *why)
{
    const double   duration = (double)r->set->values.at[VALUE_SET_DURATION].number;
    const double   interval = (double)r->set->values.at[VALUE_SET_COUNTER_INTERVAL].number;
    const uint64_t size     = r->set->values.at[VALUE_SET_STOP_SIZE].number << 20;
    const double   begin    = set_run_seconds();
    double         next     = 0; /* of the counters */
    double         seen     = 0; /* when a session was last there */
    if (!set_run_sessions(r))
        return W_SUCCESS; /* the configuration alone */
    while (!set_run_stops) {
        const double now = set_run_seconds() - begin;
        if (set_run_counting && now >= next) {
            r->lost_counters += set_counters_take(set_run_counting, why) != W_SUCCESS;
            next += interval * (1 + (double)(uint64_t)((now - next) / interval));
        }
        if (set_sessions_run(r))
            seen = now;
        if ((duration > 0 && now >= duration) || (size && set_folder_size(r->result) >= size))
            break;
        if (now - seen >= GONE_SECONDS)
            return reason_set(why, W_WMI_INSTANCE_NOT_FOUND, "the sessions of the set were stopped by somebody else");
        struct timespec left = {1, 0};
        if (duration > 0 && duration - now < 1)
            left = (struct timespec){0, (long)((duration - now) * 1e9) + 1};
        nanosleep(&left, NULL); /* a signal ends it */
    }
    return W_SUCCESS;
}

/* Runs a verb in a process of its own, its output to a file or nowhere; the exit code. */
static int set_run_verb(const char *output, const char *const *words)
{
    int status = 0;
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        char              *argv[SET_SESSIONS + 8], name[64], typed[VERB_WORD];
        int                n    = 0;
        const int          fd   = open(output ? output : "/dev/null", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
        const struct verb *verb = verb_find(words[0]);
        if (fd < 0 || !verb || dup2(fd, STDOUT_FILENO) < 0)
            _exit(VERB_REFUSED);
        snprintf(name, sizeof name, "autologger %s", verb_word(verb, typed));
        argv[n++] = name;
        for (unsigned i = 1; words[i]; i++)
            argv[n++] = (char *)(uintptr_t)words[i];
        argv[n]        = NULL;
        const int code = verb->run(n, argv);
        _exit(fflush(NULL) ? VERB_REFUSED : code);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : VERB_REFUSED;
}

/* One file of all sessions; the single file of one session stays as it is. */
static wstatus set_run_merge(struct set_run *r, struct reason *why)
{
    static char file[SET_SESSIONS][1400];
    const char *words[SET_SESSIONS + 6] = {"merge"};
    const char *missing                 = NULL;
    unsigned    n = 1, files = 0;
    for (unsigned i = 0; i < set_run_sessions(r); i++) {
        snprintf(file[i], sizeof file[i], "%s/%s.etl", r->result, set_run_session(r, i));
        if (access(file[i], F_OK) == 0) {
            words[n++] = file[i];
            files++;
        } else if (!missing)
            missing = set_run_session(r, i);
    }
    *r->trace = 0;
    if (missing)
        return reason_set(why, W_FILE_NOT_FOUND, "session \"%s\" left no file in %s", missing, r->result);
    if (!files)
        return W_SUCCESS;
    snprintf(r->trace, sizeof r->trace, "%s", words[1]);
    if (files == 1)
        return W_SUCCESS;
    snprintf(r->trace, sizeof r->trace, "%s/%s-merged.etl", r->result, r->set->name);
    words[n++] = "--output";
    words[n++] = r->trace;
    words[n]   = NULL;
    if (set_run_verb(NULL, words) == VERB_FINE)
        return W_SUCCESS;
    *r->trace = 0;
    return reason_set(why, W_GEN_FAILURE, "the files in %s could not be merged", r->result);
}

/* report.txt appears when it is complete: it tells that the result is. */
static wstatus set_run_report(const struct set_run *r, const struct reason *failed, struct reason *why)
{
    char  making[1400], path[1400];
    FILE *to;
    snprintf(making, sizeof making, "%s/report.txt~", r->result);
    snprintf(path, sizeof path, "%s/report.txt", r->result);
    to = fopen(making, "wxe");
    if (!to)
        return reason_set(why, wstatus_from_errno(errno), "%s: %s", path, strerror(errno));
    visible_printf(to, "set %s\n\n", r->set->name);
    if (failed->text[0])
        visible_printf(to, "NOT COMPLETE: %s\n\n", failed->text);
    if (set_run_counting)
        set_counters_print(set_run_counting, to);
    if (r->lost_counters)
        visible_printf(to, "%u readings of counters are missing in the trace\n", r->lost_counters);
    fputc('\n', to);
    const bool written = !ferror(to);
    if (fclose(to) || !written)
        return reason_set(why, wstatus_from_errno(errno), "%s: %s", path, strerror(errno));
    if (*r->trace && set_run_verb(making, (const char *const[]){"summary", r->trace, NULL}) != VERB_FINE)
        return reason_set(why, W_GEN_FAILURE, "the summary of %s is not complete", r->trace);
    return rename(making, path) ? reason_set(why, wstatus_from_errno(errno), "%s: %s", path, strerror(errno))
                                : W_SUCCESS;
}

/* NAME_YYYYMMDD-HHMMSS[-N]: a result of this set, and of no other. */
static bool set_run_is_result(const struct set_run *r, const char *name)
{
    static const char form[] = "dddddddd-dddddd";
    const size_t      n      = strlen(r->set->name);
    if (strncmp(name, r->set->name, n) != 0 || name[n] != '_')
        return false;
    name += n + 1;
    for (const char *f = form; *f; f++, name++)
        if (*f == 'd' ? *name < '0' || *name > '9' : *name != *f)
            return false;
    return !*name || (*name == '-' && name[1] && !name[1 + strspn(name + 1, "0123456789")]);
}

/* The newest KeepResults results stay, and this one. */
static void set_run_keep(const struct set_run *r)
{
    const uint64_t  keep = r->set->values.at[VALUE_SET_KEEP].number;
    char            above[700], path[1400];
    struct reason   why;
    struct dirent **found = NULL;
    uint64_t        seen  = 0;
    const int n = !keep || set_run_above(r, above, sizeof above, &why) ? 0 : scandir(above, &found, NULL, alphasort);
    for (int i = n - 1; i >= 0; i--) {
        snprintf(path, sizeof path, "%s/%s", above, found[i]->d_name);
        if (set_run_is_result(r, found[i]->d_name) && seen++ >= keep && strcmp(path, r->result) != 0)
            set_folder_remove(path);
        free(found[i]);
    }
    free(found);
}

static wstatus set_first_failure(wstatus first, wstatus st, const struct reason *step, struct reason *why)
{
    if (!first && st)
        *why = *step;
    return first ? first : st;
}

/* All steps are done; the first failure is the result's. */
wstatus set_run_end(struct set_run *r, struct reason *why)
{
    struct reason step = {0};
    wstatus       st   = r->failed.text[0] ? r->failed.status : W_SUCCESS;
    if (st)
        *why = r->failed;
    st                       = set_first_failure(st, set_sessions_stop(r, set_run_sessions(r), &step), &step, why);
    st                       = set_first_failure(st, set_run_merge(r, &step), &step, why);
    const struct reason none = {0};
    st                       = set_first_failure(st, set_run_report(r, st ? why : &none, &step), &step, why);
    set_counters_close(set_run_counting);
    set_run_counting = NULL;
    if (!st)
        set_run_keep(r);
    return st;
}
