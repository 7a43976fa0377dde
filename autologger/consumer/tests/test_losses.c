/* Loss over time, as a file tells it: gaps by CPU and cause, by source; bounded; hostile payloads; a file without loss
 * events.
 * Proves: ANA-12, and issue 4 "loss in the summary over time". */
#include "autologger/consumer/summary.h"
#include "autologger/etl/tests/build.h"
#include "registry-sim/base/cursor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <yajl/yajl_tree.h>

#include <cmocka.h>

static const char traits[] = "\x12\0Autologger-Loss";
static const char schema[] = "\x4a\0\0Lost\0Cpu\0\x08"
                             "Cause\0\x82\x23Source\0\x82\x23"
                             "Count\0\x0a"
                             "BeganNsAgo\0\x0a"
                             "EndedNsAgo\0\x0a";

/* The time is in units of 100 ns, as is the file's clock. */
static void lost(struct image *m, int64_t time, uint32_t cpu, const char *cause, const char *source, uint64_t count,
                 uint64_t began, uint64_t ended)
{
    uint8_t       bytes[256];
    char          sized[sizeof schema];
    struct writer w    = wr_make(bytes, sizeof bytes);
    uint16_t      size = sizeof schema - 1;
    memcpy(sized, schema, sizeof schema);
    memcpy(sized, &size, sizeof size);
    wr_u32(&w, cpu);
    wr_bytes(&w, cause, strlen(cause) + 1);
    wr_bytes(&w, source, strlen(source) + 1);
    wr_u64(&w, count);
    wr_u64(&w, began);
    wr_u64(&w, ended);
    image_tracelogging(m, time, traits, sizeof traits, sized, sizeof schema - 1, w.data, w.pos);
}

static struct summary *summary_of(struct image *m, uint32_t counted, struct etl_reader **r)
{
    struct summary *s;
    struct reason   why;
    memcpy(m->data + HEADER_AT_EVENTS_LOST, &counted, 4);
    assert_int_equal(etl_reader_open_memory(m->data, m->size, r, &why), W_SUCCESS);
    assert_int_equal(summary_create(*r, &s, &why), W_SUCCESS);
    return s;
}

static char *text_of(const struct summary *s, bool json)
{
    char  *text;
    size_t size;
    FILE  *out = open_memstream(&text, &size);
    if (json)
        assert_int_equal(summary_print_json(s, out), W_SUCCESS);
    else
        summary_print(s, out);
    fclose(out);
    return text;
}

static void gaps_and_sources(void **state)
{
    struct etl_file_info info = build_info(4096);
    struct image         m    = image_start(&info);
    struct etl_reader   *r;
    (void)state;
    image_buffer(&m, 0, 1);
    /* half a second; the first event is at 0.1 s */
    lost(&m, 20000000, 0, "ring", "sched:sched_switch", 30, 500000000, 0);
    lost(&m, 20000001, 0, "ring", "sched:sched_waking", 4, 500000100, 100); /* the same gap */
    lost(&m, 30000000, 1, "memory", "sched:sched_switch", 6, 1000000000, 500000000);
    lost(&m, 40000000, UINT32_MAX, "withheld", "irq:softirq_entry", 2, 0, 0);
    struct summary *s = summary_of(&m, 42, &r);
    assert_true(s->losses.placed == 42 && s->losses.rows == 3 && s->losses.row[0].gaps == 1 && s->losses.sources == 4 &&
                s->undecoded == 0);
    char *text = text_of(s, false);
    assert_non_null(strstr(text, "loss over time  42 of 42 events lost have a place\n"));
    assert_non_null(strstr(text, "  cpu 0        1.400000 s ..     1.900000 s           34  ring\n"));
    assert_non_null(strstr(text, "  cpu 1        1.900000 s ..     2.400000 s            6  memory\n"));
    assert_non_null(strstr(text, "  cpu -        3.900000 s ..     3.900000 s            2  withheld\n"));
    assert_non_null(strstr(text, "  of sched:sched_waking                                  4  ring\n"));
    free(text);
    text          = text_of(s, true);
    yajl_val tree = yajl_tree_parse(text, NULL, 0),
             loss = yajl_tree_get(tree, (const char *[]){"loss", NULL}, yajl_t_object);
    assert_int_equal(YAJL_GET_INTEGER(yajl_tree_get(loss, (const char *[]){"placed", NULL}, yajl_t_number)), 42);
    assert_int_equal(YAJL_GET_INTEGER(yajl_tree_get(loss, (const char *[]){"counted", NULL}, yajl_t_number)), 42);
    yajl_val gaps = yajl_tree_get(loss, (const char *[]){"gaps", NULL}, yajl_t_array);
    assert_int_equal(YAJL_GET_ARRAY(gaps)->len, 3);
    assert_non_null(yajl_tree_get(YAJL_GET_ARRAY(gaps)->values[0], (const char *[]){"cpu", NULL}, yajl_t_number));
    assert_null(yajl_tree_get(YAJL_GET_ARRAY(gaps)->values[2], (const char *[]){"cpu", NULL}, yajl_t_number));
    assert_int_equal(YAJL_GET_ARRAY(yajl_tree_get(loss, (const char *[]){"sources", NULL}, yajl_t_array))->len, 4);
    yajl_tree_free(tree);
    free(text);
    summary_destroy(s);
    etl_reader_close(r);
    image_free(&m);
}

/* The closest neighbours are joined; no loss is forgotten. */
static void many_gaps_are_bounded(void **state)
{
    struct etl_file_info info = build_info(65536);
    struct image         m    = image_start(&info);
    struct etl_reader   *r;
    (void)state;
    image_buffer(&m, 0, 1);
    for (int i = 0; i < 200; i++) /* pairs: 1 ms apart, then 1 s */
        lost(&m, 10000000 * (i / 2 + 1) + i % 2 * 20000, 0, "ring", "a", 3, 1000000, 0);
    struct summary        *s = summary_of(&m, 600, &r);
    const struct loss_row *l = &s->losses.row[0];
    assert_true(s->losses.rows == 1 && l->gaps == LOSS_GAPS && s->losses.placed == 600 &&
                s->losses.source[0].count == 600);
    uint64_t sum = 0;
    for (unsigned i = 0; i < l->gaps; i++) {
        sum += l->gap[i].count;
        assert_true(l->gap[i].from < l->gap[i].to && (i == 0 || l->gap[i - 1].to < l->gap[i].from) &&
                    l->gap[i].count % 6 == 0);
    }
    assert_int_equal(sum, 600);
    summary_destroy(s);
    etl_reader_close(r);
    image_free(&m);
}

static void hostile_payloads(void **state)
{
    struct etl_file_info info = build_info(4096);
    struct image         m    = image_start(&info);
    struct etl_reader   *r;
    (void)state;
    image_buffer(&m, 0, 1);
    lost(&m, 10000000, 0, "\x1b[31m", "x\ny", UINT64_MAX, UINT64_MAX, UINT64_MAX);
    image_tracelogging(&m, 20000000, traits, sizeof traits, "\x09\0\0Lost\0", 9, "\0\0\0\0ring\0no end", 15);
    image_tracelogging(&m, 20000001, traits, sizeof traits, "\x09\0\0Lost\0", 9, "", 0);
    struct summary *s    = summary_of(&m, 0, &r);
    char           *text = text_of(s, false);
    assert_true(s->losses.rows == 1 && s->losses.sources == 1);
    assert_null(strchr(text, 0x1b));
    assert_non_null(strstr(text, "?[31m"));
    free(text);
    summary_destroy(s);
    etl_reader_close(r);
    image_free(&m);
}

static void nothing_is_said(void **state)
{
    struct etl_file_info info = build_info(4096);
    struct etl_reader   *r;
    (void)state;
    for (uint32_t counted = 0; counted < 4; counted += 3) {
        struct image    m    = image_start(&info);
        struct summary *s    = summary_of(&m, counted, &r);
        char           *text = text_of(s, false);
        assert_true((strstr(text, "loss over time  0 of 3 events lost have a place\n") != NULL) == (counted == 3));
        assert_true((strstr(text, "loss over time") != NULL) == (counted == 3));
        free(text);
        summary_destroy(s);
        etl_reader_close(r);
        image_free(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gaps_and_sources), cmocka_unit_test(many_gaps_are_bounded),
                                       cmocka_unit_test(hostile_payloads), cmocka_unit_test(nothing_is_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
