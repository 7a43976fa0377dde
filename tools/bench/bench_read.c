/* bench_read.c - see bench_read.h. */
#include "tools/bench/bench_read.h"

#include "tools/bench/bench_files.h"
#include "tools/files/program_find.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATH_BYTES = 512, MODE_DIR = 0700, WAIT_MS = 20000, MEMORY_GOAL_MB = 256, DECODES = 3 };
const struct bench_read_size bench_read_usual = {1000000, 1024};

struct bench_read_used { /* by a program */
    double cpu_s, clock_s, peak_mb;
    int    code;
};
enum { TEXT, DECODE, MERGE, WORKS };
struct bed {
    char                   dir[PATH_BYTES / 2], self[PATH_BYTES], ust[PATH_BYTES];
    char                   version[80];
    pid_t                  sessiond;
    struct bench_read_used ours[WORKS][BENCH_READ_MOST], theirs[WORKS][BENCH_READ_MOST];
};

static const char *bench_read_below(const struct bed *b, const char *name, char out[PATH_BYTES])
{
    snprintf(out, PATH_BYTES, "%s/%s", b->dir, name);
    return out;
}

/* ---- programs ---- */

/* Prepares a child: its output goes to `out` (a file below the folder; NULL: nowhere), and it ends when the bench is
 * killed. */
static void bench_read_child_begin(const struct bed *b, const char *out)
{
    char path[PATH_BYTES];
    int  null = open("/dev/null", O_RDWR | O_CLOEXEC),
        said  = open(bench_read_below(b, "said", path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int to    = out ? open(bench_read_below(b, out, path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : null;

    dup2(null, 0);
    dup2(to, 1);
    dup2(said, 2);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    setenv("LTTNG_HOME", b->dir, 1);
    setenv("LTTNG_RUNDIR", bench_read_below(b, "run", path), 1);
    setenv("LTTNG_UST_REGISTER_TIMEOUT", "20000", 1);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void wait_for(pid_t pid, double start, struct bench_read_used *out)
{
    struct rusage r      = {0};
    int           status = -1;

    *out = (struct bench_read_used){.code = -1};
    while (pid > 0 && wait4(pid, &status, 0, &r) < 0 && errno == EINTR)
        ;
    out->clock_s = now_s() - start;
    out->cpu_s =
        (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
    out->peak_mb = (double)r.ru_maxrss / 1024;
    out->code    = pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void run_to(const struct bed *b, const char *const argv[], const char *to, struct bench_read_used *out)
{
    double start = now_s();
    pid_t  pid   = fork();

    if (pid == 0) {
        bench_read_child_begin(b, to);
        execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    wait_for(pid, start, out);
}

/* An error with the first line of the last program's messages. */
static wstatus bench_read_failed(const struct bed *b, const char *what, struct reason *why)
{
    char   path[PATH_BYTES], text[200] = "";
    FILE  *f = fopen(bench_read_below(b, "said", path), "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;

    if (f)
        fclose(f);
    text[n]                   = 0;
    text[strcspn(text, "\n")] = 0;
    return reason_set(why, W_GEN_FAILURE, "%s failed: %s", what, *text ? text : "it said nothing");
}

static wstatus bench_read_run(const struct bed *b, const char *what, const char *const argv[], struct reason *why)
{
    struct bench_read_used used;
    run_to(b, argv, NULL, &used);
    return used.code ? bench_read_failed(b, what, why) : W_SUCCESS;
}

static wstatus peer_check(const struct bed *b, const char *program, struct reason *why)
{
    const char *const      argv[] = {program, "--version", NULL};
    struct bench_read_used used;

    run_to(b, argv, "version", &used);
    if (used.code == 0)
        return W_SUCCESS;
    return reason_set(why, W_FILE_NOT_FOUND, "%s, which the bench compares with, is missing. Do: run tools/bench-peers",
                      program);
}

/* ---- LTTng ---- */

static void stop_sessiond(struct bed *b)
{
    struct bench_read_used used;
    if (b->sessiond <= 0)
        return;
    kill(b->sessiond, SIGTERM);
    wait_for(b->sessiond, now_s(), &used);
    b->sessiond = 0;
}

static wstatus start_sessiond(struct bed *b, struct reason *why)
{
    const char *const list[] = {"lttng", "--no-sessiond", "list", NULL};
    char              path[PATH_BYTES];

    mkdir(bench_read_below(b, "run", path), MODE_DIR);
    b->sessiond = fork();
    if (b->sessiond == 0) {
        bench_read_child_begin(b, "sessiond");
        execlp("lttng-sessiond", "lttng-sessiond", "--no-kernel", (char *)NULL);
        _exit(127);
    }
    for (unsigned waited = 0; waited < WAIT_MS; waited += 100) {
        if (!bench_read_run(b, "lttng list", list, why))
            return W_SUCCESS;
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    return reason_set(why, W_FILE_NOT_FOUND, "lttng-sessiond does not start. Do: run tools/bench-peers");
}

static wstatus trace_lttng(struct bed *b, uint32_t events, struct reason *why)
{
    char number[16], output[PATH_BYTES + 16], path[PATH_BYTES], name[40], of[48];
    snprintf(name, sizeof name, "autologger-bench-%d", (int)getpid()); /* another bench may run on this machine */
    snprintf(of, sizeof of, "--session=%s", name);
    snprintf(number, sizeof number, "%u", events);
    snprintf(output, sizeof output, "--output=%s", bench_read_below(b, "lttng", path));
    const char *const        create[]  = {"lttng", "--no-sessiond", "create", name, output, NULL};
    const char *const        channel[] = {"lttng",
                                          "--no-sessiond",
                                          "enable-channel",
                                          of,
                                          "-u",
                                          "all",
                                          "--subbuf-size=8M",
                                          "--num-subbuf=8",
                                          "--blocking-timeout=inf",
                                          NULL};
    const char *const        event[]   = {"lttng", "--no-sessiond", "enable-event",    of,  "-u",
                                          "-c",    "all",           "contoso:request", NULL};
    const char *const        start[]   = {"lttng", "--no-sessiond", "start", name, NULL};
    const char *const        write[]   = {b->ust, number, NULL};
    const char *const        stop[]    = {"lttng", "--no-sessiond", "destroy", name, NULL};
    const char *const *const steps[]   = {create, channel, event, start, write, stop};

    /* the writing program waits when the ring is full, so that no event is lost */
    setenv("LTTNG_UST_ALLOW_BLOCKING", "1", 1);
    wstatus st = start_sessiond(b, why);
    for (size_t i = 0; i < sizeof steps / sizeof *steps && !st; i++)
        st = bench_read_run(b, steps[i][0] == b->ust ? "autologger-bench-ust" : "lttng", steps[i], why);
    stop_sessiond(b);
    return st;
}

/* ---- the bed ---- */

static uint64_t lines_of(const char *path)
{
    char     block[1 << 16];
    uint64_t lines = 0;
    FILE    *f     = fopen(path, "re");

    for (size_t n; f && (n = fread(block, 1, sizeof block, f)) > 0;)
        for (size_t i = 0; i < n; i++)
            lines += block[i] == '\n';
    if (f)
        fclose(f);
    return lines;
}

/* Checks that both programs show as many events as were written: else the ratio would mean nothing. */
static wstatus check_events(const struct bed *b, uint32_t events, struct reason *why)
{
    char                   lttng[PATH_BYTES], etl[PATH_BYTES], text[PATH_BYTES];
    const char *const      theirs[] = {"babeltrace2", bench_read_below(b, "lttng", lttng), NULL};
    const char *const      ours[]   = {b->self, "dump", bench_read_below(b, "requests.etl", etl), NULL};
    struct bench_read_used used;
    uint64_t               decoded;

    run_to(b, theirs, "text", &used);
    uint64_t n = lines_of(bench_read_below(b, "text", text));
    if (used.code || n != events)
        return reason_set(why, W_GEN_FAILURE, "babeltrace2 tells %llu of %u events", (unsigned long long)n, events);
    run_to(b, ours, "text", &used);
    n = lines_of(text);
    if (used.code || n != events + 1ull) /* and the header event */
        return reason_set(why, W_GEN_FAILURE, "autologger dump tells %llu of %u events", (unsigned long long)n,
                          events + 1);
    unlink(text);
    wstatus st = bench_decode(etl, &decoded, why);
    if (!st && decoded != events + 1ull)
        return reason_set(why, W_GEN_FAILURE, "%llu of %u events are decoded", (unsigned long long)decoded, events + 1);
    return st;
}

static void read_version(struct bed *b)
{
    const char *const      argv[] = {"babeltrace2", "--version", NULL};
    struct bench_read_used used;
    char                   path[PATH_BYTES];

    run_to(b, argv, "version", &used);
    FILE *f = fopen(bench_read_below(b, "version", path), "re");
    if (!f || !fgets(b->version, sizeof b->version, f))
        *b->version = 0;
    b->version[strcspn(b->version, "\n\"")] = 0;
    b->version[strcspn(b->version, "\n")]   = 0;
    if (f)
        fclose(f);
}

static wstatus find_programs(struct bed *b, const char *programs, struct reason *why)
{
    static const char *const peers[] = {"babeltrace2", "lttng", "lttng-sessiond"};
    wstatus                  st      = W_SUCCESS;

    for (size_t i = 0; i < sizeof peers / sizeof *peers && !st; i++)
        st = peer_check(b, peers[i], why);
    if (st)
        return st;
    if (programs) {
        snprintf(b->self, sizeof b->self, "%s/autologger", programs);
        snprintf(b->ust, sizeof b->ust, "%s/autologger-bench-ust", programs);
    } else if (!(st = program_find("autologger", b->self, sizeof b->self, why))) {
        program_find("autologger-bench-ust", b->ust, sizeof b->ust, why);
    }
    if (!st && access(b->ust, X_OK))
        return reason_set(
            why, W_FILE_NOT_FOUND,
            "autologger-bench-ust, which writes the events for LTTng, is not built. Do: run tools/bench-peers, which "
            "builds it in the build tree");
    return st;
}

static wstatus bed_make(struct bed *b, const struct bench_read_size *size, const char *programs, struct reason *why)
{
    char        path[PATH_BYTES];
    const char *tmp = getenv("TMPDIR");

    snprintf(b->dir, sizeof b->dir, "%.200s/autologger-bench-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(b->dir)) {
        *b->dir = 0;
        return reason_set(why, wstatus_from_errno(errno), "cannot create a folder for the bench: %s", strerror(errno));
    }
    wstatus st = find_programs(b, programs, why);
    if (!st)
        st = trace_lttng(b, size->events, why);
    if (!st)
        st = bench_etl_requests(bench_read_below(b, "requests.etl", path), size->events, why);
    if (!st)
        st = check_events(b, size->events, why);
    read_version(b);
    return st;
}

static int bench_read_remove_one(const char *path, const struct stat *st, int flag, struct FTW *place)
{
    (void)st, (void)flag, (void)place;
    return remove(path);
}

static void bed_remove(struct bed *b)
{
    stop_sessiond(b);
    if (*b->dir)
        nftw(b->dir, bench_read_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- rounds ---- */

static void decode(const struct bed *b, struct bench_read_used *out)
{
    char   path[PATH_BYTES];
    double start = now_s();
    pid_t  pid   = fork();

    if (pid == 0) {
        uint64_t      events;
        struct reason why;
        bench_read_child_begin(b, NULL);
        _exit(bench_decode(bench_read_below(b, "requests.etl", path), &events, &why) ? 1 : 0);
    }
    wait_for(pid, start, out);
}

/* Copies, and waits for the disk, as the merge does. */
static void bench_read_copy(const struct bed *b, struct bench_read_used *out)
{
    char                   from[2][PATH_BYTES], to[PATH_BYTES];
    struct bench_read_used last;
    const char *const      argv[] = {"cp", bench_read_below(b, "a.etl", from[0]), bench_read_below(b, "b.etl", from[1]),
                                     bench_read_below(b, "copies", to), NULL};

    mkdir(to, MODE_DIR);
    run_to(b, argv, NULL, out);
    const char *const sync[] = {"sync", bench_read_below(b, "copies/a.etl", from[0]),
                                bench_read_below(b, "copies/b.etl", from[1]), NULL};
    run_to(b, sync, NULL, &last);
    out->clock_s += last.clock_s;
    out->code |= last.code;
    unlink(from[0]);
    unlink(from[1]);
}

/* Keeps the cheaper of two runs: other load on the machine slows both contestants, but not at the same time. */
static void keep_cheaper(struct bench_read_used *best, const struct bench_read_used *one, bool first)
{
    if (first || one->code || (!best->code && one->cpu_s < best->cpu_s))
        *best = *one;
}

static wstatus check_codes(const struct bed *b, unsigned i, unsigned work, const char *what, struct reason *why)
{
    return b->ours[work][i].code || b->theirs[work][i].code ? bench_read_failed(b, what, why) : W_SUCCESS;
}

static wstatus reading_round(struct bed *b, unsigned i, struct reason *why)
{
    char                   etl[PATH_BYTES], lttng[PATH_BYTES];
    const char *const      ours_text[] = {b->self, "dump", bench_read_below(b, "requests.etl", etl), NULL};
    const char *const      text[]      = {"babeltrace2", bench_read_below(b, "lttng", lttng), NULL};
    const char *const      dummy[]     = {"babeltrace2", "-o", "dummy", lttng, NULL};
    struct bench_read_used one;

    run_to(b, ours_text, NULL, &b->ours[TEXT][i]);
    run_to(b, text, NULL, &b->theirs[TEXT][i]);
    wstatus st = check_codes(b, i, TEXT, "writing text", why);
    for (unsigned n = 0; n < DECODES && !st; n++) { /* one run takes less than a tenth of a second */
        decode(b, &one);
        keep_cheaper(&b->ours[DECODE][i], &one, n == 0);
        run_to(b, dummy, NULL, &one);
        keep_cheaper(&b->theirs[DECODE][i], &one, n == 0);
        st = check_codes(b, i, DECODE, "decoding", why);
    }
    return st;
}

static wstatus merging_round(struct bed *b, unsigned i, struct reason *why)
{
    char              one[PATH_BYTES], two[PATH_BYTES], merged[PATH_BYTES];
    const char *const merge[] = {b->self,
                                 "merge",
                                 "-o",
                                 bench_read_below(b, "merged.etl", merged),
                                 bench_read_below(b, "a.etl", one),
                                 bench_read_below(b, "b.etl", two),
                                 NULL};

    sync();
    run_to(b, merge, NULL, &b->ours[MERGE][i]);
    unlink(merged);
    sync();
    bench_read_copy(b, &b->theirs[MERGE][i]);
    return check_codes(b, i, MERGE, "merging or copying", why);
}

/* Writing and deleting gigabytes leaves a machine busy for a while, a virtual one above all: so merges come last. */
static wstatus rounds_play(struct bed *b, unsigned rounds, const struct bench_read_size *size, struct reason *why)
{
    char    path[PATH_BYTES];
    wstatus st = W_SUCCESS;

    for (unsigned i = 0; i < rounds && !st; i++)
        st = reading_round(b, i, why);
    if (!st)
        st = bench_etl_large(bench_read_below(b, "a.etl", path), size->megabytes, 0, why);
    if (!st)
        st = bench_etl_large(bench_read_below(b, "b.etl", path), size->megabytes, 1, why);
    for (unsigned i = 0; i < rounds && !st; i++)
        st = merging_round(b, i, why);
    return st;
}

static double rate(const struct bench_read_used *u, unsigned work, const struct bench_read_size *size)
{
    return work == MERGE ? 2.0 * size->megabytes / u->clock_s : size->events / u->cpu_s;
}

static void bench_read_row_add(const struct bed *b, const struct bench_row *like, unsigned work, unsigned rounds,
                               const struct bench_read_size *size, struct bench_result *out)
{
    struct bench_row *row = &out->row[out->count++];
    double            ratio[BENCH_READ_MOST], ours[BENCH_READ_MOST], theirs[BENCH_READ_MOST];

    *row = *like;
    for (unsigned i = 0; i < rounds; i++) {
        ours[i]   = rate(&b->ours[work][i], work, size);
        theirs[i] = rate(&b->theirs[work][i], work, size);
        ratio[i]  = ours[i] / theirs[i];
    }
    bench_quartiles(ratio, rounds, row);
    row->ours   = bench_median(ours, rounds);
    row->theirs = bench_median(theirs, rounds);
    snprintf(row->peer_version, sizeof row->peer_version, "%s", work == MERGE ? "" : b->version);
}

/* Peak memory of the merge, as a share of the limit. */
static void row_memory(const struct bed *b, unsigned rounds, struct bench_result *out)
{
    struct bench_row *row = &out->row[out->count++];
    double            ratio[BENCH_READ_MOST], peak[BENCH_READ_MOST];

    *row = (struct bench_row){
        .row = "peak memory of the merge", .peer = "256 MB", .lower_is_better = true, .goal = 1, .unit = "MB"};
    for (unsigned i = 0; i < rounds; i++) {
        peak[i]  = b->ours[MERGE][i].peak_mb;
        ratio[i] = peak[i] / (double)MEMORY_GOAL_MB;
    }
    bench_quartiles(ratio, rounds, row);
    row->ours   = bench_median(peak, rounds);
    row->theirs = MEMORY_GOAL_MB;
}

static void bench_read_rows_make(const struct bed *b, unsigned rounds, const struct bench_read_size *size,
                                 struct bench_result *out)
{
    out->count = 0;
    bench_read_row_add(
        b,
        &(struct bench_row){
            .row = "events to text, one thread", .peer = "babeltrace2, text", .goal = 5, .unit = "events/s"},
        TEXT, rounds, size, out);
    bench_read_row_add(
        b,
        &(struct bench_row){
            .row = "decoded, a callback per event", .peer = "babeltrace2, dummy sink", .goal = 10, .unit = "events/s"},
        DECODE, rounds, size, out);
    bench_read_row_add(
        b, &(struct bench_row){.row = "merge of two files", .peer = "cp and sync of both", .goal = 0.5, .unit = "MB/s"},
        MERGE, rounds, size, out);
    row_memory(b, rounds, out);
}

wstatus bench_read(unsigned rounds, const struct bench_read_size *size, const char *programs, struct bench_result *out,
                   struct reason *why)
{
    struct bed *b = calloc(1, sizeof *b);

    if (!b)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the bench");
    rounds     = rounds < BENCH_READ_LEAST ? BENCH_READ_LEAST : rounds > BENCH_READ_MOST ? BENCH_READ_MOST : rounds;
    wstatus st = bed_make(b, size, programs, why);
    if (!st)
        st = rounds_play(b, rounds, size, why);
    bed_remove(b);
    if (!st)
        bench_read_rows_make(b, rounds, size, out);
    free(b);
    return st;
}
