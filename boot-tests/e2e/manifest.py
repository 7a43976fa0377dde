"""A provider by its manifest: mc, a program in C and in C++ by both compilers, a trace of it, and that trace read with the manifest, with the
program, installed, and by what the merge put into it; an event that is not as its template says; a keyword by its name.
Proves: MAN-03, MAN-04, MAN-05, MAN-09, MAN-10, MAN-11, MAN-12, MAN-14, MAN-16, MAN-17, MAN-20, MRG-05."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from harness import BUILD, SOURCE, check, skip

if os.environ.get("AL_SANITIZE") or "asan" in str(BUILD) or "tsan" in str(BUILD):
    skip("a sanitized library can't be linked to a plain program")
MANIFEST = pathlib.Path(SOURCE) / "autologger/schema/tests/shop.man"
PROGRAM = r"""
#include "shop.h"
#include <time.h>
int main(void)
{
    static const WCHAR bob[] = {'B', 'o', 'b', 0};
    static const BYTE blob[3] = {0xAA, 0xBB, 0xCC};
    static const INT64 three[3] = {1, 2, 3};
    static const struct __attribute__((packed)) { char a[3]; double x; char c[2]; double y; } items = {"ab", 1, "c", -2};
    struct timespec moment = {0, 10000000};
    ULONG failed = EventRegisterContoso_Shop();
    for (int i = 0; i < 500 && !EventEnabledOrderStart(); i++)
        nanosleep(&moment, NULL);
    failed |= EventWriteOrderStart(7, bob, 1);
    failed |= EventWriteOrderItems(2, sizeof items, &items, 3, blob, three, 3);
    failed |= EventWriteShopClosed();
    failed |= EventWrite(SHOP_Context.RegistrationHandle, &OrderStop, 0, NULL); /* no payload: not what its template says */
    failed |= EventUnregisterContoso_Shop(), 0;
    return failed != 0 || OrderStart.Id != 1 || OrderStart.Channel != SHOP_ANALYTIC || OrderItems.Version != 1 || OrderItems.Opcode != SHOP_PAY ||
           OrderItems.Level != SHOP_CHATTY || OrderStart.Task != SHOP_ORDER || OrderStart.Keyword != (SHOP_ANALYTIC_KEYWORD | SHOP_DATABASE | SHOP_KEYWORD_Network) ||
           SHOP.Data1 != 0x1db28f2e || OrderStart_value != 1;
}
""".replace("failed |= EventUnregisterContoso_Shop(), 0;", "EventUnregisterContoso_Shop();")
COMPILERS = ("gcc -std=c99 -D_GNU_SOURCE", "gcc -std=c17 -D_GNU_SOURCE", "clang -std=c99 -D_GNU_SOURCE", "clang -std=c17 -D_GNU_SOURCE", "g++ -std=c++14 -x c++",
             "clang++ -std=c++14 -x c++", "g++ -std=c++20 -x c++")
FIELDS = [{"id": 7, "customer": "Bob", "state": "open"},
          {"count": 2, "items[0].name": "ab", "items[0].price": 1, "items[1].name": "c", "items[1].price": -2, "length": 3, "blob": "aabbcc",
           "three[0]": 1, "three[1]": 2, "three[2]": 3, "rights": "read|write"}, {}]
KERNEL = os.getuid() == 0
DECLARED = """[Autologger/shop]
FileName = C:\\shop_um_premerge.etl
[Autologger/shop/Contoso-Shop]
Guid = {1db28f2e-8f80-4027-8c5a-a11f7f10f62d}
"""
LOADER = "[GlobalLogger]\nEnableKernelFlags = PROC_THREAD+LOADER\nFileName = C:\\shop_km_premerge.etl\n"


def run(work, *command, expect=0, env=None):
    done = subprocess.run([str(c) for c in command], cwd=work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                          env={**os.environ, "LANG": "C", "LC_ALL": "C", "AUTOLOGGER_PUBLISHERS": str(work / "publishers"), **(env or {})})
    check(done.returncode == expect, " ".join(map(str, command)), done.returncode, done.stdout[-3000:], done.stderr[-3000:])
    return done


def tool(work, *arguments, **how):
    return run(work, pathlib.Path(BUILD) / "autologger", *arguments, **how)


def events(work, trace, *more, env=None):
    lines = tool(work, "dump", trace, "--json", "--provider", "{1db28f2e-8f80-4027-8c5a-a11f7f10f62d}", *more, env=env).stdout.splitlines()
    return [json.loads(line) for line in lines]


def compile_all(work):
    """Compiles the program by every compiler of this machine; the last result stays."""
    made = 0
    for compiler in COMPILERS:
        if not shutil.which(compiler.split()[0]):
            continue
        flags = "-O2 -Wall -Wextra -Wshadow -Werror -I.".split() + [f"-I{SOURCE}/autologger/include"]
        parts = []
        for source in ("shop_program.c", "shop_metadata.c"):
            parts.append(source.replace(".c", ".o"))
            run(work, *compiler.split(), *flags, "-c", source, "-o", parts[-1])
        run(work, compiler.split()[0], "-Wl,--gc-sections", *parts, f"-L{BUILD}", f"-Wl,-rpath,{BUILD}", "-lautologger", "-o", "shop_program")
        made += 1
    check(made >= 1, "no compiler")
    print("compiled by", made, "of", len(COMPILERS))


def check_described(got, messages, how):
    check([e["event"] for e in got] == ["OrderStart", "OrderItems", "ShopClosed", "OrderStop"], how, got)
    check([e["fields"] for e in got[:3]] == FIELDS, how, [e["fields"] for e in got])
    check([e.get("message") for e in got[:3]] == messages, how, [e.get("message") for e in got])
    check([e["decoded"] for e in got] == ["ok", "ok", "ok", "mismatch"], how, [e["decoded"] for e in got])


def check_names(xml):
    """The manifest's own opcodes, task, level and keywords beside their numbers: by their messages, else by their names."""
    wanted = (("1", {"Level": "4", "Task": "1", "Opcode": "1"}, {"Task": "An order", "Opcode": "Start", "Keyword": ["The database", "Network"]}),
              ("3", {"Level": "16", "Task": "1", "Opcode": "20"}, {"Level": "Very much", "Task": "An order", "Opcode": "Pay", "Keyword": ["Network"]}),
              ("4", {"Level": "3", "Opcode": "30"}, {"Level": "Warning", "Opcode": "A check"}))
    for number, numbers, names in wanted:
        (event,) = [e for e in xml.split("<Event ")[1:] if f"<EventID>{number}</EventID>" in e]
        system, rendered = event.split("<RenderingInfo")
        for name, value in numbers.items():
            check(re.findall(f"<{name}>(.*?)</{name}>", system) == [value], number, name, event)
        for name, value in names.items():
            check(re.findall(f"<{name}>(.*?)</{name}>", rendered) == (value if isinstance(value, list) else [value]), number, name, event)


def check_trace(work):
    english = ["Order 7 of Bob begins.\nIt is open, 100%.", None, "The shop is closed."]
    trace = "out/c/shop_um_premerge.etl"
    got = events(work, trace)
    check(all("name" not in e["provider"] for e in got) and [e["decoded"] for e in got] == ["unknown", "unknown", "ok", "ok"], "by nothing", got)
    check_described(events(work, trace, "--manifest", MANIFEST), english, "by the manifest")
    check_described(events(work, trace, "--manifest", "shop_program"), english, "by the program")
    german = events(work, trace, "--manifest", "shop_program", "--culture", "de-AT")
    check(german[0]["message"] == "Bestellung 7 von Bob beginnt." and german[0]["fields"]["state"] == "offen", german[0])
    check(events(work, trace, "--manifest", MANIFEST, env={"LC_ALL": "de_DE.UTF-8"}) == german, "culture by locale")
    for more, culture in (("de-AT", "de-DE"), ("fr", "en-US")):  # XML names the culture of its words
        xml = tool(work, "dump", "--format", "xml", trace, "--manifest", MANIFEST, "--culture", more).stdout
        told = {line.split('"')[1] for line in xml.splitlines() if "<RenderingInfo Culture=" in line}
        check(culture in told and told <= {culture, "en-US"}, "cultures in XML:", told)
    check_names(tool(work, "dump", "--format", "xml", trace, "--manifest", MANIFEST).stdout)
    tool(work, "manifest", "install", "--store", "store.db", MANIFEST)
    check_described(events(work, trace), english, "installed")
    by_name = tool(work, "dump", trace, "--provider", "Contoso-Shop").stdout.splitlines()
    check(len(by_name) == 4, by_name)
    tool(work, "merge", "-o", "merged.etl", trace)
    again = json.loads(tool(work, "merge", "-o", "again.etl", "merged.etl", "--json").stdout)["metadata"]
    check(again["had"] == 4 and again["described"] == 0, again)
    tool(work, "manifest", "uninstall", "--store", "store.db", "Contoso-Shop")
    check(events(work, trace)[0]["decoded"] == "unknown", "uninstalled")
    check_described(events(work, "merged.etl"), english, "embedded")
    check_described(events(work, "again.etl"), english, "embedded, merged again")


def check_images(work):
    """The kernel recorded which programs ran: the merge found the manifest in ours, and the file can be read where nothing is installed."""
    if not KERNEL:
        print("no kernel events: not root")
        return
    os.remove(work / "shop_program")
    check_described(events(work, "out/c/shop.etl"), ["Order 7 of Bob begins.\nIt is open, 100%.", None, "The shop is closed."], "by the program's section, gone since")


def check_keyword(work):
    """A session that enables one keyword, by its name."""
    tool(work, "manifest", "install", "--store", "store.db", MANIFEST)
    (work / "k.ini").write_text("[Autologger/shop]\n[Autologger/shop/Contoso-Shop]\nMatchAnyKeyword = Database\n", encoding="utf-8")
    tool(work, "import", "--store", "store.db", "k.ini")
    shown = tool(work, "export", "--store", "store.db").stdout
    check("{1db28f2e-8f80-4027-8c5a-a11f7f10f62d}" in shown and "hex(b):01,00,00,00,00,00,00,00" in shown, shown)
    (work / "n.ini").write_text("[Autologger/shop]\nFileName = C:\\k.etl\n[Autologger/shop/Contoso-Shop]\nGuid = {1db28f2e-8f80-4027-8c5a-a11f7f10f62d}\nMatchAnyKeyword = 0x1\n", encoding="utf-8")
    tool(work, "rehearse", "n.ini", "--run", "./shop_program", "--out", "out2", "--keep-premerge")
    got = events(work, "out2/c/k.etl")
    check([e["id"] for e in got] == [1], got)


def main():
    with tempfile.TemporaryDirectory(prefix="al-manifest-") as folder:
        work = pathlib.Path(folder)
        (work / "shop_program.c").write_text(PROGRAM, encoding="utf-8")
        (work / "a.ini").write_text((LOADER if KERNEL else "") + DECLARED, encoding="utf-8")
        tool(work, "mc", MANIFEST)
        compile_all(work)
        tool(work, "rehearse", "a.ini", "--run", "./shop_program", "--out", "out", "--keep-premerge")
        check_keyword(work)
        tool(work, "manifest", "uninstall", "--store", "store.db", "Contoso-Shop")
        check_trace(work)
        check_images(work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
