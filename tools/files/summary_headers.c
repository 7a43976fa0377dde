#include "tools/files/summary_headers.h"

#include "autologger/etl/reader.h"
#include "registry-sim/base/visible_print.h"
#include "registry-sim/win32/filetime.h"
#include "tools/base/json_out.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/files/summary_view.h"

#include <inttypes.h>
#include <stdio.h>

struct totals {
    uint64_t buffers, used;
};

static void summary_headers_print_text(const struct etl_reader *r)
{
    const struct etl_file_header *h = etl_reader_header(r);
    char                          start[FILETIME_TEXT_SIZE], end[FILETIME_TEXT_SIZE];

    visible_printf(stdout, "logger    %s\nlog file  %s\nstart     %s\nend       %s\n", h->logger_name, h->file_name,
                   filetime_format((uint64_t)h->raw.start_time, start),
                   h->raw.end_time ? filetime_format((uint64_t)h->raw.end_time, end) : "not finished");
    printf("size      %" PRIu64 " bytes, %" PRIu32 " buffers; the header says %" PRIu32 "\nlost      %" PRIu32
           " events, %" PRIu32 " buffers\n",
           h->file_size, h->buffers_found, h->raw.buffers_written, h->raw.events_lost, h->raw.buffers_lost);
    for (uint32_t cpu = 0; cpu <= h->highest_cpu; cpu++) {
        struct totals t;
        etl_reader_cpu(r, (uint16_t)cpu, &t.buffers, &t.used);
        if (t.buffers)
            printf("CPU %-5u %" PRIu64 " buffers with %" PRIu64 " bytes\n", cpu, t.buffers, t.used);
    }
}

static void summary_headers_print_json(const struct etl_reader *r, const char *path)
{
    const struct etl_file_header *h = etl_reader_header(r);
    struct json                  *j = json_create(stdout, true);
    char                          text[FILETIME_TEXT_SIZE];

    if (!j)
        return;
    json_object(j, NULL);
    json_text(j, "trace", path);
    json_text(j, "logger", h->logger_name);
    json_text(j, "start", filetime_format((uint64_t)h->raw.start_time, text));
    json_text(j, "end", h->raw.end_time ? filetime_format((uint64_t)h->raw.end_time, text) : "");
    json_number(j, "bytes", h->file_size);
    json_number(j, "buffers", h->buffers_found);
    json_number(j, "buffers_said", h->raw.buffers_written);
    json_number(j, "events_lost", h->raw.events_lost);
    json_number(j, "buffers_lost", h->raw.buffers_lost);
    json_array(j, "cpus");
    for (uint32_t cpu = 0; cpu <= h->highest_cpu; cpu++) {
        struct totals t;
        etl_reader_cpu(r, (uint16_t)cpu, &t.buffers, &t.used);
        if (!t.buffers)
            continue;
        json_object(j, NULL);
        json_number(j, "cpu", cpu);
        json_number(j, "buffers", t.buffers);
        json_number(j, "bytes", t.used);
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
    json_destroy(j);
}

int summary_headers(const char *verb, const char *path, bool json)
{
    struct etl_reader *r   = NULL;
    struct reason      why = {0};
    wstatus            st  = etl_reader_open(path, &r, &why);

    if (st)
        return failure_print(verb, st, &why);
    if (json)
        summary_headers_print_json(r, path);
    else
        summary_headers_print_text(r);
    bool bad = damage_print(verb, path, r);
    etl_reader_close(r);
    return bad ? VERB_FAILED : VERB_FINE;
}
