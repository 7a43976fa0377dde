/* logger_modes.c - what some modes need from a logger: one row of buffers for all processors, numbers of messages. See
 * session.h, logger.h. Not in the early program. */
#include "autologger/session/logger.h"

/* G1 holds over all CPUs: all events before the horizon are there, so the oldest of all is the next in time. */
static void merge_single(struct logger *l, uint64_t horizon)
{
    for (;;) {
        uint64_t time = UINT64_MAX;
        unsigned from = 0;
        for (unsigned c = 0; c < l->cpus; c++) {
            const uint64_t t = logger_oldest(l, c, horizon);
            if (t < time)
                time = t, from = c;
        }
        if (time == UINT64_MAX)
            break;
        /* takes from this CPU while it has the oldest of all: mostly one program writes, on one CPU */
        uint64_t next = UINT64_MAX;
        for (unsigned c = 0; c < l->cpus; c++) {
            const uint64_t t = c == from ? UINT64_MAX : logger_oldest(l, c, horizon);
            next             = t < next ? t : next;
        }
        for (; time != UINT64_MAX && time <= next; time = logger_oldest(l, from, horizon))
            logger_take(l, from, horizon);
    }
}

static uint32_t message_number(struct logger *l)
{
    if (l->s->state->log_file_mode & ETL_MODE_GLOBAL_SEQUENCE && l->s->env->message_number)
        return __atomic_add_fetch(l->s->env->message_number, 1, __ATOMIC_RELAXED);
    return ++l->master->message_number;
}

const struct logger_modes logger_modes = {.merge = merge_single, .message_number = message_number};
