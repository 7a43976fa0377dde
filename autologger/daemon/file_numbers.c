#include "autologger/daemon/file_numbers.h"
#include "registry-sim/base/visible_print.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { SUFFIX = 4 }; /* ".007" */

static struct session *session_of(const struct session_table *table, const char *key)
{
    for (int i = 0; i < SHM_SESSIONS; i++)
        if (table->slot[i] && strcmp(table->slot[i]->state->key, key) == 0)
            return table->slot[i];
    return NULL;
}

static bool taken(const struct session_table *table, const struct session *but, const char *path)
{
    for (int i = 0; i < SHM_SESSIONS; i++)
        if (table->slot[i] && table->slot[i] != but && strcmp(session_log_path(table->slot[i]->state), path) == 0)
            return true;
    return false;
}

/* False when the path is not numbered, or can't be changed any more. */
static bool path_renew(const struct session_table *table, struct session *s, uint32_t number)
{
    char   path[sizeof s->state->log_path];
    size_t n = strlen(s->state->log_path);

    if (s->state->file_created || n <= SUFFIX || s->state->log_path[n - SUFFIX] != '.')
        return false;
    for (int i = 1; i < SUFFIX; i++)
        if (!isdigit((unsigned char)s->state->log_path[n - SUFFIX + (size_t)i]))
            return false;
    if (snprintf(path, sizeof path, "%.*s.%03u", (int)(n - SUFFIX), s->state->log_path, number) >= (int)sizeof path ||
        taken(table, s, path))
        return false;
    memcpy(s->state->log_path, path, sizeof path);
    return true;
}

void file_numbers_renew(struct session_table *table, struct regstore *store, struct journal *journal,
                        const struct result_list *rows)
{
    struct os               *os     = table->env->os;
    const struct plan_limits limits = {.processors  = table->env->cpus,
                                       .ram_bytes   = os->ram_bytes(os),
                                       .memory_left = os->ram_bytes(os),
                                       .log_dir     = table->env->log_dir ? table->env->log_dir : "/"};

    for (unsigned i = 0; i < rows->count; i++) {
        const struct result_row *row  = &rows->rows[i];
        struct plan              plan = {0};
        struct reason            why;
        if (*row->provider || !row->start)
            continue;
        /* the plan's Status does not matter: the number holds also when the session could not start */
        (void)plan_from_key(store, row->key, &limits, &plan, &why);
        struct session *s = session_of(table, row->key);
        if (plan.start && plan.file_counter && (!s || path_renew(table, s, plan.file_counter)) &&
            journal_dword(journal, row->key, "FileCounter", plan.file_counter, &why) != W_SUCCESS)
            visible_line(stderr, "autologgerd: %s: %s", row->session, why.text);
        plan_finish(&plan);
    }
}
