/* appointment.h - a time of day as logman writes it: "M/d/yyyy h:mm[:ss][AM|PM]", and lengths of time.
 * Pure but for the present time and the time zone. Threads: one. */
#ifndef TOOLS_WINDOWS_APPOINTMENT_H
#define TOOLS_WINDOWS_APPOINTMENT_H
#include <stdbool.h>
#include <time.h>

struct appointment {
    time_t seconds;
    char   calendar[32]; /* as a calendar event of systemd: "2026-11-28 09:30:00 UTC", the same on each computer */
};
enum appointment_kind { APPOINTMENT_NO_TIME, APPOINTMENT_PAST, APPOINTMENT_TO_COME };
/* In the local time zone. "yyyy-mm-dd hh:mm[:ss]" is accepted, too. */
enum appointment_kind appointment_parse(const char *text, struct appointment *out);
void                  appointment_after(const struct appointment *from, unsigned seconds, struct appointment *out);
/* "[[hh:]mm:]ss" */
bool appointment_length(const char *text, unsigned *seconds);
#endif
