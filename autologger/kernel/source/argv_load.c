/* argv_load.c - see argv_load.h. The object file is from our own build, so it is not validated. */
#include "autologger/kernel/source/argv_load.h"
#include "autologger/kernel/source/argv_record.h"

#include <elf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const uint8_t object[] __attribute__((aligned(8))) = {
#include <argv_regs.inc> /* argv.bpf.c, compiled */
};

enum { INSTRUCTIONS = 512 };

static int bpf(int command, union bpf_attr *attr)
{
    int r = (int)syscall(SYS_bpf, command, attr, sizeof *attr);
    return r < 0 ? -errno : r;
}

static const Elf64_Shdr *argv_load_section(unsigned index)
{
    const Elf64_Ehdr *e = (const void *)object;
    return (const Elf64_Shdr *)(const void *)(object + e->e_shoff) + index;
}

static const char *argv_load_text_of(const Elf64_Shdr *strings, uint32_t at)
{
    return (const char *)object + strings->sh_offset + at;
}

static unsigned section_find(const char *name)
{
    const Elf64_Ehdr *e = (const void *)object;
    for (unsigned i = 1; i < e->e_shnum; i++)
        if (strcmp(argv_load_text_of(argv_load_section(e->e_shstrndx), argv_load_section(i)->sh_name), name) == 0)
            return i;
    return 0;
}

/* Writes the maps' descriptors into the instructions of section `of` that name the maps. False: another name is
 * used. */
static bool maps_name(unsigned of, struct bpf_insn *code, int ring, int scratch)
{
    const Elf64_Ehdr *e = (const void *)object;
    for (unsigned i = 1; i < e->e_shnum; i++) {
        const Elf64_Shdr *s = argv_load_section(i);
        if (s->sh_type != SHT_REL || s->sh_info != of)
            continue;
        const Elf64_Shdr *symbols = argv_load_section(s->sh_link);
        for (size_t k = 0; k < s->sh_size / sizeof(Elf64_Rel); k++) {
            const Elf64_Rel *r = (const Elf64_Rel *)(const void *)(object + s->sh_offset) + k;
            const Elf64_Sym *sym =
                (const Elf64_Sym *)(const void *)(object + symbols->sh_offset) + ELF64_R_SYM(r->r_info);
            const char      *name    = argv_load_text_of(argv_load_section(symbols->sh_link), sym->st_name);
            struct bpf_insn *at      = &code[r->r_offset / sizeof *code];
            bool             is_ring = strcmp(name, "ring") == 0;
            if (ELF64_R_TYPE(r->r_info) != R_BPF_64_64 || (!is_ring && strcmp(name, "scratch") != 0))
                return false;
            at->src_reg = BPF_PSEUDO_MAP_FD;
            at->imm     = is_ring ? ring : scratch;
        }
    }
    return true;
}

static int program_load(const char *name, int ring, int scratch)
{
    static const char license[] = "Dual MIT/GPL";
    struct bpf_insn   code[INSTRUCTIONS];
    unsigned          index = section_find(name);
    const Elf64_Shdr *s     = argv_load_section(index);
    if (!index || s->sh_size > sizeof code)
        return -ENOEXEC;
    memcpy(code, object + s->sh_offset, s->sh_size);
    if (!maps_name(index, code, ring, scratch))
        return -ENOEXEC;
    return bpf(BPF_PROG_LOAD, &(union bpf_attr){.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
                                                .insns     = (uint64_t)(uintptr_t)code,
                                                .insn_cnt  = (uint32_t)(s->sh_size / sizeof *code),
                                                .license   = (uint64_t)(uintptr_t)license});
}

/* The link holds the program. */
static int attach(const char *tracepoint, int program)
{
    return bpf(BPF_RAW_TRACEPOINT_OPEN, &(union bpf_attr){.raw_tracepoint = {.name    = (uint64_t)(uintptr_t)tracepoint,
                                                                             .prog_fd = (uint32_t)program}});
}

int argv_load(struct argv_loaded *out, bool *attaching)
{
    enum { RING, SCRATCH, EXEC, EXIT, FDS };
    int fd[FDS] = {-1, -1, -1, -1}, r;
    *out        = (struct argv_loaded){-1, -1, -1};
    *attaching  = false;
    fd[RING] = r = bpf(BPF_MAP_CREATE, &(union bpf_attr){.map_type = BPF_MAP_TYPE_RINGBUF, .max_entries = ARGV_RING});
    if (r >= 0)
        fd[SCRATCH] = r = bpf(BPF_MAP_CREATE, &(union bpf_attr){.map_type    = BPF_MAP_TYPE_PERCPU_ARRAY,
                                                                .key_size    = sizeof(uint32_t),
                                                                .value_size  = sizeof(struct argv_record),
                                                                .max_entries = 1});
    if (r >= 0)
        fd[EXEC] = r = program_load("raw_tp/sched_process_exec", fd[RING], fd[SCRATCH]);
    if (r >= 0)
        fd[EXIT] = r = program_load("raw_tp/sched_process_exit", fd[RING], fd[SCRATCH]);
    *attaching = r >= 0;
    if (r >= 0)
        out->on_exec = r = attach("sched_process_exec", fd[EXEC]);
    if (r >= 0)
        out->on_exit = r = attach("sched_process_exit", fd[EXIT]);
    if (r < 0 && out->on_exec >= 0)
        close(out->on_exec);
    for (int i = r < 0 ? RING : SCRATCH; i < FDS; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    if (r < 0)
        *out = (struct argv_loaded){-1, -1, -1};
    else
        out->ring = fd[RING];
    return r < 0 ? r : 0;
}
