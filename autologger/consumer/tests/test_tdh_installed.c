/* Installed manifests: stored, found by the event's provider, listed, replaced, removed; a damaged one is reported; and
 * their use by tdh.h.
 * Proves: MAN-17 (the folder of what is installed), CON-15. */
#include "autologger/include/tdh.h"

#include "autologger/consumer/record_view.h"
#include "autologger/schema/publishers.h"
#include "autologger/schema/tests/manifest_text.h"
#include "registry-sim/win32/utf16.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static struct manifest *shop(void)
{
    size_t           size;
    char            *text = file_text(AL_SOURCE_DIR "/autologger/schema/tests/shop.man", &size);
    struct manifest *m    = read_text(text, size, W_SUCCESS);
    free(text);
    return m;
}

static void kept(void **state)
{
    struct manifest   *m = shop(), *back;
    struct reason      why;
    struct guid        guid = m->providers.at[0].guid;
    struct schema_set *set  = schema_set_new();
    struct publishers  p    = {.folder = folder, .culture = "de"};
    char               path[PUBLISHERS_PATH];
    struct stat        st;
    (void)state;
    assert_int_equal(publishers_load(folder, &guid, &back, &why), W_FILE_NOT_FOUND);
    umask(077);
    for (int i = 0; i < 2; i++) /* the second time replaces it */
        assert_int_equal(publishers_save(folder, m, 0, &why), W_SUCCESS);
    assert_int_equal(stat(publishers_path(folder, &guid, path), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644); /* every reader of traces may read it */
    assert_int_equal(publishers_load(folder, &guid, &back, &why), W_SUCCESS);
    assert_int_equal(back->providers.at[0].events.count, 4);
    manifest_free(back);

    schema_set_ask(set, publishers_ask, &p);
    struct schema_key          key = {.provider = guid, .id = 2, .hook = 0xFFFF};
    const struct schema_event *e   = schema_set_find(set, &key);
    assert_non_null(e);
    assert_string_equal(e->message, "Bestellung %1 von %2 ist fertig.");
    assert_int_equal(p.read, 1);
    key.provider.data1++;
    assert_null(schema_set_find(set, &key)); /* none with that GUID */
    assert_int_equal(p.failed, 0);
    schema_set_free(set);

    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "x", 1, 40), 1);
    close(fd);
    set          = schema_set_new();
    key.provider = guid;
    schema_set_ask(set, publishers_ask, &p);
    assert_null(schema_set_find(set, &key));
    assert_int_equal(p.failed, 1);
    assert_non_null(strstr(p.why.text, "the checksum is wrong"));
    schema_set_free(set);
    assert_int_equal(publishers_remove(folder, &guid, &why), W_SUCCESS);
    assert_int_equal(publishers_remove(folder, &guid, &why), W_SUCCESS);
    assert_int_equal(publishers_load(folder, &guid, &back, &why), W_FILE_NOT_FOUND);
    manifest_free(m);
}

static void by_tdh(void **state)
{
    static BYTE                block[65536];
    struct manifest           *m    = shop();
    PPROVIDER_ENUMERATION_INFO all  = (PPROVIDER_ENUMERATION_INFO)block;
    PTRACE_EVENT_INFO          info = (PTRACE_EVENT_INFO)block;
    ULONG                      size = sizeof block;
    struct reason              why;
    (void)state;
    assert_int_equal(publishers_save(folder, m, 0, &why), W_SUCCESS);
    struct etl_event x = {
        .kind = ETL_KIND_EVENT, .provider = m->providers.at[0].guid, .id = 3, .version = 1, .is_64bit = true};
    struct record_view view;
    record_view_set(&view, &x, false, NULL);
    assert_int_equal(TdhGetEventInformation(&view.record, 0, NULL, info, &size), 0);
    assert_int_equal(info->TopLevelPropertyCount, 6);
    assert_int_equal(info->DecodingSource, DecodingSourceXMLFile);
    x.id = 99;
    record_view_set(&view, &x, false, NULL);
    size = sizeof block;
    assert_int_equal(TdhGetEventInformation(&view.record, 0, NULL, info, &size), ERROR_NOT_FOUND);
    size = sizeof block;
    assert_int_equal(TdhEnumerateProviders(all, &size), 0);
    unsigned found = 0;
    for (ULONG i = 0; i < all->NumberOfProviders; i++)
        found += memcmp(&all->TraceProviderInfoArray[i].ProviderGuid, &m->providers.at[0].guid, 16) == 0;
    assert_int_equal(found, 1);
    assert_int_equal(publishers_remove(folder, &m->providers.at[0].guid, &why), W_SUCCESS);
    manifest_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kept), cmocka_unit_test(by_tdh)};
    snprintf(folder, sizeof folder, "/tmp/al-publishers-%d", (int)getpid());
    setenv("AUTOLOGGER_PUBLISHERS", folder, 1);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
