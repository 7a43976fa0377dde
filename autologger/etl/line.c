/* line.c - see line.h. */
#include "autologger/etl/line.h"

enum { SLACK = 500000 /* 50 ms */, PER_MILLION = 500, FREQUENCY_PER_MILLION = 50 };

/* 10^7 x d / f without overflow; saturates. */
static int64_t line_scale(int64_t d, int64_t f)
{
    __int128 t = (__int128)d * 10000000 / f;
    return t > INT64_MAX ? INT64_MAX : t < INT64_MIN ? INT64_MIN : (int64_t)t;
}

static bool is_date(const struct etl_file_header *h) { return h->raw.clock_type != 1 && h->raw.clock_type != 3; }

static int64_t frequency_of(const struct etl_file_header *h)
{
    if (h->raw.clock_type == 3)
        return (h->raw.cpu_mhz ? h->raw.cpu_mhz : 1) * INT64_C(1000000);
    return h->raw.perf_freq > 0 ? h->raw.perf_freq : 10000000;
}

uint64_t etl_filetime(const struct etl_file_header *h, int64_t raw)
{
    int64_t d, t;

    if (h->raw.clock_type == 2 || h->raw.clock_type == 0)
        return raw < 0 ? 0 : (uint64_t)raw;
    if (__builtin_sub_overflow(raw, h->start_raw, &d))
        d = raw < 0 ? INT64_MIN : INT64_MAX;
    if (__builtin_add_overflow(h->raw.start_time, line_scale(d, frequency_of(h)), &t))
        t = d < 0 ? 0 : INT64_MAX;
    return t < 0 ? 0 : (uint64_t)t;
}

static uint64_t line_apart(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

/* The file's length in 100 ns; 0: it was not finished. */
static uint64_t line_length(const struct etl_file_header *h)
{
    return h->raw.end_time > h->raw.start_time ? (uint64_t)(h->raw.end_time - h->raw.start_time) : 0;
}

enum etl_lines etl_lines_compare(const struct etl_file_header *a, const struct etl_file_header *b, uint64_t *off)
{
    const uint64_t one = (uint64_t)frequency_of(a), two = (uint64_t)frequency_of(b);
    uint64_t       ignored, *gap                        = off ? off : &ignored;

    *gap = 0;
    if (a->raw.clock_type != b->raw.clock_type ||
        (!is_date(a) && line_apart(one, two) > one / 1000000 * FREQUENCY_PER_MILLION))
        return ETL_LINES_CLOCKS;
    if (is_date(a))
        return ETL_LINES_ONE; /* raw values are dates */
    const uint64_t want = etl_filetime(a, b->start_raw), from = (uint64_t)a->raw.start_time;
    uint64_t       span = line_apart(want, from);
    /* a line's date is as of the writing of its header */
    span = line_length(a) > span ? line_length(a) : span;
    span = line_length(b) > span ? line_length(b) : span;
    *gap = line_apart(want, (uint64_t)b->raw.start_time);
    return *gap <= SLACK + span / 1000000 * PER_MILLION ? ETL_LINES_ONE : ETL_LINES_APART;
}

/* Raw clock at the end. */
static __int128 end_raw(const struct etl_file_header *h)
{
    return h->start_raw + (__int128)line_length(h) * frequency_of(h) / 10000000;
}

bool etl_line_later(const struct etl_file_header *a, const struct etl_file_header *b)
{
    return !is_date(a) && end_raw(b) > end_raw(a);
}

void etl_line_follow(struct etl_file_header *h, const struct etl_file_header *to)
{
    if (h == to || is_date(h) || is_date(to))
        return;
    const int64_t start = (int64_t)etl_filetime(to, h->start_raw),
                  by    = (int64_t)((uint64_t)start - (uint64_t)h->raw.start_time);
    h->raw.start_time   = start;
    h->raw.boot_time    = (int64_t)((uint64_t)h->raw.boot_time + (uint64_t)by);
    if (h->raw.end_time > 0)
        h->raw.end_time = (int64_t)((uint64_t)h->raw.end_time + (uint64_t)by);
    h->raw.perf_freq = to->raw.perf_freq;
    h->raw.cpu_mhz   = to->raw.cpu_mhz;
}
