/* Files that a merge opens for the unwinder, also when another process has started it: ELF files by their own path, and
 * nothing else.
 * Proves: finding F12 (a program that was taken over reads no file of others through the merge). */
#include "autologger/consumer/names_event.h"
#include "autologger/consumer/unwinding.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char        schema[] = "\0" STACK_COPY_EVENT "\0";
static char              own_path[512];
static const char *const wanted[] = {own_path, "/etc/passwd", "/proc/self/exe", "/proc/1/root/bin/true",
                                     "/",      "/dev/zero",   "etc/passwd",     "/none"};
static pid_t             program;

/* A hostile unwinder: when a copy comes it asks for each of `wanted`, and answers with a frame that has a bit for each
 * file received. */
static void play(int fd)
{
    struct unwind_message head;
    struct unwind_answer  answer = {UNWIND_WHOLE, 1, {0}};
    static uint8_t        body[UNWIND_MESSAGE_MOST];
    int                   file;

    do {
        if (!unwind_receive(fd, &head, sizeof head) || !unwind_receive(fd, body, head.size))
            _exit(1);
    } while (head.type != UNWIND_COPY);
    for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        head = (struct unwind_message){UNWIND_OPEN, (uint32_t)strlen(wanted[i]) + 1};
        if (!unwind_send(fd, &head, sizeof head) || !unwind_send(fd, wanted[i], head.size) ||
            !unwind_file_receive(fd, &file))
            _exit(1);
        answer.frames[0] |= file >= 0 ? UINT64_C(1) << i : 0;
    }
    head = (struct unwind_message){UNWIND_ANSWER, offsetof(struct unwind_answer, frames) + sizeof answer.frames[0]};
    if (!unwind_send(fd, &head, sizeof head) || !unwind_send(fd, &answer, head.size))
        _exit(1);
    _exit(0);
}

static int start(void *ctx, pid_t *pid, char *why, size_t size)
{
    int pair[2];
    (void)ctx;
    (void)why;
    (void)size;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    fflush(NULL);
    *pid = program = fork();
    if (program == 0) {
        close(pair[0]);
        play(pair[1]);
    }
    close(pair[1]);
    return pair[0];
}

static void stop(void *ctx)
{
    int status = 0;
    (void)ctx;
    while (waitpid(program, &status, 0) < 0 && errno == EINTR)
        ;
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void which_files_it_gets(void **state)
{
    static const struct unwinding_host by = {start, stop, NULL};
    uint8_t                            bytes[1024], payload[256], record[UNWINDING_RECORD];
    uint64_t                           registers[STACK_COPY_REGISTERS] = {0}, got = 0;
    struct writer                      w = wr_make(bytes, sizeof bytes), p = wr_make(payload, sizeof payload);

    (void)state;
    ssize_t n = readlink("/proc/self/exe", own_path, sizeof own_path - 1);
    assert_true(n > 0);
    own_event_begin(&w, STACK_COPY_PROVIDER, schema, sizeof schema - 1, 1000);
    wr_u64(&p, 1000);
    wr_u32(&p, 7);
    wr_u32(&p, 8);
    wr_u16(&p, sizeof registers);
    wr_bytes(&p, registers, sizeof registers);
    wr_u16(&p, 0);
    assert_true(wr_ok(&w) && wr_ok(&p));
    const struct etl_event e = {.kind         = ETL_KIND_EVENT,
                                .channel      = 11,
                                .raw_time     = 1000,
                                .ext          = bytes + sizeof(struct etl_event_header),
                                .ext_size     = (uint32_t)(w.pos - sizeof(struct etl_event_header)),
                                .payload      = payload,
                                .payload_size = (uint32_t)p.pos};
    assert_true(stack_copy_is(&e));
    unwinding_by(&by);
    struct unwinding *u    = unwinding_create();
    const uint32_t    size = unwinding_see(u, "/none", &e, record);
    assert_true(size > sizeof got);
    memcpy(&got, record + size - sizeof got, sizeof got);
    assert_int_equal(got, 1); /* the first file alone */
    unwinding_destroy(u);
    unwinding_by(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(which_files_it_gets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
