/* output_helper.h - the process that makes the outputs of a command without rights (outputs.h). It reads no byte of a
 * trace: requests have one size, name an output by its number, and are refused where they ask for what the command was
 * not called for. An output that was begun and never got its name is removed when the command is gone.
 * Threads: one. Ownership: the names are the caller's. Not for: who asks (outputs.h). */
#ifndef TOOLS_OUTPUT_HELPER_H
#define TOOLS_OUTPUT_HELPER_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { OUTPUTS_MOST = 4, OUTPUT_NAME = 40 };
enum output_asked {
    OUTPUT_MAKE,    /* the temporary file, or the folder */
    OUTPUT_MAKE_IN, /* a file in the folder */
    OUTPUT_PLACE,   /* the temporary gets its name */
    OUTPUT_DROP,    /* the temporary goes */
    OUTPUT_UNWIND,  /* autologger-unwind is started */
    OUTPUT_UNWIND_STOP,
    OUTPUT_ASKED
};
struct output_ask {
    uint32_t what, which;       /* enum output_asked; the output's number */
    int32_t  flags;             /* of OUTPUT_MAKE, as open(2) */
    uint32_t mode;              /* of OUTPUT_MAKE and OUTPUT_MAKE_IN */
    char     name[OUTPUT_NAME]; /* of OUTPUT_MAKE_IN */
};
struct output_reply { /* a descriptor is beside it where `passed` */
    int32_t  result;  /* >= 0, or -errno */
    uint32_t passed;
    int32_t  pid;      /* of OUTPUT_UNWIND */
    char     why[200]; /* of OUTPUT_UNWIND, when there is no descriptor */
};
struct output_made {
    const char *path, *temporary; /* temporary: NULL: a folder */
    int         folder;           /* the folder, once it was made; else -1 */
    bool        opened, made;     /* the temporary: it was given; and nothing had been there before */
};
struct output_helper {
    struct output_made output[OUTPUTS_MOST];
    unsigned           count;
    bool               unwinds; /* autologger-unwind may be started */
    pid_t              unwind;  /* 0: it does not run */
};
/* Does what is asked for. The descriptor that goes with the reply, or -1; the caller closes it. */
int output_helper_reply(struct output_helper *h, const struct output_ask *ask, struct output_reply *reply);
/* Serves until nobody has the other end of the socket any more. */
_Noreturn void output_helper_run(struct output_helper *h, int socket);
#endif
