/* modes.h - which LogFileMode bits a boot session may have together, and what becomes of them.
 * Pure; threads: any. */
#ifndef AUTOLOGGER_PLAN_MODES_H
#define AUTOLOGGER_PLAN_MODES_H
#include "autologger/plan/values.h"

struct mode_facts {
    bool     file_name;     /* FileName is given */
    bool     max_file_size; /* not 0, declared or by default */
    bool     system;        /* a session with kernel events, or of a reserved GUID */
    bool     boot;          /* declared for boots; else somebody starts it now */
    unsigned numbers;       /* "%d" in FileName; 2: more than one, or another '%' behind its start */
};
/* W_INVALID_PARAMETER with the combination that is refused; W_INVALID_NAME a FileName that NEWFILE can't number. */
wstatus mode_check(uint32_t mode, const struct mode_facts *facts, struct reason *why);
/* The bits as the session gets them: bits that exclude each other without an error are dropped, implied ones added;
 * each change is a note. Bits that this version does not act on, and bits that no table knows, give condition
 * W_NOT_SUPPORTED. */
uint32_t mode_adjust(uint32_t mode, const struct plan_value *place, struct condition_list *conditions);
/* Whether FileName's default applies when none is given. */
bool mode_wants_file(uint32_t mode);
#endif
