/* publisher_words.h - names of installed manifests for configurations (autologger/plan/publishers.h): from the store of this command line,
 * opened when the first name is asked for. Threads: one. */
#ifndef TOOLS_PUBLISHER_WORDS_H
#define TOOLS_PUBLISHER_WORDS_H

/* From now on words of configurations may be those of installed manifests. */
void publisher_words_use(void);
#endif
