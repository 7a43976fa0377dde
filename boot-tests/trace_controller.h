/* trace_controller.h - what the parts of trace_controller share: properties with room for names, and the count of what is
 * as expected. Threads: one. */
#ifndef BOOT_TESTS_TRACE_CONTROLLER_H
#define BOOT_TESTS_TRACE_CONTROLLER_H
#include <evntcons.h>
#include <evntprov.h>
#include <evntrace.h>

struct block {
    EVENT_TRACE_PROPERTIES p;
    char                   file[512], name[512];
};
struct block      fresh(const char *file, ULONG mode); /* file NULL: the properties have no place for a file's name */
void              expect(const char *what, ULONG got, ULONG wanted); /* prints a difference */
void              expect_true(const char *what, int holds);
extern const GUID controller_provider;

void controller_errors(void);  /* controller_errors.c: of StartTrace and of all others */
void controller_updates(void); /* controller_updates.c: UPDATE and CONVERT_TO_REALTIME */
#endif
