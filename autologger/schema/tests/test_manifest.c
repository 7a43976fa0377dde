/* Manifests: valid ones, refused ones, and the messages.
 * Proves: MAN-01, MAN-02, MAN-03, MAN-04, MAN-05, MAN-08, MAN-10, MAN-12, MAN-13; manifests as bad input. */
#include "autologger/schema/tests/manifest_text.h"

#include "autologger/schema/schema.h"

static void figure(void **state)
{
    struct manifest *m = read_file("figure5.man");
    char             guid[GUID_TEXT_SIZE];
    (void)state;
    assert_int_equal(m->providers.count, 1);
    const struct manifest_provider *p = &m->providers.at[0];
    assert_string_equal(p->name, "Microsoft-Windows-Kernel-Registry");
    assert_string_equal(p->symbol, "RegistryProvGuid");
    assert_string_equal(p->resource_file, "%SystemRoot%\\System32\\advapi32.dll");
    assert_string_equal(p->message_file, "%SystemRoot%\\System32\\advapi32.dll");
    assert_string_equal(guid_format(&p->guid, guid), "{70eb4f03-c1de-4f73-a051-33d13d5413bd}");
    assert_int_equal(p->channels.count, 1);
    assert_string_equal(p->channels.at[0].item.name, "Microsoft-Windows-Kernel-Registry/Analytic");
    assert_string_equal(p->channels.at[0].chid, "RegistryEvents");
    assert_int_equal(p->channels.at[0].type, CHANNEL_ANALYTIC);
    assert_string_equal(p->channels.at[0].isolation, "System");
    assert_string_equal(p->channels.at[0].item.symbol, "REG_Events");
    assert_int_equal(p->channels.at[0].item.value, 16);
    assert_string_equal(p->opcodes.at[0].item.name, "CreateKey");
    assert_int_equal(p->opcodes.at[0].item.value, 32);
    assert_string_equal(p->keywords.at[0].name, "CreateKey");
    assert_int_equal(p->keywords.at[0].value, 0x1000);
    const struct manifest_template *t = &p->templates.at[0];
    assert_int_equal(t->fields.count, 6);
    assert_int_equal(t->fields.at[0].in, IN_POINTER);
    assert_int_equal(t->fields.at[0].out, OUT_HEXINT64);
    assert_int_equal(t->fields.at[2].out, OUT_HEXINT32);
    assert_int_equal(t->fields.at[3].out, OUT_UNSIGNEDINT);
    const struct manifest_event *e = &p->events.at[0];
    assert_int_equal(e->item.value, 1);
    assert_int_equal(e->channel, 16);
    assert_int_equal(e->level, 4);
    assert_int_equal(e->opcode, 32);
    assert_true(e->keyword == UINT64_C(0x8000000000001000)); /* its own keyword, and the first channel's bit */
    assert_string_equal(manifest_text_get(m, &e->item.message, 0), "Registry key %6 was created with status %3.");
    assert_string_equal(told, "");
    manifest_free(m);
}

static void sample(void **state)
{
    struct manifest                *m = read_file("shop.man");
    const struct manifest_provider *p = &m->providers.at[0];
    (void)state;
    assert_int_equal(p->channels.count, 2);
    assert_true(p->channels.at[0].imported);
    assert_int_equal(p->channels.at[0].item.value, 9); /* Application */
    assert_int_equal(p->channels.at[1].item.value, 16);
    assert_string_equal(p->channels.at[1].settings.at[0].name, "maxSize");
    assert_string_equal(p->channels.at[1].settings.at[0].value, "1048576");
    assert_string_equal(p->levels.at[0].name, "Chatty");
    assert_int_equal(p->levels.at[0].value, 16);
    assert_string_equal(p->tasks.at[0].item.name, "Order");
    assert_int_equal(p->tasks.at[0].item.value, 1);
    assert_true(p->tasks.at[0].has_guid);
    assert_int_equal(p->opcodes.at[0].task, 0); /* for this task alone */
    assert_int_equal(p->opcodes.at[1].task, MANIFEST_NONE);
    const struct manifest_event *e = p->events.at;
    assert_int_equal(e[0].template_index, e[1].template_index); /* shared */
    assert_int_equal(e[0].opcode, 1);
    assert_int_equal(e[1].opcode, 2);
    assert_int_equal(e[0].task, 1);
    assert_true(e[0].keyword == UINT64_C(0x4000000000000003));
    assert_int_equal(e[2].version, 1);
    assert_int_equal(e[2].level, 16);
    assert_int_equal(e[2].opcode, 20);
    assert_int_equal(e[3].template_index, MANIFEST_NONE);
    const struct manifest_template *t = &p->templates.at[1];
    assert_int_equal(t->fields.count, 8);
    assert_int_equal(t->top_count, 6);
    assert_int_equal(t->fields.at[1].flags, FIELD_STRUCT | FIELD_COUNT_OF);
    assert_int_equal(t->fields.at[1].count, 0);
    assert_int_equal(t->fields.at[1].first, 6);
    assert_int_equal(t->fields.at[1].members, 2);
    assert_string_equal(t->fields.at[6].name, "name");
    assert_int_equal(t->fields.at[6].out, OUT_UTF8);
    assert_int_equal(t->fields.at[3].flags, FIELD_LENGTH_OF);
    assert_int_equal(t->fields.at[3].length, 2);
    assert_int_equal(t->fields.at[4].flags, FIELD_FIXED_COUNT);
    assert_int_equal(t->fields.at[4].count, 3);
    assert_int_equal(t->fields.at[5].map, 1);
    manifest_free(m);
}

static void cultures(void **state)
{
    struct manifest                *m = read_file("shop.man");
    const struct manifest_provider *p = &m->providers.at[0];
    (void)state;
    assert_int_equal(manifest_culture_find(m, "de_DE.UTF-8"), 1);
    assert_int_equal(manifest_culture_find(m, "de"), 1);
    assert_int_equal(manifest_culture_find(m, "de-AT"), 1); /* by its language */
    assert_int_equal(manifest_culture_find(m, "DE-de"), 1);
    assert_int_equal(manifest_culture_find(m, "fr_FR"), 0);
    assert_int_equal(manifest_culture_find(m, "C"), 0);
    assert_int_equal(manifest_culture_find(m, NULL), 0);
    assert_string_equal(manifest_text_get(m, &p->events.at[1].item.message, 1), "Bestellung %1 von %2 ist fertig.");
    /* not translated */
    assert_string_equal(manifest_text_get(m, &p->events.at[3].item.message, 1), "The shop is closed.");
    assert_string_equal(
        told,
        "71 warning: de-DE lacks 8 of the 12 strings of en-US (\"Chatty\" and others); those are shown in en-US|translate them\n");
    manifest_free(m);
}

/* Provider, strings, expected messages with their lines, and "did you mean" when a similar word exists. */
static const struct {
    const char *provider, *strings, *told;
} mistakes[] = {
    {"<chanels/>", "", "2: <chanels> is not known here, did you mean <channels>?|"},
    {"<events>\n<event value='1'\n lvel='x'/></events>", "",
     "4: <event> has no attribute \"lvel\", did you mean \"level\"?|"},
    {"<events><event/></events>", "", "2: <event> needs value=\"...\"|add it"},
    {"<events><event value='65536'/></events>", "", "2: value=\"65536\" of <event> is not between 0 and 65535|"},
    {"<events><event value='ten'/></events>", "", "value=\"ten\" of <event> is no number|"},
    {"<events><event value='-1'/></events>", "", "value=\"-1\" of <event> is no number|"},
    {"<events><event value='1' level='win:Eror'/></events>", "",
     "level=\"win:Eror\" of <event> is not declared, did you mean win:Error?|"},
    {"<events><event value='1' channel='System'/></events>", "",
     "channel=\"System\" of <event> is predefined, and not imported|add <importChannel"},
    {"<events><event value='1' message='$(string.x)'/></events>", "",
     "message=\"$(string.x)\" of <event> is in no stringTable|add <string"},
    {"<events><event value='1' message='$(strin.x)'/></events>", "",
     "message=\"$(strin.x)\" of <event> is not understood|"},
    {"<events><event value='1' message='$(string.x)'/></events>", "<string id='x' value='%1'/>",
     "the message of event 1 inserts %1, and its template has 0 fields|give"},
    {"<events><event value='1'/><event value='1'/></events>", "",
     "2: an event of this id and version is there twice: 1 (0x1), first in line 2|"},
    {"<events><event value='1' symbol='A'/><event value='2' symbol='A'/></events>", "",
     "the symbol of an event is there twice: \"A\""},
    {"<events><event value='1' symbol='a-b'/></events>", "", "symbol=\"a-b\" of <event> is no C name|"},
    {"<keywords><keyword name='a' mask='3'/></keywords>", "", "mask=\"0x3\" of keyword a is not one bit|"},
    {"<keywords><keyword name='a' mask='0x1000000000000'/></keywords>", "", "is one of the upper 16 bits"},
    {"<keywords><keyword name='Disk' mask='1'/></keywords><events><event value='1' keywords='Dsk'/></events>", "",
     "keywords=\"Dsk\" of <event> is not declared, did you mean Disk?|"},
    {"<levels><level name='a' value='15'/></levels>", "", "value=\"15\" of <level> is not between 16 and 255|"},
    {"<opcodes><opcode name='a' value='240'/></opcodes>", "", "is not between 10 and 239|"},
    {"<tasks><task name='t' value='1'><opcodes><opcode name='o' value='10'/></opcodes></task></tasks><events><event value='1' opcode='o'/></events>",
     "", "opcode=\"o\" of <event> is declared for the task t alone|"},
    {"<channels><channel name='c' type='Admn'/></channels>", "",
     "type=\"Admn\" of <channel> is not known|use one of Admin, Operational, Analytic, Debug"},
    {"<templates><template tid='t'><data name='a' inType='win:uint32'/></template></templates>", "",
     "inType=\"win:uint32\" of <data> is not known, did you mean win:UInt32?|"},
    {"<templates><template tid='t'><data name='a' inType='win:UInt32' outType='xs:strin'/></template></templates>", "",
     "outType=\"xs:strin\" of <data> is not known, did you mean xs:string?|"},
    {"<templates><template tid='t'><data name='a' inType='win:Binary'/></template></templates>", "",
     "the field a of win:Binary has no length|"},
    {"<templates><template tid='t'><data name='a' inType='win:UInt32' length='4'/></template></templates>", "",
     "a win:UInt32 has a size of its own|remove"},
    {"<templates><template tid='t'><data name='a' inType='win:Binary' length='b'/><data name='b' inType='win:UInt32'/></template></templates>",
     "", "length=\"b\" of the field a is no number and no field before it|"},
    {"<templates><template tid='t'><data name='b' inType='win:GUID'/><data name='a' inType='win:Int8' count='b'/></template></templates>",
     "", "count=\"b\" of the field a names a field that is no whole number|"},
    {"<templates><template tid='t'><struct name='s'/></template></templates>", "", "the struct s has no fields|"},
    {"<templates><template tid='t'><struct name='s'><struct name='u'/></struct></template></templates>", "",
     "<struct> may not stand in <struct>|"},
    {"<templates><template tid='t'><data name='a' inType='win:Int8'/><data name='a' inType='win:Int8'/></template></templates>",
     "", "the field a of template t is there twice|"},
    {"<templates><template tid='t'><data name='a' inType='win:Int64' map='m'/></template></templates><maps><valueMap name='m'><map value='1'/></valueMap></maps>",
     "", "the field a has the map m, and is a win:Int64|"},
    {"<maps><bitMap name='m'><map value='3'/></bitMap></maps>", "", "value=\"0x3\" in the bitMap m is not one bit|"},
    {"<events><event value='1' template='t'/></events><templates><template tid='T'/></templates>", "",
     "template=\"t\" of <event> is not declared, did you mean T?|"},
    {"", "<string id='a' value='x'/><string id='a' value='y'/>", "the string \"a\" of en-US is there twice"},
    {"<channels><channel name='a' type='Debug' value='20'/><channel name='b' type='Debug' value='20'/></channels>", "",
     "the value of a channel is there twice: 20"},
    {"&nbsp;", "", "this is not XML: "},
    {"<events><event value='1'></events>", "", "this is not XML: Opening and ending tag mismatch"},
};

static void every_mistake(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        struct manifest *m = read_parts(mistakes[i].provider, mistakes[i].strings, W_INVALID_DATA);
        assert_null(m);
        if (!strstr(told, mistakes[i].told))
            fail_msg("%s\nmust tell: %s\nbut told: %s", mistakes[i].provider, mistakes[i].told, told);
    }
}

static void all_in_one_run(void **state)
{
    (void)state;
    read_parts(
        "<keywords><keyword name='a' mask='3'/>\n<keyword name='b'/></keywords>\n<events><event value='1' level='win:Eror'/></events>",
        "", W_INVALID_DATA);
    assert_non_null(strstr(told, "2: mask="));
    assert_non_null(strstr(told, "3: <keyword> needs mask"));
    assert_non_null(strstr(told, "4: level="));
}

static const struct {
    const char *provider, *told;
} doubtful[] = {
    {"<channels><importChannel name='Application' chid='A'/></channels><events><event value='1' channel='A' level='win:Verbose' message='m'/></events>",
     "2 warning: event 1 with level 5 is in a predefined channel, which is for events that an administrator acts on (Application)|give"},
    {"<channels><importChannel name='System' chid='A'/></channels><events><event value='1' channel='A' level='win:Error'/></events>",
     "event 1 without a message is in a predefined channel"},
    {"<channels><importChannel name='Security' chid='A'/></channels><events><event value='1' channel='A' level='win:Error' message='m'/></events>",
     "which only Windows itself writes to"},
    {"<channels><channel name='c' chid='A' type='Admin'/></channels><events><event value='1' channel='A' message='m'/></events>",
     "event 1 with level 0 is in a channel of type Admin"},
    {"<templates><template tid='t'/></templates><events><event value='1'/></events>", "no event uses the template t|"},
    {"<templates><template tid='t'><data name='a' inType='win:GUID' outType='xs:int'/></template></templates><events><event value='1' template='t'/></events>",
     "a win:GUID is not shown as xs:int by Windows' tools|"},
    {"<events><event value='1' message='$(mc.7)'/></events>",
     "message=\"$(mc.7)\" of <event> is in no messageTable here"},
};

static void every_warning(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof doubtful / sizeof doubtful[0]; i++) {
        struct manifest *m = read_parts(doubtful[i].provider, "", W_SUCCESS);
        if (!strstr(told, doubtful[i].told))
            fail_msg("%s\nmust tell: %s\nbut told: %s", doubtful[i].provider, doubtful[i].told, told);
        manifest_free(m);
    }
    struct manifest *m = read_parts("<channels><importChannel name='Application' chid='A'/></channels>"
                                    "<events><event value='1' channel='A' level='win:Error' message='m'/></events>",
                                    "", W_SUCCESS);
    assert_string_equal(told, ""); /* valid */
    manifest_free(m);
}

static void other_grammar(void **state)
{
    (void)state;
    struct manifest *m = read_parts(
        "<namedQueries><patternMaps/></namedQueries><filters><filter name='f' value='1' tid='t'/></filters>"
        "<templates><template tid='t'><binary name='b' length='4'/><UserData>\n<E xmlns='x'><A>%1</A></E></UserData></template></templates>"
        "<events><event value='1' template='t' attributes='a=b' notLogged='true'/></events>",
        "", W_SUCCESS);
    const struct manifest_template *t = &m->providers.at[0].templates.at[0];
    assert_string_equal(t->user_data, "\n<E xmlns='x'><A>%1</A></E>");
    assert_int_equal(t->fields.at[0].in, IN_BINARY);
    assert_int_equal(t->fields.at[0].length, 4);
    assert_true(m->providers.at[0].events.at[0].not_logged);
    assert_string_equal(m->providers.at[0].events.at[0].attributes, "a=b");
    manifest_free(m);
    /* inside of an assembly, with counters, prefixes and several providers */
    static const char text[] =
        "<?xml version='1.0'?><!-- x --><asm:assembly xmlns:asm='a'><asm:identity name='x'/><instrumentation xmlns='e'><counters><p/></counters><events>"
        "<provider name='A' guid='{1db28f2e-8f80-4027-8c5a-a11f7f10f62d}'><events><event value='1' message='$(mc.5)'/></events></provider>"
        "<provider name='B' guid='{2db28f2e-8f80-4027-8c5a-a11f7f10f62d}'><events><event value='1'/></events></provider>"
        "<messageTable><message value='5' mid='5' message='$(string.five)'/></messageTable></events></instrumentation>"
        "<localization><resources culture='en-US'><stringTable><string id='five' value='Five &amp; &lt;more&gt; &#x41;'/></stringTable></resources></localization></asm:assembly>";
    m = read_text(text, sizeof text - 1, W_SUCCESS);
    assert_int_equal(m->providers.count, 2);
    assert_string_equal(manifest_text_get(m, &m->providers.at[0].events.at[0].item.message, 0), "Five & <more> A");
    manifest_free(m);
}

static void utf16(void **state)
{
    char   path[512];
    size_t size;
    (void)state;
    snprintf(path, sizeof path, AL_TEST_DIR "/shop.man");
    char *text = file_text(path, &size), *wide = malloc(2 * size + 2);
    wide[0] = (char)0xFF;
    wide[1] = (char)0xFE;
    for (size_t i = 0; i < size; i++) {
        wide[2 + 2 * i] = text[i];
        wide[3 + 2 * i] = 0;
    }
    struct manifest *m = read_text(wide, 2 * size + 2, W_SUCCESS); /* although it says encoding="UTF-8" */
    assert_int_equal(m->providers.at[0].events.count, 4);
    manifest_free(m);
    free(wide);
    free(text);
}

static void nothing_from_outside(void **state)
{
    static const char *const texts[] = {
        "<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><instrumentationManifest>&b;</instrumentationManifest>",
        "<!DOCTYPE a [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;&a;'>]><instrumentationManifest>&b;</instrumentationManifest>",
        "<!DOCTYPE a SYSTEM 'http://127.0.0.1:1/x.dtd'><instrumentationManifest/>",
    };
    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_null(read_text(texts[i], strlen(texts[i]), W_INVALID_DATA));
        assert_non_null(strstr(told, "the document has a DTD"));
    }
    assert_null(read_text("", 0, W_INVALID_DATA));
    assert_non_null(strstr(told, "the file is empty"));
    assert_null(read_text("<a/>", 4, W_INVALID_DATA));
    assert_non_null(strstr(told, "<a> is no manifest"));
    assert_null(read_text("<instrumentationManifest/>", 26, W_INVALID_DATA));
    assert_non_null(strstr(told, "the manifest has no provider"));
}

/* Cut at every byte: never a crash, and never accepted as complete. */
static void cut(void **state)
{
    char   path[512];
    size_t size;
    (void)state;
    snprintf(path, sizeof path, AL_TEST_DIR "/shop.man");
    char *text = file_text(path, &size);
    while (size && text[size - 1] == '\n')
        size--;
    for (size_t n = 0; n < size; n += 7) {
        char *exact = malloc(n + 1);
        memcpy(exact, text, n);
        assert_null(read_text(exact, n, W_INVALID_DATA));
        free(exact);
    }
    free(text);
}

/* A large manifest full of mistakes: read to its end in time proportional to its bytes, with a bounded number of
 * messages. */
static void many_mistakes(void **state)
{
    size_t size = 4 << 20;
    char  *text = malloc(size + 64);
    size_t n    = (size_t)sprintf(text, "<provider name='A' guid='{1db28f2e-8f80-4027-8c5a-a11f7f10f62d}'>");
    (void)state;
    while (n < size)
        n += (size_t)sprintf(text + n, "<evnts/>\n");
    n += (size_t)sprintf(text + n, "</provider>");
    assert_null(read_text(text, n, W_INVALID_DATA));
    unsigned lines = 0;
    for (const char *p = told; (p = strchr(p, '\n')); p++)
        lines++;
    assert_true(lines > 100 && lines <= MANIFEST_TOLD_MAX);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figure),        cmocka_unit_test(sample),         cmocka_unit_test(cultures),
        cmocka_unit_test(every_mistake), cmocka_unit_test(all_in_one_run), cmocka_unit_test(every_warning),
        cmocka_unit_test(other_grammar), cmocka_unit_test(utf16),          cmocka_unit_test(nothing_from_outside),
        cmocka_unit_test(cut),           cmocka_unit_test(many_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
