#!/usr/bin/env python3
"""speedscope (the npm package) opens the output of "autologger convert" in a headless Chromium: Chrome's JSON and folded stacks of a boot, of
waiting. It recognises their form, and reports no error in their content.

Usage: foreign_viewers.py, with AL_BINARY_DIR and AL_SOURCE_DIR set. speedscope is looked for in $AL_SPEEDSCOPE (the folder of the package), else
where npm installs it. Exit codes: 0 passed, 1 failed, 77 skipped."""
import base64
import json
import lzma
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
SOURCE, BINARY = (pathlib.Path(os.environ[name]).resolve() for name in ("AL_SOURCE_DIR", "AL_BINARY_DIR"))
sys.path.insert(0, str(SOURCE / "autologger" / "report" / "tests"))
from browser import Browser, Missing  # noqa: E402


def package():
    folders = [os.environ.get("AL_SPEEDSCOPE")]
    for args in (["npm", "root", "-g"], ["npm", "root"]):
        try:
            folders.append(subprocess.run(args, capture_output=True, text=True, timeout=30).stdout.strip() + "/speedscope")
        except (OSError, subprocess.TimeoutExpired):
            pass
    for folder in filter(None, folders):
        release = pathlib.Path(folder) / "dist" / "release"
        if (release / "index.html").is_file():
            return release
    print("skipped: speedscope is not installed. Do: npm install speedscope, and AL_SPEEDSCOPE=.../node_modules/speedscope")
    sys.exit(77)


def convert(trace, form, out, *more):
    r = subprocess.run([BINARY / "autologger", "convert", trace, "--to", form, "-o", out, "--json", *more], capture_output=True, text=True, timeout=100)
    assert r.returncode == 0, r.stderr
    return json.loads(r.stdout)


def show(browser, release, folder, made):
    """Opens a file as speedscope's own command does: a script passes the file, and is named behind the '#'."""
    script = folder / (made.name + ".js")
    script.write_text(f"speedscope.loadFileFromBase64({json.dumps(made.name)}, {json.dumps(base64.b64encode(made.read_bytes()).decode())})")
    browser.said.clear()
    browser.ask("Page.navigate", url="about:blank")
    browser.ask("Page.navigate", url=(release / "index.html").as_uri() + "#localProfilePath=" + str(script))
    browser.until(f"document.title.includes({json.dumps(made.name)})", 60)  # set when the profile is shown
    browser.frame()
    return browser.run("document.body.innerText")


def main():
    release = package()
    with tempfile.TemporaryDirectory(prefix="autologger-viewers-") as name:
        folder = pathlib.Path(name)
        trace  = folder / "boot.etl"
        trace.write_bytes(lzma.decompress((SOURCE / "docs/examples/boot.etl.xz").read_bytes()))
        made = {"boot.folded": convert(trace, "folded", folder / "boot.folded", "--waiting"), "boot.json": convert(trace, "chrome", folder / "boot.json")}
        try:
            browser = Browser()
        except Missing as e:
            print("skipped:", e)
            return 77
        with browser as b:
            for file, counts in made.items():
                text = show(b, release, folder, folder / file)
                wrong = [line for line in b.said if line.startswith(("exception", "console"))]
                print(f"{file}: {counts}; shown: {text[:80]!r}")
                assert not wrong, wrong[:3]
                assert "Unrecognized format" not in text and "Sandwich" in text, text
    return 0


if __name__ == "__main__":
    sys.exit(main())
