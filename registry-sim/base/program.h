/* program.h - finds another program of this project: beside this one, or where it is installed. Threads: any. */
#ifndef REGISTRY_SIM_BASE_PROGRAM_H
#define REGISTRY_SIM_BASE_PROGRAM_H
#include <stdbool.h>

enum { PROGRAM_PATH = 1100 };
/* "autologger-units" -> its path. False: it is at neither place. */
bool program_beside(const char *name, char out[PROGRAM_PATH]);
#endif
