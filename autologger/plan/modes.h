/* modes.h - which LogFileMode bits a boot session may combine, and how they are adjusted. Pure; threads: any. */
#ifndef AUTOLOGGER_PLAN_MODES_H
#define AUTOLOGGER_PLAN_MODES_H
#include "autologger/plan/values.h"

struct mode_facts {
    bool     file_name;     /* FileName is given */
    bool     max_file_size; /* not 0, declared or by default */
    bool     system;        /* a session with kernel events, or of a reserved GUID */
    bool     boot;          /* declared for boots; else a controller starts it now */
    unsigned numbers;       /* "%d" in FileName; 2: more than one, or another '%' behind its start */
};
/* W_INVALID_PARAMETER: a refused combination, named in `why`. W_INVALID_NAME: NEWFILE can't number FileName. */
wstatus mode_check(uint32_t mode, const struct mode_facts *facts, struct reason *why);
/* The bits that the session gets: drops bits that exclude each other without an error, each with a note, and adds
 * implied ones. Bits without effect in this version, and unknown bits, give condition W_NOT_SUPPORTED. */
uint32_t mode_adjust(uint32_t mode, const struct plan_value *place, struct condition_list *conditions);
/* True: without a FileName its default applies. */
bool mode_wants_file(uint32_t mode);
#endif
