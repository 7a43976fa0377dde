#include "autologger/consumer/dump_writer.h"

#include "autologger/schema/classic.h"
#include "autologger/schema/message.h"
#include "registry-sim/win32/utf16.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

/* --- filters --- */

static bool is_provider(const struct dump *d, unsigned i, const struct etl_event *e, const struct decoded *names)
{
    const struct dump_provider *p = &d->options->providers[i];
    if (p->guid)
        return guid_equal(p->guid, &e->provider);
    return (names->provider && name_compare(names->provider, p->name) == 0) || guid_equal(&d->hashed[i], &e->provider);
}

static bool provider_passes(struct dump *d, const struct etl_event *e, const struct decoded *names)
{
    const struct dump_provider *p  = d->options->providers;
    bool                        is = !p->guid && !p->name;

    for (unsigned i = 0; i < DUMP_PROVIDERS_MAX && (p[i].guid || p[i].name); i++)
        if (is_provider(d, i, e, names)) {
            d->counts->seen[i]++;
            is = true;
        }
    return is;
}

static bool dump_process_wanted(void *ctx, uint32_t process)
{
    return process == ((struct dump *)ctx)->options->process_id;
}

static bool unit_matches(const struct dump *d, const char *name)
{
    for (const char *const *p = d->options->units; *p; p++)
        if (process_units_match(*p, name))
            return true;
    return false;
}

static bool unit_wanted(void *ctx, uint32_t process)
{
    struct dump *d    = ctx;
    const char  *name = process_units_name(&d->units, process);
    return name && unit_matches(d, name);
}

/* A field that names a wanted unit itself. */
static bool unit_field(void *ctx, const struct field *f)
{
    return strcmp(f->name, "Unit") == 0 && *f->text && unit_matches(ctx, f->text);
}

/* --- pattern --- */

struct dump_match {
    regex_t           pattern;
    struct text       line;
    struct field_sink sink;
};

static void match_field(void *self, const struct field *f)
{
    struct dump_match *m = self;
    text_add(&m->line, " ", 1);
    text_add(&m->line, f->path, strlen(f->path));
    text_add(&m->line, "=", 1);
    text_add(&m->line, f->text, strnlen(f->text, f->length)); /* regexec ends at a NUL */
}

static wstatus match_begin(struct dump *d, struct reason *why)
{
    char text[160];

    if (!d->options->match)
        return W_SUCCESS;
    if (!(d->match = calloc(1, sizeof *d->match)))
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a pattern");
    int error = regcomp(&d->match->pattern, d->options->match, REG_EXTENDED | REG_NOSUB);
    if (error) {
        regerror(error, &d->match->pattern, text, sizeof text);
        free(d->match);
        d->match = NULL;
        return reason_set(why, W_INVALID_PARAMETER,
                          "\"%s\" is no regular expression: %s. Do: put \\ before the signs that stand for themselves",
                          d->options->match, text);
    }
    d->match->sink.emit = match_field;
    d->match->sink.self = d->match;
    return W_SUCCESS;
}

static bool dump_matches(struct dump *d, const struct etl_event *e, const struct decoded *names)
{
    struct dump_match *m = d->match;
    char               guid[GUID_TEXT_SIZE];
    uint32_t           used;

    if (!m)
        return true;
    text_cut(&m->line, 0);
    const char *provider = names->provider ? names->provider : guid_format(&e->provider, guid);
    text_utf8(&m->line, provider, strlen(provider));
    text_printf(&m->line, "/%s", names->event);
    decoded_fields(e, names, &m->sink, &used);
    if (decoded_channel(names))
        text_printf(&m->line, " channel=%s", decoded_channel(names));
    return regexec(&m->pattern, text_get(&m->line), 0, NULL, 0) == 0;
}

static bool match_end(struct dump *d)
{
    struct dump_match *m = d->match;
    if (!m)
        return true;
    bool fine = !m->line.failed && !m->sink.path.failed && !m->sink.value.failed;
    regfree(&m->pattern);
    text_finish(&m->line);
    field_sink_finish(&m->sink);
    free(m);
    return fine;
}

/* The process of an event is known from earlier events, so all of them are looked at. For units, an event also belongs
 * to the process of its thread or processor. */
static bool passes(struct dump *d, const struct etl_event *e, const struct decoded *names)
{
    const struct dump_options *o = d->options;
    actors_see(&d->actors, e);
    process_units_see(&d->units, e, names);
    bool process = !o->by_process || process_filter_passes(&d->process, e, names);
    bool unit =
        !*o->units || process_filter_passes(&d->unit, e, names) || unit_wanted(d, actors_process(&d->actors, e));
    return provider_passes(d, e, names) && process && unit && (!o->from || e->filetime >= o->from) &&
           (!o->to || e->filetime <= o->to) && dump_matches(d, e, names);
}

/* --- */

const char *const dump_format_words[DUMP_FORMATS] = {
#define F(name, word, about) word,
#include "autologger/consumer/dump_formats.def"
#undef F
};
static const struct dump_writer *const dump_writers[DUMP_FORMATS] = {[DUMP_TEXT] = &dump_text,
                                                                     [DUMP_JSON] = &dump_json,
                                                                     [DUMP_XML]  = &dump_xml,
                                                                     [DUMP_CSV]  = &dump_csv,
                                                                     [DUMP_WPP]  = &dump_wpp};

bool dump_message(struct dump *d, const struct etl_event *e, const struct decoded *names)
{
    if (!names->schema || !names->schema->message)
        return false;
    text_cut(&d->message, 0);
    return message_text(names->schema, e->payload, e->payload_size, e->is_64bit, &d->message);
}

unsigned dump_frames(struct dump *d, const struct etl_event *e)
{
    const struct frame_namer *namer = d->options->frames;
    return d->frames ? namer->stack(namer->ctx, e, d->frames, DUMP_FRAMES_MAX) : 0;
}

/* False: no memory. */
static bool dump_begin(struct dump *d)
{
    const struct dump_options *o = d->options;

    if (!(d->schemas = o->schemas ? o->schemas : schema_set_new()) ||
        (o->frames && !(d->frames = malloc(DUMP_FRAMES_MAX * sizeof *d->frames))))
        return false;
    d->process = (struct process_filter){.wanted = dump_process_wanted, .ctx = d, .actors = &d->actors};
    d->unit    = (struct process_filter){.wanted = unit_wanted, .field = unit_field, .ctx = d, .actors = &d->actors};
    for (unsigned i = 0; i < DUMP_PROVIDERS_MAX; i++)
        if (o->providers[i].name)
            d->hashed[i] = guid_from_name(o->providers[i].name);
    d->sink.self = d;
    d->sink.emit = dump_writers[o->format]->emit;
    return dump_writers[o->format]->begin(d);
}

/* False: memory was missing at some place. */
static bool dump_end(struct dump *d)
{
    bool failed = d->sink.path.failed || d->sink.value.failed || d->line.failed || d->name.failed || d->ids.failed ||
                  d->process.failed || d->unit.failed || d->actors.failed || d->units.failed;

    failed |= !match_end(d);
    field_sink_finish(&d->sink);
    process_filter_finish(&d->process);
    process_filter_finish(&d->unit);
    d->counts->units_told = d->units.count > 0;
    process_units_finish(&d->units);
    actors_finish(&d->actors);
    text_finish(&d->line);
    text_finish(&d->name);
    text_finish(&d->ids);
    text_finish(&d->message);
    free(d->frames);
    if (d->schemas != d->options->schemas)
        schema_set_free(d->schemas);
    return !failed;
}

wstatus dump_events(struct etl_reader *r, const struct dump_options *options, FILE *out, struct dump_counts *counts,
                    struct reason *why)
{
    enum { TELL_EVERY = 1 << 14 };
    const struct dump_writer *writer = dump_writers[options->format];
    struct dump               d  = {.options = options, .header = etl_reader_header(r), .out = out, .counts = counts};
    wstatus                   st = W_SUCCESS;
    struct etl_event          e;
    struct decoded            names;

    *counts = (struct dump_counts){0};
    if ((st = match_begin(&d, why)) != W_SUCCESS)
        return st;
    if (!dump_begin(&d)) {
        dump_end(&d);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the output's writer");
    }
    errno = 0;
    while ((!options->limit || counts->written < options->limit) && !ferror(out) && etl_next(r, &e)) {
        if (counts->read++ % TELL_EVERY == 0 && options->progress && d.header->file_size)
            options->progress(options->progress_ctx, (unsigned)(e.file_offset * 1000 / d.header->file_size));
        if (options->see)
            options->see(options->see_ctx, &e);
        decoded_names(d.schemas, &e, &names);
        if (!passes(&d, &e, &names))
            continue;
        enum decode_result result = writer->event(&d, &e, &names);
        counts->written++;
        counts->unknown += result == DECODE_UNKNOWN;
        counts->mismatch += result == DECODE_MISMATCH;
    }
    writer->end(&d);
    if (fflush(out) != 0 || ferror(out))
        st = reason_set(why, errno ? wstatus_from_errno(errno) : W_DISK_FULL, "the output can't be written: %s",
                        strerror(errno));
    if (!dump_end(&d))
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the text of an event");
    return st;
}
