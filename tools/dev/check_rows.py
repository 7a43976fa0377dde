#!/usr/bin/env python3
"""Every row of the project's goals is named where it is proved: in a test, or in docs/DIFFERENCES.md, which says why there is no test.

Usage: check_rows.py [SOURCE_DIR] [--list]. --list prints each row with the files that name it. Exit codes: 0 fine, 1 a row is named nowhere, or
is named and still listed as open, or there is no such row, or several are named as a range.
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
    for line in wrong:
        print(line)
    print(f"{len(rows)} rows, {len(OPEN)} of them open")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
