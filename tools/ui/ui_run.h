/* ui_run.h - runs verbs of this command for the window, as processes of their own: the window has the rights of the
 * command line and no others, and a verb that fails does not end it.
 * Threads: any. Not for: which verbs (ui_verbs.def), who may ask (ui_server.h). */
#ifndef TOOLS_UI_RUN_H
#define TOOLS_UI_RUN_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { UI_WORDS = 64, UI_OUTPUT_MOST = 64 << 20, UI_SECONDS = 120 };
struct ui_request {
    char  *word[UI_WORDS + 1]; /* the verb first; NULL at the end */
    size_t words;
    char  *file; /* text of a file, whose path takes the place of the word "@file"; NULL: none */
    bool   page; /* the verb writes that file: its text is the result's `out` */
};
struct ui_result {
    int    code; /* exit code; 128 and more: a signal; -1: it could not be run, or took too long */
    char  *out, *err;
    size_t out_size, err_size;
};
/* {"words": ["start", ...], "file": "..."}. False: no such request, or a verb that is not for the window. */
bool ui_request_parse(const char *json, size_t size, struct ui_request *out);
/* The store of verbs that take one (borrowed); before the first run. */
void ui_run_store(const char *path);
void ui_request_finish(struct ui_request *r);
void ui_run(const struct ui_request *request, struct ui_result *out);
void ui_result_finish(struct ui_result *r);
/* The answer to a page: {"code": N, "out": the verb's JSON or null, "text": its text, "err": its messages}; malloc. */
char *ui_result_json(const struct ui_result *r, size_t *size);
/* Starts `watch NAME --json`; *fd gives its lines. -1: it can't be run. */
pid_t ui_watch(const char *session, int *fd);
#endif
