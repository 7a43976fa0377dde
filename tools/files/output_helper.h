/* output_helper.h - the process that makes the outputs of a command without rights (outputs.h). It reads no byte of a
 * trace: requests have one size, name an output by its number, and are refused when they ask for anything but the
 * command's outputs. An unfinished output is removed when the command ends.
 * Threads: one. Ownership: the names are the caller's. Not for: the asking side (outputs.h). */
#ifndef TOOLS_OUTPUT_HELPER_H
#define TOOLS_OUTPUT_HELPER_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { OUTPUTS_MOST = 4, OUTPUT_NAME = 40 };
enum output_asked {
    OUTPUT_MAKE,    /* create the temporary file, or the folder */
    OUTPUT_MAKE_IN, /* create a file in the folder */
    OUTPUT_PLACE,   /* rename the temporary file to the output's path */
    OUTPUT_DROP,    /* remove the temporary file */
    OUTPUT_UNWIND,  /* start autologger-unwind */
    OUTPUT_UNWIND_STOP,
    OUTPUT_ASKED
};
struct output_ask {
    uint32_t what, which;       /* enum output_asked; the output's number */
    int32_t  flags;             /* of OUTPUT_MAKE, as open(2) */
    uint32_t mode;              /* of OUTPUT_MAKE and OUTPUT_MAKE_IN */
    char     name[OUTPUT_NAME]; /* of OUTPUT_MAKE_IN */
};
struct output_reply { /* `passed`: a descriptor comes with it */
    int32_t  result;  /* >= 0, or -errno */
    uint32_t passed;
    int32_t  pid;      /* of OUTPUT_UNWIND */
    char     why[200]; /* of OUTPUT_UNWIND, when there is no descriptor */
};
struct output_made {
    const char *path, *temporary; /* temporary: NULL: a folder */
    int         folder;           /* the folder's descriptor, once it was made; else -1 */
    bool        opened, made;     /* the temporary file: the helper opened it; the helper created it */
};
struct output_helper {
    struct output_made output[OUTPUTS_MOST];
    unsigned           count;
    bool               unwinds; /* autologger-unwind may be started */
    pid_t              unwind;  /* 0: it does not run */
};
/* Carries out a request. Returns the descriptor to send with the reply, or -1; the caller closes it. */
int output_helper_reply(struct output_helper *h, const struct output_ask *ask, struct output_reply *reply);
/* Serves until the other end of the socket is closed. */
_Noreturn void output_helper_run(struct output_helper *h, int socket);
#endif
