/* autologger-unwind - unwinds copied stacks for whoever merges: a program of its own, so that the daemon, which merges a boot, loads no
 * elfutils, and a file that elfutils stumbles over costs one stack. Reads messages on standard input (a socket), answers there, ends
 * with it. See consumer/unwind_pipe.h. Nobody calls it by hand. */
#include "autologger/symbols/unwind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static bool on_image(struct unwind *u, const uint8_t *body, uint32_t size)
{
    struct unwind_image image;
    if (size <= sizeof image || body[size - 1])
        return false;
    memcpy(&image, body, sizeof image);
    return unwind_image(u, &image, (const char *)body + sizeof image);
}

static bool on_copy(struct unwind *u, const uint8_t *body, uint32_t size)
{
    static struct {
        struct unwind_message head;
        struct unwind_answer  answer;
    } out;
    struct unwind_copy copy;
    if (size < sizeof copy)
        return false;
    memcpy(&copy, body, sizeof copy);
    if (copy.size != size - sizeof copy)
        return false;
    unwind_stack(u, &copy, body + sizeof copy, &out.answer);
    out.head = (struct unwind_message){UNWIND_ANSWER, (uint32_t)(offsetof(struct unwind_answer, frames) + out.answer.count * sizeof(uint64_t))};
    return unwind_send(STDIN_FILENO, &out, sizeof out.head + out.head.size);
}

int main(void)
{
    static uint8_t         body[UNWIND_MESSAGE_MOST];
    const struct elf_search nowhere = {NULL, 0};
    struct unwind          *u       = unwind_create(&nowhere);
    struct unwind_message   head;
    bool                    good = u != NULL;

    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    while (good && unwind_receive(STDIN_FILENO, &head, sizeof head)) {
        good = head.size <= sizeof body && unwind_receive(STDIN_FILENO, body, head.size);
        if (good && head.type == UNWIND_IMAGE)
            good = on_image(u, body, head.size);
        else if (good)
            good = head.type == UNWIND_COPY && on_copy(u, body, head.size);
    }
    unwind_destroy(u);
    return good ? 0 : 1;
}
