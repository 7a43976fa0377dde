/* sources.h - the table of all sources of kernel events (sources.def), and the layout of tracepoints on this kernel.
 * Field offsets are never assumed: they are read from the kernel's format files, by name; a missing field or tracepoint
 * is a condition, never a failure.
 * Threads: constant tables; tracefs functions from one. Ownership: tracefs_open's descriptor is the caller's.
 * Not for: perf events themselves (rings.h). */
#ifndef AUTOLOGGER_KERNEL_SOURCES_H
#define AUTOLOGGER_KERNEL_SOURCES_H
#include "autologger/kernel/klog.h"
#include "autologger/kernel/source/rawlog.h"

enum source_kind {
#define SOURCE(kind, name, words, fields, hooks, flags, converter) SRC_##kind,
#include "autologger/kernel/source/sources.def"
#undef SOURCE
    SRC_COUNT
};
_Static_assert(SRC_COUNT <= (int)RAW_SOURCES, "raw header");

/* Field numbers, in the order of sources.def */
enum { F_EXEC_FILENAME, F_EXEC_PID };
enum {
    F_SWITCH_PREV_PID,
    F_SWITCH_PREV_PRIO,
    F_SWITCH_PREV_STATE,
    F_SWITCH_NEXT_PID,
    F_SWITCH_NEXT_PRIO,
    F_SWITCH_PREV_COMM,
    F_SWITCH_NEXT_COMM
};
enum { F_WAKING_PID, F_WAKING_PRIO };
enum { F_RQ_DEV, F_RQ_SECTOR, F_RQ_NR_SECTOR, F_RQ_RWBS, F_RQ_IOPRIO };
enum { F_SOFTIRQ_VEC };
enum { F_TASKLET_FUNC };
enum { F_IRQ_NUMBER, F_IRQ_NAME };
enum { F_IRQ_EXIT_NUMBER, F_IRQ_EXIT_RESULT };
enum { F_VECTOR };
enum { F_IPI_CPU, F_IPI_CALLSITE, F_IPI_CALLBACK };
enum { F_TIMER_TIMER, F_TIMER_FUNCTION, F_TIMER_WHEN };
enum { F_POWER_STATE, F_POWER_CPU };
enum { F_SUSPEND_ACTION, F_SUSPEND_VALUE, F_SUSPEND_START };
enum { F_SETPRIO_PID, F_SETPRIO_OLD, F_SETPRIO_NEW };
enum { F_CONSOLE_TEXT };
enum { F_FORK_PARENT, F_FORK_CHILD, F_FORK_PARENT_COMM };
enum { F_EXIT_PID };
enum { F_NEWTASK_PID, F_NEWTASK_FLAGS };
enum { F_LEVEL_NAME };
enum { F_INITCALL_FUNC, F_INITCALL_RET };
enum { F_MODULE_NAME, F_MODULE_TAINTS };
enum { F_PROBE_DEVICE, F_PROBE_DRIVER, F_PROBE_BUS };
enum { F_PROBED_RESULT };
enum { F_DEFERRED_DEVICE, F_DEFERRED_FORMAT, F_DEFERRED_ARGUMENT };
enum { F_FIRMWARE_NAME, F_FIRMWARE_DEVICE };
enum { F_CALL_ID, F_CALL_ARGS, F_CALL_RET = F_CALL_ARGS };
enum { F_CGROUP_ROOT, F_CGROUP_ID, F_CGROUP_PATH };
enum { F_ATTACH_ROOT, F_ATTACH_ID, F_ATTACH_PID, F_ATTACH_PATH };

enum {
    F_SOCK_ADDRESS,
    F_SOCK_OLD,
    F_SOCK_NEW,
    F_SOCK_SPORT,
    F_SOCK_DPORT,
    F_SOCK_PROTOCOL,
    F_SOCK_SADDR,
    F_SOCK_DADDR
};
enum { F_LENGTH_ADDRESS, F_LENGTH_FAMILY, F_LENGTH_PROTOCOL, F_LENGTH_RESULT, F_LENGTH_FLAGS };
enum { F_RETRANSMIT_ADDRESS, F_RETRANSMIT_SPORT, F_RETRANSMIT_DPORT, F_RETRANSMIT_SADDR, F_RETRANSMIT_DADDR };
enum { F_FAULT_ADDRESS, F_FAULT_IP, F_FAULT_ERROR };
enum { F_SIGNAL_NUMBER, F_SIGNAL_CODE, F_SIGNAL_TID };
enum { F_FILE_FAULT_INDEX };
enum { F_MUNMAP_ADDRESS, F_MUNMAP_LENGTH };
enum { F_MUNMAP_RESULT };
enum { F_SPLIT_DEV, F_SPLIT_SECTOR, F_SPLIT_NEW_SECTOR, F_SPLIT_RWBS };
enum { F_REMAP_DEV, F_REMAP_SECTOR, F_REMAP_OLD_DEV, F_REMAP_OLD_SECTOR, F_REMAP_RWBS };
enum { F_WORK_WORK, F_WORK_FUNCTION };
enum { F_LOCK_ADDRESS, F_LOCK_FLAGS, F_LOCK_RESULT = F_LOCK_FLAGS };
enum { F_PTRACE_REQUEST, F_PTRACE_TARGET, F_PTRACE_RESULT = F_PTRACE_REQUEST };

enum {
    SOURCE_NEWER    = 2,
    SOURCE_PHASE    = 4,
    SOURCE_OPTIONAL = 8,
    SOURCE_ADDRESS  = 32,
    SOURCE_UNITS    = 64,
    SOURCE_LIVE     = 128,
    SOURCE_TAP      = 256,
    SOURCE_DEVICES  = 512,
    SOURCE_KPROBE   = 1024,
    SOURCE_HOOKS    = 3
};
struct source_words {
    uint32_t w0, w1, w2, w4;
}; /* bits of the group mask's words 0, 1, 2 and 4 */
struct hook_range {
    uint16_t low, high;
}; /* both included; {0, 0}: none */
struct source_row {
    const char         *name;
    struct source_words words;
    const char         *fields;
    uint32_t            flags;
};
extern const struct source_row source_table[SRC_COUNT];
/* stack_hooks.c: the events whose stack is this source's call chain */
extern const struct hook_range source_hooks[SRC_COUNT][SOURCE_HOOKS];

/* Does the session want the source; and its call chains? (By mask and hooks, even if perf lacks the source.) */
bool source_wanted(const struct source_row *row, const struct klog_config *config);
bool source_wants_chain(const struct source_row *row, const struct klog_config *config);
/* Can this source's call chain be the stack of that event? */
bool source_has_hook(const struct source_row *row, uint16_t hook);

/* A descriptor of tracefs' root: the mounted one, or a mount of our own that no other process sees. -errno. */
int tracefs_open(void);
/* Reads one file below it. Returns its length (NUL added), or -errno. */
int tracefs_read(int root, const char *path, char *out, size_t size);
/* "group:name" -> its id, and the offsets of the wanted fields. -errno; *missing gets the first missing field or
 * NULL. */
int tracefs_tracepoint(int root, const struct source_row *row, struct raw_source *out, const char **missing,
                       char missing_text[32]);
/* The field's value in a tracepoint's record; 0 when the record has no such field. Sign-extended from 4 bytes on. */
int64_t raw_field_value(const struct raw_field *field, const uint8_t *raw, uint32_t raw_size);
/* Finds `name` in a format file's text. False when it has no such field. */
bool format_field(const char *text, const char *name, size_t name_length, struct raw_field *out);
#endif
