/* unwind_pipe.h - the protocol between a merge and autologger-unwind, the program that unwinds copied stacks: messages
 * over a socket, each a struct unwind_message with `size` bytes behind it. Images come in the order of the trace. Each
 * copy is answered at once, but the program may first ask for files to be opened: it has no right to open any
 * (autologger/sandbox).
 * Both are of one build: there is no version. Not for: what a copy is (wire/stack_copy.h). */
#ifndef AUTOLOGGER_CONSUMER_UNWIND_PIPE_H
#define AUTOLOGGER_CONSUMER_UNWIND_PIPE_H
#include "autologger/wire/stack_copy.h"

#include <stdbool.h>
#include <stddef.h>

enum unwind_type {
    UNWIND_IMAGE,
    UNWIND_COPY,
    UNWIND_ANSWER,
    UNWIND_OPEN, /* a path with its NUL; answered by UNWIND_FILE */
    UNWIND_FILE  /* of size 0, with a descriptor or none */
};
enum { UNWIND_FRAMES = 192, UNWIND_MESSAGE_MOST = 64 << 10, UNWIND_PATH = 4400 };
struct unwind_message {
    uint32_t type, size;
};
struct unwind_image { /* the path follows, with its NUL */
    uint64_t base, size;
    uint32_t process_id, stamp, checksum;
    uint32_t gone; /* 1: unmapped */
};
struct unwind_copy { /* `size` bytes of the stack follow */
    uint32_t process_id, thread_id;
    uint64_t registers[STACK_COPY_REGISTERS];
    uint32_t size, reserved;
};
/* How a stack ends. */
enum unwind_end {
    UNWIND_WHOLE,     /* where the thread begins: by the tables this frame has no caller */
    UNWIND_NO_MEMORY, /* the copied memory ends before */
    UNWIND_NO_TABLE,  /* no file, or no table in it, for the next step */
    UNWIND_TOO_LONG,  /* more frames than a stack has room for */
    UNWIND_ENDS
};
struct unwind_answer {
    uint32_t end, count;
    uint64_t frames[UNWIND_FRAMES]; /* `count` of them are sent */
};

/* All `size` bytes; false when the peer has closed, or after the socket's timeout (SO_RCVTIMEO, SO_SNDTIMEO). */
bool unwind_receive(int fd, void *into, size_t size);
bool unwind_send(int fd, const void *from, size_t size);
/* The head of an UNWIND_FILE with a descriptor; -1: the file is not there. The receiver owns its descriptor. */
bool unwind_file_send(int fd, int file);
bool unwind_file_receive(int fd, int *file);
#endif
