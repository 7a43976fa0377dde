/* odd_library - events from a library's constructor and destructor. Built twice: one is linked, one is loaded. */
#include "boot-tests/odd_writers.h"
#include "boot-tests/storm_write.h"

#include <stdlib.h>

#ifndef ODD_WRITER
#define ODD_WRITER ODD_LIBRARY
#endif

static REGHANDLE           provider;
static struct storm_board *board;

static void write_some(void)
{
    if (board)
        storm_wait_enabled(provider);
    for (unsigned i = 0; board && i < ODD_LIBRARY_EVENTS; i++)
        storm_write(provider, &board->entry[ODD_WRITER], ODD_WRITER);
}

__attribute__((constructor)) static void begin(void)
{
    const GUID  id   = NUMBERED_PROVIDER(1);
    const char *path = getenv(ODD_BOARD);
    board            = path ? storm_board_map(path, 0) : NULL;
    if (board && EventRegister(&id, NULL, NULL, &provider) == 0)
        write_some();
}

__attribute__((destructor)) static void end(void)
{
    write_some();
    if (provider)
        EventUnregister(provider);
}

int                                        odd_library_present(void);
__attribute__((visibility("default"))) int odd_library_present(void) { return 1; }
