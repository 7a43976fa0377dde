// call_chain.cpp - a program whose stacks are known: main, chain::outer, chain::middle, then one of spin (computes:
// Profile), rest (sleeps: CSwitch, SysCallEnter), wake (wakes its other thread: ReadyThread), and, with a file, put
// (writes to its disk: DiskWriteInit) and touch (of an absent page: page faults). System calls are made here, not in
// libc, which keeps no frame pointers. Ends after the given number of rounds. Built with frame pointers (-O0: leaves
// have them too) by boot-tests/e2e/symbols.py, and without by boot-tests/e2e/user_stacks.py.
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define KEEP __attribute__((noinline))      // a function of its own, with a frame of its own
#define AFTER asm volatile("" ::: "memory") // so that no call is the last thing that a function does

__attribute__((always_inline)) static inline long call(long number, long a, long b, long c, long d)
{
    long          result;
    register long r10 asm("r10") = d;
    asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return result;
}

enum { BLOCK = 4096, PAGES = 8 };
static int   futex, file = -1;
static char *pages; // of memory: one to write from, the others to touch
#ifdef VARIANT      // another file, by its build id
extern const int variant;
const int        variant = VARIANT;
#endif

namespace chain
{
volatile unsigned long sum;

KEEP void spin(int rounds)
{
    for (int i = 0; i < rounds; i++)
        sum += static_cast<unsigned long>(i) * 7;
    AFTER;
}
KEEP void rest(int microseconds)
{
    timespec t = {0, microseconds * 1000L};
    call(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, reinterpret_cast<long>(&t), 0);
    AFTER;
}
KEEP void wake(int)
{
    __atomic_add_fetch(&futex, 1, __ATOMIC_SEQ_CST);
    call(SYS_futex, reinterpret_cast<long>(&futex), FUTEX_WAKE, 1, 0);
    AFTER;
}
KEEP void put(int block)
{
    call(SYS_pwrite64, file, reinterpret_cast<long>(pages), BLOCK, static_cast<long>(block) * BLOCK);
    AFTER;
}
KEEP void touch(int)
{
    for (int i = 1; i < PAGES; i++)
        static_cast<volatile char *>(pages)[i * BLOCK] = 1;
    AFTER;
}
KEEP void middle(void (*what)(int), int argument)
{
    what(argument);
    AFTER;
}
KEEP void outer(void (*what)(int), int argument)
{
    middle(what, argument);
    AFTER;
}
} // namespace chain

static void *sleeper(void *)
{
    for (;;) {
        int seen = __atomic_load_n(&futex, __ATOMIC_SEQ_CST);
        call(SYS_futex, reinterpret_cast<long>(&futex), FUTEX_WAIT, seen, 0);
    }
    return nullptr;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    pages =
        static_cast<char *>(mmap(nullptr, PAGES * BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (argc > 2)
        file = open(argv[2], O_CREAT | O_WRONLY | O_DIRECT, 0600);
    pthread_create(&thread, nullptr, sleeper, nullptr);
    for (int rounds = argc > 1 ? atoi(argv[1]) : 250; rounds > 0; rounds--) {
        chain::outer(chain::spin, 1000000);
        chain::outer(chain::rest, 500);
        chain::outer(chain::wake, 0);
        if (file >= 0) {
            chain::outer(chain::put, rounds);
            madvise(pages, PAGES * BLOCK, MADV_DONTNEED);
            chain::outer(chain::touch, 0);
        }
    }
    return 0;
}
