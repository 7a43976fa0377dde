// call_chain.cpp - a program whose stacks are known: main, chain::outer, chain::middle, then one of spin (computes: Profile), rest
// (sleeps: CSwitch), wake (wakes its other thread: ReadyThread). System calls are made here, not in libc, which keeps no frame
// pointers. Ends after the given number of rounds. Built with frame pointers (-O0: leaves have them too) by boot-tests/e2e/symbols.py.
#include <cstdlib>
#include <ctime>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>

#define KEEP __attribute__((noinline)) // a function of its own, with a frame of its own
#define AFTER asm volatile("" ::: "memory") // so that no call is the last thing that a function does

__attribute__((always_inline)) static inline long call(long number, long a, long b, long c, long d)
{
    long          result;
    register long r10 asm("r10") = d;
    asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return result;
}

static int futex;
#ifdef VARIANT // another file, by its build id
extern const int variant;
const int        variant = VARIANT;
#endif

namespace chain {
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
    pthread_create(&thread, nullptr, sleeper, nullptr);
    for (int rounds = argc > 1 ? atoi(argv[1]) : 250; rounds > 0; rounds--) {
        chain::outer(chain::spin, 1000000);
        chain::outer(chain::rest, 500);
        chain::outer(chain::wake, 0);
    }
    return 0;
}
