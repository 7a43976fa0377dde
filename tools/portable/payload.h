/* payload.h - the files that the portable program carries: the early program, units, hooks, profiles, each with its
 * place. Constant data, put in by the linker (CMakeLists.txt names the files). Threads: any. Not for: writing them
 * (installed.h). */
#ifndef TOOLS_PORTABLE_PAYLOAD_H
#define TOOLS_PORTABLE_PAYLOAD_H
#include <stddef.h>

struct payload_file {
    const char          *path; /* on the machine, absolute */
    unsigned             mode;
    const unsigned char *start, *end;
};
extern const struct payload_file payload_files[];
extern const size_t              payload_count;
#endif
