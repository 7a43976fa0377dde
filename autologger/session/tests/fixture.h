/* fixture.h - a session environment, a hand-made plan and a writer in this process, for the tests of this folder. */
#ifndef AUTOLOGGER_SESSION_TESTS_FIXTURE_H
#define AUTOLOGGER_SESSION_TESTS_FIXTURE_H
#include "autologger/etl/reader.h"
#include "autologger/ring/writer.h"
#include "autologger/session/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static const struct guid test_provider = {0x12345678, 0x9abc, 0xdef0, {1, 2, 3, 4, 5, 6, 7, 8}};

struct fixture {
    char                 dir[64];
    struct session_env   env;
    struct session_table table;
};

static inline void fixture_init(struct fixture *f, bool threads)
{
    memset(f, 0, sizeof *f);
    strcpy(f->dir, "/tmp/autologger-session-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->env.os          = os_linux();
    f->env.cpus        = (unsigned)f->env.os->cpu_count(f->env.os);
    f->env.threads     = threads;
    f->env.machine_key = (const uint8_t *)"thirty-two bytes of this machine";
    clock_machine_find(&f->env.machine);
    clock_anchor_take(&f->env.machine, &f->env.anchor);
    f->env.changed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    f->table.env      = &f->env;
    f->table.ceiling  = UINT64_C(1) << 30;
    assert_int_equal(directory_create(f->env.os, &f->table.directory, NULL), 0);
}

static inline void fixture_finish(struct fixture *f)
{
    char command[128];
    table_finish(&f->table);
    directory_destroy(f->table.directory);
    close(f->env.changed_fd);
    snprintf(command, sizeof command, "rm -rf '%s'", f->dir);
    assert_int_equal(system(command), 0);
}

/* A plan of `buffers` minimum and maximum buffers; the strings live in `text`. */
struct plan_text {
    char name[64], key[128], path[160];
};
static inline struct plan plan_make(const struct fixture *f, struct plan_text *t, const char *name, uint32_t buffer_kb,
                                    uint32_t minimum, uint32_t maximum)
{
    struct plan p = {.start = true, .clock_type = 1};
    snprintf(t->name, sizeof t->name, "%s", name);
    snprintf(t->key, sizeof t->key, "WMI\\Autologger\\%s", name);
    snprintf(t->path, sizeof t->path, "%s/new/%s.etl", f->dir, name);
    p.name                  = t->name;
    p.key                   = t->key;
    p.log_path              = t->path;
    p.guid                  = guid_from_name(name);
    p.given.buffer_kb       = buffer_kb;
    p.given.minimum_buffers = minimum;
    p.given.maximum_buffers = maximum;
    p.memory_bytes          = (uint64_t)buffer_kb * 1024 * maximum;
    return p;
}

/* A program of `uid`, in this process. */
struct program {
    struct ring_view         view;
    const struct shm_enable *enable;
    uint64_t                 ticket;
    uint64_t                 attempted, written, refused;
    uint16_t                 provider_id;
};

static inline void program_attach(struct program *w, struct session *s, uint32_t uid, unsigned slot, unsigned entry)
{
    const struct session_uid *u = session_admit(s, uid);
    size_t                    control_size, data_size;
    memset(w, 0, sizeof *w);
    assert_non_null(u);
    struct stream_set *streams = u->streams;
    control_size               = (size_t)lseek(stream_set_control_fd_readonly(streams), 0, SEEK_END);
    data_size                  = (size_t)lseek(stream_set_data_fd(streams), 0, SEEK_END);
    void *control = mmap(NULL, control_size, PROT_READ, MAP_SHARED, stream_set_control_fd_readonly(streams), 0);
    void *data    = mmap(NULL, data_size, PROT_READ | PROT_WRITE, MAP_SHARED, stream_set_data_fd(streams), 0);
    assert_true(control != MAP_FAILED && data != MAP_FAILED);
    assert_int_equal(ring_view_init(&w->view, control, control_size, data, data_size, u->event_fd, NULL), 0);
    w->enable = &s->directory->shm->provider[slot].enable[entry];
    memcpy(&w->ticket, w->enable, sizeof w->ticket);
}

static inline wstatus program_write(struct program *w, const void *payload, uint32_t size)
{
    struct etl_event_header h       = {.header_type = ETL_EVENT64,
                                       .marker      = ETL_MARKER,
                                       .thread_id   = (uint32_t)gettid(),
                                       .process_id  = (uint32_t)getpid(),
                                       .provider    = test_provider,
                                       .id          = 7,
                                       .level       = 4};
    struct ring_piece       piece   = {(uint64_t)(uintptr_t)payload, size, 0};
    bool                    written = false;
    wstatus                 st      = ring_write(&w->view, w->enable, w->ticket, &h, &piece, 1, size, &written);
    w->attempted++;
    __atomic_fetch_add(&w->written, st == 0 && written, __ATOMIC_RELAXED); /* other threads may read it meanwhile */
    w->refused += st != 0;
    return st;
}

/* A complete update, from begin to end. */
static inline wstatus session_update(struct session *s, const struct session_terms *terms, struct condition_list *found,
                                     struct reason *why)
{
    struct session_update *u;
    unsigned               ms;
    const wstatus          st = session_update_begin(s, terms, &u, why);
    if (st)
        return st;
    while (!session_update_done(u, &ms))
        usleep(1000);
    return session_update_end(u, found, why);
}

struct found {
    uint64_t events, inversions, bytes;
    uint32_t lost;
    unsigned damage;
};
static inline struct found file_read(const char *path)
{
    struct found       f = {0};
    struct etl_reader *r = NULL;
    struct etl_event   e;
    int64_t            last = 0;
    assert_int_equal(etl_reader_open(path, &r, NULL), 0);
    while (etl_next(r, &e)) {
        f.inversions += e.raw_time < last;
        last = e.raw_time;
        if (e.kind == ETL_KIND_EVENT) {
            f.events++;
            f.bytes += e.payload_size;
        }
    }
    f.lost = etl_reader_header(r)->raw.events_lost;
    etl_reader_damage(r, &f.damage);
    etl_reader_close(r);
    return f;
}
#endif
