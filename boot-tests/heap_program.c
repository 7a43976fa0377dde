/* heap_program.c - a program with five leaks and three contended locks, each on a line of its own. For
 * boot-tests/e2e/heap.py. Ways: plain, kill, fork, exec, load PATH (a library that allocates, unloaded again),
 * deadlock. */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

enum { THREADS = 3, ROUNDS = 30, CHURN = 2000 };
static void *volatile kept;

__attribute__((noinline)) static void leak_malloc(void) { kept = malloc(111); /* LEAK 1 */ }
__attribute__((noinline)) static void leak_calloc(void) { kept = calloc(20, 11); /* LEAK 2 */ }
__attribute__((noinline)) static void leak_realloc(void)
{
    void *p = malloc(10);
    kept    = realloc(p, 3333); /* LEAK 3 */
}
__attribute__((noinline)) static void leak_aligned(void) { kept = aligned_alloc(64, 640); /* LEAK 4 */ }
__attribute__((noinline)) static void leak_deep(int depth)
{
    if (depth)
        leak_deep(depth - 1);
    else
        kept = strdup("some text without a free"); /* LEAK 5 */
    __asm__ volatile("" ::: "memory");
}

static pthread_mutex_t                mutex  = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t               rwlock = PTHREAD_RWLOCK_INITIALIZER;
static mtx_t                          c11;
__attribute__((noinline)) static void wait_mutex(void)
{
    pthread_mutex_lock(&mutex); /* LOCK 1 */
    usleep(500);
    pthread_mutex_unlock(&mutex);
}
__attribute__((noinline)) static void wait_rwlock(void)
{
    pthread_rwlock_wrlock(&rwlock); /* LOCK 2 */
    usleep(500);
    pthread_rwlock_unlock(&rwlock);
}
__attribute__((noinline)) static void wait_c11(void)
{
    mtx_lock(&c11); /* LOCK 3 */
    usleep(500);
    mtx_unlock(&c11);
}

static void *work(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        wait_mutex();
        wait_rwlock();
        wait_c11();
    }
    return unused;
}

/* Blocks that are freed: by other threads than their own too. */
static void *handed[CHURN];
static void *churn(void *seed)
{
    for (int i = 0; i < CHURN; i++) {
        void *p   = malloc((size_t)(i % 700) + 1);
        p         = i % 7 ? p : realloc(p, 5000);
        void *old = __atomic_exchange_n(&handed[(i * 31 + (int)(size_t)seed) % CHURN], p, __ATOMIC_ACQ_REL);
        free(old);
    }
    return NULL;
}

static void churn_all(void)
{
    pthread_t t[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, churn, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < CHURN; i++)
        free(handed[i]);
}

static int load(const char *path)
{
    for (int i = 0; i < 20; i++) {
        void *library         = dlopen(path, RTLD_NOW);
        void *(*make)(size_t) = library ? (void *(*)(size_t))dlsym(library, "library_make") : NULL;
        if (!make)
            return puts(dlerror()), 1;
        kept = make(77);
        dlclose(library);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "plain";
    mtx_init(&c11, mtx_plain);
    if (!strcmp(how, "load"))
        return load(argv[2]);
    for (int i = 0; i < 5; i++) {
        leak_malloc();
        leak_calloc();
        leak_realloc();
        leak_aligned();
        leak_deep(30);
    }
    if (!strcmp(how, "kill"))
        kill(getpid(), SIGKILL);
    if (!strcmp(how, "exec"))
        return execv("/proc/self/exe", (char *[]){argv[0], "plain", NULL});
    if (!strcmp(how, "fork")) {
        const pid_t child = fork();
        if (child == 0) {
            for (int i = 0; i < 1000; i++)
                leak_malloc();
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    churn_all();
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, work, NULL);
    if (!strcmp(how, "deadlock")) {
        pthread_mutex_lock(&mutex);
        usleep(300000);
        kill(getpid(), SIGKILL);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    printf("%s\n", "fine");
    return 0;
}
