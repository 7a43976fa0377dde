/* filetime.h - FILETIME: 100 ns units since 1601-01-01 UTC. Pure, any thread. */
#ifndef REGISTRY_SIM_WIN32_FILETIME_H
#define REGISTRY_SIM_WIN32_FILETIME_H
#include <stdint.h>

#define FILETIME_UNIX_EPOCH UINT64_C(116444736000000000)

/* Nanoseconds since 1970-01-01 UTC -> FILETIME. */
static inline uint64_t filetime_from_unix_ns(uint64_t ns) { return ns / 100 + FILETIME_UNIX_EPOCH; }
/* FILETIME -> nanoseconds since 1970; times before 1970 give 0. */
static inline uint64_t filetime_to_unix_ns(uint64_t filetime)
{
    return filetime < FILETIME_UNIX_EPOCH ? 0 : (filetime - FILETIME_UNIX_EPOCH) * 100;
}
enum { FILETIME_TEXT_SIZE = 40 };
/* "2026-11-21T07:52:35.123456700Z" (nine digits, as tracerpt writes it) into `out`; returns it. */
char *filetime_format(uint64_t filetime, char out[FILETIME_TEXT_SIZE]);
#endif
