#include "autologger/plan/modes.h"

enum { IF_SIZE_0 = 1, IF_FILE = 2, IF_SYSTEM = 4, IF_BOOT = 8, IF_NO_FILE = 16 };

/* Refused: every bit of `all`, one of `any` (or any is 0), none of `none`, and every fact of `facts`. In the order of
 * ETW's own checks, so that the first mistake named is the same. */
static const struct {
    uint32_t    all, any, none;
    unsigned    facts;
    const char *what;
} modes_refused[] = {
    {MODE_NEWFILE, 0, 0, IF_BOOT,
     "NEWFILE is not possible in a boot session. Do: remove NEWFILE; FileMax gives a file per boot"},
    {MODE_NEWFILE, 0, 0, IF_SYSTEM, "NEWFILE is not possible in a session with kernel events. Do: remove NEWFILE"},
    {MODE_NEWFILE, 0, 0, IF_NO_FILE,
     "NEWFILE needs a FileName with %d in it. Do: set FileName, for example to web-%d.etl"},
    {MODE_NEWFILE, 0, 0, IF_SIZE_0,
     "NEWFILE needs a MaxFileSize that is not 0. Do: set MaxFileSize, in MB, for example to 100"},
    {MODE_NEWFILE, MODE_CIRCULAR | MODE_APPEND | MODE_BUFFERING | MODE_PREALLOCATE, 0, 0,
     "NEWFILE excludes CIRCULAR, APPEND, BUFFERING and PREALLOCATE. Do: remove one of the two"},
    {MODE_RELOG, 0, 0, 0, "RELOG is internal. Do: remove RELOG"},
    {MODE_SEQUENTIAL | MODE_CIRCULAR, 0, 0, 0, "SEQUENTIAL and CIRCULAR exclude each other. Do: remove one of the two"},
    {MODE_CIRCULAR | MODE_APPEND, 0, 0, 0, "CIRCULAR and APPEND exclude each other. Do: remove one of the two"},
    {MODE_BUFFERING, MODE_SEQUENTIAL | MODE_CIRCULAR | MODE_APPEND, 0, 0,
     "BUFFERING has no file, so SEQUENTIAL, CIRCULAR and APPEND are not possible with it. Do: remove these"},
    {MODE_BUFFERING, 0, 0, IF_FILE, "BUFFERING has no file, so FileName must not be given. Do: remove FileName"},
    {MODE_CIRCULAR, 0, 0, IF_SIZE_0,
     "CIRCULAR needs a MaxFileSize that is not 0. Do: set MaxFileSize, in MB, for example to 100"},
    {MODE_PREALLOCATE, 0, 0, IF_SIZE_0,
     "PREALLOCATE needs a MaxFileSize that is not 0. Do: set MaxFileSize, in MB, for example to 100"},
    {MODE_PREALLOCATE | MODE_APPEND, 0, 0, 0, "PREALLOCATE and APPEND exclude each other. Do: remove one of the two"},
    {MODE_USE_GLOBAL_SEQUENCE | MODE_USE_LOCAL_SEQUENCE, 0, 0, 0,
     "USE_GLOBAL_SEQUENCE and USE_LOCAL_SEQUENCE exclude each other. Do: remove one of the two"},
    {MODE_NONSTOPPABLE, 0, MODE_BUFFERING | MODE_CIRCULAR | MODE_REAL_TIME, 0,
     "NONSTOPPABLE needs BUFFERING, CIRCULAR, or REAL_TIME without a file. Do: remove NONSTOPPABLE"},
    {MODE_NONSTOPPABLE | MODE_REAL_TIME, 0, MODE_BUFFERING | MODE_CIRCULAR, IF_FILE,
     "NONSTOPPABLE with REAL_TIME is possible only without a FileName. Do: remove FileName"},
    {MODE_STOP_ON_HYBRID_SHUTDOWN | MODE_PERSIST_ON_HYBRID_SHUTDOWN, 0, 0, 0,
     "STOP_ON_HYBRID_SHUTDOWN and PERSIST_ON_HYBRID_SHUTDOWN exclude each other. Do: remove one of the two"},
    {MODE_USE_PAGED_MEMORY, 0, 0, IF_SYSTEM,
     "USE_PAGED_MEMORY is not possible in a session with kernel events. Do: remove USE_PAGED_MEMORY"},
    {MODE_COMPRESSED, 0, MODE_BUFFERING, 0, "COMPRESSED needs BUFFERING. Do: remove COMPRESSED"},
};

wstatus mode_check(uint32_t mode, const struct mode_facts *f, struct reason *why)
{
    unsigned facts = (f->max_file_size ? 0u : IF_SIZE_0) | (f->file_name ? IF_FILE : IF_NO_FILE) |
                     (f->system ? IF_SYSTEM : 0u) | (f->boot ? IF_BOOT : 0u);

    for (size_t i = 0; i < sizeof modes_refused / sizeof *modes_refused; i++)
        if ((mode & modes_refused[i].all) == modes_refused[i].all &&
            (!modes_refused[i].any || (mode & modes_refused[i].any)) && !(mode & modes_refused[i].none) &&
            (facts & modes_refused[i].facts) == modes_refused[i].facts)
            return reason_set(why, W_INVALID_PARAMETER, "LogFileMode 0x%x: %s", mode, modes_refused[i].what);
    if (mode & MODE_NEWFILE && f->numbers != 1)
        return reason_set(
            why, W_INVALID_NAME,
            "LogFileMode NEWFILE: FileName needs %%d in one place, where the file's number is to stand. Do: "
            "write it, for example web-%%d.etl");
    return W_SUCCESS;
}

/* with all bits of `all`: removes `drop` and adds `add`, with this note */
static const struct {
    uint32_t    all, drop, add;
    const char *what;
} adjusted[] = {
    {MODE_BUFFERING | MODE_REAL_TIME, MODE_REAL_TIME, 0,
     "REAL_TIME is dropped, because BUFFERING keeps events in memory"},
    {MODE_USE_PAGED_MEMORY | MODE_KD_FILTER, MODE_USE_PAGED_MEMORY, 0, "USE_PAGED_MEMORY is dropped beside KD_FILTER"},
    {MODE_USE_PAGED_MEMORY | MODE_ADDTO_TRIAGE_DUMP, MODE_ADDTO_TRIAGE_DUMP, 0,
     "ADDTO_TRIAGE_DUMP is dropped beside USE_PAGED_MEMORY"},
};

uint32_t mode_adjust(uint32_t mode, const struct plan_value *place, struct condition_list *conditions)
{
    size_t                  count;
    const struct value_bit *bits    = mode_bits(&count);
    uint32_t                unknown = mode;

    for (size_t i = 0; i < sizeof adjusted / sizeof *adjusted; i++)
        if ((mode & adjusted[i].all) == adjusted[i].all) {
            mode = (mode & ~adjusted[i].drop) | adjusted[i].add;
            condition_add(conditions, W_INVALID_PARAMETER, true, "LogFileMode", place->source_file, place->source_line,
                          "remove the mode that is dropped", "%s", adjusted[i].what);
        }
    for (size_t i = 0; i < count; i++) {
        unknown &= ~bits[i].bit;
        if ((mode & bits[i].bit) && bits[i].state == STATE_KEPT)
            condition_add(conditions, W_NOT_SUPPORTED, false, bits[i].name, place->source_file, place->source_line,
                          "remove the mode, or accept what is said here", "LogFileMode %s is not in this version: %s",
                          bits[i].name, bits[i].help);
    }
    if (unknown)
        condition_add(conditions, W_NOT_SUPPORTED, false, "LogFileMode", place->source_file, place->source_line,
                      "remove the bits", "the bits 0x%x of LogFileMode have no known meaning; they are kept", unknown);
    if (mode & (MODE_APPEND | MODE_NEWFILE))
        mode |= MODE_SEQUENTIAL;
    return mode;
}

bool mode_wants_file(uint32_t mode)
{
    return !(mode & (MODE_REAL_TIME | MODE_BUFFERING)) || (mode & MODE_DELAY_OPEN_FILE);
}
