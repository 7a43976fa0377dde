/* empty_view.h - "why did my session capture nothing": the steps of an event into a session's file, and the first step
 * that fails, with advice. Reads the store (the declaration and its result at the last boot or rehearsal), and asks the
 * daemon for sessions of controllers.
 * Threads: one. Not for: the values of running sessions (query), why a whole boot was not traced (untraced.h, which it
 * asks). */
#ifndef TOOLS_EMPTY_VIEW_H
#define TOOLS_EMPTY_VIEW_H
#include "tools/base/cmdline.h"

/* For one session, or every session without events (NULL). Prints, and returns the exit code: VERB_FAILED if a step
 * fails. */
int empty_view(const struct cmdline *common, const char *session);
#endif
