#!/usr/bin/env python3
"""The page of a boot in a headless Chromium: what stands in it, clicks, zoom, search, keys, themes, paper; and that it says nothing on the
console and asks nobody for anything. The boots are recorded ones (analysis/tests/boots). Proves CON-19, CON-22, ANA-10.

Usage: browser_page.py [TRACE.etl], with AL_BINARY_DIR and AL_SOURCE_DIR set; AL_SHOTS=FOLDER keeps screenshots. Exit codes: 0, 1, 77."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from browser import Browser, Missing  # noqa: E402

BIN, SOURCE = pathlib.Path(os.environ["AL_BINARY_DIR"]), pathlib.Path(os.environ["AL_SOURCE_DIR"])
SHOTS = pathlib.Path(os.environ["AL_SHOTS"]) if os.environ.get("AL_SHOTS") else None
failed = []


def check(true, *what):
    if not true:
        failed.append(" ".join(str(w) for w in what))
        print("FAILED:", *what)


def shot(b, name, whole=False):
    if SHOTS:
        SHOTS.mkdir(parents=True, exist_ok=True)
        b.screenshot(SHOTS / f"{name}.png", whole)


def view(b):
    return b.run("[R.view.from, R.view.to]")


def row_place(b, name):
    """Where the row of that name is on the screen, in sight."""
    b.box("#rows")
    return b.run(f"""(() => {{ const i = R.rows.findIndex((r) => r.label === {json.dumps(name)}); if (i < 0) return null;
        R.get('scroll').scrollTop = Math.max(0, i * 20 - 100); const r = R.get('rows').getBoundingClientRect(); return [r.x, r.y + i * 20 - R.get('scroll').scrollTop + 12, r.width]; }})()""")


def static(page, told):
    """What is there without scripts."""
    text = page.read_text(encoding="utf-8")
    body = text.split("<script", 1)[0]
    check("<made" not in text, "text of a trace is markup in the page")
    check(4 <= body.split("What to do", 1)[0].count("<dd>") <= 5, "what it would save, and three numbers")
    check("sooner without this" in body and "<details" not in body.split("</section>", 1)[0], "nothing of the verdict is folded away")
    check('id="sure"' in body, "how sure the verdict is")
    check(re.search(r"autologger itself used <b>[0-9.]+ m?s</b> of a processor until the boot was done \([0-9.]+ % of all\), and [0-9.]+ m?s afterwards", body), "the tool's own cost, before and after the end")
    check(" UTC</h1>" in body, "the title has no time zone")
    check(body.count("data-start=") == told["phases"], "phases as text")
    check(not re.search(r"[0-9] [a-z%]", body.split('class="sentence">', 1)[1].split("</p>", 1)[0]), "a number and its unit may be on two lines")
    check("What to do:" in body and "lost" in body, "verdict and trust as text")
    check(not re.search(r"(src|href)\s*=\s*\"(?!data:)", text), "the page wants another file")


def drawn(b, told):
    check(b.run("document.querySelectorAll('#phases li').length") == told["phases"], "phases")
    check(b.run("document.querySelectorAll('#path li').length") > 3, "the path is a list")
    for canvas, colors in (("#lanes", 6), ("#rows", 4), ("#flames", 4)):
        p = b.pixels(canvas)
        check(p["colors"] >= colors and p["most"] < 0.999, canvas, "is empty:", p)
    check(b.run("R.data.units.length") == told["units"] and b.run("R.data.processes.length") == told["processes"], "all units and processes")
    check(b.run("document.querySelectorAll('#table tbody tr').length") > 10, "the table of units")
    check("NT Kernel Logger" in b.run("document.querySelector('#machine').textContent"), "Status")


def zooming(b):
    b.press("#fit")
    whole = view(b)
    b.press("#zoom-in")
    near = view(b)
    check(near[1] - near[0] < (whole[1] - whole[0]) * 0.7, "zoom in by button", whole, near)
    said = b.run("R.get('window').textContent")
    check(" to " in said and said.endswith(" s"), "the window in words", said)
    x, y, width, height = b.box("#lanes")
    at = b.run(f"R.ms({width * 0.7}, {width})")
    b.wheel(x + width * 0.7, y + height / 2, dy=-300)
    closer = view(b)
    check(closer[1] - closer[0] < near[1] - near[0], "zoom by wheel")
    check(abs(b.run(f"R.ms({width * 0.7}, {width})") - at) < (closer[1] - closer[0]) * 0.02, "the wheel zooms around the pointer")
    b.run("document.activeElement.blur()")
    b.key("ArrowRight")
    check(view(b)[0] > closer[0], "pan by key")
    b.key("-")
    check(view(b)[1] - view(b)[0] > closer[1] - closer[0], "zoom out by key")
    b.key("0")
    check(view(b) == whole, "all of it by key", view(b), whole)
    x, y, width, height = b.box("#rows")
    b.key("+")
    before = view(b)
    b.drag(x + width * 0.8, y + 200, x + width * 0.6, y + 200)
    check(view(b)[0] > before[0], "pan by dragging")
    b.press("#phases li")
    check(abs(view(b)[0]) < 1, "a phase fills the picture")
    b.press("#fit-boot")


def choosing(b):
    unit = b.run("R.data.units[R.rows.find((r) => r.kind === 'unit').index].name")
    x, y, width = row_place(b, unit)
    b.move(x + 60, y)
    check(not b.run("R.get('tip').classList.contains('hidden')") and unit in b.run("R.get('tip').textContent"), "hovering says what it is")
    b.click(x + 60, y)
    check(unit in b.run("document.querySelector('#detail h3').textContent"), "details of a unit")
    check("start took" in b.run("document.querySelector('#detail').textContent"), "its figures")
    shot(b, "unit")
    before = b.run("R.rows.indexOf(R.rows.find((r) => R.chosen && r.kind === R.chosen.kind && r.index === R.chosen.index))")
    b.key("j")
    check(b.run("R.rows.indexOf(R.rows.find((r) => r.kind === R.chosen.kind && r.index === R.chosen.index))") == before + 1, "the next row by key")
    b.key("Enter")
    item = b.run("(() => { const i = R.item(); return [i.start, i.end]; })()")
    check(item[1] - item[0] < 1e-9 or view(b)[0] <= item[0] and view(b)[1] >= item[1], "Enter shows all of it", item, view(b))
    b.press("#verdict .next button")
    check(b.run("R.chosen !== null"), "the verdict leads to the timeline")
    check("pid" in b.run("document.querySelector('#detail').textContent") or "start took" in b.run("document.querySelector('#detail').textContent"), "and to its details")
    b.key("Escape")
    check(b.run("R.chosen === null"), "Escape chooses nothing")
    b.press("#fit")
    b.run("(() => { const n = document.querySelector('#verdict .next button'); n.dataset.process = '-1'; delete n.dataset.unit; n.dataset.from = '1000'; n.dataset.to = '2000'; n.click(); })()")
    check([round(t) for t in view(b)] == [1000, 2000], "a verdict without a unit shows its time", view(b))
    b.press("#path li:nth-child(3)")
    check(b.run("R.chosen !== null") or view(b) is not None, "a step of the path")
    b.key("Escape")
    b.press("#fit-boot")


def searching(b):
    b.key("/")
    check(b.run("document.activeElement.id") == "search", "/ goes to the search")
    b.type("slow")
    rows = b.run("R.rows.filter((r) => !r.group).map((r) => r.label)")
    found = b.run("R.rows.filter((r) => !r.group).every((r) => { const p = r.kind === 'process' ? R.data.processes[r.index] : null; "
                  "return (r.label + (p ? p.command + R.unitName(p.unit) : '')).toLowerCase().includes('slow'); })")
    check(rows and found, "rows that are found", rows)
    names = b.run("[...document.querySelectorAll('#table tbody tr')].map((r) => r.firstChild.textContent)")
    check(names and all("slow" in n for n in names), "the table has what is found", names)
    shot(b, "search")
    b.run("R.get('search').value = 'nothing has this'; R.get('search').dispatchEvent(new Event('input'))")
    b.frame()
    check(b.run("R.rows.length") == 0 and b.pixels("#rows")["colors"] > 1, "nothing found is said")
    b.key("Escape")
    check(b.run("R.query === '' && R.rows.length > 10"), "Escape ends the search")
    check(b.run(r"(() => { R.query = 'by-uuid'; const found = matches('dev-disk-by\\x2duuid-1.device'), other = matches('dev-sda.device'); R.query = ''; return found && !other; })()"), "a name is found as it is shown")


def ranges(b):
    x, y, width, height = b.box("#lanes")
    b.drag(x + width * 0.5, y + 60, x + width * 0.7, y + 60)
    r = b.run("R.range")
    check(r and r[1] > r[0], "dragging chooses a range", r)
    check(" s to " in b.run("R.get('flame-what').textContent"), "the flame graph says its range")
    part = b.run("R.flameTree().weight")
    b.press("#range-clear")
    whole = b.run("R.flameTree().weight")
    check(b.run("R.range === null") and part < whole, "the range counts", part, whole)
    b.press("#flame-all")
    check(b.run("R.flameTree().weight") > whole, "all others wait, too")
    x, y, width, height = b.box("#flames")
    box = b.run("(() => { const m = R.flame.boxes.filter((c) => c.path.length === 2).sort((p, q) => q.room - p.room)[0]; return [m.x + m.room / 2, m.y + 8, m.node.name]; })()")
    b.click(x + box[0], y + box[1])
    check(b.run("R.flame.top && R.flame.top.length === 2 && R.flame.boxes[0].node.name") == box[2], "a frame is opened")
    names = b.run("R.flame.boxes.map((c) => c.node.name)")
    check(any(re.fullmatch(r"[^!]+![A-Za-z_]\w*", name) for name in names), "a frame is module!function", names[:10])
    b.press("#flame-top")
    check(b.run("R.flame.top === null"), "the whole graph")
    b.press("#flame-cpu")
    check(b.run("R.flame.kind") == "onCpu" and "samples" in b.run("R.get('flame-what').textContent"), "on processors")
    b.press("#flame-wait")
    check(b.run("document.querySelectorAll('#functions tbody tr').length") > 2, "functions as a table")


def devices(b):
    b.run("[...document.querySelectorAll('#table-tabs button')].find((t) => t.textContent === 'Devices').click()")
    names = b.run("[...document.querySelectorAll('#table tbody tr')].map((r) => r.firstChild.textContent)")
    check(sorted(names) == ["dev-first", "dev-waits"], "the devices that have a driver, and no others", names)
    b.run("[...document.querySelectorAll('#table tbody tr')].find((r) => r.firstChild.textContent === 'dev-waits').click()")
    check(b.run("R.chosen && R.chosen.kind") == "device", "a device is chosen")
    said = b.run("R.get('detail').textContent")
    check(all(text in said for text in ("dev-first", "once", "taken", "put off")), "what it waited for", said)
    b.run("[...document.querySelectorAll('#detail button, #detail a')].find((n) => n.textContent === 'dev-first').click()")
    check(b.run("R.data.devices[R.chosen.index].name") == "dev-first", "from a device to the one that it needs")
    b.run("R.groups.devices = true; R.buildRows(); R.drawRows()")
    check(b.run("R.rows.filter((r) => r.kind === 'device').length") == 2, "a row for each device")
    check("made-up: taken" in b.run("R.rowText(R.rows.find((r) => r.kind === 'device'))"), "what a row says")
    b.key("Escape")
    b.run("R.groups.devices = false; R.buildRows(); R.drawRows()")


def path(b):
    """Short steps are shown when they are asked for, and follow what the timeline hides; a step leads to the timeline."""
    length = "document.querySelectorAll('#path li').length"
    all_of_it = b.run("R.data.criticalPath.filter((s) => s.end - s.start >= 1).length")
    long = b.run(f"(() => {{ const n = {length}; return n; }})()")
    check(long == b.run("R.data.criticalPath.filter((s) => s.end - s.start >= Math.max(R.bootEnd / 100, R.least)).length") and long < all_of_it, "short steps are folded", long, all_of_it)
    b.press("#path-more")
    check(b.run(length) == all_of_it and b.run("R.get('path-more').getAttribute('aria-expanded')") == "true", "all steps")
    b.press("#path-more")
    b.run("R.get('least').value = '1000'; R.get('least').dispatchEvent(new Event('change'))")
    check(b.run(length) == b.run("R.data.criticalPath.filter((s) => s.end - s.start >= 1000).length"), "what is shorter is hidden in the path, too")
    b.run("R.get('least').value = '10'; R.get('least').dispatchEvent(new Event('change'))")
    check(b.run("R.get('path').scrollHeight <= R.get('path').clientHeight + 1"), "the path scrolls by itself")
    b.run("R.get('path').scrollIntoView({ block: 'start' })")
    b.press("#path li:last-child")
    b.frame()
    seen = b.run("(() => { const r = R.get('chart').getBoundingClientRect(); return Math.min(r.bottom, innerHeight) - Math.max(r.top, 0); })()")
    check(seen > 300, "a step of the path leads to the timeline", seen)
    b.key("Escape")
    b.press("#fit-boot")


def rows(b):
    """Every row has a name, none of them a name of Windows; what is out of sight is shown as that."""
    check(b.run("R.rows.every((r) => r.label && r.label.trim())"), "a row without a name")
    names = set(b.run("R.data.processes.map((p) => p.label)"))
    check(not names & {"Idle", "System"} and not [n for n in names if n.startswith("@")], "names of Windows", names & {"Idle", "System"})
    check(b.run("R.plain('dev-disk-by\\\\x2duuid-1.device')") == "dev-disk-by-uuid-1.device", "an escaped name is shown as it is read")
    b.run("R.show(R.last - 5, R.last)")
    b.frame()
    texts = b.run("(() => { const g = R.get('rows').getContext('2d'), put = g.fillText, said = []; g.fillText = (t, ...at) => { said.push(t); put.call(g, t, ...at); }; R.drawRows(); delete g.fillText; return said; })()")
    check(any(t.startswith("\u25c2 ") for t in texts), "a row before the window has an arrow", texts[:20])
    legend = b.run("[...document.querySelectorAll('#legend li')].map((l) => l.textContent)")
    check({"processor busy", "ready, no processor free"} <= set(legend), "the legend", legend)
    contrast = b.run("""(() => { const part = (c) => { const v = parseInt(c, 16) / 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
        const bright = (c) => 0.2126 * part(c.slice(1, 3)) + 0.7152 * part(c.slice(3, 5)) + 0.0722 * part(c.slice(5, 7));
        const ratio = (a, c) => { const [x, y] = [bright(a), bright(c)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
        const out = []; for (const name of ['light', 'dark']) { theme(name); for (const c of ['initcall', 'script', 'disk', 'unit', 'lock', 'child', 'other']) out.push(ratio(R.color(c), R.inkOn(R.color(c)))); out.push(ratio(R.color('weak'), R.color('card'))); }
        theme('light'); return out; })()""")
    check(min(contrast) >= 3.7, "letters on colours that are hard to read", [round(c, 1) for c in contrast])
    b.press("#fit-boot")


def tables(b):
    b.press("#table-tabs button:nth-child(2)")
    check(b.run("R.table.which") == "processes", "the table of processes")
    b.press("#table thead th:first-child button")
    names = b.run("[...document.querySelectorAll('#table tbody tr')].map((r) => r.firstChild.textContent)")
    check(names == sorted(names), "sorted by name")
    check(b.run("document.querySelector('#table th').getAttribute('aria-sort')") == "ascending", "the order is told")
    b.press("#table tbody tr:nth-child(5)")
    check(b.run("R.chosen && R.chosen.kind") == "process", "a row of the table is chosen")
    b.key("Escape")
    b.press("#only-path")
    check(b.run("R.rows.filter((r) => !r.group).every((r) => r.path)"), "the critical path alone")
    b.press("#only-path")
    b.run("R.get('least').value = '1000'; R.get('least').dispatchEvent(new Event('change'))")
    check(b.run("R.rows.filter((r) => r.kind === 'process').every((r) => r.end - r.start >= 1000)"), "what is shorter is hidden")
    b.run("R.get('least').value = '10'; R.get('least').dispatchEvent(new Event('change'))")


def looks(b):
    light = b.run("getComputedStyle(document.body).backgroundColor"), b.run("R.get('rows').toDataURL().length")
    b.press("#theme")
    dark = b.run("getComputedStyle(document.body).backgroundColor")
    check(light[0] != dark and b.run("document.documentElement.dataset.theme") == "dark", "light and dark differ", light, dark)
    b.run("scrollTo(0, 0)")
    b.frame()
    panel = b.run("(() => { const r = R.get('detail').getBoundingClientRect(), c = R.get('chart').getBoundingClientRect(); return [r.top - c.top, r.width, R.get('detail').textContent]; })()")
    check(abs(panel[0]) < 2 and panel[1] > 200 and panel[2].startswith("Choose"), "the panel of details stands beside the chart", panel)
    shot(b, "dark")
    b.press("#theme")
    b.ask("Emulation.setEmulatedMedia", media="print")
    check(b.run("getComputedStyle(document.querySelector('.tools')).display") == "none" and
          b.run("getComputedStyle(R.get('space')).display") == "none", "paper has no tools, and no empty pages")
    b.ask("Emulation.setEmulatedMedia", media="")
    b.press("#theme")
    steps = b.run("document.querySelectorAll('#path li').length")
    b.run("window.dispatchEvent(new Event('beforeprint'))")
    check(b.run("document.documentElement.dataset.theme") == "light" and b.run("document.querySelectorAll('#path li').length") > steps, "paper is light, and has all steps")
    b.run("window.dispatchEvent(new Event('afterprint'))")
    check(b.run("document.documentElement.dataset.theme") == "dark" and b.run("document.querySelectorAll('#path li').length") == steps, "the screen is as it was")
    b.press("#theme")
    b.run("document.querySelector('#verdict dt').textContent += ' systemd-cryptsetup@luks_' + 'x'.repeat(200) + '.service'")
    for width in (1000, 800, 700, 600, 420):
        b.size(width, 900)
        b.frame()
        check(b.run("document.documentElement.scrollWidth <= window.innerWidth + 1"), "a window of", width, "needs scrolling sideways")
        title = b.run("(() => { const h = document.querySelector('header h1'), r = h.getBoundingClientRect(); return [h.scrollWidth - h.clientWidth, r.left, r.right, r.width]; })()")
        check(title[0] <= 1 and title[1] >= 0 and title[2] <= width and title[3] > 150, "the title in a window of", width, title)
        b.run("scrollTo(0, 0)")
        shot(b, f"narrow-{width}")
    b.size(1440, 900)


def compared(b):
    b.box("#compare")
    rows = b.run("[...document.querySelectorAll('#compare tbody tr')].map((r) => [...r.children].map((c) => c.textContent))")
    check(rows and rows[0][1] == "boot" and any(r[1] == "slow-waiter.service" and r[4].startswith("+") for r in rows), "the comparison", rows[:4])
    shot(b, "compare")


def accessible(b):
    b.ask("Accessibility.enable")
    nodes = b.ask("Accessibility.getFullAXTree")["nodes"]
    for n in nodes:
        role = n.get("role", {}).get("value")
        if not n.get("ignored") and role in ("button", "image", "img", "textbox", "searchbox", "combobox", "tab", "application", "canvas"):
            check(n.get("name", {}).get("value"), "a", role, "without a name:", n.get("nodeId"))
    check(b.run("document.documentElement.lang") == "en" and b.run("document.title").startswith("Boot of"), "language and title")
    b.key("?")
    check(not b.run("R.get('keys').classList.contains('hidden')"), "the keys are told")
    keys_are_told(b, "b")
    check(b.run("document.activeElement.id") == "keys", "the keys have the focus")
    b.key("Escape")
    check(b.run("R.get('keys').classList.contains('hidden') && document.activeElement.id !== 'keys'"), "Escape ends the keys")
    b.run("R.get('rows').focus({ preventScroll: true })")
    b.key("?")
    b.key("Escape")
    check(b.run("document.activeElement.id") == "rows", "the focus goes back to where it was")
    b.press("#zoom-in")
    b.run("R.get('rows').focus({ preventScroll: true })")
    before = view(b)
    b.key("ArrowRight")
    check(view(b) != before, "the arrow keys move again")
    b.press("#fit-boot")


def keys_are_told(b, *more):
    """The help has the keys that there are, and no others."""
    names = {"\u2190": "ArrowLeft", "\u2192": "ArrowRight", "\u2191": "ArrowUp", "\u2193": "ArrowDown", "Esc": "Escape"}
    told = {names.get(k, k) for k in b.run("[...document.querySelectorAll('#keys kbd')].filter((k) => k.offsetParent).map((k) => k.textContent)")}
    real = set(b.run("Object.keys(KEYS)"))
    check(told == real - {"="}, "the help tells", told ^ real)  # "=" is "+" without Shift
    check(real >= {"/", "0", "j", *more}, "the keys", real)


def of_a_session(b):
    """There is no boot to show in it: no button, no key, no word of it in the help."""
    before = view(b)
    b.key("b")
    check(view(b) == before and b.run("R.get('fit-boot').offsetParent === null"), "a session is shown as a boot", before, view(b))
    b.key("?")
    check("boot" not in b.run("R.get('keys').innerText"), "the help tells of a boot")
    keys_are_told(b)
    check("b" not in b.run("Object.keys(KEYS)"), "b is a key")
    b.key("Escape")


def facts_page(folder, name, before=None):
    page, boots = folder / f"{name}.html", SOURCE / "autologger/analysis/tests/boots"
    said = subprocess.run([BIN / "tests/page_of_facts", boots / f"{name}.facts", page, *([before if before == "--session" else boots / f"{before}.facts"] if before else [])], capture_output=True, text=True, check=True)
    return page, json.loads(said.stdout)


def main():
    with tempfile.TemporaryDirectory(prefix="autologger-page-") as folder:
        page, told = facts_page(pathlib.Path(folder), "lock-held", "passphrase")
        static(page, told)
        try:
            browser = Browser()
        except Missing as e:
            print(f"skipped: {e}")
            return 77 if not failed else 1
        with browser as b:
            b.open(page)
            b.frame()
            paint = b.run("performance.getEntriesByName('first-contentful-paint').map((e) => e.startTime)[0]")
            shot(b, "first")
            for step in (lambda: drawn(b, told), lambda: zooming(b), lambda: choosing(b), lambda: searching(b), lambda: ranges(b), lambda: devices(b), lambda: path(b), lambda: rows(b), lambda: tables(b), lambda: compared(b), lambda: looks(b), lambda: accessible(b)):
                step()
            shot(b, "whole", whole=True)
            for name in ("initramfs-script", "wait-online"):  # others open, too
                other, told = facts_page(pathlib.Path(folder), name)
                b.open(other)
                b.frame()
                drawn(b, told)
            b.open(facts_page(pathlib.Path(folder), "wait-online", "--session")[0])
            b.frame()
            b.key("+")
            of_a_session(b)
            if len(sys.argv) > 1:
                real = pathlib.Path(folder) / "real.html"
                subprocess.run([BIN / "autologger", "report", sys.argv[1], "-o", real], check=True)
                b.open(real)
                b.frame()
                shot(b, "real", whole=True)
            said = [line for line in b.said if "willReadFrequently" not in line]  # that is what pixels() does
            check(not said, "the console has:", said)
            check(all(u.startswith(("file:", "data:", "blob:")) for u in b.requests), "somebody was asked:", b.requests)
            print(f"first paint after {paint:.0f} ms, page of {page.stat().st_size:,} bytes, {'FAILED' if failed else 'passed'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
