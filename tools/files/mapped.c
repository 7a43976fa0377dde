/* mapped.c - see mapped.h. */
#include "tools/files/mapped.h"

#include "tools/base/verb.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char mapped_said[1024];

/* mapped_said is made before: nothing but write() may be called here. */
static void on_bus(int signal_number)
{
    (void)signal_number;
    ssize_t n = write(STDERR_FILENO, mapped_said, strlen(mapped_said));
    _exit(n < 0 ? VERB_REFUSED : VERB_FAILED);
}

void mapped_reader(const char *verb, const char *path, struct etl_reader *reader)
{
    struct sigaction act = {.sa_handler = on_bus};

    snprintf(
        mapped_said, sizeof mapped_said,
        "%s: %.800s was made shorter, or can no longer be read, while it was read. Do: wait until nobody writes to it, and try again\n",
        verb, path);
    if (sigaction(SIGBUS, &act, NULL) == 0)
        etl_reader_map(reader);
}
