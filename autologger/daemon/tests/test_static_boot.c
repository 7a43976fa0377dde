/* The code of the early boot program needs libc alone: a static program boots from a sealed snapshot, and holds no
 * line of SQLite, iniparser or libfwnt. Proves: REG-02, REG-19. */
#include "autologger/daemon/parts/runtime_dir.h"
#include "autologger/plan/plan.h"
#include "registry-sim/store/change_number.h"
#include "registry-sim/store/snapshot.h"
#include "registry-sim/text/dialect.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define PROGRAM AL_BINARY_DIR "/tests/static_boot"

static const char declared[] = "[Autologger/web]\nBufferSize = 128\nFileName = C:\\x\\web.etl\n[Autologger/web/App]\n"
                               "[Autologger/off]\nStart = no\n[Autologger/wrong]\nLogFileMode = NEWFILE\n";

static void seal(const char *path)
{
    const struct snapshot_head head = {.store_path = "/var/lib/autologger/registry.db", .log_dir = "/logs"};
    struct regstore           *s;
    struct diag_sink           sink = {0};
    struct reason              why  = {0};
    assert_int_equal(regstore_open_memory(&s, &why), 0);
    assert_int_equal(ini_import(s, declared, sizeof declared - 1, "boot.ini", plan_vocabulary(), &sink, &why), 0);
    assert_int_equal(change_number_bump(s, NULL, &why), 0);
    assert_int_equal(snapshot_seal(os_linux(), s, &head, path, &why), 0);
    regstore_close(s);
}

static void boots_from_a_snapshot(void **state)
{
    char folder[] = "/tmp/al-static-XXXXXX", path[64], command[512], out[4096] = "";
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/boot.snapshot", folder);
    seal(path);
    snprintf(command, sizeof command, PROGRAM " %s %s 2>&1", path, folder);
    FILE *program = popen(command, "r");
    assert_non_null(program);
    size_t n = fread(out, 1, sizeof out - 1, program);
    assert_int_equal(pclose(program), 0);
    assert_true(n > 0);
    print_message("%s", out);
    assert_non_null(strstr(out, "change 1 plan web 128 /logs/c/x/web.etl\n"));
    assert_non_null(strstr(out, "row off  0 boot.ini:5\n"));
    assert_non_null(strstr(out, "row web  0 boot.ini:1\n"));
    assert_non_null(strstr(out, "row web App 0 boot.ini:4\n"));
    assert_non_null(strstr(out, "row wrong  87 boot.ini:8\n"));
    assert_null(strstr(out, "status"));
    unlink(path);
    runtime_dir_remove(folder);
    assert_int_not_equal(access(folder, F_OK), 0);
}

/* The program's own bytes: symbols are not stripped, so a linked library would be named in it. */
static void holds_no_library(void **state)
{
    static const char *const names[] = {"sqlite3_open", "iniparser_load", "libfwnt_lzxpress", "yajl_gen"};
    struct stat              st;
    (void)state;
    FILE *file = fopen(PROGRAM, "rb");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &st), 0);
    uint8_t *bytes = malloc((size_t)st.st_size);
    assert_int_equal(fread(bytes, 1, (size_t)st.st_size, file), st.st_size);
    fclose(file);
    assert_non_null(memmem(bytes, (size_t)st.st_size, "plan_from_key", 13));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_null(memmem(bytes, (size_t)st.st_size, names[i], strlen(names[i])));
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)bytes;
    for (unsigned i = 0; i < elf->e_phnum; i++) {
        Elf64_Phdr part;
        memcpy(&part, bytes + elf->e_phoff + (size_t)i * elf->e_phentsize, sizeof part);
        assert_int_not_equal(part.p_type, PT_INTERP);
    }
    free(bytes);
}

int main(void)
{
    if (access(PROGRAM, X_OK) != 0) {
        puts("skipped: a sanitizer's runtime can't be linked statically");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(boots_from_a_snapshot), cmocka_unit_test(holds_no_library)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
