#!/usr/bin/env python3
"""Production sources are clean by clang-tidy, with the checks of .clang-tidy.

Usage: check_tidy.py [SOURCE_DIR] [--build FOLDER]. Exit codes: 0 fine, 1 a finding, 77 no clang-tidy of version 14, or no
compile_commands.json in the build folder (default: build/release).
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

VERSION = 14
TOGETHER = 12  # files a call
# the compiler's flags are gcc's: two that clang 14 does not know
EXTRA = ("--extra-arg=-Wno-unknown-warning-option",
         "--extra-arg=-enable-trivial-auto-var-init-zero-knowing-it-will-be-removed-from-clang")
LEFT_OUT = re.compile(r"/tests/|^boot-tests/|^build/|^tools/writers/|\.bpf\.c$")


def program():
    for name in (f"clang-tidy-{VERSION}", "clang-tidy"):
        path = shutil.which(name)
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout if path else ""
        if re.search(rf"version {VERSION}\.", said):
            return path
    return None


def sources(root, build):
    """What the build compiles as C, once each."""
    seen = set()
    for row in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = pathlib.Path(os.path.realpath(os.path.join(row["directory"], row["file"])))
        if path.suffix == ".c" and path.is_relative_to(root) and not LEFT_OUT.search(str(path.relative_to(root))):
            seen.add(str(path.relative_to(root)))
    return sorted(seen)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source", nargs="?", default=pathlib.Path(__file__).parents[2])
    parser.add_argument("--build", type=pathlib.Path)
    arguments = parser.parse_args()
    root = pathlib.Path(arguments.source).resolve()
    build = (arguments.build or root / "build/release").resolve()
    tidy = program()
    if not tidy or not (build / "compile_commands.json").is_file():
        print(f"check_tidy: clang-tidy {VERSION} and {build}/compile_commands.json are needed. Do: apt-get install clang-tidy-{VERSION}")
        return 77
    names = sources(root, build)
    parts = [names[i:i + TOGETHER] for i in range(0, len(names), TOGETHER)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        done = list(pool.map(lambda part: subprocess.run([tidy, "-p", str(build), "--quiet", *EXTRA, *part], cwd=root, capture_output=True,
                                                         text=True, check=False), parts))
    found = sorted({line.replace(f"{root}/", "") for d in done for line in d.stdout.split("\n") if re.search(r": (error|warning): ", line)})
    print("\n".join(found))
    failed = sum(d.returncode != 0 for d in done)
    if failed and not found:
        print("\n".join(d.stderr for d in done if d.returncode))
    print(f"check_tidy: {len(names)} files, {len(found)} findings")
    return 1 if found or failed or not names else 0


if __name__ == "__main__":
    sys.exit(main())
