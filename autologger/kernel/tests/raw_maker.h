/* raw_maker.h - writes raw logs as the drainer would, without a kernel: for tests and benches of the converter. */
#ifndef AUTOLOGGER_KERNEL_TESTS_RAW_MAKER_H
#define AUTOLOGGER_KERNEL_TESTS_RAW_MAKER_H
#include "autologger/kernel/convert/convert.h"
#include "autologger/kernel/source/rings.h"
#include "autologger/kernel/source/sources.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct maker {
    struct rawlog   log;
    struct raw_pass pass;
    uint8_t         chunk[1 << 20];
    size_t          used;
    uint32_t        records;
    uint64_t        drained;
    /* of samples with RAW_SOURCE_USER: 2 = a 64-bit program, 1 = a 32-bit one, 0 = none */
    uint64_t user_words, user_base, user_asked, user_had;
};

/* Fields as on 6.18, for the fields that sources.def gives a source */
static inline void maker_init(struct maker *m, unsigned cpus, uint64_t bytes)
{
    struct raw_source s[SRC_COUNT];
    memset(s, 0, sizeof s);
    memset(m, 0, sizeof *m);
    static const struct raw_field fields[SRC_COUNT][RAW_FIELDS] = {
        [SRC_EXEC]              = {{8, 4}, {12, 4}},
        [SRC_SWITCH]            = {{24, 4}, {28, 4}, {32, 8}, {56, 4}, {60, 4}},
        [SRC_WAKING]            = {{24, 4}, {28, 4}},
        [SRC_RQ_INSERT]         = {{8, 4}, {16, 8}, {24, 4}, {34, 10}, {32, 2}},
        [SRC_RQ_ISSUE]          = {{8, 4}, {16, 8}, {24, 4}, {34, 10}, {32, 2}},
        [SRC_RQ_COMPLETE]       = {{8, 4}, {16, 8}, {24, 4}, {34, 10}, {32, 2}},
        [SRC_RQ_REQUEUE]        = {{8, 4}, {16, 8}, {24, 4}, {34, 10}},
        [SRC_SOFTIRQ_ENTRY]     = {{8, 4}},
        [SRC_SOFTIRQ_EXIT]      = {{8, 4}},
        [SRC_SOCKET_STATE]      = {{8, 8}, {16, 4}, {20, 4}, {24, 2}, {26, 2}, {30, 2}, {40, 16}, {56, 16}},
        [SRC_SEND_LENGTH]       = {{8, 8}, {16, 2}, {18, 2}, {20, 4}, {24, 4}},
        [SRC_RECV_LENGTH]       = {{8, 8}, {16, 2}, {18, 2}, {20, 4}, {24, 4}},
        [SRC_FAULT_USER]        = {{8, 8}, {16, 8}, {24, 8}},
        [SRC_FAULT_KERNEL]      = {{8, 8}, {16, 8}, {24, 8}},
        [SRC_FAULT_SIGNAL]      = {{8, 4}, {16, 4}, {36, 4}},
        [SRC_FILE_FAULT]        = {{24, 8}},
        [SRC_MUNMAP]            = {{16, 8}, {24, 8}},
        [SRC_MUNMAP_EXIT]       = {{16, 8}},
        [SRC_SYS_ENTER]         = {{8, 8}, {16, 48}},
        [SRC_SYS_EXIT]          = {{8, 8}, {16, 8}},
        [SRC_SPLIT]             = {{8, 4}, {16, 8}, {24, 8}, {32, 10}},
        [SRC_REMAP]             = {{8, 4}, {16, 8}, {28, 4}, {32, 8}, {40, 10}},
        [SRC_RETRANSMIT]        = {{16, 8}, {28, 2}, {30, 2}, {42, 16}, {58, 16}},
        [SRC_SOFTIRQ_RAISE]     = {{8, 4}},
        [SRC_TASKLET_ENTRY]     = {{8, 8}},
        [SRC_TASKLET_EXIT]      = {{8, 8}},
        [SRC_IRQ_ENTRY]         = {{8, 4}, {12, 4}},
        [SRC_IRQ_EXIT]          = {{8, 4}, {12, 4}},
        [SRC_CLOCK_ENTRY]       = {{8, 4}},
        [SRC_CLOCK_EXIT]        = {{8, 4}},
        [SRC_IPI_SEND]          = {{8, 4}, {16, 8}, {24, 8}},
        [SRC_RESCHEDULE_ENTRY]  = {{8, 4}},
        [SRC_RESCHEDULE_EXIT]   = {{8, 4}},
        [SRC_CALL_SINGLE_ENTRY] = {{8, 4}},
        [SRC_CALL_SINGLE_EXIT]  = {{8, 4}},
        [SRC_TIMER_START]       = {{8, 8}, {16, 8}, {24, 8}},
        [SRC_TIMER_EXPIRE]      = {{8, 8}, {24, 8}, {16, 8}},
        [SRC_HRTIMER_START]     = {{8, 8}, {16, 8}, {24, 8}},
        [SRC_HRTIMER_EXPIRE]    = {{8, 8}, {24, 8}, {16, 8}},
        [SRC_CPU_IDLE]          = {{8, 4}, {12, 4}},
        [SRC_CPU_FREQUENCY]     = {{8, 4}, {12, 4}},
        [SRC_SUSPEND]           = {{8, 8}, {16, 4}, {20, 1}},
        [SRC_SET_PRIORITY]      = {{8, 4}, {12, 4}, {16, 4}},
        [SRC_CONSOLE]           = {{8, 4}},
    };
    for (unsigned i = 0; i < SRC_COUNT; i++) {
        snprintf(s[i].name, sizeof s[i].name, "%s", source_table[i].name);
        s[i].kind  = i;
        s[i].flags = strchr(source_table[i].name, 0x3A) || (source_table[i].flags & SOURCE_TAP) ? RAW_SOURCE_RAW : 0;
        memcpy(s[i].field, fields[i], sizeof fields[i]);
        if (source_table[i].flags & SOURCE_ADDRESS)
            s[i].flags = RAW_SOURCE_ADDRESS;
        if (i == SRC_SWITCH || i == SRC_WAKING || i == SRC_CLOCK)
            s[i].flags |= RAW_SOURCE_CHAIN;
    }
    if (rawlog_init(&m->log, bytes, 0, cpus, s, SRC_COUNT, NULL))
        abort();
    for (unsigned c = 0; c < cpus; c++)
        for (unsigned i = 0; i < SRC_COUNT; i++)
            rawlog_ids(&m->log, c)[i] = 1000 + c * 100 + i;
}
static inline void maker_finish(struct maker *m) { rawlog_finish(&m->log); }

static inline void maker_chunk(struct maker *m, unsigned cpu, unsigned kind)
{
    struct raw_chunk chunk = {RAW_CHUNK_MAGIC, (uint32_t)m->used, (uint16_t)cpu, (uint16_t)kind, m->records};
    if (m->used) {
        rawlog_append(&m->log, &chunk, sizeof chunk);
        rawlog_append(&m->log, m->chunk, m->used);
    }
    m->used    = 0;
    m->records = 0;
}
/* Ends a pass: everything before `horizon` is complete. */
static inline void maker_pass(struct maker *m, uint64_t now, uint64_t horizon)
{
    struct raw_pass p = {.chunk      = {RAW_CHUNK_MAGIC, sizeof p - sizeof p.chunk, 0, RAW_CHUNK_PASS, 0},
                         .raw_ns     = now,
                         .value      = now,
                         .horizon_ns = horizon};
    rawlog_append(&m->log, &p, sizeof p);
    m->log.work->drained[0] = m->drained;
    m->log.work->horizon_ns = horizon;
    rawlog_publish(&m->log);
}

static inline void maker_put(struct maker *m, const void *p, size_t n)
{
    memcpy(m->chunk + m->used, p, n);
    m->used += n;
}
static inline void   maker_u32(struct maker *m, uint32_t v) { maker_put(m, &v, 4); }
static inline void   maker_u64(struct maker *m, uint64_t v) { maker_put(m, &v, 8); }
static inline size_t maker_begin(struct maker *m, uint32_t type, uint16_t misc)
{
    size_t at = m->used;
    maker_put(m, &(struct perf_event_header){type, misc, 0}, 8);
    return at;
}
static inline void maker_end(struct maker *m, size_t at)
{
    uint16_t size = (uint16_t)(m->used - at);
    memcpy(m->chunk + at + 6, &size, 2);
    m->records++;
    m->drained++;
}

static inline uint64_t maker_id(unsigned cpu, unsigned source) { return 1000 + cpu * 100 + source; }
/* A sample with an address, of a source that has one. */
static inline void maker_address(struct maker *m, unsigned cpu, unsigned source, uint64_t time, uint32_t tid,
                                 uint64_t ip, uint64_t address)
{
    size_t at = maker_begin(m, PERF_RECORD_SAMPLE, 0);
    maker_u64(m, maker_id(cpu, source));
    maker_u64(m, ip);
    maker_u32(m, tid);
    maker_u32(m, tid);
    maker_u64(m, time);
    maker_u64(m, address);
    maker_u64(m, cpu);
    maker_end(m, at);
}
/* A sample; `raw` may be NULL. The chain is `frames` addresses from `base` on, after a kernel marker. */
static inline void maker_sample(struct maker *m, unsigned cpu, unsigned source, uint64_t time, uint32_t pid,
                                uint32_t tid, uint64_t base, unsigned frames, const void *raw, uint32_t raw_size)
{
    size_t at = maker_begin(m, PERF_RECORD_SAMPLE, 0);
    maker_u64(m, maker_id(cpu, source));
    if (sample_shift(&m->log.header->source[source]))
        maker_u64(m, base);
    maker_u32(m, pid);
    maker_u32(m, tid);
    maker_u64(m, time);
    maker_u64(m, cpu);
    if (m->log.header->source[source].flags & RAW_SOURCE_CHAIN) {
        maker_u64(m, frames ? frames + 1 : 0);
        if (frames)
            maker_u64(m, (uint64_t)PERF_CONTEXT_USER);
        for (unsigned i = 0; i < frames; i++)
            maker_u64(m, base + i * 16);
    }
    if (m->log.header->source[source].flags & RAW_SOURCE_RAW) {
        uint32_t padded = ((raw_size + 4 + 7) & ~7u) - 4;
        maker_u32(m, padded);
        maker_put(m, raw, raw_size);
        memset(m->chunk + m->used, 0, padded - raw_size);
        m->used += padded - raw_size;
    }
    if (m->log.header->source[source].flags & RAW_SOURCE_USER) {
        maker_u64(m, m->user_words);
        for (unsigned i = 0; m->user_words && i < 17; i++)
            maker_u64(m, m->user_base + i);
        maker_u64(m, m->user_asked);
        memset(m->chunk + m->used, (int)(m->user_base & 0xFF), m->user_asked);
        m->used += m->user_asked;
        if (m->user_asked)
            maker_u64(m, m->user_had);
    }
    maker_end(m, at);
}
static inline void maker_switch(struct maker *m, unsigned cpu, uint64_t time, uint32_t prev, uint32_t next,
                                uint64_t state, uint64_t base, unsigned frames)
{
    struct {
        uint64_t common;
        char     comm[16];
        int32_t  pid, prio;
        uint64_t state;
        char     next_comm[16];
        int32_t  next, next_prio;
    } raw = {.pid = (int32_t)prev, .prio = 120, .state = state, .next = (int32_t)next, .next_prio = 110};
    maker_sample(m, cpu, SRC_SWITCH, time, prev, prev, base, frames, &raw, sizeof raw);
}
static inline void maker_waking(struct maker *m, unsigned cpu, uint64_t time, uint32_t by, uint32_t tid)
{
    struct {
        uint64_t common;
        char     comm[16];
        int32_t  pid, prio, target, pad;
    } raw = {.common = 0x10 << 16, .pid = (int32_t)tid, .prio = 120};
    maker_sample(m, cpu, SRC_WAKING, time, by, by, 0x7000, 3, &raw, sizeof raw);
}
static inline void maker_block(struct maker *m, unsigned cpu, unsigned source, uint64_t time, uint32_t tid,
                               uint64_t sector, uint32_t sectors, const char *rwbs)
{
    struct {
        uint64_t common;
        uint32_t dev, pad;
        uint64_t sector;
        uint32_t nr, bytes;
        uint16_t ioprio;
        char     rwbs[10];
        char     comm[16];
        uint32_t cmd;
    } raw = {.dev = 254u << 20, .sector = sector, .nr = sectors, .bytes = sectors * 512};
    memcpy(raw.rwbs, rwbs, strlen(rwbs));
    maker_sample(m, cpu, source, time, tid, tid, 0, 0, &raw, 60);
}
static inline void maker_softirq(struct maker *m, unsigned cpu, unsigned source, uint64_t time, uint32_t vec)
{
    struct {
        uint64_t common;
        uint32_t vec, pad;
    } raw = {.vec = vec};
    maker_sample(m, cpu, source, time, 0, 0, 0, 0, &raw, 12);
}
static inline void maker_trailer(struct maker *m, unsigned cpu, uint32_t pid, uint32_t tid, uint64_t time)
{
    maker_u32(m, pid);
    maker_u32(m, tid);
    maker_u64(m, time);
    maker_u64(m, cpu);
    maker_u64(m, 1000 + cpu * 100 + SRC_SIDEBAND);
}
static inline void maker_task(struct maker *m, unsigned cpu, uint32_t type, uint64_t time, uint32_t pid, uint32_t ppid,
                              uint32_t tid, uint32_t ptid)
{
    size_t at = maker_begin(m, type, 0);
    maker_u32(m, pid);
    maker_u32(m, ppid);
    maker_u32(m, tid);
    maker_u32(m, ptid);
    maker_u64(m, time);
    maker_trailer(m, cpu, type == PERF_RECORD_FORK ? ppid : pid, type == PERF_RECORD_FORK ? ptid : tid, time);
    maker_end(m, at);
}
static inline void maker_comm(struct maker *m, unsigned cpu, uint64_t time, uint32_t pid, uint32_t tid,
                              const char *name, bool exec)
{
    char   text[16] = "";
    size_t at       = maker_begin(m, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
    memcpy(text, name, strnlen(name, 15));
    maker_u32(m, pid);
    maker_u32(m, tid);
    maker_put(m, text, sizeof text);
    maker_trailer(m, cpu, pid, tid, time);
    maker_end(m, at);
}
static inline void maker_mmap(struct maker *m, unsigned cpu, uint64_t time, uint32_t pid, uint64_t addr, uint64_t len,
                              const char *path)
{
    uint8_t build[24] = {20, 0, 0, 0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88};
    char    text[64]  = "";
    size_t  at        = maker_begin(m, PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID);
    memcpy(text, path, strnlen(path, 63));
    maker_u32(m, pid);
    maker_u32(m, pid);
    maker_u64(m, addr);
    maker_u64(m, len);
    maker_u64(m, 0);
    maker_put(m, build, sizeof build);
    maker_u32(m, PROT_READ | PROT_EXEC);
    maker_u32(m, 0);
    maker_put(m, text, sizeof text);
    maker_trailer(m, cpu, pid, pid, time);
    maker_end(m, at);
}
/* Own records, with up to two texts */
static inline void maker_own(struct maker *m, void *record, size_t size, const char *a, const char *b)
{
    size_t at = m->used;
    maker_put(m, record, size);
    if (a)
        maker_put(m, a, strlen(a) + 1);
    if (b)
        maker_put(m, b, strlen(b) + 1);
    while (m->used % 8)
        m->chunk[m->used++] = 0;
    uint16_t whole = (uint16_t)(m->used - at);
    memcpy(m->chunk + at + 6, &whole, 2);
    m->records++;
}
#endif
