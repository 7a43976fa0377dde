/* frames.h - a frame of a stack with its name, and the interface that gives names: all that dump needs of the part that
 * reads symbol files (symbols/symbols.h).
 * Threads: one. Ownership: texts live until the next call. */
#ifndef AUTOLOGGER_CONSUMER_FRAMES_H
#define AUTOLOGGER_CONSUMER_FRAMES_H
#include "autologger/etl/reader.h"

enum frame_state {
    FRAME_NAMED,
    FRAME_NO_NAME, /* its file was read, and has no function there */
    FRAME_NO_FILE, /* neither the file nor one with its debug information was found */
    /* no image of the process holds it: code that was made at run time, or no Image events in the trace */
    FRAME_NO_IMAGE,
    FRAME_NO_CODE, /* a value that is no address: the chain was broken before */
};
struct frame_name {
    uint64_t         address;
    enum frame_state state;
    /* "libc.so.6", "vmlinux", "ext4", "ntoskrnl.exe"; "kernel": an unidentified one; NULL: not known */
    const char *module;
    const char *path;     /* of its file, as the traced process saw it; NULL: none */
    const char *build_id; /* in hex; "": none */
    const char *function; /* demangled; NULL unless FRAME_NAMED */
    uint64_t    offset;   /* in the function, else in the image, else 0 */
    const char *source;   /* the file of its line; NULL: not asked for, or not known */
    int         line;
};
struct frame_namer {
    /* Gives the frames of the stack that the event is, or carries; 0: it has none. Called for every event that is
     * shown. */
    unsigned (*stack)(void *ctx, const struct etl_event *e, struct frame_name *out, unsigned most);
    void *ctx;
};
#endif
