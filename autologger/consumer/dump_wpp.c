/* dump_wpp.c - events as tracefmt writes them. See dump.h. */
#include "autologger/consumer/dump_writer.h"
#include "autologger/consumer/wpp_text.h"

#include <string.h>

static enum decode_result dump_wpp_event(struct dump *d, const struct etl_event *e, const struct decoded *names)
{
    char             guid[GUID_TEXT_SIZE];
    struct wpp_facts facts = {.schema      = names->schema && names->schema->formatted ? names->schema : NULL,
                              .provider    = names->provider ? names->provider : guid_format(&e->provider, guid),
                              .process_id  = e->process_id,
                              .thread_id   = e->thread_id,
                              .kernel_time = e->kernel_time,
                              .user_time   = e->user_time,
                              .sequence    = e->kind == ETL_KIND_MESSAGE ? e->instance : 0,
                              .cpu         = e->cpu,
                              .filetime    = e->filetime};
    uint32_t         used;

    text_cut(&d->line, 0);
    text_cut(&d->name, 0);
    wpp_text_prefix(NULL, &facts, &d->name);
    text_visible(&d->line, text_get(&d->name), d->name.length);
    text_cut(&d->name, 0);
    text_cut(&d->message, 0);
    if (dump_message(d, e, names)) {
        text_visible(&d->line, text_get(&d->message), d->message.length);
        text_add(&d->line, "\n", 1);
        fwrite(text_get(&d->line), 1, d->line.length, d->out);
        return decoded_fields(e, names, &d->sink, &used); /* for the count of what is not decoded */
    }
    if (e->kind == ETL_KIND_MESSAGE && !names->schema)
        text_printf(&d->line, "no format for message %u", e->id);
    else
        dump_add_name(&d->line, names->event);
    text_cut(&d->name, 0);
    enum decode_result result = decoded_fields(e, names, &d->sink, &used);
    dump_add_payload(d, e, result, used);
    text_add(&d->line, "\n", 1);
    fwrite(text_get(&d->line), 1, d->line.length, d->out);
    return result;
}

static void dump_wpp_emit(void *self, const struct field *f)
{
    struct dump *d = self;
    if (!d->message.length) /* the message has them */
        dump_emit_text(d, f);
}

static bool dump_wpp_begin(struct dump *d)
{
    (void)d;
    return true;
}
static void dump_wpp_end(struct dump *d) { (void)d; }

const struct dump_writer dump_wpp = {dump_wpp_begin, dump_wpp_event, dump_wpp_emit, dump_wpp_end};
