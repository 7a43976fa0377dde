#!/usr/bin/env python3
"""Functions stay short: over 100 lines is an error, over 60 is reported; files: over 1000 is an error, over 600 reported.

Usage: check_lengths.py [SOURCE_DIR]. Exit codes: 0 fine, 1 something is over a hard limit.
A function starts with "{" in the first column (or a line in the first column that ends in ") {") and ends with "}" in the first column; test programs
are measured too.
"""
import pathlib
import subprocess
import sys

FUNCTION_SOFT, FUNCTION_HARD = 60, 100
FILE_SOFT, FILE_HARD = 600, 1000
SUFFIXES = {".c", ".h", ".cpp", ".py"}


def sources(root):
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    if listed.returncode == 0:
        names = [root / name for name in listed.stdout.split("\n") if name]
    else:
        names = [p for p in root.rglob("*") if "build" not in p.relative_to(root).parts]
    return sorted(p for p in set(names) if p.suffix in SUFFIXES and p.is_file())


def functions(lines):
    """(first line, name, length) of every function in C text."""
    found, start, name = [], None, ""
    for number, line in enumerate(lines, 1):
        opens = line.rstrip() == "{" or (line[:1] not in ("", " ", "\t", "#", "/", "*", "}") and line.rstrip().endswith(") {"))
        if start is None and opens:
            head = line if line.rstrip() != "{" else ""
            back = number - 2
            while back >= 0 and "(" not in head and lines[back].strip() and not lines[back].startswith(("}", "#")):
                head, back = lines[back] + " " + head, back - 1
            if "(" not in head:
                continue  # a table or a struct
            start, name = back + 2 if line.rstrip() == "{" else number, head.split("(")[0].split()[-1].lstrip("*")
        elif start is not None and line.startswith("}"):
            found.append((start, name, number - start + 1))
            start = None
    return found


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
    hard = soft = measured = 0
    for path in sources(root):
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        name, length = path.relative_to(root), len(lines)
        rows = [(1, str(name), length, FILE_SOFT, FILE_HARD, "file")]
        if path.suffix != ".py":
            rows += [(at, f, n, FUNCTION_SOFT, FUNCTION_HARD, "function") for at, f, n in functions(lines)]
        measured += len(rows) - 1
        for at, what, size, soft_limit, hard_limit, kind in rows:
            if size > hard_limit:
                hard += 1
                print(f"{name}:{at}: {kind} {what} has {size} lines, at most {hard_limit}. Do: split it by what its parts do.")
            elif size > soft_limit:
                soft += 1
                print(f"{name}:{at}: note: {kind} {what} has {size} lines (aim: {soft_limit})")
    print(f"check_lengths: {measured} functions, {soft} over the aim, {hard} over the limit")
    return 1 if hard or not measured else 0


if __name__ == "__main__":
    sys.exit(main())
