/* vdso.h - the functions of the vdso, which the kernel maps into every 64-bit process; read from our own.
 * Threads: any. Not for: the vdso of 32-bit programs. */
#ifndef AUTOLOGGER_CONSUMER_VDSO_H
#define AUTOLOGGER_CONSUMER_VDSO_H
#include "autologger/consumer/kernel_symbols.h"

/* Adds the module "[vdso]"; its addresses are offsets from where it is mapped. False: there is none, or no memory. */
bool vdso_symbols(struct kernel_symbols *s);
#endif
