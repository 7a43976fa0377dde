/* event_extras.c - see event_extras.h. */
#include "autologger/consumer/event_extras.h"
#include "registry-sim/base/cursor.h"

#include <inttypes.h>
#include <stdio.h>

typedef bool form_fn(const uint8_t *data, uint32_t size, char out[EVENT_EXTRA_TEXT]);

/* S-1-22-1-1000. */
static bool form_sid(const uint8_t *data, uint32_t size, char out[EVENT_EXTRA_TEXT])
{
    enum { SUBS_MAX = 15 };
    struct cursor c        = cur_make(data, size);
    const uint8_t revision = cur_u8(&c), subs = cur_u8(&c);
    uint64_t      authority = 0;
    for (int i = 0; i < 6; i++)
        authority = authority << 8 | cur_u8(&c);
    int n = snprintf(out, EVENT_EXTRA_TEXT, "S-%u-%" PRIu64, revision, authority);
    for (unsigned i = 0; i < subs && subs <= SUBS_MAX; i++)
        n += snprintf(out + n, (size_t)(EVENT_EXTRA_TEXT - n), "-%" PRIu32, cur_u32(&c));
    return cur_ok(&c) && subs <= SUBS_MAX;
}

static bool form_number(const uint8_t *data, uint32_t size, char out[EVENT_EXTRA_TEXT])
{
    struct cursor c = cur_make(data, size);
    snprintf(out, EVENT_EXTRA_TEXT, "%" PRIu32, cur_u32(&c));
    return cur_ok(&c);
}

static bool form_key(const uint8_t *data, uint32_t size, char out[EVENT_EXTRA_TEXT])
{
    struct cursor c = cur_make(data, size);
    snprintf(out, EVENT_EXTRA_TEXT, "0x%" PRIx64, cur_u64(&c));
    return cur_ok(&c);
}

/* Process, thread. */
static bool form_ids(const uint8_t *data, uint32_t size, char out[EVENT_EXTRA_TEXT])
{
    struct cursor  c   = cur_make(data, size);
    const uint32_t pid = cur_u32(&c), tid = cur_u32(&c);
    snprintf(out, EVENT_EXTRA_TEXT, "%" PRIu32 "/%" PRIu32, pid, tid);
    return cur_ok(&c);
}

static bool form_times(const uint8_t *data, uint32_t size, char out[EVENT_EXTRA_TEXT])
{
    struct cursor  c      = cur_make(data, size);
    const uint64_t kernel = cur_u64(&c), user = cur_u64(&c);
    snprintf(out, EVENT_EXTRA_TEXT, "%" PRIu64 "/%" PRIu64, kernel, user);
    return cur_ok(&c);
}

static bool form_bytes(const uint8_t *data, uint32_t size, char out[EVENT_EXTRA_TEXT])
{
    for (uint32_t i = 0; i < size && 2 * i + 2 < EVENT_EXTRA_TEXT; i++)
        snprintf(out + 2 * (size_t)i, 3, "%02x", data[i]);
    return size != 0;
}

unsigned event_extras(const struct etl_event *event, struct event_extra out[EVENT_EXTRAS])
{
    static const struct {
        uint16_t    type;
        const char *name;
        bool        number;
        form_fn    *form;
    } rows[EVENT_EXTRAS] = {{ETL_EXT_SID, "userSid", false, form_sid},
                            {ETL_EXT_TS_ID, "terminalSession", true, form_number},
                            {ETL_EXT_PROCESS_START_KEY, "processStartKey", false, form_key},
                            {ETL_EXT_EVENT_KEY, "eventKey", false, form_key},
                            {ETL_EXT_CONTAINER_ID, "container", false, form_bytes},
                            {ETL_EXT_INNER_IDS, "innerIds", false, form_ids},
                            {ETL_EXT_CPU_TIMES, "cpuTimes", false, form_times}};
    const uint8_t *data;
    uint32_t       size;
    unsigned       n = 0;
    if (!event->ext)
        return 0;
    for (unsigned i = 0; i < EVENT_EXTRAS; i++)
        if (etl_ext_find(event, rows[i].type, &data, &size) && rows[i].form(data, size, out[n].text)) {
            out[n].name     = rows[i].name;
            out[n++].number = rows[i].number;
        }
    return n;
}
