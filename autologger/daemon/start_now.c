#include "autologger/daemon/start_now.h"

#include "autologger/boot/start.h"
#include "autologger/control/update.h"
#include "registry-sim/store/snapshot.h"
#include "registry-sim/text/winpath.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

wstatus started_now(const struct start_host *host, struct session *s, unsigned told, struct ctl_update_answer *answer)
{
    struct reason why = {0};
    const wstatus st  = session_file_status(s, &why);
    if (st) {
        snprintf(answer->text, sizeof answer->text, "%s", why.text);
        return st;
    }
    const size_t used = strlen(answer->text);
    if (s->conditions.count > told && used + 1 < sizeof answer->text) {
        const struct condition_list more = {.items = s->conditions.items + told, .count = s->conditions.count - told};
        answer->text[used]               = used ? '\n' : 0;
        condition_lines(&more, answer->text + used + (used > 0), sizeof answer->text - used - (used > 0));
    }
    server_session_begun(host->server, s);
    session_info(s, &answer->session);
    return W_SUCCESS;
}

wstatus start_now(const struct start_host *host, const void *snapshot, size_t size, struct ctl_update_answer *answer,
                  struct session **wait)
{
    struct session_env   *env   = host->table->env;
    struct regstore      *store = NULL;
    struct session       *s     = NULL;
    struct condition_list found = {0};
    struct reason         why   = {0};

    *wait = NULL;
    /* the records of the kernel phase belong to the sessions of the boot, not to a session started now */
    env->kernel_phase = false;
    wstatus st        = regstore_open_snapshot_bytes(snapshot, size, "the declaration", &store, NULL, &why);
    st                = st ? st : boot_start_one(host->table, host->log_dir, store, host->fs_ready, &s, &found, &why);
    regstore_close(store);
    if (st)
        snprintf(answer->text, sizeof answer->text, "%s", why.text);
    else {
        condition_lines(&found, answer->text, sizeof answer->text);
        session_info(s, &answer->session);
    }
    condition_list_finish(&found);
    if (!st && host->fs_ready && s->logger_runs)
        *wait = s;
    if (st || *wait)
        return st;
    if ((st = started_now(host, s, s->conditions.count, answer)))
        table_remove(host->table, s); /* no program knows of it yet, and its logger waits for nothing */
    return st;
}

wstatus file_now(const struct start_host *host, struct session *s, const char *file, struct ctl_update_answer *answer,
                 struct logger_errand **errand)
{
    struct reason why  = {0};
    char         *path = NULL;
    wstatus       st   = file ? winpath_map(file, host->log_dir, false, &path, &why) : W_SUCCESS;
    st                 = st ? st : file ? session_snapshot(s, path, errand, &why) : session_next_file(s, errand, &why);
    session_info(s, &answer->session);
    snprintf(answer->text, sizeof answer->text, "%s", why.text);
    free(path);
    return st;
}

wstatus update_now(const struct start_host *host, struct session *s, const struct session_terms *terms,
                   struct session_update **out, struct reason *why)
{
    struct session_table *table = host->table;
    struct session_terms  t     = *terms;
    const uint64_t        now = s->state->memory_bytes, others = table->memory_used - s->counted_bytes;
    char                 *path = NULL;
    wstatus               st   = t.file_name ? winpath_map(t.file_name, host->log_dir, false, &path, why) : W_SUCCESS;

    t.log_path     = path;
    t.memory_limit = table->ceiling > others ? table->ceiling - others : 1;
    for (unsigned i = 0; path && i < SHM_SESSIONS && !st; i++)
        if (table->slot[i] && table->slot[i] != s && session_writes(table->slot[i], path))
            st = reason_set(why, W_BAD_PATHNAME, "session \"%s\" writes %s. Do: choose another name",
                            table->slot[i]->state->name, path);
    st = st ? st : session_update_begin(s, &t, out, why);
    if (!st && t.maximum) { /* until it is done no other session gets that memory */
        const uint64_t asked = (uint64_t)t.maximum_buffers * s->state->buffer_kb * 1024,
                       most  = asked < t.memory_limit ? asked : t.memory_limit;
        table_memory_set(table, s, most > now ? most : now);
    }
    free(path);
    return st;
}

void updated_now(const struct start_host *host, struct session *s)
{
    table_memory_set(host->table, s, s->state->memory_bytes);
}
