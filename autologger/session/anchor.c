/* anchor.c - see anchor.h. */
#include "autologger/session/anchor.h"

#include "autologger/session/logger.h"
#include "registry-sim/base/os.h"
#include "registry-sim/win32/filetime.h"

#include <time.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)

/* One instant: on the session's clock, on CLOCK_MONOTONIC_RAW, and as the system's date. */
struct instant {
    uint64_t value, raw_ns, filetime;
};

static struct instant instant_now(const struct session *s)
{
    enum { TRIES = 24 };
    struct os     *os    = s->env->os;
    struct instant best  = {0};
    uint64_t       width = UINT64_MAX;

    for (unsigned i = 0; i < TRIES; i++) {
        const uint64_t a = clock_read(&s->clock), date = os->realtime_ns(os), raw = os->raw_ns(os),
                       b = clock_read(&s->clock);
        if (b - a < width) {
            width = b - a;
            best  = (struct instant){a + (b - a) / 2, raw, filetime_from_unix_ns(date)};
        }
    }
    if (s->clock.read_kind == CLOCK_READ_COARSE) /* its values are dates */
        best.filetime = best.value;
    return best;
}

/* Time from the boot to `raw_ns`, in 100 ns. By the boot's anchor, so that all files of a boot agree to the tick; by
 * the system if the machine has slept since, which CLOCK_MONOTONIC_RAW does not count. */
static uint64_t since_boot(const struct session_env *env, uint64_t raw_ns)
{
    const struct clock_anchor *a = &env->anchor;
    struct timespec            t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    const int64_t said  = (int64_t)((a->filetime - a->boot_filetime) * 100 + raw_ns - a->raw_ns);
    const int64_t now   = (int64_t)((uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec);
    const bool    slept = now - said > (int64_t)NS_PER_S || said - now > (int64_t)NS_PER_S;
    return (uint64_t)(slept ? now : said) / 100;
}

/* Moves the start back to the beginning of CLOCK_MONOTONIC_RAW, or of the session's clock if that began later. */
static void back_to_boot(struct state_anchor *a, const struct session_clock *clock)
{
    uint64_t ticks = (uint64_t)((unsigned __int128)a->raw_ns * clock->freq / NS_PER_S), ns = a->raw_ns;
    if (ticks > a->value) {
        ticks = a->value;
        ns    = (uint64_t)((unsigned __int128)ticks * NS_PER_S / clock->freq);
    }
    if (ns / 100 > a->filetime)
        return;
    a->value -= ticks;
    a->filetime -= ns / 100;
    a->raw_ns -= ns;
}

void session_anchor_take(struct session *s)
{
    struct state_session *st  = s->state;
    const struct instant  now = instant_now(s);

    st->anchor =
        (struct state_anchor){now.value, now.raw_ns, now.filetime, now.filetime - since_boot(s->env, now.raw_ns)};
    if (s->env->kernel_phase && (st->phase || st->tracepoint_count))
        back_to_boot(&st->anchor, &s->clock);
}

void session_anchor_renew(struct session *s)
{
    struct state_anchor *a = &s->state->anchor;
    if (s->env->clock_gone || s->clock.read_kind == CLOCK_READ_COARSE)
        return;
    const struct instant now   = instant_now(s);
    const uint64_t       since = (uint64_t)((unsigned __int128)(now.value - a->value) * 10000000 / s->clock.freq);
    if (now.value < a->value || since > now.filetime)
        return;
    const uint64_t boot = a->filetime - a->boot_filetime;
    a->filetime         = now.filetime - since;
    a->boot_filetime    = a->filetime - boot;
}

void session_anchor_stamp(struct session *s, struct etl_writer *w)
{
    session_anchor_renew(s);
    if (w)
        etl_writer_date(w, (int64_t)s->state->anchor.value, s->state->anchor.filetime, s->state->anchor.boot_filetime);
    if (s->logger->delivers) /* else real-time delivery, if any, belongs to the controlling thread */
        s->env->realtime->date(s->realtime, s->state->anchor.filetime, s->state->anchor.boot_filetime);
}

void session_date_set(struct session *s)
{
    const uint64_t one = 1;
    atomic_store(&s->date_set, true);
    (void)!write(s->wake_fd, &one, sizeof one);
}
