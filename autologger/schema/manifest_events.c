/* Second step, events: their names become numbers. */
#include "autologger/schema/manifest_build.h"

#include <string.h>

/* The value of a word of winmeta, "win:Error", whether the manifest declares it or not. */
static bool predefined_find(enum manifest_words kind, const char *name, uint64_t *value)
{
    size_t                            count;
    const struct manifest_predefined *w = manifest_predefined(&count);

    for (size_t i = 0; i < count; i++)
        if (w[i].kind == kind && strcmp(w[i].name, name) == 0) {
            *value = w[i].value;
            return true;
        }
    return false;
}

static void unknown(struct builder *b, uint32_t line, const char *attribute, const char *word,
                    const struct name_index *n, int words, const char *where)
{
    struct name_guess guess = name_guess(b, n, words, word);
    manifest_error(b, line, *guess.text ? NULL : where, "%s=\"%.80s\" of <event> is not declared%s", attribute, word,
                   guess.text);
}

/* The number for an event; 0 for a refused value. */
static uint64_t manifest_events_number(uint64_t value) { return value == MANIFEST_NO_NUMBER ? 0 : value; }

static void channel_resolve(struct builder *b, struct manifest_provider *p, const struct provider_names *n,
                            struct manifest_event *e)
{
    const struct name_row *row = e->channel_word ? name_index_find(&n->channels, e->channel_word) : NULL;
    uint64_t               value;

    if (!e->channel_word)
        return;
    if (!row)
        row = name_index_find(&n->channel_names, e->channel_word);
    if (row) {
        e->channel_index = row->index;
        e->channel       = (uint8_t)p->channels.at[row->index].item.value;
        e->keyword |= p->channels.at[row->index].keyword;
    } else if (predefined_find(WORDS_CHANNEL, e->channel_word, &value)) {
        e->channel = (uint8_t)value;
        manifest_error(b, e->item.line, "add <importChannel name=... chid=...> to <channels>",
                       "channel=\"%.80s\" of <event> is predefined, and not imported", e->channel_word);
    } else {
        unknown(b, e->item.line, "channel", e->channel_word, n->channels.count ? &n->channels : &n->channel_names,
                WORDS_CHANNEL, "declare it in <channels>");
    }
}

static void level_resolve(struct builder *b, const struct manifest_provider *p, const struct provider_names *n,
                          struct manifest_event *e)
{
    const struct name_row *row   = e->level_word ? name_index_find(&n->levels, e->level_word) : NULL;
    uint64_t               value = 0;

    if (row)
        value = manifest_events_number(p->levels.at[row->index].value);
    else if (e->level_word && !predefined_find(WORDS_LEVEL, e->level_word, &value))
        unknown(b, e->item.line, "level", e->level_word, &n->levels, WORDS_LEVEL, "declare it in <levels>");
    e->level = (uint8_t)value;
}

static void task_resolve(struct builder *b, const struct manifest_provider *p, const struct provider_names *n,
                         struct manifest_event *e)
{
    const struct name_row *row   = e->task_word ? name_index_find(&n->tasks, e->task_word) : NULL;
    uint64_t               value = 0;

    if (row) {
        e->task_index = row->index;
        value         = manifest_events_number(p->tasks.at[row->index].item.value);
    } else if (e->task_word && !predefined_find(WORDS_TASK, e->task_word, &value)) {
        unknown(b, e->item.line, "task", e->task_word, &n->tasks, WORDS_TASK, "declare it in <tasks>");
    }
    e->task = (uint16_t)value;
}

/* An opcode of the event's own task, else a global one. */
static void opcode_resolve(struct builder *b, const struct manifest_provider *p, const struct provider_names *n,
                           struct manifest_event *e)
{
    const struct name_row        *row   = e->opcode_word ? name_index_find(&n->opcodes, e->opcode_word) : NULL;
    const struct manifest_opcode *found = NULL, *others = NULL;
    uint64_t                      value = 0;

    for (; row && row < n->opcodes.rows + n->opcodes.count && strcmp(row->name, e->opcode_word) == 0; row++) {
        const struct manifest_opcode *o = &p->opcodes.at[row->index];
        if (o->task == MANIFEST_NONE && !found)
            found = o;
        else if (o->task != MANIFEST_NONE && o->task == e->task_index)
            found = o;
        else
            others = o;
    }
    if (found) {
        value           = manifest_events_number(found->item.value);
        e->opcode_index = (int)(found - p->opcodes.at);
    }
    if (!found && others)
        manifest_error(b, e->item.line,
                       "give the event that task, or declare the opcode in the provider's own <opcodes>",
                       "opcode=\"%.80s\" of <event> is declared for the task %s alone", e->opcode_word,
                       p->tasks.at[others->task].item.name);
    else if (!found && e->opcode_word && !predefined_find(WORDS_OPCODE, e->opcode_word, &value))
        unknown(b, e->item.line, "opcode", e->opcode_word, &n->opcodes, WORDS_OPCODE, "declare it in <opcodes>");
    e->opcode = (uint8_t)value;
}

/* The length of the first name in a list of keywords. Manifests made from metadata have names with blanks: the longest
 * declared one. */
static size_t keyword_length(const struct manifest_provider *p, const char *at)
{
    size_t longest = strcspn(at, " \t\r\n");

    for (unsigned i = 0; i < p->keywords.count; i++) {
        const char *name = p->keywords.at[i].name;
        size_t      n    = name ? strlen(name) : 0;
        if (n > longest && strncmp(at, name, n) == 0 && (!at[n] || strchr(" \t\r\n", at[n])))
            longest = n;
    }
    return longest;
}

static void keywords_resolve(struct builder *b, const struct manifest_provider *p, const struct provider_names *n,
                             struct manifest_event *e)
{
    char word[256];

    for (const char *at = e->keyword_words; at && *(at += strspn(at, " \t\r\n"));) {
        size_t   size = manifest_forgives(b) ? keyword_length(p, at) : strcspn(at, " \t\r\n");
        uint64_t value;
        if (size < sizeof word) {
            memcpy(word, at, size);
            word[size]                 = 0;
            const struct name_row *row = name_index_find(&n->keywords, word);
            if (row)
                e->keyword |= manifest_events_number(p->keywords.at[row->index].value);
            else if (predefined_find(WORDS_KEYWORD, word, &value))
                e->keyword |= value;
            else
                unknown(b, e->item.line, "keywords", word, &n->keywords, WORDS_KEYWORD, "declare it in <keywords>");
        } else {
            manifest_error(b, e->item.line, "use a name that was declared", "a keyword of %zu letters", size);
        }
        at += size;
    }
}

/* The highest N of %N in the text; 0: none. */
static unsigned inserts_of(const char *text)
{
    unsigned most = 0;

    for (; *text; text++) {
        if (*text != '%')
            continue;
        unsigned n = 0;
        if (text[1] == '%') {
            text++;
            continue;
        }
        for (const char *d = text + 1; *d >= '0' && *d <= '9' && n < 1000; d++)
            n = n * 10 + (unsigned)(*d - '0');
        most = n > most ? n : most;
    }
    return most;
}

/* Checks the texts of all cultures: a single one may be wrong. */
static void message_check(struct builder *b, const struct manifest_provider *p, const struct manifest_event *e)
{
    const struct manifest_template *t      = e->template_index >= 0 ? &p->templates.at[e->template_index] : NULL;
    unsigned                        fields = t ? t->fields.count : 0;

    for (unsigned c = 0; c < (b->m->cultures.count ? b->m->cultures.count : 1); c++) {
        const char *text = manifest_text_get(b->m, &e->item.message, (int)c);
        unsigned    most = text ? inserts_of(text) : 0;
        if (most > 99)
            manifest_error(b, e->item.line, "a message has at most 99", "the message of event %u inserts %%%u",
                           (unsigned)e->item.value, most);
        else if (most > fields)
            manifest_error(b, e->item.line,
                           t ? "correct the number, or add the field to the template" : "give the event a template",
                           "the message of event %u inserts %%%u, and its template has %u field%s",
                           (unsigned)e->item.value, most, fields, fields == 1 ? "" : "s");
        else
            continue;
        break;
    }
}

void manifest_resolve_events(struct builder *b, struct manifest_provider *p, const struct provider_names *n)
{
    for (unsigned i = 0; i < p->events.count; i++) {
        struct manifest_event *e = &p->events.at[i];
        channel_resolve(b, p, n, e);
        level_resolve(b, p, n, e);
        task_resolve(b, p, n, e);
        opcode_resolve(b, p, n, e);
        keywords_resolve(b, p, n, e);
        const struct name_row *row = e->template_word ? name_index_find(&n->templates, e->template_word) : NULL;
        if (row) {
            e->template_index                = row->index;
            p->templates.at[row->index].used = true;
        } else if (e->template_word) {
            unknown(b, e->item.line, "template", e->template_word, &n->templates, -1, "declare it in <templates>");
        }
        message_check(b, p, e);
    }
}
