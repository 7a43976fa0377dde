/* boot_process.c - processes of a boot: a row for each program. See boot_build.h. */
#include "autologger/analysis/boot_build.h"
#include "autologger/schema/classic.h"

#include <stdlib.h>
#include <string.h>

enum { SAME_MOMENT_NS = 1000 };

int boot_process_of(const struct boot_builder *w, uint32_t pid)
{
    const uintptr_t at = (uintptr_t)idmap_get(&w->pids, pid + UINT64_C(1));
    return at ? (int)(at - 1) : BOOT_NONE;
}

int boot_process_of_thread(const struct boot_builder *w, uint32_t tid)
{
    const struct boot_thread *t = idmap_get(&w->threads, tid + UINT64_C(1));
    return tid == 0 ? boot_process_of(w, BOOT_IDLE_PID) : t ? boot_process_of(w, t->pid) : BOOT_NONE;
}

static const char *boot_process_base_name(const char *path, size_t *length)
{
    const char *end = path + *length, *at = end;
    while (at > path && at[-1] != '/')
        at--;
    *length = (size_t)(end - at);
    return at;
}

static bool is_interpreter(const char *name, size_t n)
{
    static const char *const known[] = {"sh", "bash", "dash", "ash", "busybox", "perl", "python3", "python", "exe"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i]) == n && memcmp(known[i], name, n) == 0)
            return true;
    return false;
}

/* "/usr/bin/foo -x" is foo; "sh -e /scripts/init-top/udev" is the script, with its path. */
static char *label_make(const char *name, const char *command)
{
    size_t      n     = strcspn(command, " ");
    const char *first = boot_process_base_name(command, &n), *rest = command + strcspn(command, " ");

    if (!n)
        return strdup(name);
    while (is_interpreter(first, n) && *rest) {
        rest += strspn(rest, " ");
        const size_t word = strcspn(rest, " ");
        if (word && *rest == '-' && !memchr(rest, 'c', word)) {
            rest += word; /* an option of the interpreter */
            continue;
        }
        return word && *rest == '/' ? strndup(rest, word) : strndup(first, n);
    }
    if (is_interpreter(first, n) && strcmp(first, "exe") == 0)
        return strdup(name);
    return strndup(first, n);
}

/* The kernel's own two processes have Windows' names in the trace. */
static const char *name_here(uint32_t pid, const char *name)
{
    return pid == BOOT_IDLE_PID && strcmp(name, "Idle") == 0       ? "idle"
           : pid == BOOT_SYSTEM_PID && strcmp(name, "System") == 0 ? "kernel"
                                                                   : name;
}

/* A program that systemd has to spare when it leaves the initramfs writes "@" over the first letter of its command. */
static void letter_put_back(struct boot_builder *w, struct boot_process *p)
{
    if (!p->command || *p->command != '@')
        return;
    const size_t word = strcspn(p->command, " ");
    if (memchr(p->command, '/', word)) {
        *p->command = '/';
        return;
    }
    free(p->command); /* a bare name: the letter is not known */
    p->command = boot_keep(w, p->name ? p->name : "");
}

struct told { /* fields of a Process event */
    uint32_t    pid, parent;
    int32_t     status;
    char        name[256];
    struct text command;
};

static bool boot_process_read(const struct etl_event *e, struct told *out)
{
    enum { FIXED = 4, POINTER = 8, SID_HEAD = 8, POINTERS = 16 };
    struct cursor c = cur_make(e->payload, e->payload_size);

    if (!e->is_64bit)
        return false;
    cur_take(&c, POINTER); /* UniqueProcessKey */
    out->pid    = cur_u32(&c);
    out->parent = cur_u32(&c);
    cur_u32(&c); /* session */
    out->status = (int32_t)cur_u32(&c);
    cur_take(&c, POINTER); /* page table */
    if (e->version >= 4)
        cur_take(&c, FIXED);              /* flags */
    const uint8_t *user = c.data + c.pos; /* the user's SID: if this pointer is 0, no SID follows */
    if (cur_u64(&c) != 0 && cur_ok(&c)) {
        cur_take(&c, POINTERS - POINTER);
        const uint8_t *sid = cur_take(&c, SID_HEAD);
        if (sid)
            cur_take(&c, sid[1] * 4u);
    }
    (void)user;
    const char *name = cur_zstring(&c);
    if (!name || !cur_ok(&c))
        return false;
    strncpy(out->name, name, sizeof out->name - 1);
    out->name[sizeof out->name - 1] = 0;
    const size_t   left             = cur_left(&c);
    size_t         n                = 0;
    const uint8_t *wide             = c.data + c.pos;
    while (n + 2 <= left && (wide[n] || wide[n + 1]))
        n += 2;
    text_utf16(&out->command, wide, n);
    return true;
}

static void names_set(struct boot_builder *w, struct boot_process *p, const struct told *t)
{
    free(p->name);
    free(p->command);
    free(p->label);
    p->name    = boot_keep(w, name_here(t->pid, t->name));
    p->command = boot_keep(w, text_get(&t->command));
    letter_put_back(w, p);
    p->label = p->name && p->command ? label_make(p->name, p->command) : NULL;
    w->failed |= !p->label;
}

static void boot_process_row_add(struct boot_builder *w, const struct told *t, int64_t at, bool there, int exec_of)
{
    struct boot_process *p = BOOT_GROW(w, process, processes, room_process);
    if (!p)
        return;
    const int parent = exec_of != BOOT_NONE ? w->b->process[exec_of].parent : boot_process_of(w, t->parent);
    const int from   = exec_of != BOOT_NONE ? exec_of : parent;
    *p               = (struct boot_process){.pid        = t->pid,
                                             .parent_pid = t->parent,
                                             .parent     = parent,
                                             .exec_of    = exec_of,
                                             .start      = at,
                                             .end        = at,
                                             .lives      = true,
                                             .there      = there,
                                             .execed     = exec_of != BOOT_NONE,
                                             .unit       = from != BOOT_NONE && !there ? w->b->process[from].unit : BOOT_NONE};
    for (unsigned i = 0; i < BOOT_WAKERS; i++)
        p->waker[i].process = BOOT_NONE;
    names_set(w, p, t);
    if (!idmap_put(&w->pids, t->pid + UINT64_C(1), (void *)(uintptr_t)w->b->processes))
        w->failed = true;
}

static void boot_process_started(struct boot_builder *w, const struct told *t, int64_t at, bool there)
{
    const int            now = boot_process_of(w, t->pid);
    struct boot_process *p   = now == BOOT_NONE ? NULL : &w->b->process[now];

    if (p && there && p->lives)
        return;                                                                       /* known already */
    if (p && !p->lives && at - p->end <= SAME_MOMENT_NS && !p->there && !p->execed) { /* the fork's first exec */
        p->lives = p->execed = true;
        names_set(w, p, t);
        return;
    }
    boot_process_row_add(w, t, at, there, p && !p->lives && at - p->end <= SAME_MOMENT_NS ? now : BOOT_NONE);
}

void boot_process_see(struct boot_builder *w, const struct etl_event *e, uint16_t hook)
{
    struct told   t  = {0};
    const int64_t at = boot_time(w, e);

    if ((hook == HOOK_PROCESS_START || hook == HOOK_PROCESS_END || hook == HOOK_PROCESS_DC_START ||
         hook == HOOK_PROCESS_DC_END) &&
        boot_process_read(e, &t)) {
        if (hook == HOOK_PROCESS_START || hook == HOOK_PROCESS_DC_START) {
            boot_process_started(w, &t, at, hook == HOOK_PROCESS_DC_START);
        } else {
            const int now = boot_process_of(w, t.pid);
            if (now == BOOT_NONE && hook == HOOK_PROCESS_DC_END) {
                boot_process_row_add(w, &t, 0, true, BOOT_NONE); /* its start was not seen */
            } else if (now != BOOT_NONE && hook == HOOK_PROCESS_END && w->b->process[now].lives) {
                w->b->process[now].lives       = false;
                w->b->process[now].end         = at;
                w->b->process[now].exit_status = t.status;
            }
        }
    }
    text_finish(&t.command);
}

/* The unit of a process, by its cgroup. */
void boot_cgroup_see(struct boot_builder *w)
{
    const int   at   = boot_process_of(w, (uint32_t)boot_field_number(w, "ProcessId"));
    const char *name = boot_field(w, "Unit");
    if (at != BOOT_NONE)
        w->b->process[at].unit = *name ? boot_unit_get(w, name) : BOOT_NONE;
}

bool boot_is_below(const struct boot *b, int process, int ancestor)
{
    for (unsigned depth = 0; process != BOOT_NONE && depth < 64; depth++) {
        if (process == ancestor)
            return true;
        const struct boot_process *p = &b->process[process];
        process                      = p->exec_of != BOOT_NONE ? p->exec_of : p->parent;
    }
    return false;
}
