/* filetap.bpf.c - runs in the kernel at the beginning and the end of each system call, while a session has FILE_IO or
 * FILE_IO_INIT. For calls that work on files it records facts that are known only then: the open file of a descriptor,
 * its inode, and names. It writes samples of two perf events (FILE_ENTER, FILE_EXIT), so its records are in the same
 * ring as all others, with the same clock, call chains and counts of loss. See filetap.h.
 * Programs of 32 bits have other numbers (narrowcalls.def), registers, and long arguments in halves. So has any program
 * that makes calls their way (int 0x80): the call is tested, not the program. On arm64 they are left out. */
#include "autologger/kernel/source/filetap_record.h"

typedef tap_u8    __u8;
typedef tap_u16   __u16;
typedef tap_u32   __u32;
typedef tap_u64   __u64;
typedef int       __s32;
typedef long long __s64;
typedef __u16     __be16;
typedef __u32     __be32;
typedef __u32     __wsum;

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

/* of linux/bpf.h */
enum { MAP_HASH = 1, MAP_ARRAY = 2, MAP_PERF_EVENT_ARRAY = 4, MAP_PERCPU_ARRAY = 6, MAP_LRU_HASH = 9, ANY = 0 };
#define CURRENT_CPU UINT64_C(0xffffffff)
#define UINT64_C(v) v##ULL
enum { TYPE_MASK = 0170000, TYPE_DIR = 0040000, TYPE_BLOCK = 0060000, TYPE_REG = 0100000, TYPE_LINK = 0120000 };

/* The kernel's types, reduced to the fields used; the offsets are found when the program is loaded. */
#define KERNEL __attribute__((preserve_access_index))
struct super_block {
    __u32 s_dev;
} KERNEL;
struct inode {
    unsigned long       i_ino;
    struct super_block *i_sb;
    __u16               i_mode;
} KERNEL;
struct qstr {
    const unsigned char *name;
} KERNEL;
struct dentry {
    struct dentry *d_parent;
    struct qstr    d_name;
    struct inode  *d_inode;
} KERNEL;
struct vfsmount {
    struct dentry *mnt_root;
} KERNEL;
struct mount {
    struct mount   *mnt_parent;
    struct dentry  *mnt_mountpoint;
    struct vfsmount mnt;
} KERNEL;
struct path {
    struct vfsmount *mnt;
    struct dentry   *dentry;
} KERNEL;
typedef struct {
    long counter;
} counter_t;
struct file {
    struct path   f_path;
    struct inode *f_inode;
    long long     f_pos;
} KERNEL;
struct file___counted {
    counter_t f_count;
} KERNEL; /* up to 6.12 */
struct reference {
    counter_t refcnt;
} KERNEL;
struct file___referenced {
    struct reference f_ref;
} KERNEL;
struct fdtable {
    unsigned      max_fds;
    struct file **fd;
} KERNEL;
struct files_struct {
    struct fdtable *fdt;
} KERNEL;
struct fs_struct {
    struct path pwd;
} KERNEL;
struct thread_info {
    __u32 status;
} KERNEL;
struct task_struct {
    struct thread_info   thread_info;
    struct files_struct *files;
    struct fs_struct    *fs;
} KERNEL;

struct {
    __uint(type, MAP_ARRAY);
    __uint(max_entries, TAP_CALLS + TAP_NARROW);
    __type(key, __u32);
    __type(value, struct tap_call);
} calls SEC(".maps");
struct {
    __uint(type, MAP_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct tap_config);
} config SEC(".maps");
struct {
    __uint(type, MAP_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct tap_record);
} scratch SEC(".maps");
/* One event per CPU. They stay when no process has the map open (BPF_F_PRESERVE_ELEMS) */
enum { KEEP = 1 << 11 };
struct {
    __uint(type, MAP_PERF_EVENT_ARRAY);
    __uint(max_entries, 1);
    __uint(key_size, 4);
    __uint(value_size, 4);
    __uint(map_flags, KEEP);
} enters SEC(".maps");
struct {
    __uint(type, MAP_PERF_EVENT_ARRAY);
    __uint(max_entries, 1);
    __uint(key_size, 4);
    __uint(value_size, 4);
    __uint(map_flags, KEEP);
} exits SEC(".maps");
/* thread -> number of its call, between a recorded beginning and its end */
enum { OPEN_NO_PATH = 1 << 16 };
struct {
    __uint(type, MAP_HASH);
    __uint(max_entries, TAP_OPEN_CALLS);
    __type(key, __u32);
    __type(value, __u32);
} open_calls SEC(".maps");
/* files whose name was recorded */
struct inode_id {
    __u64 ino;
    __u32 dev, reserved;
};
struct {
    __uint(type, MAP_LRU_HASH);
    __uint(max_entries, TAP_NAMED);
    __type(key, struct inode_id);
    __type(value, __u32);
} named SEC(".maps");

#ifdef __TARGET_ARCH_arm64
struct registers {
    __u64 x[31], sp, pc, pstate, x0, call;
};
#define ARGUMENTS(r) \
    { \
        (r)->x0, (r)->x[1], (r)->x[2], (r)->x[3], (r)->x[4], (r)->x[5] \
    }
#define NARROW_ARGUMENTS ARGUMENTS
#define IS_NARROW(r) ((r)->pstate & 0x10)
#else
struct registers {
    __u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, call, ip, cs, flags, sp, ss;
};
#define ARGUMENTS(r) \
    { \
        (r)->di, (r)->si, (r)->dx, (r)->r10, (r)->r8, (r)->r9 \
    }
#define NARROW_ARGUMENTS(r) \
    { \
        (__u32)(r)->bx, (__u32)(r)->cx, (__u32)(r)->dx, (__u32)(r)->si, (__u32)(r)->di, (__u32)(r)->bp \
    }
enum { TS_COMPAT = 2 };
#define IS_NARROW(r) (BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), thread_info.status) & TS_COMPAT)
#endif

static struct file *file_behind(__u64 fd)
{
    struct task_struct *task  = (struct task_struct *)bpf_get_current_task();
    struct fdtable     *table = BPF_CORE_READ(task, files, fdt);
    struct file        *file  = 0;
    if (!table || (__u32)fd >= BPF_CORE_READ(table, max_fds))
        return 0;
    bpf_probe_read_kernel(&file, sizeof file, BPF_CORE_READ(table, fd) + (__u32)fd);
    return file;
}

/* Records the file. 0: not a file of a file system, but a socket, a pipe or a terminal. */
static int file_tell(struct tap_record *r, struct file *file)
{
    struct inode *inode = BPF_CORE_READ(file, f_inode);
    __u32         type;
    r->mode = BPF_CORE_READ(inode, i_mode);
    type    = r->mode & TYPE_MASK;
    if (type != TYPE_REG && type != TYPE_DIR && type != TYPE_BLOCK && type != TYPE_LINK)
        return 0;
    r->file = (__u64)file;
    r->ino  = BPF_CORE_READ(inode, i_ino);
    r->dev  = BPF_CORE_READ(inode, i_sb, s_dev);
    r->pos  = (__u64)BPF_CORE_READ(file, f_pos);
    r->flags |= TAP_FILE;
    return 1;
}

static int is_last(struct file *file)
{
    if (bpf_core_field_exists(((struct file___counted *)0)->f_count))
        return BPF_CORE_READ((struct file___counted *)file, f_count.counter) == 1;
    if (bpf_core_field_exists(((struct file___referenced *)0)->f_ref))
        return BPF_CORE_READ((struct file___referenced *)file, f_ref.refcnt.counter) == 0;
    return 0;
}

/* Changes no valid value; it shows the bound to the verifier, which then need not walk a loop again for each possible
 * range. */
#define BOUND(at) __asm__ volatile("%0 &= %1" : "+r"(at) : "i"(TAP_TEXT - 1))

/* Appends at text[at] the names from a place (struct path) in the file tree up to its root, across the roots of mounts.
 * Returns the end of the text. Not static: so the verifier walks it once, not at each call. */
__attribute__((noinline)) __u64 names_put(struct tap_record *r, __u64 at, __u64 place_address)
{
    const struct path *place = (const void *)place_address;
    if (!r)
        return 0;
    struct vfsmount *vfsmount = BPF_CORE_READ(place, mnt);
    struct dentry   *dentry   = BPF_CORE_READ(place, dentry);
    struct mount    *mount    = (void *)vfsmount - bpf_core_field_offset(struct mount, mnt);
    struct dentry   *root     = BPF_CORE_READ(vfsmount, mnt_root);
    for (int i = 0; i < TAP_STEPS; i++) {
        struct dentry *parent = BPF_CORE_READ(dentry, d_parent);
        BOUND(at);
        if (dentry == root || dentry == parent || !parent) {
            struct mount *below = BPF_CORE_READ(mount, mnt_parent);
            if (below == mount || !below)
                return at;
            dentry = BPF_CORE_READ(mount, mnt_mountpoint);
            root   = BPF_CORE_READ(below, mnt.mnt_root);
            mount  = below;
            continue;
        }
        if (at >= TAP_TEXT - 256)
            break;
        long n = bpf_probe_read_kernel_str(r->text + at, 256, BPF_CORE_READ(dentry, d_name.name));
        if (n <= 0 || n > 256)
            break;
        at += (__u64)n;
        dentry = parent;
    }
    r->flags |= TAP_CUT;
    return at;
}

static __u64 argument(const struct tap_record *r, signed char which)
{
    switch (which) { /* no computed index: each case is one instruction for the verifier */
    case 0: return r->arg[0];
    case 1: return r->arg[1];
    case 2: return r->arg[2];
    case 3: return r->arg[3];
    case 4: return r->arg[4];
    default: return r->arg[5];
    }
}

/* Appends a path argument, and for a relative one the folder that it starts in. `which`: TAP_TEXT_PATH or
 * TAP_TEXT_PATH2. */
static __u64 path_put(struct tap_record *r, __u64 at, __u32 which, __u64 user, signed char dir)
{
    if (at >= TAP_TEXT - TAP_PATH)
        return at;
    if (!user) /* utimensat and statx take NULL for "" */
        return at;
    long n = bpf_probe_read_user_str(r->text + at, TAP_PATH, (const void *)user);
    if (n <= 0 || n > TAP_PATH) {
        r->flags |= TAP_NO_PATH;
        return at;
    }
    char first               = r->text[at];
    r->text_bytes[which & 3] = (__u16)n;
    at += (__u64)n;
    if (first == '/' || at >= TAP_TEXT)
        return at;
    const struct path *place;
    __s32              fd = dir >= 0 ? (__s32)argument(r, dir) : -100; /* AT_FDCWD */
    if (fd == -100) {
        struct task_struct *task = (struct task_struct *)bpf_get_current_task();
        struct fs_struct   *fs   = BPF_CORE_READ(task, fs);
        place                    = __builtin_preserve_access_index(&fs->pwd);
    } else {
        struct file *file = file_behind((__u64)fd);
        if (!file)
            return at;
        place = __builtin_preserve_access_index(&file->f_path);
    }
    __u64 from                     = at;
    at                             = names_put(r, at, (__u64)place);
    r->text_bytes[(which & 3) + 1] = (__u16)(at - from);
    return at;
}

static void narrow_vector_size(struct tap_record *r)
{
    struct {
        __u32 base, length;
    } part[TAP_VECTORS];
    __u64 count = r->arg[2] < TAP_VECTORS ? r->arg[2] : TAP_VECTORS;
    if (bpf_probe_read_user(part, sizeof part, (const void *)r->arg[1]))
        return;
    for (int i = 0; i < TAP_VECTORS; i++)
        if ((__u64)i < count)
            r->size += part[i].length;
}

static void vector_size(struct tap_record *r)
{
    struct {
        __u64 base, length;
    } part[TAP_VECTORS];
    __u64 count = r->arg[2] < TAP_VECTORS ? r->arg[2] : TAP_VECTORS;
    if (bpf_probe_read_user(part, sizeof part, (const void *)r->arg[1]))
        return;
    for (int i = 0; i < TAP_VECTORS; i++)
        if ((__u64)i < count)
            r->size += part[i].length;
}

/* Appends the name of an open file, unless it was recorded lately. */
static __u64 name_put(struct tap_record *r, __u64 at, struct file *file, int always)
{
    struct inode_id id   = {r->ino, r->dev, 0};
    __u64           from = at;
    __u32           one  = 1;
    if (!always && bpf_map_lookup_elem(&named, &id))
        return at;
    bpf_map_update_elem(&named, &id, &one, ANY);
    if (at >= TAP_TEXT)
        return at;
    at                           = names_put(r, at, (__u64)__builtin_preserve_access_index(&file->f_path));
    r->text_bytes[TAP_TEXT_NAME] = (__u16)(at - from);
    return at;
}

/* The arguments of a call, with halves joined. */
static void arguments_put(struct tap_record *r, const struct registers *regs, const struct tap_call *call, int narrow)
{
    __u64 wide[6] = ARGUMENTS(regs), slim[6] = NARROW_ARGUMENTS(regs);
    __builtin_memcpy(r->arg, narrow ? slim : wide, sizeof wide);
    if (!narrow)
        return;
    switch (call->halves) { /* no computed index, as above */
    case 1 + 1: r->arg[1] |= r->arg[2] << 32; break;
    case 1 + 3: r->arg[3] |= r->arg[4] << 32; break;
    case 0x10 + 1 + 2: /* fallocate */
        r->arg[2] |= r->arg[3] << 32;
        r->arg[3] = r->arg[4] | r->arg[5] << 32;
        break;
    }
}

static struct tap_record *record_begin(void)
{
    __u32              zero = 0;
    struct tap_record *r    = bpf_map_lookup_elem(&scratch, &zero);
    if (r)
        __builtin_memset(r, 0, TAP_HEAD);
    return r;
}

static void output(void *ctx, void *map, struct tap_record *r, __u64 text)
{
    BOUND(text);
    bpf_perf_event_output(ctx, map, CURRENT_CPU, r, TAP_HEAD + text);
}

static int is_ours(__u64 id)
{
    __u32                    zero = 0;
    const struct tap_config *c    = bpf_map_lookup_elem(&config, &zero);
    return c && c->own_tgid == (__u32)(id >> 32);
}

SEC("raw_tp/sys_enter")
int on_enter(__u64 *ctx)
{
    __u32            number = (__u32)ctx[1];
    struct registers regs;
    __u64            id = bpf_get_current_pid_tgid();
    if (number >= TAP_CALLS || bpf_probe_read_kernel(&regs, sizeof regs, (const void *)ctx[0]))
        return 0;
    int narrow = !!IS_NARROW(&regs);
    number += narrow ? TAP_NARROW : 0;
    const struct tap_call *call = bpf_map_lookup_elem(&calls, &number);
    if (!call || !call->call || is_ours(id))
        return 0;
    struct tap_record *r = record_begin();
    if (!r)
        return 0;
    arguments_put(r, &regs, call, narrow);
    r->call       = call->call;
    __u64 at      = 0;
    int   of_file = call->fd >= 0;
    __u64 fd      = argument(r, call->fd);
    if (call->path >= 0) {
        at = path_put(r, at, TAP_TEXT_PATH, argument(r, call->path), call->dir);
        /* "" (AT_EMPTY_PATH) */
        if (call->dir >= 0 && (r->text_bytes[TAP_TEXT_PATH] == 1 || !argument(r, call->path))) {
            of_file = 1;
            fd      = argument(r, call->dir);
        }
        if (call->path2 >= 0)
            at = path_put(r, at, TAP_TEXT_PATH2, argument(r, call->path2), call->dir2);
        if (call->flags & TAP_CALL_HOW)
            bpf_probe_read_user(&r->size, sizeof r->size, (const void *)r->arg[2]);
    }
    if (of_file) {
        struct file *file = file_behind(fd);
        if (!file || !file_tell(r, file))
            return 0;
        if ((call->flags & TAP_CALL_CLOSES) && is_last(file))
            r->flags |= TAP_LAST;
        if (call->flags & TAP_CALL_VECTOR)
            narrow ? narrow_vector_size(r) : vector_size(r);
        at = name_put(r, at, file, 0);
    }
    if (call->flags & TAP_CALL_END) {
        __u32 tid = (__u32)id, open = number | (r->flags & TAP_NO_PATH ? OPEN_NO_PATH : 0);
        bpf_map_update_elem(&open_calls, &tid, &open, ANY);
    }
    output(ctx, &enters, r, at);
    return 0;
}

SEC("raw_tp/sys_exit")
int on_exit(__u64 *ctx)
{
    struct registers regs;
    __u32            tid = (__u32)bpf_get_current_pid_tgid(), *open = bpf_map_lookup_elem(&open_calls, &tid), number;
    if (!open)
        return 0;
    __u32 how = *open;
    number    = how & 0xFFFF;
    bpf_map_delete_elem(&open_calls, &tid);
    const struct tap_call *call = bpf_map_lookup_elem(&calls, &number);
    if (!call || bpf_probe_read_kernel(&regs, sizeof regs, (const void *)ctx[0]))
        return 0;
    struct tap_record *r = record_begin();
    if (!r)
        return 0;
    arguments_put(r, &regs, call, number >= TAP_CALLS);
    r->call  = call->call;
    __u64 at = 0;
    if ((how & OPEN_NO_PATH) && call->path >= 0) { /* by now the call itself has brought the page into memory */
        at = path_put(r, at, TAP_TEXT_PATH, argument(r, call->path), call->dir);
        if (call->path2 >= 0)
            at = path_put(r, at, TAP_TEXT_PATH2, argument(r, call->path2), call->dir2);
    }
    r->arg[0] = ctx[1];
    if ((call->flags & TAP_CALL_OPENS) && (__s64)ctx[1] >= 0) {
        struct file *file = file_behind(ctx[1]);
        if (file && file_tell(r, file))
            at = name_put(r, at, file, 1);
    }
    output(ctx, &exits, r, at);
    return 0;
}

char license_text[] SEC("license") = "Dual MIT/GPL";
