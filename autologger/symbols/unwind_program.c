/* autologger-unwind - unwinds copied stacks for whoever merges: a program of its own, so that the daemon, which merges a boot, loads no
 * elfutils, and a file that elfutils stumbles over costs one stack. Reads messages on standard input (a socket), answers there, ends
 * with it. See consumer/unwind_pipe.h. Nobody calls it by hand. */
#include "autologger/symbols/unwind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static bool answer_send(const struct unwind_answer *answer)
{
    struct unwind_message head = {UNWIND_ANSWER, (uint32_t)(offsetof(struct unwind_answer, frames) + answer->count * sizeof(uint64_t))};
    return unwind_send(STDIN_FILENO, &head, sizeof head) && unwind_send(STDIN_FILENO, answer, head.size);
}

int main(void)
{
    static uint8_t              body[UNWIND_MESSAGE_MOST];
    static struct unwind_answer answer;
    const struct elf_search     nowhere = {NULL, 0};
    struct unwind              *u       = unwind_create(&nowhere);
    struct unwind_message       head;
    bool                        good = u != NULL;

    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    while (good && unwind_receive(STDIN_FILENO, &head, sizeof head))
        good = head.size <= sizeof body && unwind_receive(STDIN_FILENO, body, head.size) && unwind_message(u, &head, body, &answer) &&
               (!answer.count || answer_send(&answer));
    unwind_destroy(u);
    return good ? 0 : 1;
}
