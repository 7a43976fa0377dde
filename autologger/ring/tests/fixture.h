/* fixture.h - a stream set with a client's view of it, for the ring's tests. */
#ifndef RING_TESTS_FIXTURE_H
#define RING_TESTS_FIXTURE_H
#include "autologger/ring/stream.h"
#include "autologger/ring/writer.h"
#include "registry-sim/base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
    struct stream_set *set;
    struct ring_view   view;
    struct shm_enable *enable; /* shared with children */
    void              *control, *data;
    size_t             control_size, data_size;
};

static inline uint64_t             raw_now_ns(void) { return os_linux()->raw_ns(os_linux()); }
static inline struct stream_config fixture_config(unsigned cpus, uint32_t shift, uint32_t chunks, uint32_t pool)
{
    uint32_t max = (1u << shift) - 72;
    return (struct stream_config){.cpus               = cpus,
                                  .chunk_shift        = shift,
                                  .chunk_count        = chunks,
                                  .pool               = pool,
                                  .max_event          = max,
                                  .clock_kind         = CLOCK_READ_TSC,
                                  .session            = 3,
                                  .session_generation = 1,
                                  .uid                = 1000};
}
static inline void fixture_view(struct fixture *f, int eventfd)
{
    const struct shm_control *c = stream_set_control(f->set);
    f->control_size             = c->header.size;
    f->control = mmap(NULL, f->control_size, PROT_READ, MAP_SHARED, stream_set_control_fd_readonly(f->set), 0);
    assert_ptr_not_equal(f->control, MAP_FAILED);
    f->data_size = (size_t)lseek(stream_set_data_fd(f->set), 0, SEEK_END);
    f->data      = mmap(NULL, f->data_size, PROT_READ | PROT_WRITE, MAP_SHARED, stream_set_data_fd(f->set), 0);
    assert_ptr_not_equal(f->data, MAP_FAILED);
    struct reason why;
    assert_int_equal(ring_view_init(&f->view, f->control, f->control_size, f->data, f->data_size, eventfd, &why), 0);
}
static inline void fixture_init(struct fixture *f, const struct stream_config *c, int eventfd)
{
    struct reason why;
    memset(f, 0, sizeof *f);
    assert_int_equal(stream_set_create(os_linux(), c, &f->set, &why), 0);
    f->enable = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(f->enable, MAP_FAILED);
    f->enable->enabled = 1;
    fixture_view(f, eventfd);
    stream_set_open(f->set, true);
}
static inline void fixture_finish(struct fixture *f)
{
    munmap(f->control, f->control_size);
    munmap(f->data, f->data_size);
    munmap(f->enable, 4096);
    stream_set_destroy(f->set);
}
static inline uint64_t fixture_ticket(const struct fixture *f)
{
    uint64_t t;
    memcpy(&t, f->enable, sizeof t);
    return t;
}
/* Writes `size` payload bytes. Returns the Status, or 1000 for "not written". */
static inline wstatus fixture_write(struct fixture *f, const void *payload, uint32_t size)
{
    struct etl_event_header h = {.header_type = ETL_EVENT64,
                                 .marker      = ETL_MARKER,
                                 .thread_id   = (uint32_t)gettid(),
                                 .process_id  = (uint32_t)getpid()};
    struct ring_piece       p = {(uintptr_t)payload, size, 0};
    bool                    written;
    wstatus                 st = ring_write(&f->view, f->enable, fixture_ticket(f), &h, &p, size != 0, size, &written);
    if (st == 0 && !written)
        return 1000;
    assert_int_equal(st == 0, written);
    return st;
}
#endif
