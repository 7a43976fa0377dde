#!/usr/bin/env python3
"""Every row of the project's goals is named where it is proved: in a test, or in docs/DIFFERENCES.md, which says why there is no test. The page
docs/reference/rows.md shows each row with what a user gets, the command that shows it, and its tests; docs/reference/rows.tsv has the words.

Usage: check_rows.py [SOURCE_DIR] [--list | --page]. --list prints each row with the files that name it. --page writes the page. Exit codes: 0
fine, 1 a row is named nowhere, or is named and still listed as open, or there is no such row, or several are named as a range; the page is not
what the tests and the words make; a command of the words has a verb or an option that no man page has.
A row is a group's letters and a number, ANA-08; each is named by itself. Tests name rows in their head comment, DIFFERENCES.md in comments that its
readers do not see. Only tests of the CI tier count: no benches, no tests of foreign files, no helpers, not this rule's own test.
"""
import pathlib
import re
import subprocess
import sys

# How many rows each group has.
GROUPS = {"ANA": 13, "API": 30, "CON": 23, "COR": 24, "CTL": 24, "ENB": 15, "KRN": 24, "LEG": 13, "LGT": 13, "MAN": 21, "MRG": 12, "REG": 27,
          "SEC": 12, "SES": 25, "SPC": 11, "TLG": 19}
# Open: without a proof, or without a complete one. A test that proves a row removes it from here.
OPEN = {
}
ROW = re.compile(r"\b([A-Z]{3})-(\d{2})(\.\.(?:[A-Z]{3}-)?\d{2})?\b")
C_TEST = re.compile(r"/tests/(test|case|golden|fault|live|stress)_\w+\.c$")
OWN_TEST = "tools/tests/test_rules.py"


def files(root):
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    names = listed.stdout.split("\n") if listed.returncode == 0 else [str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()]
    return sorted(n for n in set(names) if n and (root / n).is_file())


def text_of(root, name):
    return (root / name).read_text(encoding="utf-8", errors="replace")


def proves(root, name, registered):
    """Is it the page of differences, or a test of the CI tier?"""
    path = pathlib.PurePath(name)
    if name == "docs/DIFFERENCES.md":
        return True
    if name == OWN_TEST or path.name.startswith("foreign"):
        return False
    if path.suffix == ".case" or C_TEST.search("/" + name):
        return True
    if path.name == "scenario.ini":
        return re.search(r"^tier *= *ci", text_of(root, name), re.M) is not None
    if name.startswith("boot-tests/e2e/"):
        return f"al_e2e({path.stem} " in registered
    # other programs: only those that a CMakeLists.txt names
    return ("/tests/" in name and path.suffix == ".py" or name.startswith("boot-tests/") and not path.suffix) and path.name in registered


def named(root):
    """Row -> the files that name it; and names that look like a row but are none."""
    where, strange, every = {}, [], files(root)
    registered = "\n".join(text_of(root, name) for name in every if pathlib.PurePath(name).name == "CMakeLists.txt")
    for name in every:
        if not proves(root, name, registered):
            continue
        for m in ROW.finditer(text_of(root, name)):
            row = f"{m[1]}-{m[2]}"
            if m[1] not in GROUPS:
                continue
            if m[3]:
                strange.append(f"{name}: {m[0]} is a range. Do: name each row that this test proves")
            elif not 1 <= int(m[2]) <= GROUPS[m[1]]:
                strange.append(f"{name}: there is no row {row}")
            else:
                where.setdefault(row, []).append(name)
    return where, strange


WORDS, PAGE = "docs/reference/rows.tsv", "docs/reference/rows.md"
HEAD = """# Each feature, its command and its tests

This page is generated: `tools/dev/check_rows.py --page`. Words and commands are in [rows.tsv](rows.tsv); a test checks that the page fits them,
and that each verb and option exists. A row whose only place is DIFFERENCES behaves as that page says.
"""
TITLES = {"ANA": "Analysis", "API": "Programs", "CON": "Consumers", "COR": "Recording", "CTL": "Control", "ENB": "Enabling providers", "KRN": "Kernel events",
          "LEG": "Older kinds of providers", "LGT": "Logs and buffers", "MAN": "Manifests", "MRG": "Merging", "REG": "Declarations", "SEC": "Security",
          "SES": "Sessions", "SPC": "Special uses", "TLG": "TraceLogging"}


def command_mistakes(root, row, command):
    """The verbs and options of autologger's commands in a line are those of their man pages."""
    wrong = []
    for part in re.split(r"[;|]|&&", re.sub(r"'[^']*'", "''", command)):
        m = re.match(r"\s*autologger ([a-z-]+)(.*)", part)
        if not m or m[1] == "windows":
            continue
        manual = root / "docs/man" / f"autologger-{m[1]}.1"
        if not manual.is_file():
            wrong.append(f"{WORDS}: {row}: there is no verb {m[1]}")
            continue
        text = manual.read_text(encoding="utf-8").replace("\\-", "-")
        wrong += [f"{WORDS}: {row}: {manual.name} has no option {option}" for option in re.findall(r"(?<!\w)--[a-z][a-z-]+", m[2]) if option not in text]
    return wrong


def rows_page(root, rows, where):
    """The text of the page, and what is wrong with its words."""
    words, wrong, lines = {}, [], [HEAD]
    for number, line in enumerate(text_of(root, WORDS).splitlines(), 1):
        cells = line.split("\t")
        if len(cells) != 3 or not all(cells):
            wrong.append(f"{WORDS}:{number}: a line has a row, what it gives and its command, with a tab between them")
        elif cells[0] not in rows or cells[0] in words:
            wrong.append(f"{WORDS}:{number}: {cells[0]} is no row, or stands there twice")
        else:
            words[cells[0]] = cells[1:]
            wrong += command_mistakes(root, cells[0], cells[2])
    wrong += [f"{WORDS}: {row} is missing" for row in rows if row not in words]
    for row in rows:
        what, command = words.get(row, ("", ""))
        if row.endswith("-01"):
            lines.append(f"## {TITLES[row[:3]]}\n\n| row | what it gives | the command | tests |\n|---|---|---|---|")
        tests = sorted(set(where.get(row, [])))
        shown = ", ".join(f"[{pathlib.PurePath(t).stem if not t.endswith('scenario.ini') else pathlib.PurePath(t).parent.name}](../../{t})" for t in tests[:3])
        more = f" and {len(tests) - 3} more" if len(tests) > 3 else ""
        escaped = command.replace("|", "\\|")
        lines.append(f"| {row} | {what} | `{escaped}` | {shown}{more} |" + ("\n" if row[4:] == f"{GROUPS[row[:3]]:02}" else ""))
    return "\n".join(lines).rstrip("\n") + "\n", wrong


def main():
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    root = pathlib.Path(words[0] if words else ".").resolve()
    where, wrong = named(root)
    rows = [f"{group}-{n:02}" for group, count in GROUPS.items() for n in range(1, count + 1)]
    for row in rows:
        if row not in where and row not in OPEN:
            wrong.append(f"{row}: neither a test nor docs/DIFFERENCES.md names it")
        if row in where and row in OPEN:
            wrong.append(f"{row}: {where[row][0]} names it; take it off the open rows in tools/dev/check_rows.py")
        if "--list" in sys.argv:
            print(row, " ".join(sorted(set(where.get(row, [f"open: {OPEN.get(row, 'nothing')}"])))))
    if (root / WORDS).is_file():
        page, mistakes = rows_page(root, rows, where)
        wrong += mistakes
        if "--page" in sys.argv:
            (root / PAGE).write_text(page, encoding="utf-8")
        elif not (root / PAGE).is_file() or text_of(root, PAGE) != page:
            wrong.append(f"{PAGE} is not what it should be. Do: tools/dev/check_rows.py . --page")
    for line in wrong:
        print(line)
    print(f"{len(rows)} rows, {len(OPEN)} of them open")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
