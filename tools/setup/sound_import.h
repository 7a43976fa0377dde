/* sound_import.h - importing for a rehearsal: valid declarations are imported, invalid ones are kept as refusals that
 * become rows with Status W_INVALID_PARAMETER. `import` is all or nothing; a rehearsal must show the result of a boot,
 * and a boot starts what it can. The unit of refusal is a declaration: a mistake in a session's section refuses the
 * session and its providers, one in a provider's section refuses that provider.
 * Threads: one. Ownership: the list is freed by refusal_list_finish. */
#ifndef TOOLS_SOUND_IMPORT_H
#define TOOLS_SOUND_IMPORT_H
#include "autologger/boot/result.h"
#include "registry-sim/text/dialect.h"
#include "tools/base/json_out.h"

struct refusal {
    char        session[256];
    char        provider[256]; /* name or GUID as written; "" = the session itself */
    struct guid guid;          /* provider only */
    char        key[512];      /* section as written */
    char        reason[512];   /* the first mistake of the section, the advice, and the number of further mistakes */
    unsigned    mistakes;
    char        file[256];
    uint32_t    line; /* of the first mistake */
};
/* One finding of the import, as `import --dry-run` prints it: "file:line: what. Do: advice". */
struct mistake {
    enum diag_kind kind;
    char          *file, *what, *advice; /* malloc; advice may be NULL */
    uint32_t       line;
};
struct refusal_list {
    struct refusal *items; /* malloc */
    unsigned        count, capacity;
    struct mistake *mistakes; /* malloc; all of the file, with warnings, sorted by line */
    unsigned        mistake_count;
};
/* Imports the valid declarations of `path` into `store`. Non-zero when nothing at all could be read (no file, no
 * memory, a mistake that belongs to no section: those are in out->mistakes). */
wstatus sound_import(struct regstore *store, const char *path, struct refusal_list *out, struct reason *why);
/* One row with Status W_INVALID_PARAMETER per refusal. */
wstatus refusal_list_add_to(const struct refusal_list *refusals, struct result_list *rows, struct reason *why);
/* Prints each mistake to stderr; as JSON: an array "mistakes" of objects. */
void refusal_list_mistakes_print(const struct refusal_list *refusals);
void refusal_list_mistakes_json(const struct refusal_list *refusals, struct json *j);
void refusal_list_finish(struct refusal_list *list);
#endif
