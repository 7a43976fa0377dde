#include "autologger/analysis/boot_reason.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POLLS_LEAST = 3, PROGRAMS_LEAST = 40, DEEP_MOST = 16 };

struct reason_look {
    const struct boot  *b;
    int                 unit;
    int64_t             start, end;
    struct boot_reason *out;
};
/* How long the program's first thread was in each state within [start, end) of the search; running and ready are an
 * estimate. */
struct reason_times {
    int64_t                 sum[BOOT_STATES];
    unsigned                sleeps;
    const struct boot_wait *longest[BOOT_STATES];
};

static double boot_reason_seconds(int64_t ns) { return (double)ns / 1e9; }

static int64_t boot_reason_within(const struct reason_look *l, int64_t start, int64_t end)
{
    const int64_t from = start > l->start ? start : l->start, to = end < l->end ? end : l->end;
    return to > from ? to - from : 0;
}
static int64_t life_in(const struct reason_look *l, int process)
{
    return boot_reason_within(l, l->b->process[process].start, l->b->process[process].end);
}

__attribute__((format(printf, 5, 6))) static void boot_reason_say(const struct reason_look *l,
                                                                  enum boot_reason_kind kind, int process,
                                                                  int64_t length, const char *format, ...)
{
    static const char *const next[] = {
#define R(name, text) text,
#include "autologger/analysis/boot_reasons.def"
#undef R
    };
    va_list args;
    va_start(args, format);
    vsnprintf(l->out->text, sizeof l->out->text, format, args);
    va_end(args);
    l->out->kind    = kind;
    l->out->process = process;
    l->out->length  = length;
    l->out->next    = next[kind];
}

/* The command line if there is one, else the label. */
static const char *boot_reason_words_of(const struct boot_process *p)
{
    return p->command && *p->command ? p->command : p->label;
}

/* The program that took the time. Starts with the unit's process that lived longest in it, then goes to the longest
 * child as long as that lived more than 60 % of its parent's time. */
static int who_fills(const struct reason_look *l)
{
    const struct boot *b  = l->b;
    int                at = BOOT_NONE;
    for (unsigned i = 0; i < b->processes; i++)
        if (b->process[i].unit == l->unit && life_in(l, (int)i) > 0 &&
            (at == BOOT_NONE || life_in(l, (int)i) > life_in(l, at)))
            at = (int)i;
    for (unsigned deep = 0; at != BOOT_NONE && deep < DEEP_MOST; deep++) {
        int child = BOOT_NONE;
        for (unsigned i = 0; i < b->processes; i++)
            if (b->process[i].parent == at && (int)i != at && life_in(l, (int)i) * 10 > life_in(l, at) * 6 &&
                (child == BOOT_NONE || life_in(l, (int)i) > life_in(l, child)))
                child = (int)i;
        if (child == BOOT_NONE)
            break;
        at = child;
    }
    return at;
}

static void times_find(const struct reason_look *l, int process, struct reason_times *t)
{
    const struct boot         *b      = l->b;
    const struct boot_process *p      = &b->process[process];
    int64_t                    waited = 0;

    *t = (struct reason_times){0};
    for (unsigned i = 0; i < b->waits; i++) {
        const struct boot_wait *w = &b->wait[i];
        const int64_t n = w->process == process && w->thread == p->pid ? boot_reason_within(l, w->start, w->end) : 0;
        if (!n)
            continue;
        t->sum[w->state] += n;
        t->sleeps += w->state == BOOT_SLEEP;
        waited += n;
        const struct boot_wait *longest = t->longest[w->state];
        if (!longest || n > boot_reason_within(l, longest->start, longest->end))
            t->longest[w->state] = w;
    }
    /* for the rest of the time it was on a processor, or ready */
    const int64_t rest    = life_in(l, process) > waited ? life_in(l, process) - waited : 0;
    t->sum[BOOT_RUNNING]  = p->time[BOOT_RUNNING] < rest ? p->time[BOOT_RUNNING] : rest;
    const int64_t ready   = rest - t->sum[BOOT_RUNNING];
    t->sum[BOOT_RUNNABLE] = p->time[BOOT_RUNNABLE] < ready ? p->time[BOOT_RUNNABLE] : ready;
}

/* True if the unit runs programs like "sleep 0.2" again and again. */
static bool polls(const struct reason_look *l)
{
    const struct boot *b     = l->b;
    int64_t            slept = 0;
    unsigned           times = 0;
    int                one   = BOOT_NONE;
    for (unsigned i = 0; i < b->processes; i++)
        if (b->process[i].unit == l->unit && life_in(l, (int)i) > 0 && strcmp(b->process[i].label, "sleep") == 0) {
            slept += life_in(l, (int)i);
            times++;
            one = (int)i;
        }
    if (times < POLLS_LEAST || slept * 2 < l->end - l->start)
        return false;
    boot_reason_say(l, REASON_POLLS, one, slept,
                    "it looked for something again and again, and ran \"%.80s\" %u times meanwhile",
                    boot_reason_words_of(&b->process[one]), times);
    return true;
}

/* True if the longest process has many descendants, none of which lives long. */
static bool many_programs(const struct reason_look *l, int longest)
{
    const struct boot *b    = l->b;
    unsigned           many = 0;
    int64_t            ran  = 0;
    for (unsigned i = 0; i < b->processes; i++) {
        const struct boot_process *p = &b->process[i];
        if ((int)i == longest || p->start < l->start || p->start >= l->end || !boot_is_below(b, (int)i, longest))
            continue;
        if (life_in(l, (int)i) * 4 > l->end - l->start)
            return false;
        many++;
        ran += p->time[BOOT_RUNNING];
    }
    if (many < PROGRAMS_LEAST)
        return false;
    boot_reason_say(l, REASON_PROGRAMS, longest, l->end - l->start,
                    "it ran %u programs one after another, %.1f s of it on a processor", many,
                    boot_reason_seconds(ran));
    return true;
}

static bool by_systemctl(const struct reason_look *l)
{
    const struct boot *b  = l->b;
    int                at = BOOT_NONE;
    for (unsigned i = 0; i < b->processes; i++)
        if (b->process[i].unit == l->unit && strcmp(b->process[i].label, "systemctl") == 0 &&
            (at == BOOT_NONE || life_in(l, (int)i) > life_in(l, at)))
            at = (int)i;
    if (at == BOOT_NONE || life_in(l, at) * 2 < l->end - l->start)
        return false;
    boot_reason_say(l, REASON_SYSTEMCTL, at, life_in(l, at), "it waited %.1f s for \"%.120s\"",
                    boot_reason_seconds(life_in(l, at)), boot_reason_words_of(&b->process[at]));
    return true;
}

/* Share of the processors that was busy meanwhile. */
static double boot_reason_busy_share(const struct reason_look *l)
{
    const struct boot_lane *lane = &l->b->lane[BOOT_LANE_CPU];
    double                  sum  = 0;
    if (!lane->width || l->end <= l->start || !l->b->cpus)
        return 1;
    for (int64_t i = l->start / lane->width; i <= (l->end - 1) / lane->width && i < LANE_BINS; i++)
        sum += lane->bin[i];
    return sum / ((double)(l->end - l->start) * l->b->cpus);
}

/* The process that ended the longest wait, as "dbus-daemon (dbus.service)". False: it is not known. */
static bool waker_text(const struct reason_look *l, const struct boot_wait *longest, char *out, size_t size)
{
    if (!longest || longest->waker == BOOT_NONE)
        return false;
    const struct boot_process *w    = &l->b->process[longest->waker];
    const char                *unit = w->unit == BOOT_NONE ? NULL : l->b->unit[w->unit].name;
    snprintf(out, size, "%.60s%s%.90s%s", w->label, unit ? " (" : "", unit ? unit : "", unit ? ")" : "");
    return true;
}

/* The process waited for its children: names how many, and the one that lived longest. (No child lived for most of the
 * process's time, else who_fills had chosen that child.) */
static void by_children(const struct reason_look *l, int process, int64_t waited)
{
    const struct boot *b    = l->b;
    int                most = BOOT_NONE;
    unsigned           many = 0;
    for (unsigned i = 0; i < b->processes; i++) {
        if (b->process[i].parent != process || !life_in(l, (int)i))
            continue;
        many++;
        if (most == BOOT_NONE || life_in(l, (int)i) > life_in(l, most))
            most = (int)i;
    }
    if (most == BOOT_NONE)
        boot_reason_say(l, REASON_UNKNOWN, process, waited, "\"%.120s\" waited %.1f s for a program that it started",
                        boot_reason_words_of(&b->process[process]), boot_reason_seconds(waited));
    else
        boot_reason_say(l, REASON_CHILDREN, most, waited,
                        "it waited %.1f s for %u program%s, the longest: \"%.80s\", %.1f s",
                        boot_reason_seconds(waited), many, many == 1 ? "" : "s",
                        boot_reason_words_of(&b->process[most]), boot_reason_seconds(life_in(l, most)));
}

/* ---- what it was seen waiting for ---- */

struct look_words {
    enum boot_look_kind   kind;
    enum boot_reason_kind reason;
    const char           *text;
};
static const struct look_words *look_words_of(const struct boot_look *k)
{
    static const struct look_words rows[] = {
#define L(kind, reason, text) {LOOK_##kind, REASON_##reason, text},
#include "autologger/analysis/boot_looks.def"
#undef L
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].kind == k->kind && (*k->object || !strstr(rows[i].text, "%s")))
            return &rows[i];
    return NULL;
}

static bool same_look(const struct boot_look *a, const struct boot_look *b)
{
    return a->kind == b->kind && strcmp(a->object, b->object) == 0;
}

/* A look (struct boot_look) is one observation of what a process waits for. True if this one is of this process, within
 * the time of `l`. */
static bool is_at(const struct reason_look *l, int process, const struct boot_look *k)
{
    const struct boot_process *p = &l->b->process[process];
    return k->unit == l->unit && k->pid == p->pid && k->at >= p->start && k->at <= p->end && k->at >= l->start &&
           k->at <= l->end;
}

struct look_found {
    const struct boot_look *look;   /* the last look in `wait` */
    const struct boot_wait *wait;   /* the longest wait in that state that has a look */
    int64_t                 waited; /* sum of all waits with the same look */
};

/* The last look in a wait explains the wait. */
static const struct boot_look *look_in(const struct reason_look *l, int process, const struct boot_wait *w)
{
    const struct boot_look *last = NULL;
    for (unsigned i = 0; i < l->b->looks; i++) {
        const struct boot_look *k = &l->b->look[i];
        if (k->at >= w->start && k->at <= w->end && is_at(l, process, k) && look_words_of(k))
            last = k;
    }
    return last;
}

/* Finds the look of the longest wait in this state that has one (with words). True if the waits with the same look make
 * up at least half of `waited`. If two or more waits have a look, all with the same object, out->waited is the whole of
 * `waited`. */
static bool look_find(const struct reason_look *l, int process, enum boot_state state, int64_t waited,
                      struct look_found *out)
{
    const struct boot *b     = l->b;
    unsigned           waits = 0, same = 0;
    *out = (struct look_found){0};
    for (int again = 0; again < 2; again++) /* first the longest; then all waits like it */
        for (unsigned i = 0; i < b->waits; i++) {
            const struct boot_wait *w = &b->wait[i];
            const int64_t n = w->process == process && w->state == state && w->thread == b->process[process].pid
                                  ? boot_reason_within(l, w->start, w->end)
                                  : 0;
            const struct boot_look *k = n ? look_in(l, process, w) : NULL;
            if (!k)
                continue;
            waits += again;
            if (again && same_look(k, out->look)) {
                out->waited += n;
                same++;
            } else if (!again && (!out->wait || n > boot_reason_within(l, out->wait->start, out->wait->end))) {
                out->wait = w;
                out->look = k;
            }
        }
    if (same > 1 && same == waits)
        out->waited = waited;
    return out->look && out->waited * 2 >= waited;
}

/* The process that had the holder's id then, as "name (unit)". */
static bool holder_text(const struct reason_look *l, const struct boot_look *k, char *out, size_t size)
{
    const struct boot *b = l->b;
    for (unsigned i = 0; k->holder && i < b->processes; i++)
        if (b->process[i].pid == k->holder && b->process[i].start <= k->at && b->process[i].end >= k->at)
            return waker_text(l, &(struct boot_wait){.waker = (int)i}, out, size);
    return false;
}

/* What answers at "address:port", as " (DHCP)"; "" where that is not known. */
static void service_text(const char *object, char *out, size_t size)
{
    static const struct {
        const char *address;
        long        port;
        const char *words;
    } rows[] = {
#define SERVICE(address, port, words) {address, port, words},
#include "autologger/analysis/boot_services.def"
#undef SERVICE
    };
    const char *const colon = strrchr(object, ':');
    *out                    = 0;
    for (size_t i = 0; colon && i < sizeof rows / sizeof *rows; i++) {
        const size_t n       = strlen(rows[i].address);
        const bool   address = !n || (n == (size_t)(colon - object) && memcmp(object, rows[i].address, n) == 0);
        if (address && (!rows[i].port || rows[i].port == strtol(colon + 1, NULL, 10))) {
            snprintf(out, size, " (%s)", rows[i].words);
            return;
        }
    }
}

static bool is_address(enum boot_look_kind kind)
{
    return kind == LOOK_CONNECT || kind == LOOK_TCP || kind == LOOK_UDP;
}

/* `waited`: sum of the waits in that state; `longest`: the longest of them. */
static bool by_look(const struct reason_look *l, int process, enum boot_state state, int64_t waited,
                    const struct boot_wait *longest)
{
    struct look_found f;
    char              what[300], who[200] = "", service[64] = "";
    if (!l->b->looks || !look_find(l, process, state, waited, &f))
        return false;
    if (f.look->kind == LOOK_CHILD) { /* the child is known from the processes */
        by_children(l, process, waited);
        return true;
    }
    const struct look_words *w      = look_words_of(f.look);
    const char *const        hole   = strstr(w->text, "%s");
    const bool               holder = f.look->kind == LOOK_LOCK && holder_text(l, f.look, who, sizeof who);
    const bool               woken =
        !holder && (w->reason == REASON_SOCKET || w->reason == REASON_THING) && waker_text(l, f.wait, who, sizeof who);
    if (f.look->kind == LOOK_FUTEX && waker_text(l, longest, who, sizeof who)) /* the waker says more */
        return false;
    if (is_address(f.look->kind))
        service_text(f.look->object, service, sizeof service);
    if (hole)
        snprintf(what, sizeof what, "%.*s%.160s%s%s", (int)(hole - w->text), w->text, f.look->object, service,
                 hole + 2);
    else
        snprintf(what, sizeof what, "%s", w->text);
    boot_reason_say(l, w->reason, process, f.waited, "\"%.120s\" waited %.1f s for %s%s%s%s%s",
                    boot_reason_words_of(&l->b->process[process]), boot_reason_seconds(f.waited), what,
                    f.look->guessed ? ", the likeliest of what it watched" : "",
                    holder  ? " that "
                    : woken ? ", until "
                            : "",
                    who,
                    holder  ? " held"
                    : woken ? " woke it"
                            : "");
    return true;
}

static void by_state(const struct reason_look *l, int process, const struct reason_times *t, enum boot_state state)
{
    const char *const words    = boot_reason_words_of(&l->b->process[process]);
    const double      n        = boot_reason_seconds(t->sum[state]);
    char              who[200] = "somebody unknown";
    const bool        known    = waker_text(l, t->longest[state], who, sizeof who);
    if (state != BOOT_RUNNING && state != BOOT_RUNNABLE && state != BOOT_SLEEP && state != BOOT_DISK &&
        state != BOOT_CHILD && by_look(l, process, state, t->sum[state], t->longest[state]))
        return;
    switch (state) {
    case BOOT_RUNNING:
        boot_reason_say(l, REASON_RUNNING, process, t->sum[state], "\"%.120s\" ran for %.1f s on a processor", words,
                        n);
        break;
    case BOOT_RUNNABLE:
        if (boot_reason_busy_share(l) < 0.75)
            boot_reason_say(l, REASON_QUOTA, process, t->sum[state],
                            "\"%.120s\" was ready and got no processor for %.1f s, while processors were idle", words,
                            n);
        else
            boot_reason_say(l, REASON_SHARED, process, t->sum[state],
                            "\"%.120s\" waited %.1f s for a processor that others had", words, n);
        break;
    case BOOT_DISK:
        boot_reason_say(l, REASON_DISK, process, t->sum[state], "\"%.120s\" waited %.1f s for a disk", words, n);
        break;
    case BOOT_LOCK:
        boot_reason_say(l, REASON_LOCK, process, t->sum[state], "\"%.120s\" waited %.1f s for a lock that %s held",
                        words, n, who);
        break;
    case BOOT_SLEEP:
        if (t->sleeps >= POLLS_LEAST)
            boot_reason_say(l, REASON_POLLS, process, t->sum[state],
                            "\"%.120s\" slept %u times, %.1f s in all: it looks for something again and again", words,
                            t->sleeps, n);
        else
            boot_reason_say(l, REASON_SLEEPS, process, t->sum[state], "\"%.120s\" slept for %.1f s", words, n);
        break;
    case BOOT_NETWORK:
        boot_reason_say(l, REASON_SOCKET, process, t->sum[state], "\"%.120s\" waited %.1f s for an answer%s%s", words,
                        n, known ? " of " : "", known ? who : "");
        break;
    case BOOT_CHILD: by_children(l, process, t->sum[state]); break;
    case BOOT_OTHER:
    default:
        boot_reason_say(l, known ? REASON_WOKEN : REASON_UNKNOWN, process, t->sum[state],
                        "\"%.120s\" waited %.1f s%s%s%s", words, n, known ? ", until " : "", known ? who : "",
                        known ? " woke it" : "");
    }
}

bool boot_reason_find(const struct boot *b, int unit, int64_t start, int64_t end, struct boot_reason *out)
{
    const struct reason_look l = {b, unit, start, end, out};
    struct reason_times      t;
    enum boot_state          most = BOOT_RUNNING;

    *out = (struct boot_reason){.process = BOOT_NONE};
    if (!b->switches || end <= start)
        return false;
    const int at = who_fills(&l);
    if (at == BOOT_NONE) {
        boot_reason_say(&l, REASON_NO_PROGRAM, BOOT_NONE, 0, "no program of it ran meanwhile");
        return true;
    }
    if (polls(&l) || by_systemctl(&l) || many_programs(&l, at))
        return true;
    times_find(&l, at, &t);
    for (int s = 0; s < BOOT_STATES; s++)
        if (t.sum[s] > t.sum[most])
            most = (enum boot_state)s;
    by_state(&l, at, &t, most);
    return true;
}
