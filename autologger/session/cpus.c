/* cpus.c - follows processors that come and go while a session runs. See session.h. */
#include "autologger/kernel/hotplug.h"
#include "autologger/session/internal.h"

void session_cpus(struct session *s)
{
    if (s->klog && !s->sealed && atomic_load(&s->phase) < SESSION_STOPPING) {
        klog_tell(s->klog, &s->conditions);
        klog_cpus(s->klog, NULL, s->env->keep ? session_keep_klog : NULL, s);
    }
}
