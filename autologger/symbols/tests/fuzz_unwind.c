/* Any bytes as messages to autologger-unwind: images, and copies of registers and stack, which are unwound by the
 * tables of this program's own files; every answer has its first frame, an end, and no more frames than fit.
 * An input is a row of {kind, size (2 bytes), bytes}; kind 0: a message as it is; else a copy: the bytes are registers,
 * then stack, and the instruction pointer is made one of this program's. Proves: the fuzz target for copied stacks of
 * the bad-input rule. */
#include "autologger/kernel/source/procfs.h"
#include "autologger/symbols/unwind.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PID = 7, FILES = 16, PATH_AT = sizeof(struct unwind_image) };
struct known {
    struct unwind_image image;
    char                path[512];
};
static struct known file[FILES];
static unsigned     files;

static int report(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct elf_info elf = {0};
    struct known   *k   = &file[files];
    (void)size, (void)ctx;
    if (files == FILES)
        return 0;
    ssize_t n              = readlink("/proc/self/exe", k->path, sizeof k->path - 1);
    k->path[n > 0 ? n : 0] = 0;
    if (*info->dlpi_name)
        snprintf(k->path, sizeof k->path, "%s", info->dlpi_name);
    int fd = open(k->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0; /* the vdso */
    elf_read(fd, &elf);
    close(fd);
    k->image = (struct unwind_image){.base = info->dlpi_addr + elf.low, .size = elf.high - elf.low, .process_id = PID};
    memcpy(&k->image.stamp, elf.build_id, 4);
    memcpy(&k->image.checksum, elf.build_id + 4, 4);
    files++;
    return 0;
}

/* One unwinder for all inputs, as it is for all copies. */
static struct unwind *known(void)
{
    static struct unwind   *u;
    const struct elf_search nowhere = {NULL, 0};
    if (u)
        return u;
    u = unwind_create(&nowhere);
    dl_iterate_phdr(report, NULL);
    for (unsigned i = 0; u && i < files; i++)
        if (!unwind_image(u, &file[i].image, file[i].path))
            abort();
    return u;
}

static void check(const struct unwind_answer *a)
{
    if (a->count > UNWIND_FRAMES || a->end >= UNWIND_ENDS)
        abort();
}

/* Names only below a folder that does not exist: a fuzzer must not open arbitrary files. */
static void as_it_is(struct unwind *u, uint32_t type, const uint8_t *bytes, uint32_t size)
{
    static uint8_t              body[UNWIND_MESSAGE_MOST];
    static struct unwind_answer answer;
    memcpy(body, bytes, size);
    if (type == UNWIND_IMAGE && size > PATH_AT + 5)
        memcpy(body + PATH_AT, "/no/", 4);
    else if (type == UNWIND_IMAGE)
        return;
    if (unwind_message(u, &(struct unwind_message){type, size}, body, &answer))
        check(&answer);
}

static void a_copy(struct unwind *u, unsigned kind, const uint8_t *bytes, uint32_t size)
{
    static uint8_t              body[sizeof(struct unwind_copy) + UINT16_MAX];
    static struct unwind_answer answer;
    struct unwind_copy          copy      = {.process_id = PID, .thread_id = PID};
    const uint32_t              registers = size < sizeof copy.registers ? size : (uint32_t)sizeof copy.registers;
    const struct known         *in        = &file[kind % (files ? files : 1)];
    memcpy(copy.registers, bytes, registers);
    if (in->image.size)
        copy.registers[STACK_COPY_IP] = in->image.base + copy.registers[STACK_COPY_IP] % in->image.size;
    copy.size = size - registers;
    memcpy(body, &copy, sizeof copy);
    memcpy(body + sizeof copy, bytes + registers, copy.size);
    if (!unwind_message(u, &(struct unwind_message){UNWIND_COPY, (uint32_t)sizeof copy + copy.size}, body, &answer) ||
        !answer.count || answer.frames[0] != copy.registers[STACK_COPY_IP])
        abort();
    check(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct unwind *u = known();
    for (size_t at = 0; u && size - at >= 3;) {
        uint16_t asked;
        memcpy(&asked, data + at + 1, sizeof asked);
        const uint32_t n = size - at - 3 < asked ? (uint32_t)(size - at - 3) : asked;
        if (data[at] < 4)
            as_it_is(u, data[at], data + at + 3, n);
        else
            a_copy(u, data[at], data + at + 3, n);
        at += 3 + n;
    }
    return 0;
}
