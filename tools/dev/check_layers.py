#!/usr/bin/env python3
"""Who may include whom: reads the table "Who may include whom" in docs/ARCHITECTURE.md and holds the sources to it.

Usage: check_layers.py [SOURCE_DIR]. Exit codes: 0 fine, 1 an arrow points the wrong way.
Also: iniparser, sqlite3 and yajl are each included by as few files as the page says; no file includes a tests folder; includes start at the root; of
our files the installed headers include only each other.
"""
import pathlib
import re
import subprocess
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)
# library header -> the only places that may include it, and in how many files
LIBRARIES = {
    "iniparser": (("registry-sim/text/",), 1),
    "dictionary.h": (("registry-sim/text/",), 1),
    "sqlite3.h": (("registry-sim/store/",), 1),
    "dbus/": (("autologger/units/",), 2),
    "libxml/": (("autologger/schema/",), 1),
    "yajl": (("tools/", "autologger/consumer/", "autologger/report/", "autologger/export/"), 99),
    "zlib.h": (("autologger/report/",), 1),
    "perfetto.pb-c.h": (("autologger/export/",), 1),
    "elfutils/": (("autologger/symbols/",), 4),
    "gelf.h": (("autologger/symbols/",), 4),
}


def read_table(page):
    """Rows "| `folder` | `a` `b` ... |" below the heading -> {folder: [allowed prefixes]}."""
    text = page.read_text(encoding="utf-8")
    part = text.split("Who may include whom", 1)
    if len(part) != 2:
        sys.exit(f"{page}: no table 'Who may include whom'")
    table = {}
    for line in part[1].split("\n"):
        if line.startswith("#") and table:
            break
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        names = re.findall(r"`([^`]+)`", cells[0]) if line.startswith("|") else []
        if len(names) == 1 and len(cells) > 1:
            table[names[0]] = re.findall(r"`([^`]+)`", cells[1])
    if len(table) < 10:
        sys.exit(f"{page}: the table has {len(table)} rows, too few to be it")
    return table


def sources(root):
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    names = listed.stdout.split("\n") if listed.returncode == 0 else [str(p.relative_to(root)) for p in root.rglob("*")]
    # docs has samples for other builds: a kernel module
    return sorted(n for n in set(names) if n.endswith((".c", ".h", ".cpp", ".def")) and not n.startswith(("build/", "docs/"))
                  and (root / n).is_file())


def owner(table, path):
    rows = [row for row in table if path == row or path.startswith(row + "/")]
    return max(rows, key=len) if rows else None


def allowed(table, row, target):
    if owner(table, target) == row:
        return True
    return any(a == "anything" or target == a or target.startswith(a + "/") for a in table[row])


def check_include(table, name, row, target, quoted, root):
    """The error of one include, or None."""
    own = (root / target).is_file()
    if not own:
        if quoted and not (row == "autologger/include" and (root / row / target).is_file()):
            return f'"{target}" is not a path from the root'
        return None
    if "/tests/" in target and "/tests/" not in name:
        return f"{target} is a test's file"
    if row == "autologger/include":
        return f"an installed header includes {target}"
    if "/tests/" in name or allowed(table, row, target):
        return None
    return f"{row} may not include {target}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
    table = read_table(root / "docs" / "ARCHITECTURE.md")
    wrong, includes, seen = [], 0, {library: [] for library in LIBRARIES}
    for name in sources(root):
        row = owner(table, name)
        if row is None:
            wrong.append(f"{name}:1: its folder is not in the table. Do: add the folder to docs/ARCHITECTURE.md")
            continue
        text = (root / name).read_text(encoding="utf-8", errors="replace")
        for match in INCLUDE.finditer(text):
            includes += 1
            line, target = text.count("\n", 0, match.start()) + 1, match.group(2)
            beside = pathlib.PurePosixPath(name).parent / target
            if (root / beside).is_file() and "/tests/" in name and "/" not in target:
                continue  # a test's own helper file beside it
            problem = check_include(table, name, row, target, match.group(1) == '"', root)
            if problem:
                wrong.append(f"{name}:{line}: {problem}. Do: move the code, or the arrow in docs/ARCHITECTURE.md")
            for library, (places, _) in LIBRARIES.items():
                if target.startswith(library) and "/tests/" not in name:
                    seen[library].append(name)
                    if not name.startswith(places):
                        wrong.append(f"{name}:{line}: {library} is for {' and '.join(places)} only. Do: go through its header")
    for library, (_, most) in LIBRARIES.items():
        if len(set(seen[library])) > most:
            wrong.append(f"{library} is included by {sorted(set(seen[library]))}. Do: keep it in {most} file")
    print("\n".join(wrong))
    print(f"check_layers: {includes} includes in {len(table)} folders, {len(wrong)} wrong")
    return 1 if wrong or not includes else 0


if __name__ == "__main__":
    sys.exit(main())
