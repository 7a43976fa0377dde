#include "autologger/consumer/tdh_state.h"

#include "autologger/schema/chunks.h"
#include "autologger/schema/classic.h"
#include "autologger/schema/learn.h"
#include "autologger/schema/publishers.h"

#include <pthread.h>

static pthread_mutex_t    tdh_state_lock = PTHREAD_MUTEX_INITIALIZER;
static struct schema_set *set;
static struct publishers  installed;
static struct learner     learner = {.manifest = tdh_manifest_learn}; /* of real-time sessions; under the lock */
/* The files that ProcessTrace reads in this thread: its callbacks and their calls run in this thread, too. */
static _Thread_local struct learn_files tdh_state_reading;

struct schema_set *tdh_lock(void)
{
    pthread_mutex_lock(&tdh_state_lock);
    if (!set && !(set = schema_set_new())) {
        pthread_mutex_unlock(&tdh_state_lock);
        return NULL;
    }
    if (!installed.folder) {
        installed = (struct publishers){.folder = publishers_folder(), .culture = publishers_culture(NULL)};
        schema_set_ask(set, publishers_ask, &installed);
    }
    return set;
}

void tdh_installed(void)
{
    if (tdh_lock()) {
        publishers_ask_all(&installed, set);
        tdh_unlock();
    }
}

void tdh_unlock(void) { pthread_mutex_unlock(&tdh_state_lock); }

static void search(void *ctx, struct schema_set *s)
{
    (void)ctx;
    learn_search(&tdh_state_reading, s); /* of the thread that asks */
}

void tdh_reads(const char *const *paths, unsigned count)
{
    tdh_state_reading = (struct learn_files){paths, count, tdh_manifest_learn, NULL};
    if (tdh_lock()) {
        schema_set_search(set, search, NULL);
        tdh_unlock();
    }
}

void tdh_reads_end(void) { tdh_state_reading = (struct learn_files){0}; }

void tdh_sees(const struct etl_event *e)
{
    if (!chunks_is(e) && (e->kind != ETL_KIND_FULL || classic_hook(e) >> 8 != CLASSIC_EVENT_METADATA >> 8))
        return;
    struct schema_set *s = tdh_lock();
    if (!s)
        return;
    learner_see(&learner, s, e);
    tdh_unlock();
}
