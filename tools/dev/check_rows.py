#!/usr/bin/env python3
"""Every row of what the project set out to do is named where it is proved: by a test, or by docs/DIFFERENCES.md, which says why there is none.

Usage: check_rows.py [SOURCE_DIR] [--list]. --list prints each row with the files that name it. Exit codes: 0 fine, 1 a row is named nowhere, or
is named and still listed as open, or there is no such row.
A row is a group's letters and a number, ANA-08; A-01..03 names three. In tests they stand in the head comment, in DIFFERENCES.md in comments
that a reader of the page does not see.
"""
import pathlib
import re
import subprocess
import sys

# How many rows each group has.
GROUPS = {"ANA": 13, "API": 30, "CON": 23, "COR": 24, "CTL": 24, "ENB": 15, "KRN": 24, "LEG": 13, "LGT": 13, "MAN": 21, "MRG": 12, "REG": 27,
          "SEC": 12, "SES": 25, "SPC": 11, "TLG": 19}
# Not yet: nothing proves them. Whoever does takes them off.
OPEN = {
    "LEG-01": "macros of messages in the manner of printf, with their texts in a file beside",
    "CTL-21": "a set that collects counters as well as events and configuration",
    "CTL-22": "a window to set sessions up",
    "SPC-02": "heap and locks of a process, in a session of its own",
}
ROW = re.compile(r"\b([A-Z]{3})-(\d{2})(?:\.\.(?:[A-Z]{3}-)?(\d{2}))?\b")


def files(root):
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    names = listed.stdout.split("\n") if listed.returncode == 0 else [str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()]
    for name in sorted(n for n in set(names) if n):
        proves = "/tests/" in name or name.startswith("boot-tests/") or name == "docs/DIFFERENCES.md"
        if proves and pathlib.Path(name).suffix in (".c", ".cpp", ".py", ".case", ".sh", ".md", ".txt", ".h", "") and (root / name).is_file():
            yield name


def named(root):
    """Row -> the files that name it; and what looks like a row and is none."""
    where, strange = {}, []
    for name in files(root):
        for m in ROW.finditer((root / name).read_text(encoding="utf-8", errors="replace")):
            group, first, last = m[1], int(m[2]), int(m[3] or m[2])
            if group not in GROUPS:
                continue
            for number in range(first, last + 1):
                row = f"{group}-{number:02}"
                if not 1 <= number <= GROUPS[group]:
                    strange.append(f"{name}: there is no row {row}")
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
