/* convert_power.c - timers, idle states, frequencies, sleep, and the kernel's log lines. Windows' payloads for the
 * first four have another meaning or are not known, so these are events of our own. See convert.h. */
#include "autologger/kernel/convert/describe.h"
#include "autologger/wire/etl.h"

#include <stdlib.h>
#include <string.h>

#define POWER "Autologger-Kernel-Power"
#define TIMER "Autologger-Kernel-Timer"
enum { PAYLOAD_MAX = 256, LOG_LINE_MAX = 1024, IDLE_LEFT = -1 };

static void convert_power_tell(struct convert *c, const struct sample *s, const struct shape *shape,
                               const struct writer *w)
{
    describe(c, &(struct actor){s->cpu, shown_pid(c, s->pid, s->tid), s->tid}, shape, s->time, w);
}

/* Low resolution timers count in jiffies, the others in nanoseconds of CLOCK_MONOTONIC (or the clock that they were
 * made for). */
void convert_timer(struct convert *c, const struct sample *s)
{
    /* clang-format off */
    static const struct { unsigned kind; struct shape shape; } table[] = {
        {SRC_TIMER_START, {TIMER, "TimerStart", {{"Timer", SHAPE_HEX64}, {"Function", SHAPE_HEX64},
         {"ExpiresJiffies", SHAPE_UINT64}}}},
        {SRC_TIMER_EXPIRE, {TIMER, "TimerExpire", {{"Timer", SHAPE_HEX64}, {"Function", SHAPE_HEX64},
         {"NowJiffies", SHAPE_UINT64}}}},
        {SRC_HRTIMER_START, {TIMER, "HighResolutionTimerStart",
         {{"Timer", SHAPE_HEX64}, {"Function", SHAPE_HEX64}, {"ExpiresNs", SHAPE_UINT64}}}},
        {SRC_HRTIMER_EXPIRE, {TIMER, "HighResolutionTimerExpire",
         {{"Timer", SHAPE_HEX64}, {"Function", SHAPE_HEX64}, {"NowNs", SHAPE_UINT64}}}},
    };
    /* clang-format on */
    uint8_t       bytes[PAYLOAD_MAX];
    struct writer w = wr_make(bytes, sizeof bytes);
    wr_u64(&w, (uint64_t)sample_field(s, F_TIMER_TIMER));
    wr_u64(&w, (uint64_t)sample_field(s, F_TIMER_FUNCTION));
    wr_u64(&w, (uint64_t)sample_field(s, F_TIMER_WHEN));
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].kind == s->source->kind)
            convert_power_tell(c, s, &table[i].shape, &w);
}

/* State -1: the CPU is awake again. */
void convert_cpu_idle(struct convert *c, const struct sample *s)
{
    static const struct shape shape = {POWER, "CpuIdle", {{"Cpu", SHAPE_UINT32}, {"State", SHAPE_INT32}}};
    int32_t                   state = (int32_t)sample_field(s, F_POWER_STATE);
    uint32_t                  cpu   = (uint32_t)sample_field(s, F_POWER_CPU);
    uint8_t                   bytes[PAYLOAD_MAX];
    struct writer             w = wr_make(bytes, sizeof bytes);
    if (state != IDLE_LEFT && cpu < c->cpus)
        c->cpu[cpu].idle_state = (uint8_t)state;
    wr_u32(&w, cpu);
    wr_u32(&w, (uint32_t)state);
    convert_power_tell(c, s, &shape, &w);
}

void convert_cpu_frequency(struct convert *c, const struct sample *s)
{
    static const struct shape shape = {POWER, "CpuFrequency", {{"Cpu", SHAPE_UINT32}, {"KHz", SHAPE_UINT32}}};
    uint8_t                   bytes[PAYLOAD_MAX];
    struct writer             w = wr_make(bytes, sizeof bytes);
    wr_u32(&w, (uint32_t)sample_field(s, F_POWER_CPU));
    wr_u32(&w, (uint32_t)sample_field(s, F_POWER_STATE));
    convert_power_tell(c, s, &shape, &w);
}

/* The step's name is an address in the kernel's data: the record holds no text. */
void convert_suspend(struct convert *c, const struct sample *s)
{
    static const struct shape shape = {
        POWER, "SuspendResume", {{"Step", SHAPE_HEX64}, {"Value", SHAPE_INT32}, {"Begins", SHAPE_UINT32}}};
    uint8_t       bytes[PAYLOAD_MAX];
    struct writer w = wr_make(bytes, sizeof bytes);
    wr_u64(&w, (uint64_t)sample_field(s, F_SUSPEND_ACTION));
    wr_u32(&w, (uint32_t)sample_field(s, F_SUSPEND_VALUE));
    wr_u32(&w, sample_field(s, F_SUSPEND_START) != 0);
    convert_power_tell(c, s, &shape, &w);
}

/* DbgPrint: a line of the kernel's log. Its level is not in the record, unless the text still begins with "<N>". */
void convert_log_line(struct convert *c, const struct sample *s)
{
    uint8_t       bytes[LOG_LINE_MAX + 1];
    struct writer t     = wr_make(bytes, sizeof bytes);
    uint32_t      level = 0;
    uint64_t      time  = convert_time(c, s->time);
    wr_sample_text(&t, s, F_CONSOLE_TEXT);
    const char *text = (const char *)bytes;
    size_t      size = t.pos;
    if (size > 3 && text[0] == '<' && text[1] >= '0' && text[1] <= '7' && text[2] == '>') {
        level = (uint32_t)(text[1] - '0');
        text += 3;
        size -= 3;
    }
    if (size > 1 && text[size - 2] == '\n')
        size--;
    struct event e = {s->cpu, HOOK_DEBUG_PRINT, ETL_SYSTEM64, 2, shown_pid(c, s->pid, s->tid), s->tid};
    uint8_t     *p = emit_reserve(c, &e, &time, 8 + size);
    if (!p)
        return;
    memset(p, 0, 4);
    memcpy(p + 4, &level, 4);
    memcpy(p + 8, text, size);
    p[8 + size - 1] = 0;
}
