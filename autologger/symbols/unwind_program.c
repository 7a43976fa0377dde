/* autologger-unwind - unwinds copied stacks for a merge: a program of its own, so that the daemon, which merges a boot,
 * loads no elfutils, and a file that elfutils stumbles over costs one stack. Reads messages on standard input (a
 * socket), answers there, ends with it. See consumer/unwind_pipe.h. Not for use by hand.
 * Files and stacks are of any user: it gives up all rights before it reads the first byte, and the merge opens the
 * files for it. */
#include "autologger/sandbox/sandbox.h"
#include "autologger/symbols/unwind.h"
#include "registry-sim/base/opening.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Some 64 processes are open at a time, each with its files in the address space. */
enum { MEMORY_GB = 8, CPU_SECONDS = 3600, DESCRIPTORS = 65536 };

static bool answer_send(const struct unwind_answer *answer)
{
    struct unwind_message head = {
        UNWIND_ANSWER, (uint32_t)(offsetof(struct unwind_answer, frames) + answer->count * sizeof(uint64_t))};
    return unwind_send(STDIN_FILENO, &head, sizeof head) && unwind_send(STDIN_FILENO, answer, head.size);
}

static int unwind_program_file_ask(void *ctx, const char *path)
{
    struct unwind_message head = {UNWIND_OPEN, (uint32_t)strlen(path) + 1};
    int                   file = -1;
    (void)ctx;
    if (head.size > UNWIND_PATH || !unwind_send(STDIN_FILENO, &head, sizeof head) ||
        !unwind_send(STDIN_FILENO, path, head.size) || !unwind_file_receive(STDIN_FILENO, &file))
        _exit(1); /* the merge is gone */
    errno = file < 0 ? ENOENT : errno;
    return file;
}

int main(void)
{
    static const struct opening asked  = {unwind_program_file_ask, NULL};
    static const struct sandbox rights = {.kind        = SANDBOX_PARSER,
                                          .memory      = (uint64_t)MEMORY_GB << 30,
                                          .file_size   = 1,
                                          .cpu_seconds = CPU_SECONDS,
                                          .descriptors = DESCRIPTORS};
    static uint8_t              body[UNWIND_MESSAGE_MOST];
    static struct unwind_answer answer;
    const struct elf_search     nowhere = {NULL, 0};
    struct unwind              *u       = unwind_create(&nowhere);
    struct unwind_message       head;
    bool                        good = u != NULL;

    close_range(STDERR_FILENO + 1, ~0u, 0);
    sandbox_enter(&rights);
    opening_by(&asked);
    while (good && unwind_receive(STDIN_FILENO, &head, sizeof head))
        good = head.size <= sizeof body && unwind_receive(STDIN_FILENO, body, head.size) &&
               unwind_message(u, &head, body, &answer) && (!answer.count || answer_send(&answer));
    unwind_destroy(u);
    _exit(good ? 0 : 1); /* a sanitizer would start a process that looks for leaks */
}
