#!/usr/bin/env python3
"""docs/EXAMPLES.md is true: its commands are run, and their output is compared with the page.

Usage: test_examples.py, with AL_BINARY_DIR and AL_SOURCE_DIR set. "..." alone stands for any lines, within a line for any text.
Exit codes: 0 passed, 1 failed."""
import lzma
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BIN, SOURCE = pathlib.Path(os.environ["AL_BINARY_DIR"]).resolve(), pathlib.Path(os.environ["AL_SOURCE_DIR"]).resolve()
PAGE = SOURCE / "docs/EXAMPLES.md"


def commands(text):
    """(command, its output lines) of all indented blocks; lines after "> " continue a command."""
    found = []
    for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, re.M):
        for line in (one[4:] for one in block.strip("\n").split("\n")):
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif line.startswith("> ") and found:
                found[-1] = (found[-1][0] + "\n" + line[2:], found[-1][1])
            elif found and "$ " in block:
                found[-1][1].append(line)
    return found


def pattern(lines):
    parts = ["(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"[ ]*\n" for line in lines]
    return "".join(parts)


def main():
    text, failed = PAGE.read_text(encoding="utf-8"), 0
    with tempfile.TemporaryDirectory(prefix="autologger-examples-") as folder:
        (pathlib.Path(folder) / "boot.etl").write_bytes(lzma.decompress((SOURCE / "docs/examples/boot.etl.xz").read_bytes()))
        wanted = commands(text)
        for command, lines in wanted:
            if command.startswith("cat "):  # a file that the page shows must exist
                (pathlib.Path(folder) / command[4:]).write_text("\n".join(lines) + "\n")
            said = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, timeout=100,
                                  env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"})
            end = "" if lines and lines[-1] == "..." else r"\n*\Z"
            if not re.match(pattern(lines) + end, said.stdout if said.stdout.endswith("\n") else said.stdout + "\n"):
                failed += 1
                print(f"FAILED: $ {command}\n--- {PAGE.name} says\n" + "\n".join(lines) + f"\n--- it printed\n{said.stdout}{said.stderr}")
        if len(wanted) < 7:
            print(f"FAILED: {len(wanted)} commands, too few to be all")
            failed += 1
    print(f"{len(wanted)} commands, {failed} of them not as {PAGE.name} says")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
