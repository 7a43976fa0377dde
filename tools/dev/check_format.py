#!/usr/bin/env python3
"""C and C++ sources are laid out as .clang-format says.

Usage: check_format.py [SOURCE_DIR] [--write]. Exit codes: 0 fine, 1 a file is laid out in another way, 77 no clang-format of the
version that the layout is for (others break lines elsewhere). --write: changes the files instead. Strings are not broken, so that
messages can be searched for; comments are not reflowed: who writes one keeps it within 120 columns.
"""
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys

VERSION = 14
SUFFIXES = (".c", ".h", ".cpp")
TOGETHER = 40  # files a call


def sources(root):
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=False)
    names = listed.stdout.split("\n") if listed.returncode == 0 else [str(p.relative_to(root)) for p in root.rglob("*")]
    return sorted(n for n in set(names) if n.endswith(SUFFIXES) and not n.startswith("build/") and (root / n).is_file())


def formatter():
    """The program, or None and the version found instead."""
    seen = []
    for name in (f"clang-format-{VERSION}", "clang-format"):
        path = shutil.which(name)
        version = re.search(r"version (\d+)", subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout) if path else None
        if version and int(version[1]) == VERSION:
            return path, ""
        seen += [f"{name} is version {version[1]}"] if version else []
    return None, ", ".join(seen) or "there is none"


def main():
    arguments = [a for a in sys.argv[1:] if a != "--write"]
    root = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).parents[2]).resolve()
    program, instead = formatter()
    if not program:
        print(f"check_format: clang-format {VERSION} is needed; {instead}. Do: apt-get install clang-format-{VERSION}")
        return 77
    names = sources(root)
    how = ["-i"] if "--write" in sys.argv else ["--dry-run", "--Werror"]
    parts = [names[i:i + TOGETHER] for i in range(0, len(names), TOGETHER)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda part: subprocess.run([program, *how, *part], cwd=root, capture_output=True, text=True, check=False), parts))
    places = sorted({m[1]: m[2] for d in done for m in reversed(list(re.finditer(r"^([^:\n]+):(\d+):\d+: error", d.stderr, re.M)))}.items())
    for name, line in places:
        print(f"{name}:{line}: laid out in another way than .clang-format says. Do: tools/dev/check_format.py --write")
    print(f"check_format: {len(names)} files, {len(places)} laid out in another way")
    return 1 if places or any(d.returncode for d in done) or not names else 0


if __name__ == "__main__":
    sys.exit(main())
