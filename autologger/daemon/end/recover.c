#include "autologger/daemon/end/recover.h"

#include "autologger/daemon/early/alraw.h"
#include "autologger/daemon/end/results_save.h"
#include "autologger/daemon/machine_key.h"
#include "autologger/daemon/parts/runtime_dir.h"
#include "autologger/wire/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct kept_item *item_find(const struct kept *k, const char *name)
{
    for (unsigned i = 0; i < k->count; i++)
        if (strcmp(k->item[i].name, name) == 0)
            return &k->item[i];
    return NULL;
}

/* Maps a state struct of at least `size` bytes with that magic; NULL: absent, or not one. */
static void *state_open(const struct kept *k, const char *name, size_t size, uint32_t magic)
{
    const struct kept_item *item = item_find(k, name);
    struct stat             st;
    if (!item || fstat(item->fd, &st) < 0 || (size_t)st.st_size < size)
        return NULL;
    uint32_t *state = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, item->fd, 0);
    if (state == MAP_FAILED || *state == magic)
        return state == MAP_FAILED ? NULL : state;
    munmap(state, size);
    return NULL;
}

/* Moves a path to another log folder; the rest of it stays. */
static void path_move(char *path, size_t size, const char *old_dir, const char *new_dir)
{
    char   rest[1024];
    size_t n = strlen(old_dir);
    if (strncmp(path, old_dir, n) != 0 || path[n] != '/')
        return;
    snprintf(rest, sizeof rest, "%s", path + n);
    snprintf(path, size, "%s%s", new_dir, rest);
}

/* Prepares what the adopting service finds: every session is to be stopped. */
static wstatus states_prepare(const struct kept *k, const struct recover_options *o, struct reason *why)
{
    struct state_daemon *d = state_open(k, "daemon", sizeof *d, STATE_MAGIC_DAEMON);
    if (!d)
        return reason_set(why, W_INVALID_DATA, "%s holds no boot", o->path);
    if (!d->boot_done) {
        munmap(d, sizeof *d);
        return reason_set(why, W_INVALID_DATA, "%s was saved before any session had been started", o->path);
    }
    for (unsigned i = 0; i < 64; i++) {
        char name[32];
        snprintf(name, sizeof name, "session.%u", i);
        struct state_session *s = state_open(k, name, sizeof *s, STATE_MAGIC_SESSION);
        if (!s)
            continue;
        s->stop_asked                           = 1;
        s->log_path[sizeof s->log_path - 1]     = 0;
        s->other_path[sizeof s->other_path - 1] = 0;
        d->log_dir[sizeof d->log_dir - 1]       = 0;
        if (o->log_dir)
            path_move(s->log_path, sizeof s->log_path, d->log_dir, o->log_dir),
                path_move(s->other_path, sizeof s->other_path, d->log_dir, o->log_dir);
        munmap(s, sizeof *s);
    }
    if (o->log_dir)
        snprintf(d->log_dir, sizeof d->log_dir, "%s", o->log_dir);
    if (o->store)
        snprintf(d->store, sizeof d->store, "%s", o->store);
    munmap(d, sizeof *d);
    return W_SUCCESS;
}

/* A machine without a key has sealed nothing: a key made this moment fits the seal of no file. */
static wstatus recover_file_read(const struct recover_options *o, struct kept *k, char boot_id[64], struct reason *why)
{
    uint8_t key[MACHINE_KEY_SIZE];
    wstatus st = o->unsealed ? W_SUCCESS : machine_key_read(o->key_store, key, why);
    if (st == W_FILE_NOT_FOUND)
        st = machine_key_random(key) ? W_SUCCESS
                                     : reason_set(why, W_NOT_SUPPORTED, "the kernel gives no random numbers");
    return st ? st : alraw_read(o->path, o->unsealed ? NULL : key, k, boot_id, why);
}

static wstatus recover_in(const struct recover_options *o, const char *runtime_dir, struct reason *why)
{
    struct kept                  k;
    char                         boot_id[64];
    struct service              *service = NULL;
    const struct service_options options = {.store_path  = o->store ? o->store : "",
                                            .log_dir     = o->log_dir ? o->log_dir : "",
                                            .runtime_dir = runtime_dir,
                                            .store_open  = o->store_open,
                                            .save        = results_save,
                                            .realtime    = &realtime_delivery};

    if (!kept_init(&k))
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory to recover %s", o->path);
    wstatus st            = recover_file_read(o, &k, boot_id, why);
    st                    = st ? st : states_prepare(&k, o, why);
    struct handed *handed = st ? NULL : handed_create_from(&k, -1);
    kept_finish(&k);
    if (st || !handed)
        return st ? st : reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory to recover %s", o->path);
    st = service_create(&options, handed, &service, why); /* asks every session to end */
    if (!st)
        service_settle(service);
    if (!st)
        o->done(o->ctx, service_results(service));
    service_destroy(service);
    handed_destroy(handed);
    return st;
}

wstatus recover_run(const struct recover_options *o, struct reason *why)
{
    char runtime_dir[] = "/tmp/autologger-recover-XXXXXX";

    unsetenv("NOTIFY_SOCKET"); /* there is no keeper */
    if (!mkdtemp(runtime_dir))
        return reason_set(why, wstatus_from_errno(errno), "cannot create a runtime folder: %s", strerror(errno));
    wstatus st = recover_in(o, runtime_dir, why);
    runtime_dir_remove(runtime_dir);
    return st;
}
