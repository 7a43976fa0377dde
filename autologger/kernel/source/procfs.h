/* procfs.h - facts from /proc and ELF files about processes, their mappings and the kernel.
 * Everything goes through a descriptor of /proc, so that it works after switch_root too. All sizes are bounded; a
 * damaged or missing file gives false or 0.
 * Threads: pure functions any; an elf_cache one. Not for: using the facts (drain.h). */
#ifndef AUTOLOGGER_KERNEL_PROCFS_H
#define AUTOLOGGER_KERNEL_PROCFS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A new descriptor of /proc: a duplicate of `known` (> 0), else of "/proc". -1: there is none. */
int proc_open(int known);

struct proc_stat {
    char     state;
    bool     kernel_thread;
    uint32_t ppid, session;
    int32_t  prio;      /* as tracepoints give it */
    int32_t  exit_code; /* wait status; meaningful in state Z */
    uint32_t threads;
    uint64_t start_ticks;
    char     comm[16];
};
bool proc_stat_parse(const char *text, struct proc_stat *out);
bool proc_stat(int proc, uint32_t pid, uint32_t tid, struct proc_stat *out);
/* The process of thread `tid`; 0 when it is gone. */
uint32_t proc_tgid(int proc, uint32_t tid);
/* Real uid and allowed CPUs (the low 64). */
bool proc_status(int proc, uint32_t pid, uint32_t tid, uint32_t *uid, uint64_t *affinity);
/* Arguments (each ends in NUL) joined by spaces, those with blanks or quotes quoted; always NUL-terminated. Returns the
 * length. */
size_t command_line_join(const char *raw, size_t n, char *out, size_t size);
/* The joined command line of a process; "" when it is gone. */
size_t proc_command_line(int proc, uint32_t pid, char *out, size_t size);
/* Does it run a 32-bit program? By the kernel's data from its exec; false also when it is gone. */
bool proc_is_narrow(int proc, uint32_t pid);
/* The program's path, or "". */
size_t proc_exe(int proc, uint32_t pid, char *out, size_t size);

/* The program headers of an ELF file, as far as an image event needs them. */
enum { ELF_EXECS = 4 };
struct elf_info {
    uint64_t dev, ino, mtime;
    uint32_t owner; /* owner of the file */
    bool     valid, is32, is_exec;
    uint64_t low, high; /* bounds of all PT_LOAD, rounded to pages */
    unsigned execs;
    struct {
        uint64_t offset, vaddr, size;
    } exec[ELF_EXECS];
    uint8_t  build_id[20];
    unsigned build_id_size;
};
/* ELF files already read, by build id. Only root's files: any user can give a file of his own the build id of
 * another. */
enum { ELF_CACHE = 1024 };
struct elf_cache {
    struct elf_info slot[ELF_CACHE];
};
void elf_keep(struct elf_cache *cache, const struct elf_info *elf);
/* NULL: not in the cache. Borrowed until the next elf_keep. */
const struct elf_info *elf_known(const struct elf_cache *cache, const uint8_t *build_id, unsigned size);
bool                   elf_read(int fd, struct elf_info *out);
/* Base and size of the image whose mapping at `addr` has offset `pgoff`. False when no segment fits. */
bool elf_place(const struct elf_info *elf, uint64_t addr, uint64_t pgoff, uint64_t *base, uint64_t *size);
/* The four bytes that identify the file in every event about it, never 0; *checksum: the next four. */
uint32_t elf_stamp(const uint8_t *build_id, unsigned size, uint64_t mtime, uint32_t *checksum);
/* The GNU build id in the bytes of a note section; returns its size, or 0. */
unsigned elf_note_build_id(const void *notes, size_t size, uint8_t out[20]);

struct proc_mapping {
    uint64_t    start, end, pgoff, inode;
    const char *path;
    uint32_t    dev;     /* as filekey.h has it */
    bool        deleted; /* the file at this path was deleted */
    bool        exec, shared;
};
/* Parses one line of /proc/PID/maps; false when it is malformed, or not executable and `all` is false. Cuts `line` at
 * its end. */
bool proc_mapping_parse(char *line, bool all, struct proc_mapping *out);

/* Addresses of `count` kernel symbols; those not found, or hidden by kptr_restrict, are 0. Returns the number found. A
 * name may list alternatives of which the kernel has one: "new|old". The kernel writes more than a hundred thousand
 * lines for this, in order of the addresses; the walk ends when all are found, so ask only for the symbols needed.
 * `wish` (may be NULL): the reverse, names of functions by address, in the same walk; a module's as "name [module]". An
 * address with several names gets the first. */
struct kallsyms_wish {
    const uint64_t *sorted; /* addresses, rising */
    unsigned        count;
    void (*found)(void *ctx, uint64_t address, const char *name);
    void *ctx;
};
/* The bounds of the kernel's image, from its text to its end, by the head of /proc/kcore. Much cheaper than searching
 * for symbols; false without /proc/kcore, under a lockdown that forbids it, without CAP_SYS_RAWIO, or on a machine
 * other than x86-64. */
bool proc_kernel_place(int proc, uint64_t *start, uint64_t *end);
/* The length of the kernel's image in memory, from its code to the end of its data; 0 when it is hidden. */
uint64_t proc_kernel_bytes(int proc);
unsigned proc_kallsyms(int proc, const char *const *names, unsigned count, uint64_t *out,
                       const struct kallsyms_wish *wish);
#endif
