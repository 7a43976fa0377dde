/* convert_none.c - the converter of a program that never converts, instead of convert*.c, emit.c, state.c and
 * snapshot.c: the early program keeps raw records until its successor takes them over, and must be small.
 * Invariants: nothing is loaded, so nothing is released, freed or counted as converted; no snapshot is ever in force.
 * Threads, ownership: as convert.h. Not for: a program that may write files. */
#include "autologger/kernel/change.h"
#include "autologger/kernel/convert/snapshot.h"

wstatus convert_init(struct convert *c, const struct klog_config *config, struct rawlog *log, struct reason *why)
{
    (void)why;
    *c = (struct convert){.config = config, .log = log, .cpus = log->header->cpus};
    return W_SUCCESS;
}
void change_settle(struct klog *k) { (void)k; } /* its sessions do not change */
void convert_terms(struct convert *c, const uint32_t *mask, const uint16_t *hooks, unsigned hook_count)
{
    (void)c, (void)mask, (void)hooks, (void)hook_count;
}
void convert_finish(struct convert *c) { (void)c; }
bool convert_peek(struct convert *c, unsigned cpu, struct klog_record *out)
{
    (void)c, (void)cpu, (void)out;
    return false;
}
void     convert_pop(struct convert *c, unsigned cpu) { (void)c, (void)cpu; }
void     convert_suppress(struct convert *c, unsigned cpu, uint64_t time) { (void)c, (void)cpu, (void)time; }
uint64_t convert_horizon(const struct convert *c)
{
    (void)c;
    return 0;
}
uint64_t convert_needed(const struct convert *c) { return c->log->header->free_pos; }
bool     convert_settled(const struct convert *c)
{
    (void)c;
    return false;
}
wstatus convert_snapshot_write(const struct convert *c, uint64_t pos, int fd, struct reason *why)
{
    (void)c, (void)pos, (void)fd;
    return reason_set(why, W_NOT_SUPPORTED, "this program converts nothing");
}
wstatus convert_snapshot_read(struct convert *c, int fd, struct reason *why)
{
    (void)c, (void)fd;
    return reason_set(why, W_NOT_SUPPORTED, "the predecessor has converted already; this program can't go on there");
}
