/* many_programs.c - many programs at once, for e2e/programs.py: many_programs COUNT UID USERS. Child i runs as user UID
 * + i % USERS (UID 0: all as root), registers a provider, and writes one event, its number, each time that a session
 * enables it. The parent says "ready" when all have registered, and ends them when its standard input ends. */
#include <evntprov.h>

#include <grp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const GUID provider = {0x1a5ec0de, 0x7e57, 0x0007, {0x80, 0, 0, 0, 0, 0, 0, 1}};
static REGHANDLE  handle;
static uint32_t   number, *ready;

static void enabled(LPCGUID source, ULONG code, UCHAR level, ULONGLONG any, ULONGLONG all,
                    PEVENT_FILTER_DESCRIPTOR filter, PVOID context)
{
    const EVENT_DESCRIPTOR d    = {.Id = 1, .Level = 4, .Keyword = 1};
    EVENT_DATA_DESCRIPTOR  data = {.Ptr = (uintptr_t)&number, .Size = sizeof number};
    (void)source, (void)level, (void)any, (void)all, (void)filter, (void)context;
    if (code == EVENT_CONTROL_CODE_ENABLE_PROVIDER)
        EventWrite(handle, &d, 1, &data);
}

static void child(uint32_t uid)
{
    if (uid && (setgroups(0, NULL) || setgid(uid) || setuid(uid)))
        _exit(1);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* after setuid(), which would clear it */
    if (EventRegister(&provider, enabled, NULL, &handle))
        _exit(2);
    __atomic_fetch_add(ready, 1, __ATOMIC_RELAXED);
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    const unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 1, users = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
    const uint32_t uid = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
    pid_t         *pid = calloc(count, sizeof *pid);
    char           byte;
    ready = mmap(NULL, sizeof *ready, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!pid || ready == MAP_FAILED)
        return 1;
    for (number = 0; number < count; number++)
        if ((pid[number] = fork()) == 0)
            child(uid ? uid + number % users : 0);
    for (int i = 0; i < 6000 && __atomic_load_n(ready, __ATOMIC_RELAXED) < count; i++)
        usleep(10000);
    printf("ready %u\n", __atomic_load_n(ready, __ATOMIC_RELAXED));
    fflush(stdout);
    (void)!read(0, &byte, 1);
    for (unsigned i = 0; i < count; i++)
        if (pid[i] > 0)
            kill(pid[i], SIGKILL);
    while (wait(NULL) > 0)
        ;
    return 0;
}
