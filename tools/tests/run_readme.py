#!/usr/bin/env python3
"""Follows docs/USES.md for use 2 literally: its program, its configuration and its commands; the README shows lines of them.

Usage: run_readme.py, with AL_BINARY_DIR and AL_SOURCE_DIR set. Exit codes: 0 passed, 1 failed, 77 skipped.
Proves: the example compiles, the GUID in it is the one that check shows, and the event is in the file that is named.
"""
import os
import pathlib
import subprocess
import sys
import tempfile


def blocks(text):
    """The indented blocks, without their indentation."""
    found, block = [], []
    for line in text.split("\n") + ["."]:
        if line.startswith("    ") or (block and not line.strip()):
            block.append(line[4:])
        elif block:
            found.append("\n".join(block).strip("\n") + "\n")
            block = []
    return found


def one(found, start):
    (block,) = [block for block in found if block.startswith(start)]
    return block


def run(line, work):
    print("$ " + line)
    done = subprocess.run(["sh", "-c", line], cwd=work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
    print(done.stdout + done.stderr)
    if done.returncode:
        sys.exit(f"exit code {done.returncode}: {line}")
    return done.stdout


def main():
    if os.environ.get("AL_SANITIZE"):
        print("skipped: a sanitized library can't be linked to the plain program of the README")
        return 77
    source, binary = (pathlib.Path(os.environ[name]).resolve() for name in ("AL_SOURCE_DIR", "AL_BINARY_DIR"))
    text = (source / "docs/USES.md").read_text(encoding="utf-8")
    found = blocks(text[text.index("## 2. "):text.index("## 3. ")])
    program, commands = one(found, "#include"), one(found, "cc ").splitlines()
    with tempfile.TemporaryDirectory(prefix="al-readme-") as folder:
        work = pathlib.Path(folder)
        (work / "build").mkdir()
        (work / "build/release").symlink_to(binary)
        (work / "autologger").symlink_to(source / "autologger")
        (work / "app.c").write_text(program, encoding="utf-8")
        (work / "web.ini").write_text(one(found, "[Autologger/web]"), encoding="utf-8")
        outputs = [run(line, work) for line in commands]
    short = (source / "README.md").read_text(encoding="utf-8")
    known = "\n".join(found)
    foreign = [line for block in blocks(short[short.index("**2. "):short.index("**3. ")]) for line in block.splitlines() if line.strip() not in known]
    if foreign:
        sys.exit("the README has lines that docs/USES.md has not:\n" + "\n".join(foreign))
    shown = outputs[1][outputs[1].index("in C: (") + len("in C: "):].split("\n")[0]
    if shown not in program:
        sys.exit(f"check shows {shown}, the program has another GUID")
    if "Contoso-Web/Started Port=80" not in outputs[-1]:
        sys.exit("the event is not in the trace")
    return 0


if __name__ == "__main__":
    sys.exit(main())
