#include "autologger/consumer/provenance.h"

#include "autologger/consumer/kernel_symbols.h"
#include "autologger/consumer/names_event.h"
#include "autologger/wire/merged.h"
#include "autologger/wire/names.h"
#include "registry-sim/base/opening.h"
#include "registry-sim/win32/filetime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define TEXT "\x82\x23"
#define U8 "\x04"
#define U32 "\x08"
#define U64 "\x0a"
#define TIME "\x11"
#define HEX32 "\x14"
static const char session_schema[] =
    "\0" MERGED_SESSION "\0Name\0" TEXT "FileName\0" TEXT "StartTime\0" TIME "EndTime\0" TIME "LogFileMode\0" HEX32
    "BufferSize\0" U32 "Buffers\0" U32 "Events\0" U64 "EventsLost\0" U32 "BuffersLost\0" U32 "Damage\0" U32
    "Finished\0" U8 "Of\0" TEXT;
static const char host_schema[] = "\0" MERGED_HOST "\0HostName\0" TEXT "System\0" TEXT "Release\0" TEXT
                                  "Architecture\0" TEXT "Program\0" TEXT "Processors\0" U32 "Memory\0" U64;
static const char configuration_schema[] =
    "\0" MERGED_CONFIGURATION "\0BootId\0" TEXT "ChangeNumber\0" U64 "Hash\0" TEXT;
enum { RECORD_MOST = 8192, TEXT_MOST = 1024, SAME_BOOT = 20000000 /* 2 s: setting the clock may explain so much */ };

/* ---- reading ---- */

static char *provenance_take_text(struct provenance *p, struct cursor *c)
{
    const char *text = (const char *)c->data + c->pos;
    size_t      n    = strnlen(text, cur_left(c));
    char       *copy = cur_take(c, n + 1) ? strdup(text) : NULL;

    p->failed |= !copy && cur_ok(c);
    return copy;
}

static void session_clear(struct provenance_session *s)
{
    free(s->name);
    free(s->file);
    free(s->of);
}

static void see_session(struct provenance *p, struct cursor *c)
{
    struct provenance_session s = {0};
    void                     *more =
        p->sessions < PROVENANCE_SESSIONS ? realloc(p->session, (p->sessions + 1ul) * sizeof *p->session) : NULL;

    if (!more) {
        p->failed |= p->sessions < PROVENANCE_SESSIONS;
        return;
    }
    p->session     = more;
    s.name         = provenance_take_text(p, c);
    s.file         = provenance_take_text(p, c);
    s.start        = cur_u64(c);
    s.end          = cur_u64(c);
    s.mode         = cur_u32(c);
    s.buffer_size  = cur_u32(c);
    s.buffers      = cur_u32(c);
    s.events       = cur_u64(c);
    s.events_lost  = cur_u32(c);
    s.buffers_lost = cur_u32(c);
    s.damage       = cur_u32(c);
    s.finished     = cur_u8(c);
    s.of           = cur_left(c) ? provenance_take_text(p, c) : NULL; /* missing in an older version */
    if (cur_ok(c) && s.name && s.file)
        p->session[p->sessions++] = s;
    else
        session_clear(&s);
}

static void host_clear(struct provenance *p)
{
    char **texts[] = {&p->host, &p->system, &p->release, &p->architecture, &p->program};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        free(*texts[i]);
        *texts[i] = NULL;
    }
}

static void see_host(struct provenance *p, struct cursor *c)
{
    host_clear(p);
    p->host         = provenance_take_text(p, c);
    p->system       = provenance_take_text(p, c);
    p->release      = provenance_take_text(p, c);
    p->architecture = provenance_take_text(p, c);
    p->program      = provenance_take_text(p, c);
    p->processors   = cur_u32(c);
    p->memory       = cur_u64(c);
    p->host_told    = cur_ok(c);
}

static void boot_id_take(struct provenance *p, const char *text, size_t size)
{
    size_t n = strnlen(text, size);
    if (n < sizeof p->boot_id && n < size) {
        memcpy(p->boot_id, text, n);
        p->boot_id[n] = 0;
    }
}

static void see_configuration(struct provenance *p, struct cursor *c)
{
    char *boot_id = provenance_take_text(p, c);

    if (boot_id)
        boot_id_take(p, boot_id, strlen(boot_id) + 1);
    free(boot_id);
    p->change_number = cur_u64(c);
    free(p->hash);
    p->hash               = provenance_take_text(p, c);
    p->configuration_told = cur_ok(c);
}

bool provenance_see(struct provenance *p, const struct etl_event *e)
{
    struct cursor c = cur_make(e->payload, e->payload_size);

    if (e->kind != ETL_KIND_EVENT || !e->metadata)
        return false;
    if (guid_is_zero(&p->merged)) {
        p->merged = guid_from_name(MERGED_PROVIDER);
        p->names  = guid_from_name(NAMES_PROVIDER);
    }
    /* nearly all events end here, without a look at a name */
    if (!guid_equal(&e->provider, &p->merged) && !guid_equal(&e->provider, &p->names))
        return false;
    if (names_event_is(e, NAMES_BOOT)) {
        boot_id_take(p, (const char *)e->payload, e->payload_size);
        return false;
    }
    bool session       = own_event_is(e, MERGED_PROVIDER, MERGED_SESSION),
         host          = !session && own_event_is(e, MERGED_PROVIDER, MERGED_HOST);
    bool configuration = !session && !host && own_event_is(e, MERGED_PROVIDER, MERGED_CONFIGURATION);
    if (session)
        see_session(p, &c);
    else if (host)
        see_host(p, &c);
    else if (configuration)
        see_configuration(p, &c);
    return session || host || configuration;
}

void provenance_finish(struct provenance *p)
{
    for (unsigned i = 0; i < p->sessions; i++)
        session_clear(&p->session[i]);
    free(p->session);
    host_clear(p);
    free(p->hash);
    *p = (struct provenance){0};
}

/* ---- writing ---- */

static wstatus provenance_put(struct writer *w, int64_t time, const struct added_events *to, struct reason *why)
{
    if (!names_event_end(w)) /* names of kilobytes do not occur */
        return W_SUCCESS;
    return to->put(to->ctx, 0, w->data, (uint32_t)w->pos, time, why);
}

static void provenance_put_name(struct writer *w, const char *text)
{
    char name[TEXT_MOST];
    snprintf(name, sizeof name, "%s", text ? text : "");
    own_event_text(w, name);
}

static wstatus provenance_put_session(const struct provenance_source *s, int64_t time, const struct added_events *to,
                                      struct reason *why)
{
    uint8_t       bytes[RECORD_MOST];
    struct writer w     = wr_make(bytes, sizeof bytes);
    const char   *slash = strrchr(s->path, '/');

    own_event_begin(&w, MERGED_PROVIDER, session_schema, sizeof session_schema - 1, time);
    provenance_put_name(&w, s->header->logger_name);
    provenance_put_name(&w, slash ? slash + 1 : s->path);
    wr_u64(&w, (uint64_t)s->header->raw.start_time);
    wr_u64(&w, s->header->raw.end_time > 0 ? (uint64_t)s->header->raw.end_time : 0);
    wr_u32(&w, s->header->raw.log_file_mode);
    wr_u32(&w, s->header->raw.buffer_size);
    wr_u32(&w, s->header->buffers_found);
    wr_u64(&w, s->events);
    wr_u32(&w, s->header->raw.events_lost);
    wr_u32(&w, s->header->raw.buffers_lost);
    wr_u32(&w, s->damage);
    wr_u8(&w, s->header->raw.end_time > 0);
    provenance_put_name(&w, s->of);
    return provenance_put(&w, time, to, why);
}

/* "Debian GNU/Linux 12 (bookworm)". */
static void system_name(char out[TEXT_MOST])
{
    static const char key[] = "PRETTY_NAME=";
    char              line[TEXT_MOST];
    FILE             *f = opening_stream("/etc/os-release");

    snprintf(out, TEXT_MOST, "Linux");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, sizeof key - 1) == 0) {
            char *text = line + sizeof key - 1, quote = *text == '"' || *text == '\'' ? *text++ : '\n';
            text[strcspn(text, (char[]){quote, '\n', 0})] = 0;
            snprintf(out, TEXT_MOST, "%s", text);
        }
    if (f)
        fclose(f);
}

/* Are the files of this machine's present boot? */
static bool provenance_here(const struct provenance *seen, const struct etl_file_header *h)
{
    struct timespec real, since;
    char            boot_id[40];

    if (*seen->boot_id) {
        kernel_boot_id("", boot_id);
        return strcmp(boot_id, seen->boot_id) == 0;
    }
    clock_gettime(CLOCK_REALTIME, &real);
    clock_gettime(CLOCK_BOOTTIME, &since);
    uint64_t began = filetime_from_unix_ns((uint64_t)(real.tv_sec - since.tv_sec) * 1000000000u) +
                     (uint64_t)((real.tv_nsec - since.tv_nsec) / 100);
    uint64_t said = (uint64_t)h->raw.boot_time;
    return h->raw.boot_time > 0 && (said > began ? said - began : began - said) < SAME_BOOT;
}

/* sysconf reads files for these. */
static struct host {
    long processors, pages, page_size;
} provenance_host;

void provenance_prepare(void)
{
    provenance_host = (struct host){sysconf(_SC_NPROCESSORS_ONLN), sysconf(_SC_PHYS_PAGES), sysconf(_SC_PAGESIZE)};
}

static wstatus put_host(int64_t time, const struct added_events *to, struct reason *why)
{
    uint8_t        bytes[RECORD_MOST];
    struct writer  w = wr_make(bytes, sizeof bytes);
    struct utsname u;
    char           system[TEXT_MOST];

    if (uname(&u) != 0)
        return W_SUCCESS;
    if (!provenance_host.processors)
        provenance_prepare();
    system_name(system);
    own_event_begin(&w, MERGED_PROVIDER, host_schema, sizeof host_schema - 1, time);
    provenance_put_name(&w, u.nodename);
    provenance_put_name(&w, system);
    provenance_put_name(&w, u.release);
    provenance_put_name(&w, u.machine);
    provenance_put_name(&w, "autologger " AL_VERSION);
    wr_u32(&w, (uint32_t)provenance_host.processors);
    wr_u64(&w, (uint64_t)provenance_host.pages * (uint64_t)provenance_host.page_size);
    return provenance_put(&w, time, to, why);
}

static wstatus put_configuration(const char *boot_id, uint64_t change_number, const char *hash, int64_t time,
                                 const struct added_events *to, struct reason *why)
{
    uint8_t       bytes[RECORD_MOST];
    struct writer w = wr_make(bytes, sizeof bytes);

    own_event_begin(&w, MERGED_PROVIDER, configuration_schema, sizeof configuration_schema - 1, time);
    provenance_put_name(&w, boot_id);
    wr_u64(&w, change_number);
    provenance_put_name(&w, hash);
    return provenance_put(&w, time, to, why);
}

wstatus provenance_write(const struct provenance *seen, const struct provenance_source *sources, const bool *told,
                         unsigned count, provenance_configuration *configuration, void *ctx, int64_t time,
                         const struct added_events *to, struct reason *why)
{
    wstatus  st                    = W_SUCCESS;
    char     hash[PROVENANCE_HASH] = "", boot_id[40];
    uint64_t change_number         = 0;
    bool     is_here               = count && provenance_here(seen, sources[0].header);

    for (unsigned i = 0; i < count && !st; i++)
        if (!told[i])
            st = provenance_put_session(&sources[i], time, to, why);
    if (!st && !seen->host_told && is_here)
        st = put_host(time, to, why);
    snprintf(boot_id, sizeof boot_id, "%s", seen->boot_id);
    if (is_here && !*boot_id)
        kernel_boot_id("", boot_id);
    if (!st && !seen->configuration_told && configuration && configuration(ctx, boot_id, &change_number, hash))
        st = put_configuration(boot_id, change_number, hash, time, to, why);
    return st;
}
