#!/usr/bin/env python3
"""The checks of the project's rules find what they are there to find. Proves: the rules of docs/ARCHITECTURE.md are held.

Usage: test_rules.py, with AL_SOURCE_DIR set. Exit codes: 0 passed, 1 failed.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["AL_SOURCE_DIR"])
os.environ.pop("AL_BINARY_DIR", None)  # the trees of these tests have no libraries


def run(rule, folder):
    done = subprocess.run([sys.executable, str(SOURCE / "tools/dev" / f"check_{rule}.py"), str(folder)], capture_output=True,
                          text=True, check=False)
    return done.returncode, done.stdout


class Rules(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="al-rules-"))
        (self.folder / "docs").mkdir()
        shutil.copy(SOURCE / "docs/ARCHITECTURE.md", self.folder / "docs/ARCHITECTURE.md")

    def tearDown(self):
        shutil.rmtree(self.folder)

    def put(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def test_layers(self):
        self.put("autologger/etl/reader.h", "")
        self.put("autologger/ring/stream.h", "")
        self.put("autologger/etl/tests/seed.h", "")
        rows = [
            ("autologger/consumer/a.c", '#include "autologger/etl/reader.h"\n', 0),
            ("autologger/ring/a.c", '#include "autologger/etl/reader.h"\n', 1),
            ("registry-sim/base/a.c", '#include "autologger/ring/stream.h"\n', 1),
            ("autologger/etl/a.c", '#include "autologger/etl/tests/seed.h"\n', 1),
            ("autologger/etl/a.c", '#include "reader.h"\n', 1),
            ("autologger/include/evntprov.h", '#include "autologger/etl/reader.h"\n', 1),
            ("autologger/plan/a.c", "#include <sqlite3.h>\n", 1),
            ("registry-sim/store/a.c", "#include <sqlite3.h>\n", 0),
            ("somewhere/a.c", "#include <stdio.h>\n", 1),
        ]
        for name, text, wanted in rows:
            self.put(name, text)
            code, out = run("layers", self.folder)
            self.assertEqual(code, wanted, f"{name}: {text}{out}")
            (self.folder / name).unlink()

    def test_lengths(self):
        for body, wanted in ((95, 0), (99, 1)):
            self.put("a.c", "int f(void)\n{\n" + "    ;\n" * body + "}\n")
            code, out = run("lengths", self.folder)
            self.assertEqual(code, wanted, out)
        self.put("a.c", "int f(void)\n{\n}\n" + "\n" * 1000)
        self.assertEqual(run("lengths", self.folder)[0], 1)

    def test_names(self):
        rows = [
            ("static int take(void)\n{\n}\n", 1),
            ("int take(void)\n{\n}\n", 0),
            ("static const struct x { int a; } take[] = {{1}};\n", 1),
            ("static unsigned take[3];\n", 1),
            ("struct walk {\n};\n", 1),
            ("struct walk;\nvoid f(struct walk *walk);\n", 0),
            ("/* static int take(void) */\n", 0),
        ]
        self.put("tools/a.c", "static __attribute__((noinline)) int take(int a)\n{\n    return a;\n}\nstruct walk { int a; };\n")
        for text, wanted in rows:
            self.put("tools/b.c", text)
            code, out = run("names", self.folder)
            self.assertEqual(code, wanted, f"{text}{out}")

    def test_format(self):
        shutil.copy(SOURCE / ".clang-format", self.folder / ".clang-format")
        for text, wanted in (("int take(void) { return 1; }\n", 0), ("int take( void ) { return 1; }\n", 1)):
            self.put("tools/a.c", text)
            code, out = run("format", self.folder)
            if code == 77:
                self.skipTest(out)
            self.assertEqual((code, "tools/a.c:1:" in out), (wanted, bool(wanted)), out)

    def test_docs(self):
        self.put("tools/base/verbs.def", 'V(stop, RUNNING, "stop")\n')
        self.put("docs/ARCHITECTURE.md", "")
        code, out = run("docs", self.folder)
        self.assertEqual(code, 1)
        for part in ("tools/verbs/cmd_stop.c", "autologger-stop.1", "stop-*.case"):
            self.assertIn(part, out)
        self.put("tools/verbs/cmd_stop.c", "")
        self.put("docs/man/autologger.1", ".BR autologger-stop (1)\n")
        self.put("docs/man/autologger-stop.1", ".SH NAME\n.SH SYNOPSIS\n.SH EXAMPLE\n.SH EXIT STATUS\n")
        self.put("tools/tests/cases/stop-x.case", "")
        self.assertEqual(run("docs", self.folder)[0], 0, run("docs", self.folder)[1])
        self.put("docs/ARCHITECTURE.md", "`tools/gone.c` and [that](there.md)")
        code, out = run("docs", self.folder)
        self.assertEqual((code, "tools/gone.c" in out, "there.md" in out), (1, True, True))
        self.put("docs/ARCHITECTURE.md", "[parts](architecture/PARTS.md)")
        self.put("docs/architecture/PARTS.md", "`tools/lost.c`")
        code, out = run("docs", self.folder)
        self.assertEqual((code, "tools/lost.c" in out, "tools/gone.c" in out), (1, True, False))

    def test_symbols(self):
        """D-43: a package's promised symbols equal its library's exports, in both directions."""
        self.put("debian/changelog", "autologger (0.2.0-1) unstable; urgency=medium\n")
        for name in ("provider/autologger", "consumer/autologger-trace"):
            self.put(f"autologger/{name}.map", "NODE_0 { global: /* new */ One; Two;\nlocal: *; };\n")
        self.put("debian/libautologger-trace0.symbols", "x\n NODE_0@NODE_0 0.1.0\n One@NODE_0 0.1.0\n Two@NODE_0 0.1.0\n")
        self.put("debian/libautologger0.symbols", "x\n NODE_0@NODE_0 0.1.0\n One@NODE_0 0.1.0\n Gone@NODE_0 0.1.0\n")
        code, out = run("symbols", self.folder)
        self.assertEqual((code, len(out.splitlines())), (1, 2), out)
        self.assertIn("libautologger0.symbols: Two@NODE_0 is missing", out)
        self.assertIn("libautologger0.symbols: Gone@NODE_0 is not exported", out)
        subprocess.run([sys.executable, str(SOURCE / "tools/dev/check_symbols.py"), str(self.folder), "--write"], check=True)
        self.assertEqual(run("symbols", self.folder), (0, ""))
        text = (self.folder / "debian/libautologger0.symbols").read_text(encoding="utf-8")
        self.assertEqual(text.splitlines()[2:], [" NODE_0@NODE_0 0.1.0", " One@NODE_0 0.1.0", " Two@NODE_0 0.2.0"])

    def test_rows(self):
        self.put("autologger/x/tests/test_x.c", "/* Proves: " + ", ".join(f"ANA-{n:02}" for n in range(1, 13)) + ". */")
        code, out = run("rows", self.folder)
        self.assertEqual(code, 1)
        self.assertIn("ANA-13: neither", out)
        self.assertNotIn("ANA-12", out)
        self.put("docs/DIFFERENCES.md", "| there is none <!-- ANA-13 --> |")
        self.put("boot-tests/e2e/y.py", '"""Proves: ANA-99."""')
        self.put("boot-tests/CMakeLists.txt", "al_e2e(y live 90)\n")
        self.put("tools/x.c", "/* SES-01: not a test */")
        code, out = run("rows", self.folder)
        self.assertEqual((code, any(f"ANA-{n:02}" in out for n in range(1, 14))), (1, False), out)
        for part in ("no row ANA-99", "SES-01: neither"):
            self.assertIn(part, out)

    def test_rows_have_commands(self):
        """The words of the rows: each has three cells, a verb that exists and its options; the page is made of them."""
        self.put("docs/man/autologger-dump.1", ".B \\-\\-format\n")
        rows = [
            ("ANA-01\tYou find events\tautologger dump --format xml", []),
            ("ANA-01\tYou find events\tautologger dump --shape xml", ["ANA-01: autologger-dump.1 has no option --shape"]),
            ("ANA-01\tYou find events\tls; autologger dumb boot.etl", ["ANA-01: there is no verb dumb"]),
            ("ANA-01\tYou find events\tautologger dump --run 'x --shape y'", ["no option --run"]),
            ("ANA-01\tYou find events", ["a tab between them"]),
            ("ANA-01\ta\tls\nANA-01\tb\tls", ["ANA-01 is no row, or stands there twice"]),
            ("ANA-99\ta\tls", ["ANA-99 is no row"]),
        ]
        for text, wanted in rows:
            self.put("docs/reference/rows.tsv", text + "\n")
            code, out = run("rows", self.folder)
            found = [line for line in out.splitlines() if "rows.tsv" in line and "is missing" not in line]
            self.assertEqual((code, len(found)), (1, len(wanted)), f"{text}: {out}")
            for part in wanted:
                self.assertIn(part, found[0])
            self.assertIn("ANA-02 is missing", out)
            self.assertIn("--page", out)  # the page is not there

    def test_rows_are_named_by_tests_that_run(self):
        """D-52: only tests of the CI tier prove rows, this file proves none either; several rows in one name are a mistake."""
        rows = [
            ("tools/tests/test_rules.py", "SES-01", False),
            ("autologger/x/tests/bench_x.c", "SES-01", False),
            ("autologger/x/tests/x.h", "SES-01", False),
            ("autologger/x/tests/foreign_x.c", "SES-01", False),
            ("tools/tests/cases/foreign-x.case", "Proves: SES-01", False),
            ("boot-tests/e2e/not_registered.py", "SES-01", False),
            ("boot-tests/scenarios/x/scenario.ini", "tier = full\nproves = SES-01", False),
            ("boot-tests/scenarios/x/scenario.ini", "tier   = ci\nproves = SES-01", True),
            ("autologger/x/tests/live_x.c", "SES-01", True),
            ("tools/tests/cases/x.case", "Proves: SES-01", True),
        ]
        for name, text, counts in rows:
            self.put(name, text)
            code, out = run("rows", self.folder)
            self.assertEqual("SES-01: neither" not in out, counts, f"{name}: {out}")
            (self.folder / name).unlink()
        self.put("tools/tests/cases/x.case", "Proves: SES-" + "01..03")
        code, out = run("rows", self.folder)
        self.assertIn("is a range", out)
        self.assertIn("SES-02: neither", out)

    def test_order(self):
        """D-70: two reads of one cursor where C leaves their order open are found, and no others."""
        head = "uint32_t cur_u32(struct cursor *c);\nuint32_t peek(const struct cursor *c);\n"
        rows = [
            ("struct s s = {.next = cur_u32(&c), .previous = cur_u32(&c)};", 1),
            ("s = (struct s){cur_u32(c), {cur_u32(c)}};", 1),
            ("f(cur_u32(&c), x, cur_u32(&c));", 1),
            ("x = cur_u32(&c) | (uint64_t)cur_u32(&c) << 32;", 1),
            ("a[cur_u8(&c)] = cur_u16(&c);", 1),
            ("g(r->at.c, take(&p), take(&p));", 1),
            ("uint32_t pid = cur_u32(&c), tid = cur_u32(&c);", 0),
            ("struct s s = {.next = cur_u32(&c), .previous = cur_u32(&d)};", 0),
            ("f(cur_u32(&c), peek(&c), peek(&c));", 0),
            ("x = cur_u32(&c) ? cur_u32(&c) : cur_u16(&c);", 0),
            ("if (cur_u32(&c) == 1 && cur_u32(&c) == 2)\n        return cur_u32(&c);", 0),
            ("for (n = cur_u32(&c); n; n = cur_u32(&c))\n        x = cur_u32(&c);", 0),
            ("(cur_u32(&c), cur_u32(&c)); /* f(cur_u32(&c), cur_u32(&c)) */", 0),
            ("cur_take(&c, cur_u32(&c));", 0),
            ('f("cur_u32(&c), cur_u32(&c)");', 0),
        ]
        self.put("a.h", head + "const void *cur_take(struct cursor *c, size_t n);\n")
        for text, wanted in rows:
            self.put("a.c", "static int take(const uint8_t **at)\n{\n    return *(*at)++;\n}\nint h(void)\n{\n    %s\n}\n" % text)
            code, out = run("order", self.folder)
            self.assertEqual((code, "a.c:7:" in out), (wanted, wanted == 1), text + out)

    def test_visible(self):
        rows = [
            ("autologger/daemon/a.c", 'visible_line(stderr, "autologgerd: %s", name);', 0),
            ("autologger/daemon/a.c", 'fprintf(stderr, "autologgerd: %s\\n", name);', 1),
            ("autologger/control/a.c", 'fputs(name, stderr);', 1),
            ("registry-sim/store/a.c", 'perror(name);', 1),
            ("autologger/daemon/a.c", 'fprintf(f, "%s\\n", name);', 0),
            ("tools/view/a.c", 'visible_printf(stdout, "%s\\n", name);', 0),
            ("tools/view/a.c", 'printf("%s\\n", name);', 1),
            ("tools/view/a.c", 'fprintf(to, "%" PRIu64\n            " of %-*.*s\\n", n, 1, 2, name);', 1),
            ("tools/view/a.c", 'printf("%u of %u, 100 %%\\n", a, b);', 0),
            ("tools/view/a.c", 'printf("%s", ours); /* visible: ours */', 0),
            ("tools/view/a.c", 'puts(name);', 1),
            ("tools/view/a.c", 'puts("a literal");', 0),
            ("tools/view/a.c", 'fwrite(text, 1, size, stdout);', 1),
            ("tools/view/a.c", 'fwrite(text, 1, size, file);', 0),
            ("tools/view/a.c", 'visible_printf(stdout, "%s%s", first ? "\\n" : "", name);', 1),
            ("tools/view/a.c", 'text_table_line(&t, "%s", "a\\nb");', 1),
            ("tools/bench/bench_a.c", 'printf("%s", name);', 0),
            ("autologger/report/boot_text.c", 'fprintf(out, "%s", name);', 1),
        ]
        for name, text, wanted in rows:
            self.put(name, "void f(void)\n{\n    %s\n}\n" % text)
            self.put("tools/none.c", "")
            code, out = run("visible", self.folder)
            self.assertEqual((code, f"{name}:3:" in out), (wanted, wanted == 1), text + out)
            (self.folder / name).unlink()

    def test_hooks(self):
        table = "HOOK(DISK_READ, 0x010A)\nHOOK(THREAD_CSWITCH, 0x0524)\n"
        rows = [
            (table, "int a = HOOK_DISK_READ; /* 0x010A */\n", 0),
            (table, "int a = 0x010a;\n", 1),
            (table, 'const char *a = "0x0524";\n', 0),
            (table, "struct guid g = {0x9e814aad, 0x0524, 0x11d2, {0x9a}};\n", 0),
            (table, "K(0x0524, 2, 255, NULL)\n", 1),
            (table + "HOOK(THREAD_AGAIN, 0x0524)\n", "", 1),
        ]
        for text, source, wanted in rows:
            self.put("autologger/wire/hooks.def", text)
            self.put("autologger/kernel/a.c", source)
            code, out = run("hooks", self.folder)
            self.assertEqual(code, wanted, source + out)


class Chart(unittest.TestCase):
    def test_the_chart_is_of_its_data(self):
        with tempfile.TemporaryDirectory(prefix="al-chart-") as folder:
            made = pathlib.Path(folder) / "chart.svg"
            data = SOURCE / "docs/speed/sort-runs.json"
            subprocess.run([sys.executable, str(SOURCE / "tools/dev/sort_chart.py"), str(data), str(made)], check=True)
            self.assertEqual(made.read_text(encoding="utf-8"), (SOURCE / "docs/speed/sort-runs.svg").read_text(encoding="utf-8"))
            self.assertEqual(made.read_text(encoding="utf-8").count("<circle"), 80)


if __name__ == "__main__":
    unittest.main()
