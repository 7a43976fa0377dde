/* drain_config.c - the system configuration into the raw log, when a session stops. See drain.h. */
#include "autologger/kernel/source/drain.h"

#include <stdlib.h>
#include <string.h>

struct config_sink {
    struct drain      *d;
    struct own_buffer *buffer;
    uint8_t           *record; /* room for one record, with its head */
};
enum { RECORD_MAX = 32768 };

static void drain_config_put(void *ctx, const struct raw_config *head, const void *body, size_t size)
{
    struct config_sink *sink = ctx;
    struct raw_config   h    = *head;
    if (sizeof h + size > RECORD_MAX) {
        sink->d->log->work->own_lost++;
        return;
    }
    h.own.time = raw_now();
    memcpy(sink->record, &h, sizeof h);
    memcpy(sink->record + sizeof h, body, size);
    own_add(sink->d, sink->buffer, sink->record, sizeof h + size, NULL, 0);
}

void drain_config(struct drain *d, const struct klog_config *config)
{
    struct config_sink sink = {d, malloc(sizeof *sink.buffer), malloc(RECORD_MAX)};
    if (sink.buffer && sink.record) {
        sink.buffer->used = sink.buffer->records = 0;
        sink.buffer->mark                        = false;
        pthread_mutex_lock(&d->lock);
        d->log->work->own_lost += config->system_config(config->mask, drain_config_put, &sink);
        own_flush(d, sink.buffer);
        pthread_mutex_unlock(&d->lock);
    }
    free(sink.buffer);
    free(sink.record);
}
