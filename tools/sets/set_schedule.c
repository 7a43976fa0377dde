/* set_schedule.c - see set_schedule.h. */
#include "tools/sets/set_schedule.h"
#include "tools/base/machine.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { CALENDAR_MOST = 512 };

wstatus set_schedule_check(const char *calendar, struct reason *why)
{
    struct machine machine;
    char           answer[4096];
    for (const char *p = calendar; *p; p++)
        if (iscntrl((unsigned char)*p) || *p == '%')
            return reason_set(why, W_INVALID_PARAMETER, "Schedule has a control character or a %%");
    if (strlen(calendar) > CALENDAR_MOST)
        return reason_set(why, W_INVALID_PARAMETER, "Schedule has more than %d characters", CALENDAR_MOST);
    if (!*calendar)
        return W_SUCCESS;
    wstatus st = machine_open(NULL, &machine, why);
    if (st || !machine_has_command(&machine, "systemd-analyze"))
        return st;
    if (machine_run(&machine, (const char *const[]){"systemd-analyze", "calendar", "--", calendar, NULL}, answer,
                    sizeof answer, true, NULL))
        return reason_set(
            why, W_INVALID_PARAMETER,
            "Schedule = %s is no calendar event of systemd. Do: see systemd.time(7), for example *-*-* 02:00",
            calendar);
    return W_SUCCESS;
}

static wstatus set_systemctl(const struct machine *m, const char *const *words, struct reason *why)
{
    return machine_run(m, words, NULL, 0, true, why);
}

wstatus set_schedule_put(const char *name, const char *calendar, struct reason *why)
{
    struct machine machine;
    char           path[256], unit[128], text[1200];
    bool           was = false;
    wstatus        st  = machine_open(NULL, &machine, why);
    snprintf(unit, sizeof unit, "autologger-set@%s.timer", name);
    snprintf(path, sizeof path, "/etc/systemd/system/%s", unit);
    snprintf(text, sizeof text,
             "# Made by \"autologger set save\".\n[Unit]\nDescription=autologger: data collector set %s\n"
             "Documentation=man:autologger-set(1)\n\n[Timer]\nOnCalendar=%s\nAccuracySec=1s\n\n[Install]\n"
             "WantedBy=timers.target\n",
             name, calendar);
    if (st || (!*calendar && !machine_has(&machine, path)))
        return st;
    if (!*calendar) {
        st = set_systemctl(&machine, (const char *const[]){"systemctl", "disable", "--now", unit, NULL}, why);
        st = st ? st : machine_remove(&machine, path, &was, why);
        return st ? st : set_systemctl(&machine, (const char *const[]){"systemctl", "daemon-reload", NULL}, why);
    }
    st = machine_write(&machine, path, text, strlen(text), 0644, why);
    st = st ? st : set_systemctl(&machine, (const char *const[]){"systemctl", "daemon-reload", NULL}, why);
    return st ? st : set_systemctl(&machine, (const char *const[]){"systemctl", "enable", "--now", unit, NULL}, why);
}
