/* keyword_fixture.h - for truth tests by keyword: a session of its own for each, which must lose nothing. See
 * klog_fixture.h. */
#ifndef AUTOLOGGER_KERNEL_TESTS_KEYWORD_FIXTURE_H
#define AUTOLOGGER_KERNEL_TESTS_KEYWORD_FIXTURE_H
#include "autologger/kernel/tests/klog_fixture.h"

struct keyword {
    uint32_t word0, word1, word2, word4;
};

static inline bool begin(struct collector *c, struct keyword k)
{
    struct klog_config config = config_make(c, k.word0, k.word1);
    config.mask[2]            = k.word2;
    config.mask[4]            = k.word4;
    config.hook_count         = 0;
    if (start(c, &config))
        return true;
    skip();
    return false;
}

static inline void end(struct collector *c, struct klog_counters *n)
{
    halt(c);
    check_balance(c, n);
    assert_int_equal(n->lost_ring + n->lost_memory, 0);
}
#endif
