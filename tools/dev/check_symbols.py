#!/usr/bin/env python3
"""The symbols that Debian's packages promise equal the libraries' exports: debian/*.symbols against the version scripts, and with AL_BINARY_DIR set
the version scripts against nm's list of the libraries (a linker accepts names that nothing defines).

Usage: check_symbols.py [SOURCE_DIR] [--write]. --write makes the files anew; symbols that were there keep the version that they had, new ones get
that of debian/changelog. Exit codes: 0 fine, 1 they differ (each is named).
"""
import os
import pathlib
import re
import subprocess
import sys

LIBRARIES = [ # package, soname, version script
    ("libautologger0", "libautologger.so.0", "autologger/provider/autologger.map"),
    ("libautologger-trace0", "libautologger-trace.so.0", "autologger/consumer/autologger-trace.map"),
]
NODE = re.compile(r"(\w+)\s*\{\s*global:(.*?)local:", re.S)
LINE = re.compile(r"^ (\S+)@(\w+) (\S+)$", re.M)


def exported(text):
    """{symbol: version node} of a version script, each node with itself."""
    text, symbols = re.sub(r"/\*.*?\*/", "", text, flags=re.S), {}
    for node, names in NODE.findall(text):
        symbols[node] = node
        symbols.update({name.strip(): node for name in names.split(";") if name.strip()})
    return symbols


def defined(library):
    """{symbol: version node} of a built library."""
    out = subprocess.run(["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True).stdout
    names = [line.split()[-1] for line in out.splitlines()]
    return {name.split("@")[0]: name.split("@")[-1] for name in names}


def made(package, soname, symbols, old, version):
    lines = [f"{soname} {package} #MINVER#", "* Build-Depends-Package: libautologger-dev"]
    lines += [f" {name}@{node} {old.get((name, node), version)}" for name, node in sorted(symbols.items())]
    return "\n".join(lines) + "\n"


def main():
    arguments = [a for a in sys.argv[1:] if a != "--write"]
    root, write, wrong = pathlib.Path(arguments[0] if arguments else "."), "--write" in sys.argv, []
    version = re.match(r"\S+ \(([^)-]+)", (root / "debian/changelog").read_text(encoding="utf-8"))[1]
    for package, soname, script in LIBRARIES:
        path = root / f"debian/{package}.symbols"
        symbols = exported((root / script).read_text(encoding="utf-8"))
        if not symbols:
            wrong.append(f"{script}: no symbol was found")
            continue
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        old = {(name, node): since for name, node, since in LINE.findall(text)}
        if write:
            path.write_text(made(package, soname, symbols, old, version), encoding="utf-8")
            continue
        library = pathlib.Path(os.environ.get("AL_BINARY_DIR", "")) / soname
        found = defined(library) if library.is_file() else symbols
        wrong += [f"{script}: {name} is not defined in {soname}" for name in sorted(symbols) if symbols[name] != found.get(name)]
        for name, node in sorted(symbols.items()):
            if (name, node) not in old:
                wrong.append(f"{path}: {name}@{node} is missing, {script} exports it")
        for name, node in sorted(old):
            if symbols.get(name) != node:
                wrong.append(f"{path}: {name}@{node} is not exported by {script}")
    for line in wrong:
        print(f"{line}. Do: tools/dev/check_symbols.py --write")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
