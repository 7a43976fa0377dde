#!/usr/bin/env python3
"""A name belongs to one file: static functions, static variables and struct tags of production code that two files define are errors.

Usage: check_names.py [SOURCE_DIR]. Exit codes: 0 fine, 1 two files define the same name.
Tests, boot-tests, tools/writers and BPF programs are left out: they are linked one by one, or exchanged for each other. So are
structs that a header declares without defining them (opaque types with one owner). Only definitions in the first column count.
"""
import collections
import pathlib
import re
import subprocess
import sys

APART = ("boot-tests/", "build/", "docs/", "tools/writers/")  # programs, and libraries that replace each other
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|#[^\n]*(?:\\\n[^\n]*)*', re.S)
ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|_Alignas\([^()]*\)")
FUNCTION = re.compile(r"^static\b[^;={}()]*?\b(\w+)\s*\(", re.M)
VARIABLE = re.compile(r"^static\b[^;(={}]*?\b(\w+)\s*(?:\[[^\]]*\]\s*)*(?:=|;)", re.M)
STRUCT_VARIABLE = re.compile(r"^static\s+(?:const\s+)?(?:struct|union|enum)\s*\w*\s*\{.*?\}\s*(?:const\s+)?\**(\w+)\s*(?:\[[^\]]*\]\s*)*(?:=|;)", re.M | re.S)
TAG = re.compile(r"^(?:static\s+(?:const\s+)?)?(?:struct|union|enum)\s+(\w+)\s*\{", re.M)


def sources(root):
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=False)
    names = listed.stdout.split("\n") if listed.returncode == 0 else [str(p.relative_to(root)) for p in root.rglob("*")]
    for name in sorted(set(names)):
        if name.endswith((".c", ".h")) and not name.endswith(".bpf.c") and "/tests/" not in name and not name.startswith(APART):
            if (root / name).is_file():
                yield name


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
    statics, tags, files = collections.defaultdict(set), collections.defaultdict(set), 0
    for name in sources(root):
        files += 1
        text = (root / name).read_text(encoding="utf-8", errors="replace")
        text = ATTRIBUTE.sub("", COMMENT.sub(lambda m: "\n" * m[0].count("\n"), text))
        for pattern in (FUNCTION, VARIABLE, STRUCT_VARIABLE):
            for found in pattern.finditer(text):
                statics[found[1]].add(name)
        for found in TAG.finditer(text):
            tags[found[1]].add(name)
    wrong = [(kind, name, places) for kind, table in (("static name", statics), ("struct tag", tags)) for name, places in sorted(table.items())
             if len(places) > 1]
    for kind, name, places in wrong:
        print(f"{kind} {name}: {', '.join(sorted(places))}. Do: put the file's noun before it")
    print(f"check_names: {len(statics)} static names and {len(tags)} tags in {files} files, {len(wrong)} in more than one")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
