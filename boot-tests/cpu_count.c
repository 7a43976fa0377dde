/* cpu_count - a library to preload: the C library then says that this machine has AL_CPU_COUNT processors, so that a
 * daemon and programs divide their memory as on such a machine. The kernel still runs them on the processors that
 * exist. */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define SEEN __attribute__((visibility("default")))

static long wanted(void)
{
    const char *text = getenv("AL_CPU_COUNT");
    return text ? strtol(text, NULL, 10) : 0;
}

SEEN long sysconf(int name)
{
    static long (*next)(int);

    if ((name == _SC_NPROCESSORS_CONF || name == _SC_NPROCESSORS_ONLN) && wanted() > 0)
        return wanted();
    if (!next)
        next = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
    return next ? next(name) : -1;
}

SEEN int get_nprocs_conf(void) { return (int)sysconf(_SC_NPROCESSORS_CONF); }
SEEN int get_nprocs(void) { return (int)sysconf(_SC_NPROCESSORS_ONLN); }
