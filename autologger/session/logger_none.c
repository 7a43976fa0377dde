/* logger_none.c - output of an early program's loggers: none. They hold their events until a daemon adopts them. A
 * session that ends before that has failed (logger_main says so), and the events in its memory are not counted. See
 * logger.h. */
#include "autologger/session/logger.h"

void logger_open(struct logger *l) { (void)l; }
bool logger_collect(struct logger *l, uint64_t now_ns)
{
    (void)l, (void)now_ns;
    return true;
}
void logger_merge(struct logger *l, uint64_t horizon) { (void)l, (void)horizon; }
void logger_merge_last(struct logger *l, uint64_t horizon) { (void)l, (void)horizon; }
void logger_merge_kernel(struct logger *l, uint64_t clock) { (void)l, (void)clock; }
void logger_merge_told(struct logger *l, bool final) { (void)l, (void) final; }
void logger_flush(struct logger *l) { (void)l; }
void logger_skip_retired(struct logger *l) { (void)l; }
void logger_places(struct logger *l) { (void)l; }
void logger_window(struct logger *l) { (void)l; }
void logger_complete(struct logger *l) { (void)l; }
