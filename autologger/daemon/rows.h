/* rows.h - the result rows of a boot in a memfd, so that the successor of a killed daemon still knows every reason. Two
 * halves; `current` (stored last) names the valid one. Threads: one. Ownership: create/destroy. */
#ifndef AUTOLOGGER_DAEMON_ROWS_H
#define AUTOLOGGER_DAEMON_ROWS_H
#include "autologger/boot/result.h"
#include "registry-sim/base/os.h"

struct rows;

wstatus rows_create(struct os *os, struct rows **out, struct reason *why);
/* Opens a predecessor's memfd and fills *list from it. */
wstatus rows_adopt(int fd, struct rows **out, struct result_list *list, struct reason *why);
void    rows_destroy(struct rows *r); /* NULL is fine */
int     rows_fd(const struct rows *r);
/* W_NOT_ENOUGH_MEMORY when the list does not fit; then the former one stays. */
wstatus rows_store(struct rows *r, const struct result_list *list, struct reason *why);
#endif
