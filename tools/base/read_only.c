#include "tools/base/read_only.h"

#include "autologger/sandbox/sandbox.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/verb.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED
#endif

bool read_only_is(void)
{
#if defined SANITIZED /* a sanitizer looks for leaks in a process of its own, at the end */
    return false;
#else
    return geteuid() == 0;
#endif
}

void read_only(void)
{
    if (read_only_is())
        sandbox_enter(&(struct sandbox){.kind = SANDBOX_READER});
}

int read_apart(const char *verb, const char *about, int (*body)(void *), void *arg)
{
    int status = 0;

    fflush(NULL);
    const pid_t pid = geteuid() == 0 ? fork() : -1;
    if (pid < 0) /* another user's command, or fork failed: read in this process all the same */
        return body(arg);
    if (pid == 0) {
        read_only();
        const int code = body(arg);
        _exit(fflush(stdout) ? VERB_REFUSED : code);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    visible_printf(stderr, "%s: the process that read %s was ended by the signal %d (%s)\n", verb, about,
                   WTERMSIG(status), strsignal(WTERMSIG(status)));
    return VERB_FAILED;
}
