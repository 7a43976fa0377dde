/* tmf.h - trace message formats: the text that says what the messages of WPP mean, as a document of its own (a .tmf
 * file) or in the section TMF_SECTION of a program, where the headers of autologger wpp put it. It is read into a
 * struct manifest of MANIFEST_MESSAGES: a provider is the message GUID of a source file, an event is a message, its
 * fields are the values. The format (Microsoft Learn, "Trace Message Format File"):
 *
 *   GUID NAME // SRC=FILE MJ= MN=
 *   #typev FILE_LINE NUMBER "%0TEXT %10!d!" //   LEVEL=L FLAGS=F FUNC=F
 *   {
 *   EXPRESSION, ItemLong -- 10
 *   }
 *
 * %N with N from 10 is a value; %1 to %9 belong to the prefix of a line (consumer/wpp_text.h). Two lines more are ours,
 * for names in configurations: "#control NAME GUID" (a control GUID) and "#flag NAME" (its next flag).
 * Threads: one per reading. Ownership: manifest_free. Not for: making such texts (autologger/wpp). */
#ifndef AUTOLOGGER_SCHEMA_TMF_H
#define AUTOLOGGER_SCHEMA_TMF_H
#include "autologger/schema/manifest.h"

#define TMF_SECTION ".autologger.tmf"
enum { TMF_FIRST_VALUE = 10 };

/* Does the text begin as such a document? */
bool tmf_is(const char *text, size_t size);
/* Reads all of it. NULs between texts, as a linker puts them, are blanks. A mistake is an error for authors; in a
 * forgiving reading it costs its message alone. W_INVALID_DATA: there were errors, or nothing is described;
 * W_NOT_ENOUGH_MEMORY. */
wstatus tmf_read(const char *text, size_t size, const char *origin, struct manifest_problems *problems,
                 struct manifest **out, struct reason *why);
/* A word of an event's attributes: "FUNC" of "LEVEL=E FLAGS=F FUNC=main". `out` gets "" where it has none. */
void tmf_attribute(const char *attributes, const char *word, char *out, size_t size);
#endif
