/* Outputs that a command without rights may have made: those that it was called for, and no other, whatever it
 * asks. A command that is ended leaves no temporary, and its helper ends. Proves: finding F12 (merge, relog, convert
 * and tracerpt of root). */
// timeout: 60
#include "tools/base/read_only.h"
#include "tools/files/output_helper.h"
#include "tools/files/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/al-outputs-XXXXXX", target[64], temporary[64], made[64], other[64];

static int set_up(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(target, sizeof target, "%s/target", folder);
    snprintf(temporary, sizeof temporary, "%s/temporary", folder);
    snprintf(made, sizeof made, "%s/made", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(folder); /* each test removed its files: nothing else was made */
}

static bool is_there(const char *path) { return access(path, F_OK) == 0; }

static bool has(const char *path, const char *text)
{
    char   data[64] = "";
    FILE  *f        = fopen(path, "re");
    size_t n        = f ? fread(data, 1, sizeof data - 1, f) : 0;
    if (f)
        fclose(f);
    return f && n == strlen(text) && memcmp(data, text, n) == 0;
}

/* ---- the helper ---- */

static struct output_reply reply;

static int asked(struct output_helper *h, struct output_ask ask)
{
    const int fd = output_helper_reply(h, &ask, &reply);
    assert_int_equal(reply.passed, fd >= 0);
    return fd >= 0 ? fd : reply.result;
}

enum { NEW = O_WRONLY | O_CREAT | O_EXCL };

static void a_file_and_its_name(void **state)
{
    (void)state;
    struct output_helper h = {.output = {{target, temporary, -1, false, false}}, .count = 1};
    assert_int_equal(asked(&h, (struct output_ask){.what = OUTPUT_PLACE}), -EACCES); /* no folder is made yet */
    assert_int_equal(asked(&h, (struct output_ask){.what = OUTPUT_DROP}), -EACCES);
    const int fd = asked(&h, (struct output_ask){.what = OUTPUT_MAKE, .flags = NEW, .mode = 0640});
    assert_true(fd >= 0 && write(fd, "text", 4) == 4 && close(fd) == 0);
    assert_true(is_there(temporary) && !is_there(target));
    assert_int_equal(asked(&h, (struct output_ask){.what = OUTPUT_MAKE, .flags = NEW, .mode = 0640}), -EEXIST);
    assert_int_equal(asked(&h, (struct output_ask){.what = OUTPUT_PLACE}), 0);
    assert_true(!is_there(temporary) && has(target, "text"));
    assert_int_equal(asked(&h, (struct output_ask){.what = OUTPUT_PLACE}), -EACCES);
    assert_int_equal(close(asked(&h, (struct output_ask){.what = OUTPUT_MAKE, .flags = NEW, .mode = 0640})), 0);
    assert_int_equal(asked(&h, (struct output_ask){.what = OUTPUT_DROP}), 0);
    assert_true(!is_there(temporary) && has(target, "text"));
    assert_int_equal(unlink(target), 0);
}

static void what_it_refuses(void **state)
{
    (void)state;
    struct output_helper h = {.output = {{target, temporary, -1, false, false}, {made, NULL, -1, false, false}},
                              .count  = 2};
    static const struct output_ask asks[] = {
        {.what = OUTPUT_MAKE, .which = 2, .flags = NEW},
        {.what = OUTPUT_MAKE, .which = UINT32_MAX, .flags = NEW},
        {.what = OUTPUT_ASKED},
        {.what = UINT32_MAX},
        {.what = OUTPUT_MAKE_IN, .name = "metadata"},             /* no folder */
        {.what = OUTPUT_MAKE_IN, .which = 1, .name = "metadata"}, /* not made */
        {.what = OUTPUT_PLACE, .which = 1},
        {.what = OUTPUT_DROP, .which = 1},
        {.what = OUTPUT_MAKE, .flags = NEW, .mode = 04755},
        {.what = OUTPUT_MAKE, .flags = NEW, .mode = 0777},
        {.what = OUTPUT_MAKE, .flags = O_WRONLY | O_CREAT}, /* an existing file, too */
        {.what = OUTPUT_MAKE, .flags = NEW | O_TRUNC},
        {.what = OUTPUT_MAKE, .flags = O_DIRECTORY},
        {.what = OUTPUT_MAKE, .flags = O_PATH},
        {.what = OUTPUT_MAKE, .which = 1, .mode = 01777},
        {.what = OUTPUT_UNWIND},
        {.what = OUTPUT_UNWIND_STOP}, /* this is no merge */
    };
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
        const int r = asked(&h, asks[i]);
        if (r != -EACCES && r != -EINVAL)
            fail_msg("request %zu: %d", i, r);
    }
    struct output_ask endless = {.what = OUTPUT_MAKE, .flags = NEW, .mode = 0640};
    memset(endless.name, 'a', sizeof endless.name);
    assert_int_equal(asked(&h, endless), -EINVAL);
    assert_true(!is_there(temporary) && !is_there(made));
    /* a link in the temporary's place */
    assert_int_equal(symlink(other, temporary), 0);
    assert_int_equal(asked(&h, (struct output_ask){.what = OUTPUT_MAKE, .flags = NEW, .mode = 0640}), -EEXIST);
    assert_int_equal(asked(&h, (struct output_ask){.what = OUTPUT_MAKE, .flags = O_RDWR, .mode = 0}), -ELOOP);
    assert_false(is_there(other));
    assert_int_equal(unlink(temporary), 0);
}

static void a_folder(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", ".", "..", "../other", "/tmp/al-outputs", "a/b", "a.b", "A", "a\n"};
    struct output_helper     h       = {.output = {{made, NULL, -1, false, false}}, .count = 1};
    struct output_ask        in      = {.what = OUTPUT_MAKE_IN, .mode = 0640};
    char                     path[80];
    assert_int_equal(asked(&h, (struct output_ask){.what = OUTPUT_MAKE, .mode = 0750}), 0);
    assert_true(h.output[0].folder >= 0);
    assert_int_equal(asked(&h, (struct output_ask){.what = OUTPUT_MAKE, .mode = 0750}), -EACCES);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(in.name, sizeof in.name, "%s", wrong[i]);
        assert_int_equal(asked(&h, in), -EACCES);
    }
    snprintf(in.name, sizeof in.name, "cpu_0");
    assert_int_equal(close(asked(&h, in)), 0);
    assert_int_equal(asked(&h, in), -EEXIST);
    /* another folder has taken the name: files go into the folder that was made */
    assert_int_equal(rename(made, other), 0);
    assert_int_equal(mkdir(made, 0700), 0);
    snprintf(in.name, sizeof in.name, "metadata");
    assert_int_equal(close(asked(&h, in)), 0);
    assert_int_equal(rmdir(made), 0);
    snprintf(path, sizeof path, "%s/cpu_0", other);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/metadata", other);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(other), 0);
    close(h.output[0].folder);
}

/* ---- the command ---- */

/* Runs `body` as a command with an output and a folder; how it ended. */
static int command(int (*body)(struct os *edge))
{
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        const struct output outputs[] = {{target, ".new-"}, {made, NULL}};
        int                 code      = 0;
        struct os          *edge      = outputs_guard("test", outputs, 2, false, &code);
        code                          = edge ? body(edge) : 99;
        if (read_only_is())
            exit(code); /* it waits for its helper */
        _exit(code);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

#define MUST(condition) \
    do { \
        if (!(condition)) { \
            dprintf(2, "%d: %s: %s\n", __LINE__, #condition, strerror(errno)); \
            return __LINE__ % 90 + 1; \
        } \
    } while (0)

static int writes_two(struct os *edge)
{
    const struct output  output = {target, ".new-"};
    struct output_stream out;
    char                 path[80];
    MUST(output_begin(edge, &output, &out, NULL) == W_SUCCESS);
    MUST(fputs("text", out.file) >= 0 && !is_there(target));
    MUST(output_end(edge, &out, W_SUCCESS, NULL) == W_SUCCESS && has(target, "text"));
    MUST(output_begin(edge, &output, &out, NULL) == W_SUCCESS);
    MUST(fputs("half", out.file) >= 0 && output_end(edge, &out, W_INVALID_DATA, NULL) == W_INVALID_DATA);
    MUST(has(target, "text"));
    MUST(edge->mkdir(edge, made, 0750) == 0 && edge->mkdir(edge, made, 0750) < 0);
    snprintf(path, sizeof path, "%s/metadata", made);
    const int fd = edge->open(edge, path, NEW, 0640);
    MUST(fd >= 0 && write(fd, "more", 4) == 4 && edge->close(edge, fd) == 0);
    return 0;
}

static int writes_what_it_was_not_called_for(struct os *edge)
{
    char name[80];
    MUST(edge->open(edge, other, NEW, 0640) == -EACCES);
    MUST(edge->open(edge, target, O_WRONLY, 0) == -EACCES); /* the output itself: only whole */
    MUST(edge->mkdir(edge, other, 0750) == -EACCES);
    MUST(edge->rename(edge, target, other) == -EACCES);
    MUST(edge->unlink(edge, target) == -EACCES);
    MUST(open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0);
    MUST(open(target, O_WRONLY | O_CLOEXEC) < 0);
    MUST(unlink(target) < 0 && mkdir(other, 0700) < 0 && symlink("/", other) < 0 && chmod(target, 0777) < 0);
    snprintf(name, sizeof name, "%s.new-%d", target, (int)getpid());
    const int fd = edge->open(edge, name, NEW, 0640);
    MUST(fd >= 0);
    MUST(edge->rename(edge, name, other) == -EACCES); /* it gets the name that was asked for */
    MUST(rename(name, other) < 0);
    MUST(edge->unlink(edge, name) == 0);
    return 0;
}

static int dies(struct os *edge)
{
    char name[80];
    snprintf(name, sizeof name, "%s.new-%d", target, (int)getpid());
    MUST(edge->open(edge, name, NEW, 0640) >= 0 && is_there(name));
    raise(SIGSEGV);
    return 98;
}

static void outputs_of_a_command(void **state)
{
    char path[80];
    (void)state;
    assert_int_equal(command(writes_two), 0);
    assert_true(has(target, "text"));
    snprintf(path, sizeof path, "%s/metadata", made);
    assert_true(has(path, "more"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(made), 0);
    if (read_only_is())
        assert_int_equal(command(writes_what_it_was_not_called_for), 0);
    assert_true(has(target, "text"));
    assert_int_equal(unlink(target), 0);
}

/* No temporary stays, whatever ends the command: tear_down() finds the folder empty. */
static void a_command_that_dies(void **state)
{
    (void)state;
    if (!read_only_is())
        return;
    signal(SIGSEGV, SIG_DFL); /* cmocka's */
    assert_int_equal(command(dies), -SIGSEGV);
    for (int i = 0; i < 1000 && rmdir(folder) < 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    assert_int_equal(mkdir(folder, 0700), 0); /* it was empty */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_file_and_its_name), cmocka_unit_test(what_it_refuses),
                                       cmocka_unit_test(a_folder), cmocka_unit_test(outputs_of_a_command),
                                       cmocka_unit_test(a_command_that_dies)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
