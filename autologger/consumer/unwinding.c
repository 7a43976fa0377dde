#include "autologger/consumer/unwinding.h"

#include "autologger/schema/classic.h"
#include "autologger/consumer/classic_event.h"
#include "autologger/schema/tracelogging.h"
#include "registry-sim/base/cursor.h"
#include "registry-sim/base/opening.h"
#include "registry-sim/base/program.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "autologger-unwind"
enum { WAIT_MS = 20000, STARTS_MOST = 4, CHANNEL_TRACELOGGING = 11 };
static const struct unwinding_host *consumer_unwinding_host;
extern char                       **environ;

struct unwinding {
    struct unwinding_counts counts;
    struct image_fields     image;
    uint8_t                *images;               /* messages: all so far */
    size_t                  size, capacity, told; /* told: bytes of it sent to the program */
    pid_t                   pid;                  /* 0: it does not run */
    int                     fd;
    unsigned                starts;
    const char             *path;   /* the file whose rundown is among the images; borrowed */
    bool                    failed; /* no memory */
    uint8_t                 message[UNWIND_MESSAGE_MOST];
};

bool stack_copy_is(const struct etl_event *e)
{
    struct tracelogging_names names;

    if (e->kind != ETL_KIND_EVENT || e->channel != CHANNEL_TRACELOGGING)
        return false;
    tracelogging_names(e, &names);
    return names.event && names.provider && strcmp(names.event, STACK_COPY_EVENT) == 0 &&
           strcmp(names.provider, STACK_COPY_PROVIDER) == 0;
}

/* ---- the program ---- */

void unwinding_by(const struct unwinding_host *by) { consumer_unwinding_host = by; }

static void unwinding_stop(struct unwinding *u)
{
    if (u->pid <= 0)
        return;
    close(u->fd);
    if (consumer_unwinding_host) {
        consumer_unwinding_host->stop(consumer_unwinding_host->ctx);
    } else {
        kill(u->pid, SIGKILL);
        while (waitpid(u->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    u->pid  = 0;
    u->told = 0;
}

int unwinding_start(pid_t *pid, char *why, size_t size)
{
    char  path[PROGRAM_PATH], name[] = PROGRAM;
    char *argv[] = {name, NULL};
    int   pair[2];

    *pid = 0;
    if (!program_beside(name, path)) {
        snprintf(why, size, "the program %s is not installed", name);
        return -1;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        snprintf(why, size, "no socket for %s: %s", name, strerror(errno));
        return -1;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pair[1], STDIN_FILENO);
    int error = posix_spawn(pid, path, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pair[1]);
    if (error) {
        close(pair[0]);
        *pid = 0;
        snprintf(why, size, "%.150s: %s", path, strerror(error));
        return -1;
    }
    /* it waits only for us, and we for an answer: if either blocks for longer, the program hangs */
    struct timeval wait = {.tv_sec = WAIT_MS / 1000, .tv_usec = WAIT_MS % 1000 * 1000};
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    return pair[0];
}

static bool consumer_unwinding_start(struct unwinding *u)
{
    if (u->pid > 0)
        return true;
    if (u->starts >= STARTS_MOST) {
        snprintf(u->counts.none, sizeof u->counts.none, "the program %s died or hung %d times", PROGRAM, STARTS_MOST);
        return false;
    }
    u->fd = consumer_unwinding_host ? consumer_unwinding_host->start(consumer_unwinding_host->ctx, &u->pid,
                                                                     u->counts.none, sizeof u->counts.none)
                                    : unwinding_start(&u->pid, u->counts.none, sizeof u->counts.none);
    if (u->fd < 0) {
        u->pid = 0;
        return false;
    }
    u->told = 0;
    u->starts++;
    return true;
}

/* The program has no rights: it asks for each file. It gets only ELF files. */
static bool file_answer(struct unwinding *u, uint32_t size)
{
    char path[UNWIND_PATH];
    if (!size || size > sizeof path || !unwind_receive(u->fd, path, size) || path[size - 1])
        return false;
    const int  file = opening_elf_for(path);
    const bool sent = unwind_file_send(u->fd, file);
    if (file >= 0)
        close(file);
    return sent;
}

/* Receives the head of its answer, after all files that it asks for. */
static bool answer_head(struct unwinding *u, struct unwind_message *head)
{
    while (unwind_receive(u->fd, head, sizeof *head)) {
        if (head->type != UNWIND_OPEN)
            return head->type == UNWIND_ANSWER;
        if (!file_answer(u, head->size))
            return false;
    }
    return false;
}

static bool unwinding_ask(struct unwinding *u, size_t size, struct unwind_answer *answer)
{
    struct unwind_message head;
    if (u->told < u->size && !unwind_send(u->fd, u->images + u->told, u->size - u->told))
        return false;
    u->told = u->size;
    return unwind_send(u->fd, u->message, size) && answer_head(u, &head) && head.size <= sizeof *answer &&
           head.size >= offsetof(struct unwind_answer, frames) && unwind_receive(u->fd, answer, head.size) &&
           answer->count > 0 && answer->count <= UNWIND_FRAMES && answer->end < UNWIND_ENDS &&
           head.size == offsetof(struct unwind_answer, frames) + answer->count * sizeof(uint64_t);
}

/* ---- events ---- */

static void image_keep(struct unwinding *u, uint16_t hook)
{
    const struct image_fields *i    = &u->image;
    const size_t               path = strlen(i->path) + 1;
    struct unwind_image   out  = {i->base, i->size, i->process_id, i->stamp, i->checksum, hook == HOOK_IMAGE_UNLOAD};
    struct unwind_message head = {UNWIND_IMAGE, (uint32_t)(sizeof out + path)};
    const size_t          need = u->size + sizeof head + head.size;

    if (!i->process_id || hook == HOOK_IMAGE_DC_END)
        return;
    if (need > u->capacity) {
        size_t capacity = need * 2;
        void  *grown    = realloc(u->images, capacity);
        if (!grown) {
            u->failed = true;
            return;
        }
        u->images   = grown;
        u->capacity = capacity;
    }
    memcpy(u->images + u->size, &head, sizeof head);
    memcpy(u->images + u->size + sizeof head, &out, sizeof out);
    memcpy(u->images + u->size + sizeof head + sizeof out, i->path, path);
    u->size = need;
}

/* Puts the rundown's images first, before all that are known so far. */
static void rundown_read(struct unwinding *u, const char *path)
{
    struct etl_reader *r;
    struct etl_event   e;
    uint8_t           *known = u->images;
    const size_t       size  = u->size;

    if (u->path == path)
        return;
    u->path = path;
    unwinding_stop(u); /* it would get them too late */
    if (etl_reader_open(path, &r, NULL) != W_SUCCESS)
        return;
    u->images = NULL;
    u->size = u->capacity = 0;
    while (!u->failed && etl_next(r, &e))
        if (classic_hook(&e) == HOOK_IMAGE_DC_START && image_event_read(&e, &u->image))
            image_keep(u, HOOK_IMAGE_DC_START);
    etl_reader_close(r);
    uint8_t *both = realloc(u->images, u->size + size + 1);
    if (both && size)
        memcpy(both + u->size, known, size);
    u->failed   = u->failed || !both;
    u->images   = both ? both : u->images;
    u->capacity = u->size = both ? u->size + size : u->size;
    free(known);
}

/* Makes a message of the event; 0: it does not have the kernel session's form. */
static size_t copy_message(struct unwinding *u, const struct etl_event *e, uint64_t *trigger)
{
    struct cursor         c    = cur_make(e->payload, e->payload_size);
    struct unwind_copy    copy = {0};
    struct unwind_message head = {UNWIND_COPY, 0};

    *trigger        = cur_u64(&c);
    copy.process_id = cur_u32(&c);
    copy.thread_id  = cur_u32(&c);
    if (cur_u16(&c) != sizeof copy.registers)
        return 0;
    cur_copy(&c, copy.registers, sizeof copy.registers);
    copy.size         = cur_u16(&c);
    const void *stack = cur_take(&c, copy.size);
    head.size         = (uint32_t)sizeof copy + copy.size;
    if (!cur_ok(&c) || sizeof head + head.size > sizeof u->message)
        return 0;
    memcpy(u->message, &head, sizeof head);
    memcpy(u->message + sizeof head, &copy, sizeof copy);
    if (copy.size)
        memcpy(u->message + sizeof head + sizeof copy, stack, copy.size);
    return sizeof head + head.size;
}

static uint32_t stack_record(const struct etl_event *e, uint64_t trigger, const struct unwind_answer *a,
                             uint8_t *record)
{
    enum { STACK_FIXED = 16, STACK_VERSION = 2 };
    const uint32_t size = (uint32_t)(sizeof(struct etl_perfinfo_header) + STACK_FIXED + a->count * sizeof(uint64_t));
    struct etl_perfinfo_header head = {STACK_VERSION,  ETL_PERFINFO64,           ETL_MARKER,
                                       (uint16_t)size, (uint8_t)HOOK_STACK_WALK, HOOK_STACK_WALK >> 8,
                                       e->raw_time};
    struct cursor              c    = cur_make(e->payload, e->payload_size);

    cur_u64(&c);
    const void *ids = cur_take(&c, 2 * sizeof(uint32_t));
    memcpy(record, &head, sizeof head);
    memcpy(record + sizeof head, &trigger, sizeof trigger);
    memcpy(record + sizeof head + sizeof trigger, ids, 2 * sizeof(uint32_t));
    memcpy(record + sizeof head + STACK_FIXED, a->frames, a->count * sizeof(uint64_t));
    return size;
}

uint32_t unwinding_see(struct unwinding *u, const char *path, const struct etl_event *e,
                       uint8_t record[UNWINDING_RECORD])
{
    struct unwind_answer answer;
    uint64_t             trigger;

    if (image_event_read(e, &u->image)) {
        image_keep(u, classic_hook(e));
        return 0;
    }
    if (!stack_copy_is(e))
        return 0;
    u->counts.copies++;
    rundown_read(u, path);
    size_t size = copy_message(u, e, &trigger);
    bool   runs = size && !u->failed && consumer_unwinding_start(u);
    if (runs && unwinding_ask(u, size, &answer)) {
        u->counts.ends[answer.end]++;
        u->counts.frames += answer.count;
        return stack_record(e, trigger, &answer, record);
    }
    if (runs)
        unwinding_stop(u);
    if (!*u->counts.none)
        snprintf(u->counts.none, sizeof u->counts.none, "%s",
                 !size       ? "a copy is damaged"
                 : u->failed ? "no memory"
                             : "the program " PROGRAM " died or hung");
    u->counts.left++;
    return 0;
}

const struct unwinding_counts *unwinding_counts(const struct unwinding *u) { return &u->counts; }

struct unwinding *unwinding_create(void) { return calloc(1, sizeof(struct unwinding)); }

void unwinding_destroy(struct unwinding *u)
{
    if (!u)
        return;
    unwinding_stop(u);
    free(u->images);
    free(u);
}
