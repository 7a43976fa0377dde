#include "tools/ui/ui_server.h"

#ifdef AL_UI
#include "tools/ui/ui_page.h"
#include "tools/ui/ui_run.h"
#include "tools/ui/ui_stream.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define MHD_LIBRARY "libmicrohttpd.so.12"
enum {
    TOKEN_BYTES  = 24,
    TOKEN_TEXT   = TOKEN_BYTES * 2,
    BODY_MOST    = 1 << 20,
    CONNECTIONS  = 256,
    IDLE_SECONDS = 10, /* of who has not shown the secret */
    STREAM_BLOCK = 65536,
    ADDRESS      = 128
};

static struct {
#define F(name) __typeof__(&MHD_##name) name;
#include "tools/ui/ui_http.def"
#undef F
} mhd;

struct ui_server {
    struct MHD_Daemon *daemon;
    char               token[TOKEN_TEXT + 1], secret[TOKEN_TEXT + 1];
    int                used; /* the token */
    char               address[ADDRESS], host[2][32];
};
/* What comes of one request's body. */
struct body {
    char  *data;
    size_t size;
    int    too_large;
};

static wstatus mhd_load(struct reason *why)
{
    void *library = dlopen(MHD_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return reason_set(why, W_NOT_SUPPORTED, "%s is not there. Do: apt-get install libmicrohttpd12", MHD_LIBRARY);
#define F(name) \
    if (!(*(void **)(void *)&mhd.name = dlsym(library, "MHD_" #name))) \
        return reason_set(why, W_NOT_SUPPORTED, "%s has no MHD_" #name, MHD_LIBRARY);
#include "tools/ui/ui_http.def"
#undef F
    return W_SUCCESS;
}

/* ---- answers ---- */

static void headers_put(struct MHD_Response *r, const char *type)
{
    mhd.add_response_header(r, "Content-Type", type);
    mhd.add_response_header(r, "Cache-Control", "no-store");
    mhd.add_response_header(r, "X-Content-Type-Options", "nosniff");
    mhd.add_response_header(r, "Referrer-Policy", "no-referrer");
    mhd.add_response_header(r, "X-Frame-Options", "DENY");
    mhd.add_response_header(
        r, "Content-Security-Policy",
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; frame-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
}

/* `data` is malloc, or belongs to the program. */
static enum MHD_Result answer(struct MHD_Connection *c, unsigned code, const char *type, char *data, size_t size,
                              enum MHD_ResponseMemoryMode mode)
{
    struct MHD_Response *r = mhd.create_response_from_buffer(size, data, mode);
    if (!r) {
        if (mode == MHD_RESPMEM_MUST_FREE)
            free(data);
        return MHD_NO;
    }
    headers_put(r, type);
    const enum MHD_Result result = mhd.queue_response(c, code, r);
    mhd.destroy_response(r);
    return result;
}

static enum MHD_Result ui_answer_text(struct MHD_Connection *c, unsigned code, const char *text)
{
    return answer(c, code, "text/plain; charset=utf-8", (char *)(uintptr_t)text, strlen(text), MHD_RESPMEM_PERSISTENT);
}

/* Equal, in a time that does not tell where they differ. */
static int same(const char *a, const char *b)
{
    unsigned char differ = 0;
    if (!a || strlen(a) != strlen(b))
        return 0;
    for (size_t i = 0; b[i]; i++)
        differ |= (unsigned char)(a[i] ^ b[i]);
    return !differ;
}

/* The page; `secret`: for who has the token, else "". */
static enum MHD_Result answer_page(struct MHD_Connection *c, const char *secret)
{
    size_t size;
    char  *page = ui_page_make(secret, &size);
    if (!page)
        return ui_answer_text(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "no memory");
    return answer(c, MHD_HTTP_OK, "text/html; charset=utf-8", page, size, MHD_RESPMEM_MUST_FREE);
}

static enum MHD_Result answer_run(struct MHD_Connection *c, const struct body *b)
{
    struct ui_request request;
    struct ui_result  result;
    size_t            size;
    if (!ui_request_parse(b->data ? b->data : "", b->size, &request))
        return ui_answer_text(c, MHD_HTTP_BAD_REQUEST, "no such request");
    ui_run(&request, &result);
    ui_request_finish(&request);
    char *json = ui_result_json(&result, &size);
    ui_result_finish(&result);
    if (!json)
        return ui_answer_text(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "no memory");
    return answer(c, MHD_HTTP_OK, "application/json", json, size, MHD_RESPMEM_MUST_FREE);
}

static ssize_t stream_more(void *ctx, uint64_t at, char *out, size_t room)
{
    (void)at;
    const ssize_t n = ui_stream_read(ctx, out, room);
    return n < 0 ? MHD_CONTENT_READER_END_OF_STREAM : n;
}
static void stream_end(void *ctx) { ui_stream_destroy(ctx); }

static enum MHD_Result answer_live(struct MHD_Connection *c)
{
    const char       *session = mhd.lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "session");
    struct ui_stream *stream  = session && *session ? ui_stream_create(session) : NULL;
    if (!stream)
        return ui_answer_text(c, MHD_HTTP_BAD_REQUEST, "no session");
    struct MHD_Response *r =
        mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, stream_more, stream, stream_end);
    if (!r) {
        ui_stream_destroy(stream);
        return MHD_NO;
    }
    headers_put(r, "text/event-stream");
    const enum MHD_Result result = mhd.queue_response(c, MHD_HTTP_OK, r);
    mhd.destroy_response(r);
    return result;
}

/* The page of a boot. */
static enum MHD_Result answer_report(struct MHD_Connection *c)
{
    const char       *file    = mhd.lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "file");
    struct ui_request request = {
        .word = {"report", "-o", "@file", "--", (char *)(uintptr_t)file}, .words = 5, .file = "", .page = true};
    struct ui_result result;
    if (!file || !*file)
        return ui_answer_text(c, MHD_HTTP_BAD_REQUEST, "no file");
    ui_run(&request, &result);
    if (result.code || !result.out) {
        char *text = result.err ? result.err : strdup("the report failed");
        result.err = NULL;
        ui_result_finish(&result);
        return answer(c, MHD_HTTP_OK, "text/plain; charset=utf-8", text, strlen(text), MHD_RESPMEM_MUST_FREE);
    }
    char        *page = result.out;
    const size_t size = result.out_size;
    result.out        = NULL;
    ui_result_finish(&result);
    return answer(c, MHD_HTTP_OK, "text/html; charset=utf-8", page, size, MHD_RESPMEM_MUST_FREE);
}

/* ---- requests ---- */

/* The page itself is no secret. What it was given with the token is, and nobody gets that twice. */
static enum MHD_Result ui_get(struct ui_server *s, struct MHD_Connection *c, const char *path, int known)
{
    const char *token = mhd.lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "token");
    if (!strcmp(path, "/") && token && same(token, s->token) && !__atomic_exchange_n(&s->used, 1, __ATOMIC_ACQ_REL))
        return answer_page(c, s->secret);
    if (!strcmp(path, "/"))
        return answer_page(c, "");
    if (!known)
        return ui_answer_text(c, MHD_HTTP_FORBIDDEN, "not allowed\n");
    if (!strcmp(path, "/live"))
        return answer_live(c);
    if (!strcmp(path, "/report"))
        return answer_report(c);
    return ui_answer_text(c, MHD_HTTP_NOT_FOUND, "not here\n");
}

static enum MHD_Result body_add(struct body *b, const char *data, size_t *size)
{
    char *more = b->size + *size > BODY_MOST ? NULL : realloc(b->data, b->size + *size);
    if (more) {
        memcpy(more + b->size, data, *size);
        b->data = more;
        b->size += *size;
    } else {
        b->too_large = 1;
    }
    *size = 0;
    return MHD_YES;
}

/* Of this server's own page, under its own name, with the secret. */
static int request_known(const struct ui_server *s, struct MHD_Connection *c)
{
    const char *from = mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Sec-Fetch-Site");
    if (from && strcmp(from, "same-origin") && strcmp(from, "none"))
        return 0;
    return same(mhd.lookup_connection_value(c, MHD_HEADER_KIND, "X-Autologger"), s->secret);
}

/* Before the body comes: 1: it may come. */
static int request_begin(struct ui_server *s, struct MHD_Connection *c, const char *path, const char *method,
                         enum MHD_Result *result)
{
    const char *host = mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Host");
    if (!host || (strcmp(host, s->host[0]) && strcmp(host, s->host[1]))) /* another name that leads here */
        *result = ui_answer_text(c, MHD_HTTP_FORBIDDEN, "not this host\n");
    else if (!strcmp(method, "GET"))
        return 1;
    else if (!request_known(s, c))
        *result = ui_answer_text(c, MHD_HTTP_FORBIDDEN, "not allowed\n");
    else if (strcmp(method, "POST"))
        *result = ui_answer_text(c, MHD_HTTP_METHOD_NOT_ALLOWED, "not so\n");
    else if (strcmp(path, "/run"))
        *result = ui_answer_text(c, MHD_HTTP_NOT_FOUND, "not here\n");
    else
        return 1;
    return 0;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *path, const char *method,
                                  const char *version, const char *data, size_t *size, void **state)
{
    struct ui_server *s = ctx;
    struct body      *b = *state;
    enum MHD_Result   result;
    (void)version;
    if (!b) {
        if (!request_begin(s, c, path, method, &result))
            return result;
        *state = calloc(1, sizeof(struct body));
        return *state ? MHD_YES : MHD_NO;
    }
    if (*size)
        return body_add(b, data, size);
    const int known = request_known(s, c);
    if (known) /* a verb may take its time */
        mhd.set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
    if (!strcmp(method, "GET"))
        return ui_get(s, c, path, known);
    return b->too_large ? ui_answer_text(c, MHD_HTTP_CONTENT_TOO_LARGE, "too large\n") : answer_run(c, b);
}

static void on_done(void *ctx, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode how)
{
    struct body *b = *state;
    (void)ctx, (void)c, (void)how;
    if (b)
        free(b->data);
    free(b);
    *state = NULL;
}

/* ---- start and stop ---- */

static int token_make(char out[TOKEN_TEXT + 1])
{
    unsigned char bytes[TOKEN_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return 0;
    for (int i = 0; i < TOKEN_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return 1;
}

wstatus ui_server_start(uint16_t port, struct ui_server **out, struct reason *why)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    wstatus            st = mhd_load(why);
    *out                  = NULL;
    if (st)
        return st;
    struct ui_server *s = calloc(1, sizeof *s);
    if (!s || !token_make(s->token) || !token_make(s->secret)) {
        free(s);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory, or no random numbers");
    }
    s->daemon =
        mhd.start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD, port, NULL, NULL, on_request,
                         s, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)(void *)&at, MHD_OPTION_NOTIFY_COMPLETED, on_done,
                         NULL, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
                         (unsigned)IDLE_SECONDS, MHD_OPTION_END);
    if (!s->daemon) {
        const int error = errno;
        free(s);
        return reason_set(why, error == EADDRINUSE ? W_SHARING_VIOLATION : wstatus_from_errno(error),
                          "port %u of 127.0.0.1: %s", (unsigned)port, strerror(error));
    }
    const union MHD_DaemonInfo *info = mhd.get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    const unsigned              real = info ? info->port : port;
    snprintf(s->address, sizeof s->address, "http://127.0.0.1:%u/?token=%s", real, s->token);
    snprintf(s->host[0], sizeof s->host[0], "127.0.0.1:%u", real);
    snprintf(s->host[1], sizeof s->host[1], "localhost:%u", real);
    *out = s;
    return W_SUCCESS;
}

const char *ui_server_address(const struct ui_server *s) { return s->address; }

void ui_server_stop(struct ui_server *s)
{
    if (s)
        mhd.stop_daemon(s->daemon);
    free(s);
}
#else
wstatus ui_server_start(uint16_t port, struct ui_server **out, struct reason *why)
{
    (void)port;
    *out = NULL;
    return reason_set(why, W_NOT_SUPPORTED,
                      "built without libmicrohttpd. Do: install libmicrohttpd-dev and build again");
}
const char *ui_server_address(const struct ui_server *s)
{
    (void)s;
    return "";
}
void ui_server_stop(struct ui_server *s) { (void)s; }
#endif
