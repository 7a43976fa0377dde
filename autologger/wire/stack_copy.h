/* stack_copy.h - a program's registers and its stack memory at a kernel event, on the way from perf's sample to the
 * unwinder. Between conversion and merge it is a TraceLogging event (it describes itself) of the provider
 * STACK_COPY_PROVIDER, on the processor of the event that asked for the stack, after that event:
 *   UserStack   EventTimeStamp: uint64     raw time of that event, as a Stack event has it
 *               StackProcess, StackThread: uint32
 *               Registers: binary          STACK_COPY_REGISTERS of 8 bytes, in perf's order of the bits of
 *                 STACK_COPY_MASK
 *               Stack: binary              from the stack pointer on
 * A merge writes a StackWalk/Stack event with the program's frames in its place.
 * Not for: unwinding (symbols/unwind.h). */
#ifndef AUTOLOGGER_WIRE_STACK_COPY_H
#define AUTOLOGGER_WIRE_STACK_COPY_H
#include <stdint.h>

#define STACK_COPY_PROVIDER "Autologger-Kernel-Stacks"
#define STACK_COPY_EVENT "UserStack"
#ifdef __x86_64__
#define STACK_COPY_MASK UINT64_C(0xFF01FF) /* ax bx cx dx si di bp sp ip, r8 to r15 */
#else
#define STACK_COPY_MASK UINT64_C(0) /* not supported on this processor yet */
#endif
enum { STACK_COPY_REGISTERS = 17, STACK_COPY_LEAST = 512, STACK_COPY_USUAL = 8192, STACK_COPY_MOST = 32768 };
enum stack_copy_register { /* x86-64, by their index */
                           STACK_COPY_AX,
                           STACK_COPY_BX,
                           STACK_COPY_CX,
                           STACK_COPY_DX,
                           STACK_COPY_SI,
                           STACK_COPY_DI,
                           STACK_COPY_BP,
                           STACK_COPY_SP,
                           STACK_COPY_IP,
                           STACK_COPY_R8
};
#endif
