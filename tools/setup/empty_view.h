/* empty_view.h - "why did my session capture nothing": the way of an event into a session's file, step by step, and the
 * first step that stands in the way, with what to do. From the store alone: the declaration, and what became of it at
 * the last boot or rehearsal.
 * Threads: one. Not for: sessions that run now (query), why a whole boot was not traced (untraced.h, which it asks). */
#ifndef TOOLS_EMPTY_VIEW_H
#define TOOLS_EMPTY_VIEW_H
#include "tools/base/cmdline.h"

/* Of one session, or of every session without events (NULL). Prints, and gives the exit code: 1 where something stands
 * in the way. */
int empty_view(const struct cmdline *common, const char *session);
#endif
