/* Proves: ENB-03 ENB-04 ENB-05 ENB-06 ENB-07 ENB-13 API-06 API-08: filters and EnableProperty in the program that
 * writes, against a daemon in a thread: which programs see a session at all, which events pass, what they carry; each
 * session by its own terms; terms that change under writers miss no event and let none through that neither lets in. */
// timeout: 120
#include "autologger/include/TraceLoggingProvider.h"
#include "autologger/include/evntcons.h"
#include "autologger/include/evntprov.h"
#include "autologger/provider/filter.h"
#include "autologger/provider/tests/fakedaemon.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>

#include <cmocka.h>

static struct fakedaemon daemon_;
static const GUID        provider_id = {0x11223344, 0x5566, 0x7788, {1, 2, 3, 4, 5, 6, 7, 9}};
static REGHANDLE         handle;
TRACELOGGING_DEFINE_PROVIDER(g_named, "Filtered", (0x21, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
static const GUID named_id = {0x21, 2, 3, {4, 5, 6, 7, 8, 9, 10, 11}};

static unsigned   callbacks;
static ULONG      told_code, told_size, told_type;
static uint8_t    told_data[64];
static VOID NTAPI on_enable(LPCGUID source, ULONG code, UCHAR level, ULONGLONG any, ULONGLONG all,
                            PEVENT_FILTER_DESCRIPTOR filter, PVOID context)
{
    (void)source, (void)level, (void)any, (void)all, (void)context;
    told_code = code;
    told_size = filter ? filter->Size : 0;
    told_type = filter ? filter->Type : 0;
    if (filter && filter->Size <= sizeof told_data)
        memcpy(told_data, (const void *)(uintptr_t)filter->Ptr, filter->Size);
    callbacks++;
}

static int setup(void **state)
{
    (void)state;
    fakedaemon_start(&daemon_);
    fakedaemon_session(&daemon_, 0, 65536, 64);
    fakedaemon_session(&daemon_, 1, 65536, 64);
    callbacks = 0;
    if (EventRegister(&provider_id, on_enable, NULL, &handle) != 0)
        return -1;
    if (!fakedaemon_wait(&daemon_, &daemon_.registers, 1))
        return -1;
    return 0;
}
static int teardown(void **state)
{
    (void)state;
    EventUnregister(handle);
    fakedaemon_stop(&daemon_);
    return 0;
}

/* ---- making filters ---- */

static struct filter_block *with_property(struct filter_block *b, uint32_t property)
{
    if (!b) {
        b = calloc(1, sizeof *b);
        assert_non_null(b);
        b->size = sizeof *b;
    }
    b->property = property;
    return b;
}
static void add(struct filter_block **b, uint32_t type, const void *data, size_t size)
{
    struct reason why;
    assert_int_equal(filter_part_check(type, data, size, &why), 0);
    assert_int_equal(filter_add(b, type, data, size, &why), 0);
}
static void add_text(struct filter_block **b, uint32_t type, const char *text) { add(b, type, text, strlen(text) + 1); }
static void add_ids(struct filter_block **b, uint32_t type, bool in, unsigned count, const uint16_t *ids)
{
    uint8_t           bytes[4 + 2 * FILTER_IDS];
    struct filter_ids head = {.filter_in = in, .count = (uint16_t)count};
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, ids, 2 * count);
    add(b, type, bytes, sizeof head + 2 * count);
}
static void add_name(struct filter_block **b, uint32_t type, bool in, uint8_t level, uint64_t any, const char *name)
{
    uint8_t             bytes[128];
    struct filter_names head = {.any = any, .level = level, .filter_in = in, .count = 1};
    memcpy(bytes, &head, offsetof(struct filter_names, names));
    strcpy((char *)bytes + offsetof(struct filter_names, names), name);
    add(b, type, bytes, offsetof(struct filter_names, names) + strlen(name) + 1);
}
static void enable(unsigned session, const GUID *guid, struct filter_block *b)
{
    fakedaemon_enable_filtered(&daemon_, session, guid, 0, 0, 0, 0, b);
    free(b);
}
static uint64_t filtered(unsigned session)
{
    struct stream_counters c;
    stream_counters(daemon_.session[session].set, raw_now_ns(), &c);
    return c.filtered;
}

/* ---- writing and finding ---- */

static ULONG write_id(uint16_t id, uint8_t level, uint64_t keyword)
{
    EVENT_DESCRIPTOR d;
    EventDescCreate(&d, id, 0, 0, level, 0, 0, keyword);
    return EventWrite(handle, &d, 0, NULL);
}

/* The data of an item of the record; NULL: no such item. */
static const uint8_t *item_of(const struct stream_record *r, uint16_t type, uint16_t *size)
{
    struct etl_event_header h;
    struct etl_ext_item     item = {.linkage = 1};
    memcpy(&h, r->data, sizeof h);
    const uint8_t *p = r->data + sizeof h;
    if (!(h.flags & ETL_EVENT_EXTENDED))
        return NULL;
    for (; item.linkage & 1; p += item.total) {
        memcpy(&item, p, sizeof item);
        if (item.type != type)
            continue;
        *size = item.data_size;
        return p + sizeof item;
    }
    return NULL;
}

static void ids_pass_or_not(void **state)
{
    (void)state;
    static const struct {
        bool     in;
        unsigned count;
        uint16_t ids[4];
    } rows[] = {{true, 1, {7}}, {false, 1, {7}}, {true, 3, {1, 3, 65535}}, {false, 4, {0, 2, 4, 6}}};
    static const uint16_t tried[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 65535};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct filter_block *b      = NULL;
        unsigned             passed = 0;
        const uint64_t       before = filtered(0);
        add_ids(&b, FILTER_EVENT_ID, rows[i].in, rows[i].count, rows[i].ids);
        enable(0, &provider_id, b);
        for (size_t k = 0; k < sizeof tried / sizeof *tried; k++) {
            bool listed = false;
            for (unsigned n = 0; n < rows[i].count; n++)
                listed |= rows[i].ids[n] == tried[k];
            assert_int_equal(write_id(tried[k], 4, 1), 0);
            const struct stream_record *r = fakedaemon_next(&daemon_, 0);
            assert_int_equal(r != NULL, listed == rows[i].in);
            passed += r != NULL;
            if (r)
                assert_memory_equal(r->data + offsetof(struct etl_event_header, id), &tried[k], 2);
        }
        /* each event tried is either written or counted as filtered */
        assert_int_equal(passed + filtered(0) - before, sizeof tried / sizeof *tried);
    }
    struct stream_refused refused = {0};
    for (uint32_t slot = 0; slot < 4; slot++)
        stream_refused(daemon_.session[0].set, slot, &refused);
    assert_true(refused.by_filter);
    fakedaemon_disable(&daemon_, 0, &provider_id);
}

/* ENB-07: one event, two sessions, each with its own filter; a third change removes a filter. */
static void each_session_by_its_own(void **state)
{
    (void)state;
    struct filter_block *b   = NULL;
    const uint16_t       id7 = 7;
    add_ids(&b, FILTER_EVENT_ID, true, 1, &id7);
    enable(0, &provider_id, b);
    fakedaemon_enable(&daemon_, 1, &provider_id, 0, 0, 0, 0);
    for (uint16_t id = 6; id < 9; id++)
        assert_int_equal(write_id(id, 4, 0), 0);
    assert_int_equal(fakedaemon_count(&daemon_, 0), 1);
    assert_int_equal(fakedaemon_count(&daemon_, 1), 3);
    fakedaemon_enable(&daemon_, 0, &provider_id, 0, 0, 0, 0); /* each call replaces all */
    fakedaemon_enable(&daemon_, 1, &provider_id, 2, 0, 0, 0); /* ENB-13 */
    for (uint16_t id = 6; id < 9; id++)
        assert_int_equal(write_id(id, 4, 0), 0);
    assert_int_equal(fakedaemon_count(&daemon_, 0), 3);
    assert_int_equal(fakedaemon_count(&daemon_, 1), 0);
    fakedaemon_disable(&daemon_, 0, &provider_id);
    fakedaemon_disable(&daemon_, 1, &provider_id);
}

static const char *own_name(char *path, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", path, size - 1);
    assert_true(n > 0);
    path[n] = 0;
    return strrchr(path, '/') + 1;
}

/* A program outside the scope does not see the session: no callback, not enabled, the fast path. */
static void scope_decides_who_sees_it(void **state)
{
    (void)state;
    char                 path[1024], list[2048];
    const uint32_t       own = (uint32_t)getpid(), others[2] = {1, own + 1}, with[3] = {1, own + 1, own};
    const char          *name = own_name(path, sizeof path);
    struct filter_block *b    = NULL;
    struct {
        uint32_t    type;
        const void *data;
        size_t      size;
        bool        meant;
    } rows[] = {{FILTER_PID, others, sizeof others, false},
                {FILTER_PID, with, sizeof with, true},
                {FILTER_EXECUTABLE, "no-such-program", 16, false},
                {FILTER_EXECUTABLE, name, strlen(name) + 1, true},
                {FILTER_EXECUTABLE, path, strlen(path) + 1, true},
                {FILTER_EXECUTABLE, name, strlen(name), false}, /* without its NUL: see below */
                {FILTER_PACKAGE, "no-such.slice", 14, false},
                {FILTER_PACKAGE, "/no/such", 9, false},
                {FILTER_PACKAGE_APP, "no-such", 8, false},
                {FILTER_CONTAINER, "0123456789ab", 13, false}};
    char cut[1024];
    snprintf(cut, sizeof cut, "%.*s", (int)strlen(name) - 1, name);
    rows[5].data = cut;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const unsigned before = callbacks;
        b                     = NULL;
        add(&b, rows[i].type, rows[i].data, rows[i].size);
        enable(0, &provider_id, b);
        print_message("row %zu\n", i);
        assert_int_equal(callbacks - before != 0 && told_code == 1, rows[i].meant);
        assert_int_equal(EventProviderEnabled(handle, 4, 1), rows[i].meant);
        assert_int_equal(write_id(7, 4, 1), 0);
        assert_int_equal(fakedaemon_count(&daemon_, 0), rows[i].meant);
    }
    /* leaving the scope disables the provider; the scope also works with other filters */
    snprintf(list, sizeof list, "other; %s ;third", name);
    b = NULL;
    add_text(&b, FILTER_EXECUTABLE, list);
    add(&b, FILTER_PID, with, sizeof with);
    enable(0, &provider_id, b);
    assert_int_equal(told_code, 1);
    assert_true(EventProviderEnabled(handle, 4, 1));
    b = NULL;
    add_text(&b, FILTER_EXECUTABLE, list);
    add(&b, FILTER_PID, others, sizeof others);
    enable(0, &provider_id, b);
    assert_int_equal(told_code, 0);
    assert_false(EventProviderEnabled(handle, 4, 1));
    assert_int_equal(filtered(0), 0); /* an event outside the scope does not count as filtered */
    fakedaemon_disable(&daemon_, 0, &provider_id);
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
/* it kills a child that starts a thread after a fork of a threaded parent, and its calls leave no room for jumps */
#define WITH_THREAD_SANITIZER
#endif
#endif
/* PID: a child differs from its parent, also when it inherits everything else. */
static void a_child_is_another_program(void **state)
{
#ifdef WITH_THREAD_SANITIZER
    skip();
#endif
    (void)state;
    const uint32_t       own = (uint32_t)getpid();
    struct filter_block *b   = NULL;
    add(&b, FILTER_PID, &own, sizeof own);
    enable(0, &provider_id, b);
    assert_int_equal(write_id(1, 4, 0), 0);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 100 && write_id(2, 4, 0) == 0; i++)
            usleep(1000);
        _exit(EventProviderEnabled(handle, 4, 0) ? 1 : 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    unsigned mine = 0;
    for (const struct stream_record *r; (r = fakedaemon_next(&daemon_, 0)); mine++)
        assert_memory_equal(r->data + offsetof(struct etl_event_header, process_id), &own, 4);
    assert_int_equal(mine, 1);
    fakedaemon_disable(&daemon_, 0, &provider_id);
}

static void write_named(int which)
{
    if (which == 0)
        TraceLoggingWrite(g_named, "Begin", TraceLoggingLevel(4), TraceLoggingKeyword(0x1),
                          TraceLoggingInt32(which, "v"));
    else if (which == 1)
        TraceLoggingWrite(g_named, "End", TraceLoggingLevel(2), TraceLoggingKeyword(0x2),
                          TraceLoggingInt32(which, "v"));
    else
        TraceLoggingWrite(g_named, "EndOf", TraceLoggingLevel(4), TraceLoggingKeyword(0x2));
}

static void names_are_tracelogging_s(void **state)
{
    (void)state;
    static const struct {
        bool        in;
        uint8_t     level;
        uint64_t    any;
        const char *name;
        unsigned    passes; /* bit per event of write_named */
    } rows[] = {{true, 0, 0, "End", 2},  {false, 0, 0, "End", 5}, {true, 0, 0x1, "End", 0}, {true, 0, 0x2, "End", 2},
                {false, 1, 0, "End", 7}, {true, 0, 0, "Begi", 0}, {true, 0, 0, "begin", 0}, {true, 4, 1, "Begin", 1}};
    TraceLoggingRegister(g_named);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct filter_block *b  = NULL;
        const uint16_t       id = 99;
        add_name(&b, FILTER_EVENT_NAME, rows[i].in, rows[i].level, rows[i].any, rows[i].name);
        add_ids(&b, FILTER_EVENT_ID, true, 1, &id); /* not applied to events with names */
        enable(0, &named_id, b);
        for (int which = 0; which < 3; which++) {
            write_named(which);
            assert_int_equal(fakedaemon_count(&daemon_, 0), rows[i].passes >> which & 1);
        }
    }
    /* and name filters are not applied to events with ids */
    struct filter_block *b = NULL;
    add_name(&b, FILTER_EVENT_NAME, true, 0, 0, "End");
    enable(0, &provider_id, b);
    assert_int_equal(write_id(5, 4, 0), 0);
    assert_int_equal(fakedaemon_count(&daemon_, 0), 1);
    fakedaemon_disable(&daemon_, 0, &provider_id);
    fakedaemon_disable(&daemon_, 0, &named_id);
    TraceLoggingUnregister(g_named);
}

static void a_filter_of_its_own_reaches_the_callback(void **state)
{
    (void)state;
    struct filter_block *b = NULL;
    add(&b, FILTER_SCHEMATIZED, "what we agreed on", 18);
    enable(0, &provider_id, b);
    assert_int_equal(told_size, 18);
    assert_int_equal(told_type, EVENT_FILTER_TYPE_SCHEMATIZED);
    assert_string_equal((char *)told_data, "what we agreed on");
    assert_int_equal(write_id(1, 4, 0), 0); /* by itself it keeps nothing out */
    assert_int_equal(fakedaemon_count(&daemon_, 0), 1);
    fakedaemon_enable(&daemon_, 0, &provider_id, 0, 0, 0, 0);
    assert_int_equal(told_size, 0);
    fakedaemon_disable(&daemon_, 0, &provider_id);
}

/* ---- EnableProperty ---- */

static void properties_are_items(void **state)
{
    (void)state;
    enum { ALL = PROPERTY_SID | PROPERTY_TS_ID | PROPERTY_PROCESS_START_KEY | PROPERTY_EVENT_KEY };
    uint16_t size = 0;
    uint64_t key[2], start, session_key;
    uint32_t session;
    enable(0, &provider_id, with_property(NULL, ALL));
    enable(1, &provider_id, with_property(NULL, PROPERTY_EVENT_KEY));
    for (int i = 0; i < 2; i++) {
        EVENT_DESCRIPTOR      d;
        EVENT_DATA_DESCRIPTOR data;
        const uint32_t        value = 0x12345678;
        EventDescCreate(&d, 3, 0, 0, 4, 0, 0, 0);
        EventDataDescCreate(&data, &value, sizeof value);
        assert_int_equal(EventWrite(handle, &d, 1, &data), 0);
        const struct stream_record *r = fakedaemon_next(&daemon_, 0);
        assert_non_null(r);
        const uint8_t *sid = item_of(r, ETL_EXT_SID, &size);
        assert_non_null(sid);
        assert_int_equal(size, geteuid() ? 16 : 12);
        assert_memory_equal(sid, geteuid() ? "\1\2\0\0\0\0\0\26\1" : "\1\1\0\0\0\0\0\5\22", 9);
        assert_non_null(item_of(r, ETL_EXT_TS_ID, &size));
        memcpy(&session, item_of(r, ETL_EXT_TS_ID, &size), sizeof session);
        assert_int_equal(session, getsid(0));
        memcpy(&start, item_of(r, ETL_EXT_PROCESS_START_KEY, &size), sizeof start);
        assert_int_equal(size, 8);
        assert_int_equal(start & ((1u << 22) - 1), getpid());
        assert_true(start >> 22 != 0);
        memcpy(&key[i], item_of(r, ETL_EXT_EVENT_KEY, &size), sizeof key[i]);
        assert_null(item_of(r, ETL_EXT_STACK64, &size));
        assert_memory_equal(r->data + r->size - 4, &value, 4); /* the payload follows the items */
        r = fakedaemon_next(&daemon_, 1);                      /* the same event in another session */
        assert_non_null(r);
        assert_null(item_of(r, ETL_EXT_SID, &size));
        memcpy(&session_key, item_of(r, ETL_EXT_EVENT_KEY, &size), sizeof session_key);
        assert_true(session_key == key[i]);
    }
    assert_true(key[0] != key[1]);
    fakedaemon_disable(&daemon_, 0, &provider_id);
    fakedaemon_disable(&daemon_, 1, &provider_id);
}

static void in_private_is_kept_out(void **state)
{
    (void)state;
    EVENT_DESCRIPTOR d;
    EventDescCreate(&d, 3, 0, 0, 4, 0, 0, 0);
    enable(0, &provider_id, with_property(NULL, PROPERTY_EXCLUDE_INPRIVATE));
    fakedaemon_enable(&daemon_, 1, &provider_id, 0, 0, 0, 0);
    assert_int_equal(EventWriteEx(handle, &d, 0, EVENT_WRITE_FLAG_INPRIVATE, NULL, NULL, 0, NULL), 0);
    assert_int_equal(fakedaemon_count(&daemon_, 0), 0);
    assert_int_equal(fakedaemon_count(&daemon_, 1), 1);
    assert_int_equal(EventWriteEx(handle, &d, 0, 0, NULL, NULL, 0, NULL), 0);
    assert_int_equal(fakedaemon_count(&daemon_, 0), 1);
    assert_int_equal(fakedaemon_count(&daemon_, 1), 1);
    assert_int_equal(filtered(0), 1);
    fakedaemon_disable(&daemon_, 0, &provider_id);
    fakedaemon_disable(&daemon_, 1, &provider_id);
}

/* Three nested functions; the stack contains each, the innermost first. */
static uint64_t inner_at[2], middle_at[2], outer_at[2];
#define HERE(range) (range[0] = (uint64_t)(uintptr_t)__builtin_return_address(0))
static __attribute__((noinline)) ULONG inner(uint16_t id)
{
    HERE(middle_at);
    ULONG st = write_id(id, 4, 0x10);
    __asm__ volatile("" ::: "memory");
    return st;
}
static __attribute__((noinline)) ULONG middle(uint16_t id)
{
    HERE(outer_at);
    ULONG st = inner(id);
    __asm__ volatile("" ::: "memory");
    return st;
}
static __attribute__((noinline)) ULONG outer(uint16_t id)
{
    ULONG st = middle(id);
    __asm__ volatile("" ::: "memory");
    return st;
}

/* Do the frames have middle's and then outer's return address? */
static bool deep_enough(const struct stream_record *r, unsigned *frames)
{
    uint16_t       size = 0;
    const uint8_t *data = item_of(r, ETL_EXT_STACK64, &size);
    unsigned       at   = 0;
    uint64_t       frame, match;
    *frames = 0;
    if (!data)
        return false;
    memcpy(&match, data, 8);
    assert_true(match == 0 && size % 8 == 0);
    *frames = size / 8u - 1;
    for (unsigned i = 1; i <= *frames; i++) {
        memcpy(&frame, data + 8 * i, 8);
        at += (at == 0 && frame == middle_at[0]) || (at == 1 && frame == outer_at[0]);
    }
    return at == 2;
}

static void stacks_are_the_caller_s(void **state)
{
#ifdef WITH_THREAD_SANITIZER
    skip();
#endif
    (void)state;
    struct filter_block *b = NULL;
    unsigned             frames;
    const uint16_t       id = 8;
    uint16_t             size;
    enable(0, &provider_id, with_property(NULL, PROPERTY_STACK_TRACE));
    fakedaemon_enable(&daemon_, 1, &provider_id, 0, 0, 0, 0);
    (void)inner_at;
    assert_int_equal(outer(7), 0);
    const struct stream_record *r = fakedaemon_next(&daemon_, 0);
    assert_non_null(r);
    assert_true(deep_enough(r, &frames));
    assert_true(frames >= 4 && frames <= USER_STACK_MAX);
    r = fakedaemon_next(&daemon_, 1);
    assert_non_null(r);
    assert_null(item_of(r, ETL_EXT_STACK64, &size));
    /* stacks for one id alone, for none of level 4, without the property */
    add_ids(&b, FILTER_STACK_ID, true, 1, &id);
    enable(0, &provider_id, with_property(b, PROPERTY_STACK_TRACE));
    for (uint16_t tried = 7; tried < 9; tried++) {
        assert_int_equal(outer(tried), 0);
        r = fakedaemon_next(&daemon_, 0);
        assert_non_null(r);
        assert_int_equal(deep_enough(r, &frames), tried == 8);
    }
    struct filter_level_keyword terms = {.level = 4, .any = 0x10, .filter_in = 0};
    b                                 = NULL;
    add(&b, FILTER_STACK_LEVEL_KEYWORD, &terms, sizeof terms);
    enable(0, &provider_id, with_property(b, PROPERTY_STACK_TRACE));
    assert_int_equal(outer(7), 0);
    assert_false(deep_enough(fakedaemon_next(&daemon_, 0), &frames));
    b               = NULL;
    terms.filter_in = 1;
    add(&b, FILTER_STACK_LEVEL_KEYWORD, &terms, sizeof terms);
    enable(0, &provider_id, with_property(b, 0));
    assert_int_equal(outer(7), 0);
    assert_false(deep_enough(fakedaemon_next(&daemon_, 0), &frames));
    fakedaemon_disable(&daemon_, 0, &provider_id);
    fakedaemon_disable(&daemon_, 1, &provider_id);
}

/* An invalid frame pointer ends the stack, without further effect. */
static void what_is_no_frame_hurts_nobody(void **state)
{
    (void)state;
    uint64_t       out[USER_STACK_MAX];
    const uint64_t wrong[][2] = {{0, 5}, {8, 5}, {UINT64_MAX - 7, 5}, {0x7000000000000000, 5}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(user_stack(wrong[i], &out, out), 1);
    assert_int_equal(user_stack((const void *)8, &out, out), 1);
    assert_int_equal(user_stack(NULL, NULL, out), 0);
    uint64_t chain[2 * (USER_STACK_MAX + 50)];
    for (unsigned i = 0; i < USER_STACK_MAX + 50; i++) {
        chain[2 * i]     = (uint64_t)(uintptr_t)&chain[2 * i + 2];
        chain[2 * i + 1] = 1000 + i;
    }
    assert_int_equal(user_stack(chain, &out, out), USER_STACK_MAX); /* ends at the maximum */
    assert_int_equal(out[1], 1001);
    assert_int_equal(out[USER_STACK_MAX - 1], 1000 + USER_STACK_MAX - 1);
}

/* An event that only its stack makes too long is lost to that session, and counted. */
static void too_long_with_the_stack(void **state)
{
    (void)state;
    static uint8_t         bytes[65535 - 80];
    struct stream_counters before, after;
    EVENT_DESCRIPTOR       d;
    EVENT_DATA_DESCRIPTOR  data;
    EventDescCreate(&d, 3, 0, 0, 4, 0, 0, 0);
    EventDataDescCreate(&data, bytes, sizeof bytes);
    enable(0, &provider_id, with_property(NULL, PROPERTY_STACK_TRACE | PROPERTY_SID));
    stream_counters(daemon_.session[0].set, raw_now_ns(), &before);
    assert_int_equal(EventWrite(handle, &d, 1, &data), ERROR_ARITHMETIC_OVERFLOW);
    stream_counters(daemon_.session[0].set, raw_now_ns(), &after);
    assert_int_equal(after.lost, before.lost + 1);
    assert_int_equal(fakedaemon_count(&daemon_, 0), 0);
    fakedaemon_disable(&daemon_, 0, &provider_id);
}

/* ---- terms that change ---- */

enum { WRITES = 200000 };
static bool  writing;
static void *write_many(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < WRITES; i++)
        write_id((uint16_t)(i % 3), 4, 0); /* 0: both pass; 1: the second passes; 2: neither */
    __atomic_store_n(&writing, false, __ATOMIC_SEQ_CST);
    return NULL;
}

static void changes_miss_nothing(void **state)
{
    (void)state;
    static const uint16_t  first[] = {0}, second[] = {0, 1};
    struct filter_block   *b = NULL;
    pthread_t              writer;
    unsigned               seen[3] = {0}, changes = 0;
    struct stream_counters counters;
    add_ids(&b, FILTER_EVENT_ID, true, 1, first);
    enable(0, &provider_id, b);
    __atomic_store_n(&writing, true, __ATOMIC_SEQ_CST);
    assert_int_equal(pthread_create(&writer, NULL, write_many, NULL), 0);
    for (bool more = true; more; changes++) {
        more = __atomic_load_n(&writing, __ATOMIC_SEQ_CST);
        b    = NULL;
        if (changes % 3 == 2) {
            const uint16_t not = 2;
            add_ids(&b, FILTER_EVENT_ID, false, 1, &not );
        } else {
            add_ids(&b, FILTER_EVENT_ID, true, changes % 3 ? 2 : 1, changes % 3 ? second : first);
        }
        if (more)
            enable(0, &provider_id, b);
        else
            free(b);
        for (const struct stream_record *r; (r = fakedaemon_next(&daemon_, 0));) {
            uint16_t id;
            memcpy(&id, r->data + offsetof(struct etl_event_header, id), sizeof id);
            assert_true(id < 3);
            seen[id]++;
        }
    }
    pthread_join(writer, NULL);
    while (fakedaemon_next(&daemon_, 0))
        seen[0] += daemon_.record.data[offsetof(struct etl_event_header, id)] == 0,
            seen[1] += daemon_.record.data[offsetof(struct etl_event_header, id)] == 1;
    stream_counters(daemon_.session[0].set, raw_now_ns(), &counters);
    print_message("%u changes; %u, %u and %u events written, %u lost, %u filtered\n", changes, seen[0], seen[1],
                  seen[2], (unsigned)counters.lost, (unsigned)counters.filtered);
    assert_int_equal(seen[2], 0);
    assert_int_equal(seen[0] + seen[1] + counters.lost + counters.filtered, WRITES);
    assert_true(seen[0] + counters.lost >= (WRITES + 2) / 3);
    fakedaemon_disable(&daemon_, 0, &provider_id);
}

static void identities(void **state)
{
    (void)state;
    struct filter_identity who = {0};
    struct filter_view     f;
    static const char      hex[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    static const struct {
        const char *cgroup;
        uint32_t    type;
        const char *list;
        bool        meant;
    } rows[] = {
        {"0::/system.slice/web.service\n", FILTER_PACKAGE, "web.service", true},
        {"0::/system.slice/web.service\n", FILTER_PACKAGE, "a;system.slice", true},
        {"0::/system.slice/web.service\n", FILTER_PACKAGE, "/system.slice", true},
        {"0::/system.slice/web.service\n", FILTER_PACKAGE, "/system.sli", false},
        {"0::/system.slice/web.service\n", FILTER_PACKAGE, "/", true},
        {"0::/system.slice/web.service\n", FILTER_PACKAGE, "web", false},
        {"0::/system.slice/web.service\n", FILTER_PACKAGE_APP, "web", true},
        {"0::/system.slice/web.service/sub\n", FILTER_PACKAGE_APP, "web.service", true},
        {"0::/user.slice/app.slice/app-a.scope\n", FILTER_PACKAGE_APP, "app-a.scope", true},
        {"0::/user.slice/app.slice/app-a.scope\n", FILTER_PACKAGE_APP, "app-a", false},
        {"0::/user.slice\n", FILTER_PACKAGE_APP, "user", false},
        {"12:pids:/a\n1:name=systemd:/system.slice/old.service\n0::/\n", FILTER_PACKAGE, "old.service", true},
        {"0::/system.slice/docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope\n",
         FILTER_CONTAINER, "0123456789ab", true},
        {"0::/system.slice/docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope\n",
         FILTER_CONTAINER, "0123456789a", false},
        {"0::/docker/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n", FILTER_PACKAGE, hex, true},
        {"0::/docker/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0\n", FILTER_CONTAINER,
         "0123456789ab", false},
        {"", FILTER_PACKAGE, "a", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct filter_block *b = NULL;
        add_text(&b, rows[i].type, rows[i].list);
        identity_cgroup(&who, rows[i].cgroup);
        assert_true(filter_view(b, b->size, &f));
        print_message("%s in %s", rows[i].list, rows[i].cgroup);
        assert_int_equal(filter_in_scope(&f, &who), rows[i].meant);
        free(b);
    }
    identity_cgroup(&who, rows[12].cgroup);
    assert_memory_equal(who.container_id, "\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef", 16);
    assert_true(identity_start_key("12 (a) b) S 1 12 12 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 777 1 1", 12) ==
                (UINT64_C(777) << 22 | 12));
    assert_true(identity_start_key("", 5) == 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ids_pass_or_not, setup, teardown),
        cmocka_unit_test_setup_teardown(each_session_by_its_own, setup, teardown),
        cmocka_unit_test_setup_teardown(scope_decides_who_sees_it, setup, teardown),
        cmocka_unit_test_setup_teardown(a_child_is_another_program, setup, teardown),
        cmocka_unit_test_setup_teardown(names_are_tracelogging_s, setup, teardown),
        cmocka_unit_test_setup_teardown(a_filter_of_its_own_reaches_the_callback, setup, teardown),
        cmocka_unit_test_setup_teardown(properties_are_items, setup, teardown),
        cmocka_unit_test_setup_teardown(in_private_is_kept_out, setup, teardown),
        cmocka_unit_test_setup_teardown(stacks_are_the_caller_s, setup, teardown),
        cmocka_unit_test(what_is_no_frame_hurts_nobody),
        cmocka_unit_test_setup_teardown(too_long_with_the_stack, setup, teardown),
        cmocka_unit_test_setup_teardown(changes_miss_nothing, setup, teardown),
        cmocka_unit_test(identities),
    };
    fakedaemon_init(&daemon_);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fakedaemon_finish(&daemon_);
    return failed;
}
