#!/usr/bin/env python3
"""A kernel event's number stands in one table, autologger/wire/hooks.def: all other files say HOOK_NAME.

Usage: check_hooks.py [SOURCE_DIR]. Exit codes: 0 fine, 1 a number stands elsewhere, twice in the table, or out of order.
Tests and the programs of tools/dev have numbers of their own, so that a wrong one of the table is noticed. Comments and texts may name a number.
Numbers below 0x0100 are too common to search for.
"""
import pathlib
import re
import subprocess
import sys

TABLE = "autologger/wire/hooks.def"
ROW = re.compile(r"^HOOK\((\w+), 0x([0-9A-F]{4})\)$", re.M)
NOISE = re.compile(r"/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.S)
GUID = re.compile(r"0x[0-9a-fA-F]{8}, 0x[0-9a-fA-F]{4}, 0x[0-9a-fA-F]{4}")
NUMBER = re.compile(r"(?<!\w)0x([0-9A-Fa-f]{4})(?!\w)")
LOOKED = re.compile(r"^(autologger|tools)/.*\.(c|h|def)$")
# flags with values of their own, and the headers with Windows' names
NOT = re.compile(r"/tests/|/bench/|^tools/dev/|^autologger/include/|^autologger/schema/schema\.h$|/hooks\.def$|\.bpf\.c$")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    rows = ROW.findall((root / TABLE).read_text(encoding="utf-8"))
    numbers = [int(n, 16) for _, n in rows]
    problems = []
    if numbers != sorted(set(numbers)) or len({name for name, _ in rows}) != len(rows):
        problems.append(f"{TABLE}: a number or a name stands twice, or the numbers do not rise")
    wanted = {n: name for (name, _), n in zip(rows, numbers) if n >= 0x100}
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    names = listed.stdout.split("\n") if listed.returncode == 0 else [str(p.relative_to(root)) for p in root.rglob("*")]
    looked = sorted(n for n in set(names) if LOOKED.match(n) and not NOT.search(n) and (root / n).is_file())
    for name in looked:
        text = NOISE.sub(lambda m: "\n" * m.group().count("\n"), (root / name).read_text(encoding="utf-8"))
        for at, line in enumerate(text.split("\n"), 1):
            for m in NUMBER.finditer(GUID.sub("", line)):
                if int(m.group(1), 16) in wanted:
                    problems.append(f"{name}:{at}: {m.group()} is HOOK_{wanted[int(m.group(1), 16)]}")
    print("\n".join(problems) or f"{len(rows)} numbers stand in {TABLE}, and in none of {len(looked)} other files")
    return 1 if problems or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
