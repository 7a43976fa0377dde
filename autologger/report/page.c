#include "autologger/report/page.h"

#include "autologger/analysis/boot_besides.h"
#include "autologger/analysis/boot_doubts.h"
#include "autologger/analysis/boot_without.h"
#include "autologger/report/page_parts.h"
#include "autologger/schema/text.h"
#include "registry-sim/win32/filetime.h"
#include "registry-sim/win32/visible.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* ---- text in HTML ---- */

static void html(FILE *out, const char *text)
{
    struct text clean = {0};
    text_visible(&clean, text, strlen(text));
    for (const char *p = text_get(&clean); *p; p++) {
        const char *as = *p == '&'    ? "&amp;"
                         : *p == '<'  ? "&lt;"
                         : *p == '>'  ? "&gt;"
                         : *p == '"'  ? "&quot;"
                         : *p == '\'' ? "&#39;"
                                      : NULL;
        if (as)
            fputs(as, out);
        else
            fputc(*p, out);
    }
    text_finish(&clean);
}

/* A number and its unit stay on one line. */
static void html_sentence(FILE *out, const char *text)
{
    struct text whole = {0};
    for (const char *p = text; *p; p++)
        if (*p == ' ' && p > text && p[-1] >= '0' && p[-1] <= '9')
            text_add(&whole, "\xC2\xA0", 2);
        else
            text_add(&whole, p, 1);
    html(out, whole.failed ? text : text_get(&whole));
    text_finish(&whole);
}

static void report_page_part(FILE *out, const struct page_part *p)
{
    fwrite(p->begin, 1, (size_t)(p->end - p->begin), out);
}

static const char *page_length(int64_t ns, char out[32])
{
    const double ms = (double)ns / 1e6;
    if (ms >= 1000)
        snprintf(out, 32, ms >= 10000 ? "%.1f s" : "%.2f s", ms / 1000);
    else
        snprintf(out, 32, "%.0f ms", ms);
    return out;
}

/* ---- parts of the page that are text ---- */

static void page_whose(FILE *out, const struct report *r, const struct boot_finding *f)
{
    fprintf(out, " data-process=\"%d\" data-from=\"%.3f\" data-to=\"%.3f\"", f->process, (double)f->start / 1e6,
            (double)f->end / 1e6);
    if (f->unit != BOOT_NONE) {
        fputs(" data-unit=\"", out);
        html(out, r->boot->unit[f->unit].name);
        fputc('"', out);
    }
}

static void page_number(FILE *out, const char *what, const char *value)
{
    fputs("<div><dt>", out);
    html(out, what);
    fputs("</dt><dd>", out);
    html(out, value);
    fputs("</dd></div>", out);
}

/* What it would save, then the finding's own numbers. */
static void page_numbers(FILE *out, const struct boot *b, const struct boot_finding *f)
{
    struct boot_without x;
    char                length[32], value[48], what[300];

    fputs("<dl class=\"numbers\">", out);
    snprintf(value, sizeof value, "up to %s", page_length(f->cost, length));
    page_number(out, "sooner without this", value);
    if (boot_without(b, f->unit, &x) && !x.works_on) {
        snprintf(what, sizeof what, "sooner without %s at all", b->unit[f->unit].name);
        page_number(out, what, page_length(x.gain > 0 ? x.gain : 0, length));
    }
    for (unsigned i = 0; i < 3; i++)
        page_number(out, f->number[i].what, f->number[i].value);
    fputs("</dl>\n", out);
}

static void page_besides(FILE *out, const struct report *r)
{
    const struct boot_finding *other[BOOT_BESIDES_MOST];
    const unsigned             others = boot_besides(r->verdict, other);
    char                       cost[32];

    if (!others)
        return;
    fputs("<h3>What else took time</h3>\n<ul id=\"others\">", out);
    for (unsigned i = 0; i < others; i++) {
        fprintf(out, "<li><span class=\"soft\">%s</span><button class=\"link\"", page_length(other[i]->cost, cost));
        page_whose(out, r, other[i]);
        fputc('>', out);
        html_sentence(out, other[i]->sentence);
        fputs("</button></li>", out);
    }
    fputs("</ul>\n", out);
}

static void page_sure(FILE *out, const struct boot *b)
{
    struct boot_doubts d;

    boot_doubts_find(b, &d);
    fprintf(out, "<p id=\"sure\"%s><b>%s:</b> ", d.count ? " class=\"bad\"" : "", d.count ? "Not sure" : "Sure");
    for (unsigned i = 0; i < d.count; i++) {
        html(out, d.text[i]);
        fputs(i + 1 < d.count ? "; " : ".", out);
    }
    fputs(d.count ? "</p>\n" : BOOT_SURE ".</p>\n", out);
}

static void page_verdict(FILE *out, const struct report *r)
{
    const struct boot_verdict *v = r->verdict;
    const struct boot_finding *f = v->findings ? &v->finding[0] : NULL;
    const struct boot_text    *line[BOOT_LINES_MOST];
    const unsigned             lines = boot_log_lines(r->boot, f, line);

    fputs(
        "<section id=\"verdict\" class=\"card\" aria-labelledby=\"h-verdict\">\n<h2 id=\"h-verdict\">Verdict</h2>\n<p class=\"sentence\">",
        out);
    html_sentence(out, v->sentence);
    fputs("</p>\n", out);
    if (f) {
        page_numbers(out, r->boot, f);
        fputs("<p class=\"next\"><b>What to do:</b> ", out);
        html(out, f->next);
        fputs(" <button class=\"link\"", out);
        page_whose(out, r, f);
        fputs(">Show it in the timeline</button></p>\n", out);
    }
    if (lines)
        fputs("<h3>The kernel's log about it</h3>\n<ul id=\"log\">", out);
    for (unsigned i = 0; i < lines; i++) {
        fprintf(out, "<li><span class=\"soft\">%.3f s</span><code>", (double)line[i]->at / 1e9);
        html(out, line[i]->text);
        fputs("</code></li>", out);
    }
    if (lines)
        fputs("</ul>\n", out);
    page_besides(out, r);
    page_sure(out, r->boot);
    fputs("</section>\n", out);
}

/* What the recording itself cost. */
static void page_own(FILE *out, const struct boot *b)
{
    const struct boot_trust *t = &b->trust;
    char                     n[32];

    if (!b->switches) /* nothing tells who ran */
        return;
    if (b->live || b->finish <= 0 || !b->cpus) {
        fprintf(out, "<li>autologger itself used <b>%s</b> of a processor</li>", page_length(t->own_cpu, n));
        return;
    }
    fprintf(out, "<li>autologger itself used <b>%s</b> of a processor until the boot was done (%.1f %% of all)",
            page_length(t->own_cpu_boot, n), 100.0 * (double)t->own_cpu_boot / ((double)b->finish * b->cpus));
    fprintf(out, ", and %s afterwards</li>", page_length(t->own_cpu - t->own_cpu_boot, n));
}

static void page_trust(FILE *out, const struct boot *b)
{
    const struct boot_trust *t      = &b->trust;
    const uint64_t           stacks = t->stacks_complete + t->stacks_cut + t->stacks_unknown;

    fputs("<ul id=\"trust\" aria-label=\"How far the trace can be trusted\">\n", out);
    fprintf(out, "<li><b>%" PRIu64 "</b> events</li><li class=\"%s\"><b>%" PRIu64 "</b> lost", t->events,
            t->lost ? "bad" : "good", t->lost);
    if (*t->first_loss) {
        fputs(", first at ", out);
        html(out, t->first_loss);
    }
    fputs("</li>", out);
    if (t->buffers_lost)
        fprintf(out, "<li class=\"bad\"><b>%" PRIu64 "</b> buffers lost</li>", t->buffers_lost);
    if (t->damaged)
        fprintf(out, "<li class=\"bad\"><b>%" PRIu64 "</b> damaged places</li>", t->damaged);
    if (t->undecoded)
        fprintf(out, "<li class=\"bad\"><b>%" PRIu64 "</b> events not decoded</li>", t->undecoded);
    fprintf(out, "<li>clock: <b>%s</b>", t->clock);
    if (t->clock_error_ns)
        fprintf(out, ", kernel phase within %.1f &micro;s", (double)t->clock_error_ns / 1e3);
    fputs("</li>", out);
    if (stacks)
        fprintf(out, "<li>stacks: <b>%.0f %%</b> whole, %.0f %% of frames named</li>",
                100.0 * (double)t->stacks_complete / (double)stacks,
                100.0 * (double)t->frames_named / (double)(t->frames ? t->frames : 1));
    page_own(out, b);
    if (boot_seen_late(b))
        fprintf(out, "<li class=\"bad\">who ran and who waited is told from <b>%.1f s</b> on</li>",
                (double)b->seen_from / 1e9);
    if (!b->switches)
        fputs("<li class=\"bad\">no context switches (CSWITCH): nothing tells of waiting</li>", out);
    else if (!b->wakeups)
        fputs("<li>no wake-ups (DISPATCHER): nobody says who ended a wait</li>", out);
    if (!b->units)
        fputs("<li>no units: no provider of systemd's units was enabled</li>", out);
    if (b->left_out)
        fprintf(out, "<li>%" PRIu64 " marks and events left out</li>", b->left_out);
    fputs("</ul>\n", out);
}

static void page_phases(FILE *out, const struct boot *b)
{
    char n[32];
    fputs("<section aria-labelledby=\"h-phases\"><h2 id=\"h-phases\">Phases</h2>\n<ol id=\"phases\">", out);
    for (unsigned i = 0; i < b->phases; i++) {
        const struct boot_phase *p   = &b->phase[i];
        const double             sec = (double)(p->end - p->start) / 1e9;
        fprintf(
            out,
            "<li tabindex=\"0\" data-name=\"%s\" data-start=\"%.3f\" data-end=\"%.3f\" style=\"flex-grow:%.3f\" title=\"%s\"><b>%s</b><span>%s</span></li>",
            p->name, (double)p->start / 1e6, (double)p->end / 1e6, sec, p->name, page_length(p->end - p->start, n),
            p->name);
    }
    fputs("</ol></section>\n", out);
}

static void page_head(FILE *out, const struct report *r)
{
    const struct boot *b    = r->boot;
    const char        *what = b->live ? "Session" : "Boot";
    char               when[FILETIME_TEXT_SIZE], done[32];

    fputs(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"generator\" content=\"autologger report\">\n<link rel=\"icon\" href=\"data:,\">\n<title>",
        out);
    fprintf(out, "%s of %.16s UTC", what, filetime_format(b->began, when));
    fputs("</title>\n<style>\n", out);
    report_page_part(out, &page_style);
    fputs("</style>\n</head>\n<body>\n<header><h1>", out);
    when[10] = ' ';
    fprintf(out, "%s of %.19s UTC</h1><span class=\"about\">%s %s", what, when, b->live ? "recorded for" : "done after",
            page_length(b->finish, done));
    if (b->release) {
        fputs(", Linux ", out);
        html(out, b->release);
    }
    fputs(", ", out);
    html(out, r->file);
    fputs(
        "</span><input id=\"search\" type=\"search\" placeholder=\"Search unit, process, text  ( / )\" aria-label=\"Search\">"
        "<button id=\"theme\" title=\"Light or dark (t)\">Theme</button><button id=\"print\">Print</button><button id=\"help\" title=\"Keys (?)\">Keys</button></header>\n<main>\n",
        out);
}

/* ---- the data ---- */

enum { CHUNK = 3 * 16384 };

static void base64(FILE *out, const unsigned char *p, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (; n >= 3; p += 3, n -= 3) {
        const char four[4] = {digits[p[0] >> 2], digits[(p[0] & 3) << 4 | p[1] >> 4],
                              digits[(p[1] & 15) << 2 | p[2] >> 6], digits[p[2] & 63]};
        fwrite(four, 1, 4, out);
    }
    if (n) {
        const unsigned second  = n > 1 ? p[1] : 0;
        const char     four[4] = {digits[p[0] >> 2], digits[(p[0] & 3) << 4 | second >> 4],
                              n > 1 ? digits[(second & 15) << 2] : '=', '='};
        fwrite(four, 1, 4, out);
    }
}

/* The page's script puts texts into the document unchanged, so a hidden character is written as the letters of its
 * escape: the backslash of "\\n", which JSON would read as a newline, is doubled. NULL when out of memory; `json` is
 * freed. */
static char *visible_data(char *json, size_t *size)
{
    struct text out = {0};

    for (size_t at = 0; at < *size && !out.failed;) {
        char         escape[VISIBLE_ESCAPE];
        const size_t run   = visible_length(json + at, *size - at);
        const char  *slash = memchr(json + at, '\\', run);
        const size_t plain = slash ? (size_t)(slash - (json + at)) : run;
        text_add(&out, json + at, plain);
        at += plain;
        if (slash && at + 1 < *size) {
            text_add(&out, "\\\\", strchr("\"\\/", json[at + 1]) ? 1 : 2);
            text_add(&out, json + at + 1, 1);
            at += 2;
        } else if (at < *size) {
            at += visible_escape_one(json + at, *size - at, escape);
            text_add(&out, "\\", 1);
            text_add(&out, escape, strlen(escape));
        }
    }
    free(json);
    *size = out.length;
    return out.failed ? NULL : out.data;
}

/* Writes gzip as base64, in whole groups of three bytes. */
static bool packed(FILE *out, char *text, size_t size)
{
    enum { GZIP = 16, WINDOW = 15, LEVEL = 6, MEMORY = 8 };
    z_stream       z      = {.next_in = (unsigned char *)text, .avail_in = (unsigned)size};
    unsigned char *buffer = malloc(CHUNK);
    int            st     = Z_OK;
    size_t         kept   = 0;

    if (!buffer || size > UINT32_MAX ||
        deflateInit2(&z, LEVEL, Z_DEFLATED, WINDOW + GZIP, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(buffer);
        return false;
    }
    while (st == Z_OK) {
        z.next_out        = buffer + kept;
        z.avail_out       = (unsigned)(CHUNK - kept);
        st                = deflate(&z, Z_FINISH);
        const size_t have = CHUNK - z.avail_out, whole = st == Z_STREAM_END ? have : have / 3 * 3;
        base64(out, buffer, whole);
        kept = have - whole;
        memmove(buffer, buffer + whole, kept);
    }
    deflateEnd(&z);
    free(buffer);
    return st == Z_STREAM_END;
}

wstatus page_write(const struct report *r, FILE *out, struct reason *why)
{
    size_t size;
    char  *text = boot_json(r, true, &size);

    if (text)
        text = visible_data(text, &size);
    if (!text)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the page");
    page_head(out, r);
    page_verdict(out, r);
    page_trust(out, r->boot);
    fputs("<br>\n", out);
    page_phases(out, r->boot);
    report_page_part(out, &page_body);
    fputs("</main>\n<script type=\"application/gzip;base64\" id=\"data\">", out);
    const bool good = packed(out, text, size);
    free(text);
    fputs("</script>\n<script>\n", out);
    for (unsigned i = 0; i < page_script_count; i++)
        report_page_part(out, &page_scripts[i]);
    fputs("</script>\n</body>\n</html>\n", out);
    if (!good)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory to compress the page's data");
    if (fflush(out) || ferror(out))
        return reason_set(why, W_DISK_FULL, "the page cannot be written: %s", strerror(errno));
    return W_SUCCESS;
}
