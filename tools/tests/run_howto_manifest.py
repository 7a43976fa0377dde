#!/usr/bin/env python3
"""Follows docs/HOWTO-manifest.md literally: its parts go into the template's manifest, its program is compiled, its commands are run.

Usage: run_howto_manifest.py, with AL_BINARY_DIR and AL_SOURCE_DIR set. Exit codes: 0 passed, 1 failed, 77 skipped.
Proves: MAN-18, MAN-19, SPC-09: the six steps, and that what the page decodes of the trace is what comes out.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def put_parts(path, blocks):
    """The page's parts replace those of the template's manifest; maps go before the templates, resources replace its resources."""
    text = path.read_text(encoding="utf-8")
    parts = [(m.group(1), m.group(0)) for block in blocks for m in re.finditer(r"^<(\w+)[^>]*>.*?^</\1>", block, flags=re.S | re.M)]
    for name in dict.fromkeys(name for name, _ in parts):
        new = "\n".join(part for other, part in parts if other == name)
        if name == "maps":
            text = text.replace("<templates>", new + "\n<templates>", 1)
            continue
        inside = r"<events>\s*<event .*?</events>" if name == "events" else rf"<{name}\b.*</{name}>"  # not the outer <events>
        text, times = re.subn(inside, lambda _: new, text, flags=re.S)
        if times != 1:
            sys.exit(f"<{name}> is {times} times in the template")
    path.write_text(text, encoding="utf-8")


def run(line, work, env):
    print("$ " + line)
    done = subprocess.run(["sh", "-c", line], cwd=work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, env=env)
    print(done.stdout + done.stderr)
    if done.returncode:
        sys.exit(f"exit code {done.returncode}: {line}")
    return done.stdout


def main():
    if os.environ.get("AL_SANITIZE"):
        print("skipped: a sanitized library can't be linked to the plain program of the page")
        return 77
    source, binary = (pathlib.Path(os.environ[name]).resolve() for name in ("AL_SOURCE_DIR", "AL_BINARY_DIR"))
    page = (source / "docs/HOWTO-manifest.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(\w*)\n(.*?)```", page, flags=re.S)
    xml = [text for kind, text in blocks if kind == "xml"]
    wanted = [line for kind, text in blocks if not kind for line in text.splitlines()]
    named = {re.match(r"<(\w+)", text).group(1) for text in xml}
    missing = {"tasks", "keywords", "channels", "maps", "events", "resources"} - named
    if missing or not wanted:
        sys.exit(f"the page lacks {missing or 'its output'}")
    with tempfile.TemporaryDirectory(prefix="al-howto-") as folder:
        work = pathlib.Path(folder)
        (work / "include").symlink_to(source / "autologger/include")
        (work / "lib").symlink_to(binary)
        env = {**os.environ, "PATH": f"{binary}:{os.environ['PATH']}", "LC_ALL": "C", "AUTOLOGGER_PUBLISHERS": str(work / "publishers")}
        outputs, filled = [], False
        for kind, text in blocks:
            if kind == "c":
                (work / "shop.c").write_text(text, encoding="utf-8")
            elif kind == "ini":
                (work / "shop.ini").write_text(text, encoding="utf-8")
            elif kind == "xml" and not filled and (work / "shop.man").exists():
                put_parts(work / "shop.man", xml)
                filled = True
            elif kind == "sh":
                outputs += [(line, run(line, work, env)) for line in text.splitlines()]
    dumps = [out for line, out in outputs if line.startswith("autologger dump")]
    for line in wanted:
        for out in (dumps[0], dumps[-1]):
            if line not in out:
                sys.exit(f"the page shows, and it was not there: {line}\n{out}")
    checks = [out for line, out in outputs if line.startswith("autologger manifest check")]
    if any("no mistakes, 0 warnings" not in out for out in checks) or "Bestellung 1 von Ada ist bezahlt (mit Karte)." not in dumps[1]:
        sys.exit("a check warns, or the other language is missing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
