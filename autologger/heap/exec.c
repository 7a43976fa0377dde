/* exec.c - a program that replaces itself stays traced: the environment of the new one gets the library and the memory,
 * which the environment of this process does not show to its children. Before that an event Destroy says that the heap ends
 * here; one without a heap says that the exec failed.
 * Threads: any. Not for: programs that it starts (they are not traced), execl and its relatives. */
#include "autologger/heap/library.h"
#include "autologger/heap/next.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PRELOAD "LD_PRELOAD="
enum { HEAP_EVENT = 2, TEXTS = 2 * PATH_MAX };
char exec_library[PATH_MAX], exec_memory[64];

/* The environment with both, mapped: an exec unmaps it. The word before it holds the size of the mapping, as another
 * thread may change `envp`. NULL: no memory, or the texts are too long. */
static char **environment_make(char *const *envp)
{
    size_t n = 0, at = 0;
    while (envp && envp[n])
        n++;
    const size_t size   = (n + 5) * sizeof(char *) + TEXTS;
    size_t      *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return NULL;
    *mapped           = size;
    char      **out   = (char **)(mapped + 1);
    char       *text  = (char *)(out + n + 4);
    const char *other = "";
    for (size_t i = 0; i < n; i++)
        if (strncmp(envp[i], PRELOAD, sizeof PRELOAD - 1) == 0)
            other = envp[i] + sizeof PRELOAD - 1;
        else if (strncmp(envp[i], HEAP_VARIABLE "=", sizeof HEAP_VARIABLE) != 0)
            out[at++] = envp[i];
    const int used = snprintf(text, TEXTS, PRELOAD "%s%s%s", exec_library, *other ? ":" : "", other);
    if (used < 0 || used + (int)sizeof exec_memory + (int)sizeof HEAP_VARIABLE >= TEXTS) {
        munmap(mapped, size);
        return NULL;
    }
    out[at++] = text;
    snprintf(text + used + 1, TEXTS - (size_t)used - 1, HEAP_VARIABLE "=%s", exec_memory);
    out[at++] = text + used + 1;
    return out;
}

/* The environment for this exec: `envp` where this process is not the traced one (a child before its own exec). */
static char *const *exec_begin(char *const *envp)
{
    const uint64_t heap = 1;
    if (!library.begun || stream_inside || !*exec_library || getpid() != stream_pid())
        return envp;
    char **made = environment_make(envp);
    if (!made)
        return envp;
    stream_event(HOOK_HEAP_DESTROY, HEAP_EVENT, &heap, sizeof heap, NULL);
    fcntl(stream_fd(), F_SETFD, 0);
    return made;
}

static int exec_failed(char *const *made, char *const *envp)
{
    const int      error = errno;
    const uint64_t none  = 0;
    if (made != envp) {
        fcntl(stream_fd(), F_SETFD, FD_CLOEXEC);
        stream_event(HOOK_HEAP_DESTROY, HEAP_EVENT, &none, sizeof none, NULL);
        size_t *mapped = (size_t *)(uintptr_t)made - 1;
        munmap(mapped, *mapped);
    }
    errno = error;
    return -1;
}

int execve(const char *path, char *const argv[], char *const envp[])
{
    if (!next_found()) {
        errno = ENOSYS;
        return -1;
    }
    char *const *made = exec_begin(envp);
    next.execve(path, argv, made);
    return exec_failed(made, envp);
}

int execv(const char *path, char *const argv[]) { return execve(path, argv, environ); }

int execvpe(const char *file, char *const argv[], char *const envp[])
{
    if (!next_found()) {
        errno = ENOSYS;
        return -1;
    }
    char *const *made = exec_begin(envp);
    next.execvpe(file, argv, made);
    return exec_failed(made, envp);
}

int execvp(const char *file, char *const argv[]) { return execvpe(file, argv, environ); }
