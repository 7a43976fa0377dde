/* writer_none.c - the early program's file writer: stubs. Its sessions hold their events until a daemon comes and makes
 * the files; a call for a file gets W_NOT_SUPPORTED. See writer.h. */
#include "autologger/etl/writer.h"

static wstatus writer_none_none(struct reason *why)
{
    return reason_set(why, W_NOT_SUPPORTED, "an early program makes no log files");
}

wstatus etl_writer_create(struct os *os, const char *path, const struct etl_file_info *info, uint64_t free_floor,
                          struct etl_writer **out, struct reason *why)
{
    (void)os, (void)path, (void)info, (void)free_floor, (void)out;
    return writer_none_none(why);
}
wstatus etl_writer_resume(struct os *os, const char *path, const struct etl_file_info *info,
                          const struct etl_write_state *state, uint64_t free_floor, struct etl_writer **out,
                          struct reason *why)
{
    (void)os, (void)path, (void)info, (void)state, (void)free_floor, (void)out;
    return writer_none_none(why);
}
wstatus etl_writer_create_in(struct os *os, int fd, const char *shown, const struct etl_file_info *info,
                             struct etl_writer **out, struct reason *why)
{
    (void)os, (void)fd, (void)shown, (void)info, (void)out;
    return writer_none_none(why);
}
wstatus etl_writer_resume_in(struct os *os, int fd, const char *shown, const struct etl_file_info *info,
                             const struct etl_write_state *state, struct etl_writer **out, struct reason *why)
{
    (void)os, (void)fd, (void)shown, (void)info, (void)state, (void)out;
    return writer_none_none(why);
}
wstatus etl_writer_put(struct etl_writer *w, uint8_t *buffer, uint32_t filled, uint16_t cpu, int64_t time,
                       struct reason *why)
{
    (void)w, (void)buffer, (void)filled, (void)cpu, (void)time;
    return writer_none_none(why);
}
bool etl_writer_full(const struct etl_writer *w)
{
    (void)w;
    return false;
}
void    etl_writer_add_lost(struct etl_writer *w, uint32_t buffers) { (void)w, (void)buffers; }
void    etl_writer_hurry(struct etl_writer *w, bool hurry) { (void)w, (void)hurry; }
wstatus etl_writer_sync(struct etl_writer *w, struct reason *why)
{
    (void)w;
    return writer_none_none(why);
}
struct etl_write_state etl_writer_state(const struct etl_writer *w)
{
    (void)w;
    return (struct etl_write_state){.file_offset = 0};
}
void etl_writer_date(struct etl_writer *w, int64_t value, uint64_t filetime, uint64_t boot_time)
{
    (void)w, (void)value, (void)filetime, (void)boot_time;
}
wstatus etl_writer_finish(struct etl_writer *w, uint64_t end_time, uint64_t events_lost, bool sync, struct reason *why)
{
    (void)w, (void)end_time, (void)events_lost, (void)sync;
    return writer_none_none(why);
}
bool etl_writer_locked(const struct etl_writer *w)
{
    (void)w;
    return true;
}
void etl_writer_destroy(struct etl_writer *w) { (void)w; }
