/* state.c - threads, processes and images, from the records. See convert.h. */
#include "autologger/kernel/convert/convert.h"

#include <stdlib.h>
#include <string.h>

struct thread         *thread_get(struct convert *c, uint32_t tid) { return tid ? idmap_get(&c->thread, tid) : NULL; }
struct kernel_process *process_get(struct convert *c, uint32_t pid)
{
    return pid == 4 ? c->system : pid == 0 ? c->idle : idmap_get(&c->process, pid);
}

static void unlink_thread(struct thread *t)
{
    struct kernel_process *p = t->process;
    if (!p)
        return;
    *(t->prev ? &t->prev->next : &p->threads) = t->next;
    if (t->next)
        t->next->prev = t->prev;
    p->thread_count--;
    t->process = NULL;
    t->next = t->prev = NULL;
}

struct thread *thread_add(struct convert *c, struct kernel_process *p, uint32_t tid, const char *name)
{
    struct thread *t = thread_get(c, tid);
    if (t)
        thread_remove(c, t); /* its end was lost */
    t = calloc(1, sizeof *t);
    if (!t || !idmap_put(&c->thread, tid, t)) {
        free(t);
        return NULL;
    }
    t->tid  = tid;
    t->prio = 120;
    if (name)
        memcpy(t->name, name, strnlen(name, sizeof t->name - 1));
    t->process = p;
    t->next    = p->threads;
    if (p->threads)
        p->threads->prev = t;
    p->threads = t;
    p->thread_count++;
    return t;
}

void thread_remove(struct convert *c, struct thread *t)
{
    unlink_thread(t);
    idmap_remove(&c->thread, t->tid);
    copy_drop(c, t->tid);
    free(t->chain);
    free(t);
}

void process_text(char **text, const char *value)
{
    char *copy = strdup(value);
    if (!copy)
        return;
    free(*text);
    *text = copy;
}

struct kernel_process *process_add(struct convert *c, uint32_t pid)
{
    struct kernel_process *p = process_get(c, pid);
    if (p && (p == c->system || p == c->idle))
        return NULL; /* these two exist once, and are not found by number */
    if (p)
        process_remove(c, p);
    p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->pid     = pid;
    p->name    = strdup("");
    p->command = strdup("");
    p->key     = UINT64_C(0xffff800000000000) | c->next_key++ << 8;
    if (!p->name || !p->command || (pid != 4 && pid != 0 && !idmap_put(&c->process, pid, p))) {
        free(p->name);
        free(p->command);
        free(p);
        return NULL;
    }
    return p;
}

void images_drop(struct kernel_process *p)
{
    for (struct image *i = p->images, *next; i; i = next) {
        next = i->next;
        if (--i->name->references == 0)
            free(i->name);
        free(i);
    }
    p->images       = NULL;
    p->images_shown = true;
}

void process_remove(struct convert *c, struct kernel_process *p)
{
    while (p->threads)
        thread_remove(c, p->threads);
    mappings_drop(c, p->pid);
    memory_process_gone(c, p->pid);
    images_drop(p);
    if (p != c->system && p != c->idle)
        idmap_remove(&c->process, p->pid);
    free(p->name);
    free(p->command);
    free(p);
}

struct image *image_add(struct kernel_process *p, const struct image *like, const char *name, struct image_name *shared)
{
    for (struct image *i = p->images; i; i = i->next)
        if (i->base == like->base && strcmp(i->name->text, shared ? shared->text : name) == 0)
            return NULL; /* another mapping of the same file */
    struct image *i = malloc(sizeof *i);
    if (i && !shared) {
        size_t n = strlen(name) + 1;
        shared   = malloc(sizeof *shared + n);
        if (shared) {
            *shared = (struct image_name){0, (uint32_t)n};
            memcpy(shared->text, name, n);
        }
    }
    if (!i || !shared) {
        free(i);
        return NULL;
    }
    *i      = *like;
    i->name = shared;
    shared->references++;
    i->next   = p->images;
    p->images = i;
    return i;
}

bool images_inherit(struct kernel_process *child, const struct kernel_process *parent)
{
    struct image **end = &child->images;
    for (const struct image *i = parent->images; i; i = i->next) {
        struct image *copy = malloc(sizeof *copy);
        if (!copy)
            return false;
        *copy = *i;
        copy->name->references++;
        copy->next = NULL;
        *end       = copy;
        end        = &copy->next;
    }
    child->images_shown = parent->images == NULL;
    return true;
}
