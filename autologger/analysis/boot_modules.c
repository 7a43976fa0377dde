#include "autologger/analysis/boot_modules.h"

#include <stdio.h>
#include <string.h>

static double boot_modules_seconds(int64_t ns) { return (double)ns / 1e9; }

bool boot_is_loader(const struct boot *b, const struct boot_process *p)
{
    (void)b;
    return strcmp(p->label, "insmod") == 0 || strcmp(p->label, "modprobe") == 0 || strcmp(p->label, "kmod") == 0 ||
           strcmp(p->label, "systemd-modules-load") == 0;
}

bool boot_loads_beside(const struct boot *b, int process, int other)
{
    const struct boot_process *p = &b->process[process], *q = &b->process[other];
    return process == other ||
           (p->unit != BOOT_NONE ? p->unit == q->unit : p->parent == q->parent && q->unit == BOOT_NONE);
}

/* The last argument that is not a parameter of the module. */
static const char *module_argument(const struct boot_process *p, int *length)
{
    const char *found = p->label;
    *length           = (int)strlen(p->label);
    for (const char *word = strchr(p->command, ' '); word; word = strchr(word, ' ')) {
        word += strspn(word, " ");
        const int n = (int)strcspn(word, " ");
        if (n && !memchr(word, '=', (size_t)n)) {
            found   = word;
            *length = n;
        }
    }
    for (int i = *length; i > 0; i--) /* of a path the last part */
        if (found[i - 1] == '/') {
            *length -= i;
            return found + i;
        }
    return found;
}

int64_t boot_modules_of(const struct boot *b, int at, char *out, size_t room, int64_t *running)
{
    int     best[3] = {BOOT_NONE, BOOT_NONE, BOOT_NONE};
    int64_t sum     = 0;
    size_t  n       = 0;
    for (unsigned i = 0; i < b->processes; i++) {
        if (b->process[i].lives || !boot_is_loader(b, &b->process[i]) || !boot_loads_beside(b, at, (int)i))
            continue;
        sum += b->process[i].end - b->process[i].start;
        *running += b->process[i].time[BOOT_RUNNING];
        int now = (int)i;
        for (unsigned k = 0; k < 3; k++)
            if (best[k] == BOOT_NONE ||
                b->process[now].end - b->process[now].start > b->process[best[k]].end - b->process[best[k]].start) {
                const int was = best[k];
                best[k]       = now;
                if ((now = was) == BOOT_NONE)
                    break;
            }
    }
    for (unsigned k = 0; k < 3 && best[k] != BOOT_NONE && n < room; k++) {
        const struct boot_process *p = &b->process[best[k]];
        int                        length;
        const char                *name = module_argument(p, &length), *dot = memchr(name, '.', (size_t)length);
        n += (size_t)snprintf(out + n, room - n, "%s%.*s %.1f s", k ? ", " : "", dot ? (int)(dot - name) : length, name,
                              boot_modules_seconds(p->end - p->start));
    }
    return sum;
}
